//! The user's words with what they stand for: placeholders, the input, the database, and paths into the folder's copy.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::Setting;
use crate::database::sqlite_path;
use crate::database::url::Url;
use crate::error::{Error, Result};

/// The folder that was copied, in every spelling, and its copy.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) from: Vec<PathBuf>,
    pub(super) to: PathBuf,
}

/// What replaces a placeholder.
#[derive(Debug)]
pub(super) struct Values {
    is_sqlite: bool,
    pairs: Vec<(&'static str, Option<String>)>,
}

impl Values {
    /// The values that a setting gives.
    pub(super) fn of(setting: &Setting) -> Result<Self> {
        let file = sqlite_path(&setting.url).map(|path| path.to_string_lossy().into_owned());
        let is_sqlite = file.is_some();
        let url = if is_sqlite { Url::default() } else { Url::parse(&setting.url)? };
        let text = |value: Option<String>| Some(value.unwrap_or_default());
        let of_server = |value: Option<String>| if is_sqlite { None } else { text(value) };
        let port = url.port.map(|port| port.to_string());
        let input = setting.input.as_ref().map(|input| input.to_string_lossy().into_owned());
        let whole = url_for_command(setting);
        Ok(Self {
            is_sqlite,
            pairs: vec![
                ("{db}", Some(file.clone().unwrap_or_else(|| whole.clone()))),
                ("{url}", Some(whole)),
                ("{input}", input),
                ("{hook}", setting.hook.clone()),
                ("{host}", of_server(url.host)),
                ("{port}", of_server(port)),
                ("{user}", of_server(url.user)),
                ("{password}", of_server(url.password)),
                ("{database}", file.or_else(|| text(url.database))),
            ],
        })
    }

    /// Replaces placeholders in one go: a value is never searched for others.
    fn fill(&self, text: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.first() {
            match self.pairs.iter().find(|(name, _)| rest.starts_with(name.as_bytes())) {
                Some((name, Some(value))) => {
                    out.extend(value.as_bytes());
                    rest = &rest[name.len()..];
                }
                Some((name, None)) => return Err(self.missing(name)),
                None => {
                    out.push(*first);
                    rest = &rest[1..];
                }
            }
        }
        Ok(out)
    }

    fn missing(&self, name: &str) -> Error {
        Error::new(match name {
            "{input}" => {
                "the command says {input}, but no input is given: name the file with `--input`".to_owned()
            }
            "{hook}" => "the command says {hook}, but this run has no webhook".to_owned(),
            name if self.is_sqlite => {
                format!("the command says {name}, but SQLite has no server: {{db}} is the file's path")
            }
            name => format!("the command says {name}, which has no value here"),
        })
    }
}

/// The database's URL as the command spells URLs: `postgresql+asyncpg://` where the user's own has a driver.
pub(super) fn url_for_command(setting: &Setting) -> String {
    match (&setting.source_url, setting.url.split_once("://")) {
        (Some(source), Some(_)) if source.split("://").next().is_some_and(|scheme| scheme.contains('+')) => {
            redirected_url(source, source, &setting.url)
        }
        _ => setting.url.clone(),
    }
}

/// Every word of the command as the run gets it.
pub(super) fn filled(command: &[String], setting: &Setting, moved: &Moved) -> Result<Vec<OsString>> {
    let values = Values::of(setting)?;
    let says_input = command.iter().any(|word| word.contains("{input}"));
    let input = match (&setting.original_input, &setting.input) {
        (Some(original), Some(placed)) if !says_input => Some((moved.resolved(original), placed)),
        _ => None,
    };
    let mut words = Vec::with_capacity(command.len());
    for (at, word) in command.iter().enumerate() {
        // The program itself is no input, whatever it is called.
        if at > 0
            && let Some((original, placed)) = &input
            && let Some(word) = moved.in_place_of(word, original, placed)
        {
            words.push(word);
            continue;
        }
        let word = redirected(OsStr::new(word), setting, moved);
        words.push(OsString::from_vec(values.fill(moved.apply(&word).as_bytes())?));
    }
    Ok(words)
}

/// A word or variable that names the user's own database names the clone instead: nothing reaches the user's data by it.
pub(super) fn redirected(word: &OsStr, setting: &Setting, moved: &Moved) -> OsString {
    let (Some(source), Some(text)) = (setting.source_url.as_deref(), word.to_str()) else {
        return word.to_owned();
    };
    if let (Some(source), Some(clone)) = (sqlite_path(source), sqlite_path(&setting.url)) {
        let name = source.file_name().unwrap_or_default();
        // Most words can't be meant, and needn't be looked up.
        if !text.contains(&*name.to_string_lossy()) {
            return word.to_owned();
        }
        let source = moved.resolved(&source);
        let (front, value) =
            text.split_once('=').map_or(("", text), |(name, _)| text.split_at(name.len() + 1));
        if value.starts_with("sqlite:")
            && sqlite_path(value).is_some_and(|path| moved.resolved(&path) == source)
        {
            return format!("{front}{}", setting.url).into();
        }
        return moved.in_place_of(text, &source, &clone).unwrap_or_else(|| word.to_owned());
    }
    redirected_url(text, source, &setting.url).into()
}

/// The text with one URL in another's place, whatever its scheme (`postgresql+asyncpg`) and parameters are in the text.
fn redirected_url(text: &str, source: &str, url: &str) -> String {
    let place = |url: &str| {
        let at = url.find("://")?;
        Some(url[at..].split('?').next().unwrap_or_default().to_owned())
    };
    let (Some(source), Some(bare)) = (place(source), place(url)) else { return text.to_owned() };
    if source.trim_matches([':', '/']).is_empty() {
        return text.to_owned();
    }
    let whole = url.find("://").map_or(url, |at| &url[at..]);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&source) {
        let (before, behind) = (&rest[..at], &rest[at + source.len()..]);
        out.push_str(before);
        if behind.starts_with(|c: char| c.is_alphanumeric() || "_-.:/%".contains(c)) {
            // Another database, whose name begins like this one's.
            out.push_str(&source);
            rest = behind;
            continue;
        }
        // SQLAlchemy hands parameters to the driver, and not every driver knows `sslmode`: it has that from PGSSLMODE.
        let scheme = before.rsplit(|c: char| !c.is_alphanumeric() && c != '+').next().unwrap_or_default();
        out.push_str(if scheme.contains('+') { &bare } else { whole });
        let end = if behind.starts_with('?') {
            behind.find(|c: char| c.is_whitespace() || "'\"`,;)".contains(c)).unwrap_or(behind.len())
        } else {
            0
        };
        rest = &behind[end..];
    }
    out.push_str(rest);
    out
}

