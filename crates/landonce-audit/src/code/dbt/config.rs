//! A model's configuration: `config(…)` in the model, else the YAML beside it, else the project's.

use std::path::Path;

use serde_json::Value as Yaml;

use crate::code::Span;
use crate::file::{self, File};
use crate::sql::{Text, template};

/// What matters of it.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// view, table, incremental, snapshot, ephemeral.
    pub(super) materialized: String,
    pub(super) unique_key: Vec<String>,
    pub(super) strategy: Option<String>,
    /// A snapshot that closes what it no longer finds.
    pub(super) deletes_by_absence: bool,
    /// SQL before and after.
    pub(super) before: Vec<Text>,
    pub(super) after: Vec<Text>,
    /// Where the model is configured; its first bytes where that isn't in the model.
    pub(super) span: Span,
}

impl Config {
    /// Reads it for the model `name` whose text starts at this byte of the file.
    pub(super) fn of(name: &str, body: &str, start: usize, file: &File, is_snapshot: bool) -> Self {
        let mut it = Self {
            span: Span { start, end: start + body.lines().next().map_or(0, str::len) },
            ..Self::default()
        };
        if let Some((open, close)) = call(body) {
            it.span = Span { start: start + open, end: start + close };
            it.take_call(&body[open..close], start + open);
        }
        let project = file.project.as_deref();
        if let Some(folder) = file.path.parent() {
            it.take_siblings(name, folder);
        }
        if let Some(project) = project {
            it.take_project(project, &file.path, if is_snapshot { "snapshots" } else { "models" });
        }
        if is_snapshot {
            it.materialized = "snapshot".into();
        } else if it.materialized.is_empty() {
            it.materialized = "view".into();
        }
        it
    }

    fn take_call(&mut self, call: &str, at: usize) {
        for (key, value, offset) in arguments(call) {
            let texts = template::quoted(value);
            match key {
                "materialized" => self.materialized = texts.first().cloned().unwrap_or_default(),
                "unique_key" => self.unique_key = texts,
                "incremental_strategy" => self.strategy = texts.first().cloned(),
                "invalidate_hard_deletes" => {
                    self.deletes_by_absence |= value.trim().eq_ignore_ascii_case("true");
                }
                "hard_deletes" => self.deletes_by_absence |= texts.first().is_some_and(|it| it != "ignore"),
                "pre_hook" => self.before.extend(hooks(value, at + offset)),
                "post_hook" => self.after.extend(hooks(value, at + offset)),
                _ => {}
            }
        }
    }

    /// Fills what isn't known yet.
    fn take(&mut self, config: &Yaml) {
        let get = |key: &str| config.get(key).or_else(|| config.get(format!("+{key}")));
        let text = |key: &str| get(key).and_then(Yaml::as_str).map(str::to_owned);
        if self.materialized.is_empty() {
            self.materialized = text("materialized").unwrap_or_default();
        }
        if self.strategy.is_none() {
            self.strategy = text("incremental_strategy");
        }
        if self.unique_key.is_empty() {
            self.unique_key = match get("unique_key") {
                Some(Yaml::String(key)) => vec![key.clone()],
                Some(Yaml::Array(keys)) => keys.iter().filter_map(Yaml::as_str).map(str::to_owned).collect(),
                _ => Vec::new(),
            };
        }
        self.deletes_by_absence |= get("invalidate_hard_deletes").and_then(Yaml::as_bool).unwrap_or(false)
            || text("hard_deletes").is_some_and(|it| it != "ignore");
    }

