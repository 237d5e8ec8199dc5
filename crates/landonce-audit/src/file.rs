//! Which files are read, and in which language.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::Error;

/// Larger files aren't source code that somebody wrote.
const LARGEST: u64 = 2 * 1024 * 1024;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// `.sql`
    Sql,
    /// `.sql` in a dbt project's models, snapshots or macros, and the `.yml` beside it.
    Dbt,
    /// `.py`
    Python,
    /// `.js`, `.mjs`, `.cjs`, `.jsx`
    JavaScript,
    /// `.ts`, `.tsx`, `.mts`
    TypeScript,
    /// `.go`
    Go,
    /// `.java`
    Java,
    /// `.rs`
    Rust,
    /// `.sh`, `.bash`: SQL in here-documents and `-c` arguments of psql.
    Shell,
    /// A live schema.
    Schema,
}

/// A file that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Its path, as it was given.
    pub(crate) path: PathBuf,
    /// Its language.
    pub(crate) language: Language,
    /// The dbt project that it belongs to.
    pub(crate) project: Option<PathBuf>,
}

/// What is inside of a file, or why that can't be read.
pub(crate) fn contents(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| format!("it can't be opened: {error}"))?.len();
    if size > LARGEST {
        return Err(format!(
            "it has {} MiB; files over {} MiB aren't read",
            size / 1_048_576,
            LARGEST / 1_048_576
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("it can't be read: {error}"))?;
    if bytes.contains(&0) {
        return Err("it is binary".into());
    }
    let text = String::from_utf8(bytes).map_err(|_| "it isn't UTF-8".to_owned())?;
    Ok(text)
}

/// Every file under the paths whose language is known, sorted. Files that version control ignores and hidden ones are
/// left out, unless they are named themselves.
pub(crate) fn walk(paths: &[PathBuf]) -> Result<Vec<File>, Error> {
    let mut projects = BTreeMap::new();
    let mut found = Vec::new();
    for path in paths {
        let meta = std::fs::metadata(path)
            .map_err(|error| Error::because(format!("`{}` can't be opened", path.display()), error))?;
        if meta.is_file() {
            let project = project_of(path, &mut projects);
            let language = language(path, project.as_deref()).ok_or_else(|| {
                Error::new(format!(
                    "`{}` is in no language that is read: .sql, .py, .js, .ts, .go, .java, .rs, .sh",
                    path.display()
                ))
            })?;
            found.push(File { path: path.clone(), language, project });
            continue;
        }
        for entry in WalkBuilder::new(path).require_git(false).build() {
            // A folder that can't be listed holds nothing that could be read.
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let project = project_of(entry.path(), &mut projects);
            if let Some(language) = language(entry.path(), project.as_deref()) {
                found.push(File { path: entry.into_path(), language, project });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup_by(|a, b| a.path == b.path);
    Ok(found)
}

/// The language of a file, by its name and the dbt project it stands in.
fn language(path: &Path, project: Option<&Path>) -> Option<Language> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "sql" if project.is_some_and(|project| is_model(path, project)) => Language::Dbt,
        "sql" | "ddl" | "psql" | "pgsql" => Language::Sql,
        "yml" | "yaml"
            if project.is_some_and(|project| {
                is_model(path, project) || path == project.join("dbt_project.yml")
            }) =>
        {
            Language::Dbt
        }
        "py" | "pyi" | "pyw" => Language::Python,
        "js" | "mjs" | "cjs" | "jsx" => Language::JavaScript,
        "ts" | "tsx" | "mts" | "cts" => Language::TypeScript,
        "go" => Language::Go,
        "java" => Language::Java,
        "rs" => Language::Rust,
        "sh" | "bash" | "zsh" | "ksh" => Language::Shell,
        _ => return None,
    })
}

/// Whether dbt renders it: it isn't under `target/`, `dbt_packages/` or `analyses/` of the project.
fn is_model(path: &Path, project: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(project) else { return false };
    let first = inside.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    !matches!(first.as_deref(), Some("target" | "dbt_packages" | "dbt_modules" | "analyses" | "logs"))
}

/// The nearest folder above with a `dbt_project.yml`.
fn project_of(path: &Path, known: &mut BTreeMap<PathBuf, Option<PathBuf>>) -> Option<PathBuf> {
    let folder = path.parent()?;
    if let Some(project) = known.get(folder) {
        return project.clone();
    }
    let project = folder
        .ancestors()
        .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
        .find(|folder| folder.join("dbt_project.yml").is_file())
        .map(|found| if found == Path::new(".") { PathBuf::new() } else { found.to_path_buf() });
    known.insert(folder.to_path_buf(), project.clone());
    project
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_and_hidden_files_are_left_out_unless_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join(".gitignore"), "build/\n").unwrap();
        std::fs::create_dir(root.join("build")).unwrap();
        for name in ["a.py", "build/b.py", ".c.py", "d.txt", "e.sql"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let names = |files: Vec<File>| -> Vec<String> {
            files.iter().map(|it| it.path.strip_prefix(root).unwrap().display().to_string()).collect()
        };
        assert_eq!(names(walk(&[root.to_path_buf()]).unwrap()), ["a.py", "e.sql"]);
        assert_eq!(names(walk(&[root.join("build/b.py")]).unwrap()), ["build/b.py"]);
    }

    #[test]
    fn a_dbt_project_is_known_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join("dbt_project.yml"), "name: x\n").unwrap();
        std::fs::create_dir_all(root.join("models/a")).unwrap();
        std::fs::write(root.join("models/a/m.sql"), "select 1").unwrap();
        let files = walk(&[root.join("models")]).unwrap();
        assert_eq!(files[0].language, Language::Dbt);
        assert_eq!(files[0].project.as_deref(), Some(root));
    }

    #[test]
    fn what_is_not_text_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        std::fs::write(&path, b"a\0b").unwrap();
        assert_eq!(contents(&path).unwrap_err(), "it is binary");
        std::fs::write(&path, b"\xff\xfe").unwrap();
        assert_eq!(contents(&path).unwrap_err(), "it isn't UTF-8");
    }
}