impl Moved {
    /// A text in which paths into the folder are paths into its copy.
    pub(super) fn apply(&self, text: &OsStr) -> OsString {
        let mut text = text.as_bytes().to_vec();
        for from in &self.from {
            let from = from.as_os_str().as_bytes();
            // Of the root everything is a part.
            if from.len() < 2 {
                continue;
            }
            let mut at = 0;
            while let Some(found) = find(&text[at..], from) {
                let (start, end) = (at + found, at + found + from.len());
                if begins_a_path(&text[..start]) && ends_a_part(&text[end..]) {
                    let to = self.to.as_os_str().as_bytes();
                    text.splice(start..end, to.iter().copied());
                    at = start + to.len();
                } else {
                    at = end;
                }
            }
        }
        OsString::from_vec(text)
    }

    /// Where the copy of a file is that lies in the folder.
    pub(super) fn copy_of(&self, file: &Path) -> Option<PathBuf> {
        let inside = self.resolved(file).strip_prefix(self.from.first()?).ok()?.to_owned();
        Some(self.to.join(inside))
    }

    /// Where a path leads that the user wrote in the original folder, links resolved; the file itself needn't be there.
    fn resolved(&self, path: &Path) -> PathBuf {
        let path = self.from.first().map_or_else(|| path.to_owned(), |folder| folder.join(path));
        path.canonicalize().unwrap_or_else(|_| {
            let folder = path.parent().and_then(|parent| parent.canonicalize().ok());
            match (folder, path.file_name()) {
                (Some(folder), Some(name)) => folder.join(name),
                _ => path,
            }
        })
    }

