//! dbt: a model is a function whose statements are what its materialization sends.
//!
//! An incremental model is an INSERT (without a unique key, or with the `append` strategy), or a DELETE of the keys that come
//! again and an INSERT in one transaction. The configuration is read from the model, the YAML beside it and the project.

mod config;

use std::path::Path;

use super::{Call, Function, Scope, Span, Step, Unread, Use};
use crate::file::File;
use crate::sql::{Style, Text, read};
use config::Config;

/// Reads a model, a snapshot, a macro or a YAML file of a project.
pub(crate) fn read_file(file: &File, text: &str) -> (Vec<Function>, Vec<Unread>) {
    let is_yaml = file
        .path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("yml") || it.eq_ignore_ascii_case("yaml"));
    if is_yaml {
        // What it configures is read with the models.
        return (Vec::new(), Vec::new());
    }
    let mut unread = Vec::new();
    let project = file.project.as_deref().unwrap_or(Path::new(""));
    let folder = file.path.strip_prefix(project).ok().and_then(|it| it.components().next());
    let folder = folder.map(|it| it.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
    if matches!(folder.as_str(), "macros" | "tests") {
        return (Vec::new(), macros(text));
    }
    let mut functions = Vec::new();
    let stem = file.path.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    for (name, span, is_snapshot) in parts(text, &stem) {
        let Some(body) = text.get(span.start..span.end) else { continue };
        let config = Config::of(&name, body, span.start, file, is_snapshot);
        let mut decorators = vec!["dbt".to_owned(), format!("dbt.{}", config.materialized)];
        decorators.extend(config.strategy.as_ref().map(|it| format!("dbt.{it}")));
        let mut steps = Vec::new();
        let mut hook = |text: &Text, steps: &mut Vec<Step>| statement(text, &name, steps, &mut unread);
        for before in &config.before {
            hook(before, &mut steps);
        }
        let body = Text::verbatim(body, span.start);
        model(&name, &config, &body, &mut steps, &mut hook);
        for after in &config.after {
            hook(after, &mut steps);
        }
        functions.push(Function { name, span, decorators, body: steps });
    }
    // The same query in two statements is unread only once.
    unread.sort_by_key(|it| it.span);
    unread.dedup_by(|a, b| a.span == b.span);
    (functions, unread)
}

/// The file's models: one, or a snapshot each.
fn parts(text: &str, stem: &str) -> Vec<(String, Span, bool)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((name, start, end)) = snapshot(text, at) {
        found.push((name, Span { start, end }, true));
        at = end;
    }
    if found.is_empty() {
        found.push((stem.to_owned(), Span { start: 0, end: text.len() }, false));
    }
    found
}

/// `{% snapshot name %} … {% endsnapshot %}`.
fn snapshot(text: &str, from: usize) -> Option<(String, usize, usize)> {
    let mut at = from;
    loop {
        let open = at + text[at..].find("{%")?;
        let close = open + text[open..].find("%}")?;
        let inside = text[open + 2..close].trim_matches(|c: char| c == '-' || c.is_whitespace());
        at = close + 2;
        if let Some(name) = inside.strip_prefix("snapshot ") {
            let end = text[at..].find("endsnapshot").map_or(text.len(), |it| at + it);
            let end = text[..end].rfind("{%").filter(|it| *it >= at).unwrap_or(end);
            return Some((name.trim().to_owned(), at, end));
        }
    }
}

/// The statements that a materialization sends.
fn model(
    name: &str,
    config: &Config,
    body: &Text,
    steps: &mut Vec<Step>,
    send: &mut dyn FnMut(&Text, &mut Vec<Step>),
) {
    let place = config.span;
    let table = format!("\"{}\"", name.replace('"', ""));
    let with = |before: &str, after: &str| {
        let mut text = Text::new();
        text.push_for(before, place);
        text.push_text(body);
        text.push_for(after, place);
        text
    };
    let keys: Vec<String> =
        config.unique_key.iter().map(|it| format!("\"{}\"", it.replace('"', ""))).collect();
    let insert = with(&format!("INSERT INTO {table} "), "");
    match (config.materialized.as_str(), config.strategy.as_deref()) {
        ("incremental", Some("append")) => send(&insert, steps),
        ("incremental", strategy)
            if keys.is_empty() && !matches!(strategy, Some("insert_overwrite" | "microbatch")) =>
        {
            send(&insert, steps);
        }
        ("incremental", _) => {
            let what = if keys.is_empty() { "\"{partition}\"".to_owned() } else { list(&keys) };
            let picked = if keys.is_empty() { what.clone() } else { keys.join(", ") };
            let delete = with(
                &format!("DELETE FROM {table} WHERE {what} IN (SELECT {picked} FROM ("),
                ") AS dbt_source)",
            );
            let mut inside = Vec::new();
            send(&delete, &mut inside);
            send(&insert, &mut inside);
            scope(place, inside, steps);
        }
        ("snapshot", _) => {
            let key = keys.first().cloned().unwrap_or_else(|| "\"{unique_key}\"".into());
            let mut inside = Vec::new();
            if config.deletes_by_absence {
                send(
                    &with(
                        &format!(
                            "UPDATE {table} SET \"dbt_valid_to\" = now() WHERE {key} NOT IN (SELECT {key} FROM ("
                        ),
                        ") AS s)",
                    ),
                    &mut inside,
                );
            }
            send(
                &with(&format!("INSERT INTO {table} SELECT * FROM ("), ") AS dbt_source WHERE \"{changed}\""),
                &mut inside,
            );
            scope(place, inside, steps);
        }
        ("table" | "seed", _) => send(&with(&format!("CREATE TABLE {table} AS "), ""), steps),
        ("ephemeral", _) => send(body, steps),
        _ => send(&with(&format!("CREATE VIEW {table} AS "), ""), steps),
    }
}

