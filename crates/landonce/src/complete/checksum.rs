//! A checksum file: what `sha256sum` prints for one file or for many (also with `--tag`), or the bare digits.

use super::Finding;
use super::side::Side;
use crate::batch::Batch;

/// One line.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    digest: String,
    name: Option<String>,
}

/// Looks for the payload's SHA-256.
pub(super) fn find(side: &Side, batch: &Batch) -> Finding {
    let shown = side.shown();
    let entries = entries(&side.text).map_err(|why| format!("{shown}: {why}"))?;
    let digest = hex::encode(batch.digest());
    let name = batch.payload().path().and_then(|path| path.file_name()).and_then(|name| name.to_str());
    match entries.as_slice() {
        [] => Err(format!("{shown} is empty: it should hold the file's SHA-256")),
        // Of one line the digest decides: equal bytes are whole under whatever name.
        [only] if only.digest == digest => Ok(format!("{shown} has its SHA-256")),
        [Entry { digest: other, name: of }] => {
            let of = match (of, name) {
                (Some(of), Some(name)) if base(of) != name => format!(" (of `{of}`, another file)"),
                _ => String::new(),
            };
            Err(format!("{shown} declares SHA-256 {other}{of}, the bytes have {digest}"))
        }
        all => {
            let named: Vec<&Entry> = all
                .iter()
                .filter(|entry| entry.name.as_deref().map(base) == name && name.is_some())
                .collect();
            match named.first() {
                None => Err(format!("{shown} doesn't list this file")),
                // Two folders may each have a file of that name.
                Some(_) if named.iter().any(|entry| entry.digest == digest) => {
                    Ok(format!("{shown} has its SHA-256"))
                }
                Some(first) => {
                    Err(format!("{shown} declares SHA-256 {}, the bytes have {digest}", first.digest))
                }
            }
        }
    }
}

fn base(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

fn entries(text: &str) -> Result<Vec<Entry>, String> {
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| {
            entry(line).ok_or_else(|| {
                format!("line {number} isn't what `sha256sum` prints (64 hex digits, and perhaps a name)")
            })
        })
        .collect()
}

fn entry(line: &str) -> Option<Entry> {
    if let Some(tagged) = line.strip_prefix("SHA256 (") {
        let (name, digest) = tagged.rsplit_once(") = ")?;
        return Some(Entry { digest: digits(digest)?, name: Some(name.to_owned()) });
    }
    // A backslash says that the name is escaped.
    let is_escaped = line.starts_with('\\');
    let line = line.strip_prefix('\\').unwrap_or(line);
    let Some((digest, name)) = line.split_once([' ', '\t']) else {
        return Some(Entry { digest: digits(line)?, name: None });
    };
    let name = name.strip_prefix([' ', '*']).unwrap_or(name);
    let name = if is_escaped { name.replace("\\n", "\n").replace("\\\\", "\\") } else { name.to_owned() };
    Some(Entry { digest: digits(digest)?, name: Some(name) })
}

fn digits(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_kind_are_read() {
        let hex = "AB".repeat(32);
        let digest = "ab".repeat(32);
        let named = |name: &str| Entry { digest: digest.clone(), name: Some(name.to_owned()) };
        for (line, want) in [
            (hex.clone(), Entry { digest: digest.clone(), name: None }),
            (format!("{hex}  a b.csv"), named("a b.csv")),
            (format!("{hex} *dir/a.csv"), named("dir/a.csv")),
            (format!("{hex}\ta.csv"), named("a.csv")),
            (format!("\\{hex}  a\\nb"), named("a\nb")),
            (format!("SHA256 (a (1).csv) = {hex}"), named("a (1).csv")),
        ] {
            assert_eq!(entries(&format!("# sums\r\n\r\n{line}\r\n")).unwrap(), [want], "{line}");
        }
    }

    #[test]
    fn what_is_no_sha_256_is_told() {
        for line in ["d41d8cd98f00b204e9800998ecf8427e  a.csv", "<html>", "SHA256 (a)", "MD5 (a) = 12"] {
            let told = entries(&format!("\n{line}")).unwrap_err();
            assert!(told.starts_with("line 2 isn't what `sha256sum` prints"), "{told}");
        }
        assert_eq!(entries("\n").unwrap(), []);
    }
}