    /// The word with another file in the place of this (resolved) one: `day.csv`, `--file=day.csv`, `@day.csv`.
    fn in_place_of(&self, word: &str, original: &Path, placed: &Path) -> Option<OsString> {
        let fronts = ["", "@"].into_iter().chain(word.split_once('=').map(|(name, _)| &word[..=name.len()]));
        for front in fronts {
            let Some(path) = word.strip_prefix(front).filter(|path| !path.is_empty()) else { continue };
            if self.resolved(Path::new(path)) == original {
                let mut word = OsString::from(front);
                word.push(placed);
                return Some(word);
            }
        }
        None
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Whether a path may begin behind this: at the start, behind a sign that is no part of paths, in `file://` and
/// `sqlite:///`, and behind a short option (`-I/folder`).
fn begins_a_path(before: &[u8]) -> bool {
    let slashes = before.iter().rev().take_while(|&&byte| byte == b'/').count();
    let before_them = &before[..before.len() - slashes];
    match before_them.last() {
        Some(b':') => true,
        _ if slashes > 0 => false,
        None => true,
        Some(byte) if b"=,;'\"`([{<>|&@ \t\n".contains(byte) => true,
        Some(_) => matches!(before, [b'-', letter] if letter.is_ascii_alphabetic()),
    }
}

fn ends_a_part(behind: &[u8]) -> bool {
    behind.first().is_none_or(|byte| b"/:,;'\"`)]}<>|& \t\n?#".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved() -> Moved {
        Moved { from: vec!["/u/proj".into()], to: "/t/copy".into() }
    }

    #[test]
    fn only_whole_paths_into_the_folder_are_moved() {
        for (text, expected) in [
            ("/u/proj", "/t/copy"),
            ("/u/proj/in.py", "/t/copy/in.py"),
            ("--at=/u/proj/x", "--at=/t/copy/x"),
            ("-I/u/proj/x", "-I/t/copy/x"),
            ("file:///u/proj/x", "file:///t/copy/x"),
            ("sqlite:////u/proj/x", "sqlite:////t/copy/x"),
            ("cd /u/proj&&x >/u/proj/y", "cd /t/copy&&x >/t/copy/y"),
            ("/u/proj/bin:/usr/bin:/u/proj", "/t/copy/bin:/usr/bin:/t/copy"),
            ("/u/project/x", "/u/project/x"),
            ("/mnt/u/proj/x", "/mnt/u/proj/x"),
            ("/x//u/proj", "/x//u/proj"),
        ] {
            assert_eq!(moved().apply(OsStr::new(text)), expected, "{text}");
        }
    }

    #[test]
    fn placeholders_are_replaced_in_one_go() {
        let setting = Setting {
            url: "postgres://ann:%7Bhost%7D@127.0.0.1:6000/shop?sslmode=disable".into(),
            ..Setting::default()
        };
        let command = ["{user}/{password}@{host}:{port}/{database}".to_owned(), "{\"a\":{x}}".to_owned()];
        let words = filled(&command, &setting, &moved()).unwrap();
        assert_eq!(words, ["ann/{host}@127.0.0.1:6000/shop", "{\"a\":{x}}"]);
        let error = filled(&["{input}".to_owned()], &setting, &moved()).unwrap_err().to_string();
        assert!(error.contains("--input"), "{error}");
    }

    #[test]
    fn db_is_the_path_of_a_sqlite_file_and_else_the_url() {
        let setting = Setting { url: "sqlite:////t/my.db".into(), ..Setting::default() };
        let words = filled(&["{db}".into(), "{url}".into()], &setting, &moved()).unwrap();
        assert_eq!(words, ["/t/my.db", "sqlite:////t/my.db"]);
        assert!(filled(&["{host}".into()], &setting, &moved()).is_err());
        let setting = Setting { url: "mysql://root@h/d".into(), ..Setting::default() };
        assert_eq!(filled(&["{db}".into()], &setting, &moved()).unwrap(), ["mysql://root@h/d"]);
    }

    #[test]
    fn a_url_is_redirected_whatever_its_scheme_and_parameters() {
        let (source, url) =
            ("postgres://ann:p@db/shop?sslmode=require", "postgres://ann:p@127.0.0.1:6/c?sslmode=disable");
        for (text, expected) in [
            ("postgres://ann:p@db/shop", url),
            (
                "x='postgresql://ann:p@db/shop?a=b' y",
                "x='postgresql://ann:p@127.0.0.1:6/c?sslmode=disable' y",
            ),
            (
                "--to=postgresql+asyncpg://ann:p@db/shop?ssl=require",
                "--to=postgresql+asyncpg://ann:p@127.0.0.1:6/c",
            ),
            ("postgres://ann:p@db/shop_test", "postgres://ann:p@db/shop_test"),
            ("postgres://db/shop", "postgres://db/shop"),
        ] {
            assert_eq!(redirected_url(text, source, url), expected, "{text}");
        }
        assert_eq!(redirected_url("http://web/", "postgres://", url), "http://web/");
        let with = |source: &str| {
            url_for_command(&Setting {
                url: url.into(),
                source_url: Some(source.into()),
                ..Setting::default()
            })
        };
        assert_eq!(
            with("postgresql+asyncpg://ann:p@db/shop?x=y"),
            "postgresql+asyncpg://ann:p@127.0.0.1:6/c"
        );
        assert_eq!(with(source), url);
    }

    #[test]
    fn the_users_own_database_is_never_named() {
        let setting = Setting {
            url: "postgres://ann@127.0.0.1:6000/clone".into(),
            source_url: Some("postgres://ann:p@db/shop".into()),
            ..Setting::default()
        };
        let words =
            filled(&["x".into(), "--to=postgres://ann:p@db/shop".into()], &setting, &moved()).unwrap();
        assert_eq!(words, ["x", "--to=postgres://ann@127.0.0.1:6000/clone"]);

        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let moved = Moved { from: vec![folder.clone()], to: "/t/copy".into() };
        let setting = Setting {
            url: "sqlite:////t/clone/my.db".into(),
            source_url: Some(format!("sqlite:{}", folder.join("my.db").display())),
            ..Setting::default()
        };
        for (word, expected) in [
            ("my.db", "/t/clone/my.db"),
            ("./my.db", "/t/clone/my.db"),
            ("--db=my.db", "--db=/t/clone/my.db"),
            ("sqlite:my.db", "sqlite:////t/clone/my.db"),
            ("other.db", "other.db"),
        ] {
            let words = filled(&["x".into(), word.into()], &setting, &moved).unwrap();
            assert_eq!(words, ["x", expected], "{word}");
        }
    }
}