fn list(keys: &[String]) -> String {
    if let [key] = keys { key.clone() } else { format!("({})", keys.join(", ")) }
}

/// dbt sends both statements in one transaction.
fn scope(place: Span, inside: Vec<Step>, steps: &mut Vec<Step>) {
    if inside.is_empty() {
        return;
    }
    let opener =
        Call { span: place, callee: "dbt.transaction".into(), arguments: Vec::new(), assigned_to: None };
    steps.push(Step::Scope(Scope { span: place, opener, body: inside }));
}

fn statement(text: &Text, this: &str, steps: &mut Vec<Step>, unread: &mut Vec<Unread>) {
    let style = Style { this: Some(this.to_owned()), ..Style::default() };
    let statements = read(text, &style, unread);
    if statements.is_empty() {
        return;
    }
    let span = statements[0].span;
    let call = Call { span, callee: "dbt".into(), arguments: Vec::new(), assigned_to: None };
    steps.push(Step::Sql(Box::new(Use { span, call, statements, arguments: Vec::new(), is_many: false })));
}

/// A macro's SQL depends on who calls it: it is unread if it writes.
fn macros(text: &str) -> Vec<Unread> {
    let upper = text.to_ascii_uppercase();
    ["INSERT INTO", "DELETE FROM", "MERGE INTO", "UPDATE ", "TRUNCATE "]
        .iter()
        .filter_map(|word| upper.find(word).map(|at| (at, word.trim_end().len())))
        .min()
        .map(|(at, length)| Unread {
            span: Span { start: at, end: at + length },
            why: "a macro's SQL depends on who calls it".into(),
        })
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::outline::outline;
    use crate::file::Language;

    fn read(text: &str) -> String {
        let file =
            File { path: "models/orders.sql".into(), language: Language::Dbt, project: Some("".into()) };
        let (functions, unread) = read_file(&file, text);
        outline(&functions) + &unread.iter().map(|it| format!("unread {}\n", it.why)).collect::<String>()
    }

    #[test]
    fn an_incremental_model_without_a_key_appends() {
        insta::assert_snapshot!(read("{{ config(materialized='incremental') }}\nselect * from {{ ref('raw') }}"), @r#"
@dbt @dbt.incremental fn orders
  sql dbt | INSERT INTO "orders" SELECT * FROM "raw"
"#);
    }

    #[test]
    fn an_incremental_model_with_a_key_replaces_in_one_transaction() {
        let text = "{{ config(materialized=\"incremental\", unique_key=['a', 'b'], post_hook=\"delete from log\") }}\nwith x as (select \
                    * from {{ source('r', 'o') }}) select a, b, current_date as day from x {% if is_incremental() %} where t > (select \
                    max(t) from {{ this }}) {% endif %}";
        insta::assert_snapshot!(read(text), @r#"
@dbt @dbt.incremental fn orders
  scope dbt.transaction
    sql dbt | DELETE FROM "orders" WHERE ("a", "b") IN (SELECT "a", "b" FROM (WITH x AS (SELECT * FROM "r"."o") SELECT a, b, current_date AS day FROM x WHERE t > (SELECT max(t) FROM "orders")) AS dbt_source)
    sql dbt | INSERT INTO "orders" WITH x AS (SELECT * FROM "r"."o") SELECT a, b, current_date AS day FROM x WHERE t > (SELECT max(t) FROM "orders")
  sql dbt | DELETE FROM log
"#);
    }

    #[test]
    fn a_snapshot_that_takes_absence_for_deletion() {
        let text = "{% snapshot people %}{{ config(unique_key='id', strategy='check', check_cols='all', \
                    invalidate_hard_deletes=True) }} select * from {{ source('r', 'p') }}{% endsnapshot %}";
        insta::assert_snapshot!(read(text), @r#"
@dbt @dbt.snapshot fn people
  scope dbt.transaction
    sql dbt | UPDATE "people" SET "dbt_valid_to" = now() WHERE "id" NOT IN (SELECT "id" FROM (SELECT * FROM "r"."p") AS s)
    sql dbt | INSERT INTO "people" SELECT * FROM (SELECT * FROM "r"."p") AS dbt_source WHERE "{changed}"
"#);
    }
}
