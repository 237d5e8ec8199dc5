//! What a command says: the end of it is kept, everything is read so that it never waits, and secrets are blotted out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

use crate::database::url::{Url, escaped};

/// How much of the end of each stream a report shows.
const SHOWN: usize = 4096;

/// How much is kept, so that a secret which lies across the cut is whole when it is looked for.
const KEPT: usize = 2 * SHOWN;

/// How long a pipe may stay open after the process group is gone: someone has left the group and holds it.
const PATIENCE: Duration = Duration::from_secs(1);

const BLOT: &str = "***";

/// The end of a stream that is being read.
#[derive(Debug)]
pub(super) struct Tail {
    kept: Arc<Mutex<Kept>>,
    reader: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    is_cut: bool,
}

impl Tail {
    pub(super) fn of(stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let reader = tokio::spawn(drain(stream, Arc::clone(&kept)));
        Self { kept, reader }
    }

    /// All of the tail, once the stream has ended.
    pub(super) async fn end(&mut self, secrets: &Secrets) -> String {
        if !self.reader.is_finished() && tokio::time::timeout(PATIENCE, &mut self.reader).await.is_err() {
            self.reader.abort();
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
        secrets.shown(&bytes, kept.is_cut)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn drain(mut stream: impl AsyncRead + Unpin, kept: Arc<Mutex<Kept>>) {
    let mut buffer = vec![0; 8192];
    // A pipe that can't be read any more has ended for our purposes.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes.extend(&buffer[..count]);
        let surplus = kept.bytes.len().saturating_sub(KEPT);
        if surplus > 0 {
            kept.bytes.drain(..surplus);
            kept.is_cut = true;
        }
    }
}

/// What must not be shown.
#[derive(Default, Clone)]
pub(super) struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// The passwords of these URLs, plain and as they are escaped.
    pub(super) fn of<'a>(urls: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets = Vec::new();
        for password in urls.into_iter().filter_map(|url| Url::parse(url).ok()?.password) {
            secrets.push(escaped(&password));
            secrets.push(password);
        }
        // The longest first: one may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// A text without them, and without the password of any URL in it.
    pub(super) fn blot(&self, text: &str) -> String {
        let mut text = blot_urls(text);
        for secret in &self.0 {
            text = text.replace(secret, BLOT);
        }
        text
    }

    /// The last 4 KiB of what a stream said.
    fn shown(&self, bytes: &[u8], is_cut: bool) -> String {
        let longest = self.0.first().map_or(0, String::len);
        // The first bytes behind a cut may be the rest of a secret that can't be known any more.
        let bytes = if is_cut { &bytes[longest.min(bytes.len())..] } else { bytes };
        let text = self.blot(&String::from_utf8_lossy(bytes));
        let start = (text.len().saturating_sub(SHOWN)..text.len()).find(|&at| text.is_char_boundary(at));
        text[start.unwrap_or(0)..].to_owned()
    }
}

/// `scheme://user:password@` anywhere in a text loses its password.
fn blot_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        out.push_str(before);
        let end = behind
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"' | '<' | '>'))
            .unwrap_or(behind.len());
        let (authority, tail) = behind.split_at(end);
        match authority.rsplit_once('@').and_then(|(login, host)| Some((login.split_once(':')?.0, host))) {
            Some((user, host)) => out.push_str(&format!("{user}:{BLOT}@{host}")),
            None => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_blotted_out_in_every_spelling() {
        let secrets = Secrets::of(["postgres://ann:p%40ss%2Fword@h/x"]);
        let said = "p@ss/word, p%40ss%2Fword and http://bob:other@web/x but http://web/x:1@y";
        assert_eq!(secrets.blot(said), "***, *** and http://bob:***@web/x but http://web/x:1@y");
        assert!(!format!("{secrets:?}").contains("word"));
    }

    #[test]
    fn a_secret_across_the_cut_is_not_shown_in_part() {
        let secrets = Secrets::of(["postgres://ann:abcdefgh@h/x"]);
        assert_eq!(secrets.shown(b"efgh and more", true), " more");
        assert_eq!(secrets.shown(b"all of it", false), "all of it");
    }

    #[test]
    fn only_the_end_is_shown() {
        let said = "ä".repeat(SHOWN);
        let shown = Secrets::default().shown(said.as_bytes(), false);
        assert_eq!(shown.len(), SHOWN);
        assert!(shown.chars().all(|c| c == 'ä'));
    }
}
