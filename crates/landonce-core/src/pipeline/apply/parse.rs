//! Finding `:name` in a statement: outside of texts, quoted names, comments, dollar quotes and casts.

use super::ApplyPiece;

/// A statement's pieces, and the names that its parameters stand for.
type Parsed = (Vec<ApplyPiece>, Vec<String>);

/// What a statement may begin with.
const VERBS: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

/// Takes one statement apart.
pub(super) fn statement(sql: &str) -> Result<Parsed, String> {
    let sql = sql.trim();
    let sql = sql.strip_suffix(';').unwrap_or(sql).trim_end();
    if sql.contains('\0') {
        return Err("U+0000 can't stand in a statement".to_owned());
    }
    let (mut pieces, mut names): Parsed = (Vec::new(), Vec::new());
    let (mut text, mut verb) = (0, None);
    let mut at = 0;
    while at < sql.len() {
        let rest = &sql[at..];
        if let Some(long) = skipped(rest, is_in_word(&sql[..at]))? {
            at += long;
            continue;
        }
        if rest.starts_with("::") || rest.starts_with(":=") {
            at += 2;
            continue;
        }
        if let Some(name) = rest.strip_prefix(':').map(word).filter(|name| !name.is_empty()) {
            pieces.push(ApplyPiece::Text(sql[text..at].to_owned()));
            let known = names.iter().position(|known| known == name);
            pieces.push(ApplyPiece::Parameter(known.unwrap_or(names.len())));
            if known.is_none() {
                names.push(name.to_owned());
            }
            at += 1 + name.len();
            text = at;
            continue;
        }
        if rest.starts_with(';') {
            return Err("more than one statement; write each as an entry of its own".to_owned());
        }
        if rest.starts_with('?')
            || rest.strip_prefix('$').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Err("a parameter is written `:column`".to_owned());
        }
        let long = match word(rest).len() {
            0 => rest.chars().next().map_or(1, char::len_utf8),
            long => {
                verb.get_or_insert(&rest[..long]);
                long
            }
        };
        at += long;
    }
    let verb = verb.unwrap_or_default();
    if !VERBS.iter().any(|known| known.eq_ignore_ascii_case(verb)) {
        return Err(format!(
            "begins with `{}`; one INSERT, UPDATE or DELETE is due",
            crate::bad_record::shorten(verb)
        ));
    }
    pieces.push(ApplyPiece::Text(sql[text..].to_owned()));
    Ok((pieces, names))
}

/// A name or a number at the beginning.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len());
    if text.starts_with('$') { "" } else { &text[..end] }
}

fn is_in_word(before: &str) -> bool {
    before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// How long what begins here is, if nothing in it is a parameter.
pub(in crate::pipeline) fn skipped(rest: &str, is_in_word: bool) -> Result<Option<usize>, String> {
    let open = |what: &str| format!("{what} isn't closed");
    let is_escaped =
        |rest: &str| rest.len() > 1 && rest.starts_with(['E', 'e']) && rest[1..].starts_with('\'');
    if rest.starts_with('\'') || (!is_in_word && is_escaped(rest)) {
        let start = usize::from(!rest.starts_with('\''));
        return quoted(rest, start, '\'', start == 1).ok_or_else(|| open("a text")).map(Some);
    }
    if let Some(quote) = rest.chars().next().filter(|quote| matches!(quote, '"' | '`')) {
        return quoted(rest, 0, quote, false).ok_or_else(|| open("a quoted name")).map(Some);
    }
    if rest.starts_with("--") {
        return Ok(Some(rest.find('\n').unwrap_or(rest.len())));
    }
    if rest.starts_with("/*") {
        return comment(rest).ok_or_else(|| open("a comment")).map(Some);
    }
    if !is_in_word && let Some(tag) = dollar_tag(rest) {
        let end = rest[tag.len()..].find(tag).ok_or_else(|| open("a dollar quote"))?;
        return Ok(Some(tag.len() * 2 + end));
    }
    Ok(None)
}

/// Behind the quote that closes; doubled ones don't, and escaped ones where backslashes escape.
fn quoted(rest: &str, start: usize, quote: char, has_escapes: bool) -> Option<usize> {
    let mut chars = rest.char_indices().skip(start + 1).peekable();
    while let Some((at, c)) = chars.next() {
        if has_escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + quote.len_utf8());
        }
    }
    None
}

/// Behind a comment, in which others may stand.
fn comment(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// `$$` or `$tag$` at the beginning.
fn dollar_tag(rest: &str) -> Option<&str> {
    let behind = rest.strip_prefix('$')?;
    let end = behind.find('$')?;
    let tag = &behind[..end];
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !tag.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| &rest[..end + 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statement with its parameters as `<name>`.
    fn shown(sql: &str) -> String {
        let (pieces, names) = statement(sql).unwrap();
        let show = |piece: &ApplyPiece| match piece {
            ApplyPiece::Text(text) => text.clone(),
            ApplyPiece::Parameter(at) => format!("<{}>", names[*at]),
        };
        pieces.iter().map(show).collect()
    }

    #[test]
    fn a_name_behind_a_colon_is_a_parameter() {
        let sql = "UPDATE account SET balance = balance + :amount, last=:amount WHERE id=:customer_id;";
        assert_eq!(
            shown(sql),
            "UPDATE account SET balance = balance + <amount>, last=<amount> WHERE id=<customer_id>"
        );
        assert_eq!(statement(sql).unwrap().1, ["amount", "customer_id"]);
    }

    #[test]
    fn casts_texts_names_and_comments_are_left_alone() {
        for sql in [
            "INSERT INTO t VALUES (now()::date, ':a', 'it''s :a', \":a\", E'\\':a')",
            "UPDATE t SET a = $$ :a ; $$ || $x$ $$ :a $x$",
            "DELETE FROM t -- :a ;\nWHERE true /* :a /* ; */ :b */",
            "UPDATE \"ü:a\" SET a = 'ü' || ':ä'",
        ] {
            assert_eq!(shown(sql), sql);
        }
        assert_eq!(
            shown("INSERT INTO t VALUES (:a::numeric, 'x':b)"),
            "INSERT INTO t VALUES (<a>::numeric, 'x'<b>)"
        );
        assert_eq!(shown("-- why\nupdate t set a=:a"), "-- why\nupdate t set a=<a>");
    }

    #[test]
    fn what_is_not_one_change_is_refused() {
        for (sql, why) in [
            ("", "one INSERT, UPDATE or DELETE is due"),
            ("SELECT 1", "begins with `SELECT`"),
            ("WITH x AS (DELETE FROM t) SELECT 1", "begins with `WITH`"),
            ("UPDATE t SET a = 1; DROP TABLE t", "more than one statement"),
            ("UPDATE t SET a = $1", "is written `:column`"),
            ("UPDATE t SET a = ?", "is written `:column`"),
            ("UPDATE t SET a = 'x", "a text isn't closed"),
            ("UPDATE t SET a = $$x", "a dollar quote isn't closed"),
            ("UPDATE t /* a", "a comment isn't closed"),
        ] {
            let told = statement(sql).unwrap_err();
            assert!(told.contains(why), "{sql}: {told}");
        }
    }
}