    /// `models: [{name, config}]` in the YAML files of the same folder.
    fn take_siblings(&mut self, name: &str, folder: &Path) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut paths: Vec<_> = entries
            .flatten()
            .map(|it| it.path())
            .filter(|it| it.extension().is_some_and(|it| it == "yml" || it == "yaml"))
            .collect();
        paths.sort();
        for path in paths {
            let Ok(text) = file::contents(&path) else { continue };
            if !text.contains(name) || !text.contains("config") {
                continue;
            }
            let Ok(yaml) = serde_saphyr::from_str::<Yaml>(&text) else { continue };
            for list in ["models", "snapshots"] {
                let models = yaml.get(list).and_then(Yaml::as_array);
                let found = models
                    .into_iter()
                    .flatten()
                    .find(|it| it.get("name").and_then(Yaml::as_str) == Some(name));
                if let Some(config) = found.and_then(|it| it.get("config")) {
                    self.take(config);
                }
            }
        }
    }

    /// `models: project: folder: +materialized: …`; the deepest folder counts.
    fn take_project(&mut self, project: &Path, path: &Path, kind: &str) {
        let Ok(text) = file::contents(&project.join("dbt_project.yml")) else { return };
        let Ok(yaml) = serde_saphyr::from_str::<Yaml>(&text) else { return };
        let Some(models) = yaml.get(kind) else { return };
        let mut levels = vec![models];
        let mut at = yaml.get("name").and_then(Yaml::as_str).and_then(|name| models.get(name));
        levels.extend(at);
        let inside = path.strip_prefix(project).unwrap_or(path).with_extension("");
        for part in inside.components().skip(1) {
            at = at.and_then(|it| it.get(part.as_os_str().to_string_lossy().as_ref()));
            levels.extend(at);
        }
        for level in levels.into_iter().rev() {
            self.take(level);
        }
    }
}

/// Where `config(…)` stands in a template's tag.
fn call(body: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let at = from + body[from..].find("config(")?;
        let before = body[..at].trim_end_matches(|c: char| c.is_whitespace() || c == '-');
        if before.ends_with("{{") {
            return Some((at, at + closing(&body[at + 6..])? + 7));
        }
        from = at + 7;
    }
}

/// Where the bracket that opens the text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The keyword arguments of a call: name, value as written, where the value starts.
fn arguments(call: &str) -> Vec<(&str, &str, usize)> {
    let mut found = Vec::new();
    let Some(open) = call.find('(') else { return found };
    let inside = &call[open + 1..call.len().saturating_sub(1).max(open + 1)];
    let (mut depth, mut quote, mut start) = (0usize, None, 0);
    let mut cut = |from: usize, to: usize| {
        let part = &inside[from..to];
        if let Some((key, value)) = part.split_once('=') {
            found.push((key.trim(), value, open + 1 + from + key.len() + 1));
        }
    };
    for (at, c) in inside.char_indices() {
        match (quote, c) {
            (Some(it), _) if c == it => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                cut(start, at);
                start = at + 1;
            }
            _ => {}
        }
    }
    cut(start, inside.len());
    found
}

/// The SQL texts of a hook, with their places.
fn hooks(value: &str, at: usize) -> Vec<Text> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = value[from..].find(['\'', '"']) {
        let start = from + open + 1;
        let quote = &value[start - 1..start];
        let Some(length) = value[start..].find(quote) else { break };
        let text = &value[start..start + length];
        if crate::sql::looks_like_sql(text) {
            found.push(Text::verbatim(text, at + start));
        }
        from = start + length + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Language;

    #[test]
    fn the_nearest_configuration_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("models/marts")).unwrap();
        std::fs::write(
            root.join("dbt_project.yml"),
            "name: shop\nmodels:\n  shop:\n    +materialized: table\n    marts:\n      +materialized: incremental\n      +unique_key: id\n",
        )
        .unwrap();
        std::fs::write(
            root.join("models/marts/schema.yml"),
            "models:\n  - name: orders\n    config:\n      incremental_strategy: append\n",
        )
        .unwrap();
        let file = File {
            path: root.join("models/marts/orders.sql"),
            language: Language::Dbt,
            project: Some(root.to_path_buf()),
        };
        let config = Config::of("orders", "select 1", 0, &file, false);
        assert_eq!(config.materialized, "incremental");
        assert_eq!(config.unique_key, ["id"]);
        assert_eq!(config.strategy.as_deref(), Some("append"));
        let config = Config::of(
            "orders",
            "{{ config(materialized='view', tags=['a, b']) }} select 1",
            0,
            &file,
            false,
        );
        assert_eq!(config.materialized, "view");
    }
}
