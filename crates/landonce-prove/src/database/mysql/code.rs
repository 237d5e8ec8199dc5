//! Views, routines and triggers of a copied database. What can't be read or made is a note, not a failure.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use super::copy::moved;
use super::identifier;

type Result<T, E = mysql_async::Error> = std::result::Result<T, E>;

/// Views may stand on views: whichever can be made is made, until no more can.
pub(super) async fn views(
    conn: &mut Conn,
    names: Vec<&str>,
    from: &str,
    to: &str,
    notes: &mut Vec<String>,
) -> Result<()> {
    let mut left = names;
    loop {
        let mut refused = Vec::new();
        let count = left.len();
        for name in left {
            if let Err(why) = make(conn, "VIEW", name, "Create View", from, to).await? {
                refused.push((name, why));
            }
        }
        if refused.is_empty() || refused.len() == count {
            notes.extend(refused.into_iter().map(|(name, why)| lacks("view", name, &why)));
            return Ok(());
        }
        left = refused.into_iter().map(|(name, _)| name).collect();
    }
}

pub(super) async fn routines(conn: &mut Conn, from: &str, to: &str, notes: &mut Vec<String>) -> Result<()> {
    let routines: Vec<(String, String)> = conn
        .exec(
            "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = ? \
             AND routine_type IN ('FUNCTION', 'PROCEDURE')",
            (from,),
        )
        .await?;
    for (name, kind) in routines {
        let column = if kind == "FUNCTION" { "Create Function" } else { "Create Procedure" };
        if let Err(why) = make(conn, &kind, &name, column, from, to).await? {
            notes.push(lacks(&kind.to_lowercase(), &name, &why));
        }
    }
    Ok(())
}

pub(super) async fn triggers(conn: &mut Conn, from: &str, to: &str, notes: &mut Vec<String>) -> Result<()> {
    let names: Vec<String> = conn
        .exec(
            "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = ? ORDER BY action_order",
            (from,),
        )
        .await?;
    for name in names {
        if let Err(why) = make(conn, "TRIGGER", &name, "SQL Original Statement", from, to).await? {
            notes.push(lacks("trigger", &name, &why));
        }
    }
    Ok(())
}

/// Events would run in every clone at once: they are left out.
pub(super) async fn events(conn: &mut Conn, from: &str, notes: &mut Vec<String>) -> Result<()> {
    let count: Option<i64> = conn
        .exec_first("SELECT COUNT(*) FROM information_schema.events WHERE event_schema = ?", (from,))
        .await?;
    if let Some(count @ 1..) = count {
        notes.push(format!("{count} events of the database aren't in the clones"));
    }
    Ok(())
}

/// The inner error is why this one object can't be had.
async fn make(
    conn: &mut Conn,
    kind: &str,
    name: &str,
    column: &str,
    from: &str,
    to: &str,
) -> Result<Result<(), String>> {
    let show = format!("SHOW CREATE {kind} {}.{}", identifier(from), identifier(name));
    let shown: Option<Row> = match conn.query_first(show).await {
        Ok(row) => row,
        Err(mysql_async::Error::Server(error)) => return Ok(Err(error.message)),
        Err(error) => return Err(error),
    };
    let text: Option<String> = shown.as_ref().and_then(|row| row.get::<Option<String>, _>(column)).flatten();
    let Some(text) = text else { return Ok(Err("its text may not be read".to_owned())) };
    let mode = shown.and_then(|row| row.get::<Option<String>, _>("sql_mode")).flatten();
    conn.query_drop(format!("USE {}", identifier(to))).await?;
    // Its text means what it means in the mode that it was written in.
    if let Some(mode) = &mode {
        conn.exec_drop("SET @landonce_mode = @@sql_mode, sql_mode = ?", (mode,)).await?;
    }
    let answer = conn.query_drop(without_definer(&moved(&text, from, to))).await;
    if mode.is_some() {
        conn.query_drop("SET sql_mode = @landonce_mode").await?;
    }
    match answer {
        Ok(()) => Ok(Ok(())),
        Err(mysql_async::Error::Server(error)) => Ok(Err(error.message)),
        Err(error) => Err(error),
    }
}

/// ``DEFINER=`ann`@`%` ``: only a privileged user may make things for others.
fn without_definer(text: &str) -> String {
    let Some(at) = text.find("DEFINER=`") else { return text.to_owned() };
    let mut rest = &text[at + "DEFINER=".len()..];
    for sign in ["@", " "] {
        let end = rest.get(1..).and_then(|inner| inner.find('`')).map(|end| end + 2);
        match end.and_then(|end| rest.get(end..)).and_then(|rest| rest.strip_prefix(sign)) {
            Some(behind) => rest = behind,
            None => return text.to_owned(),
        }
    }
    format!("{}{rest}", &text[..at])
}

fn lacks(kind: &str, name: &str, why: &str) -> String {
    format!("the {kind} {name} isn't in the clones: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definer_is_taken_out() {
        let text = "CREATE DEFINER=`ann`@`%` TRIGGER `t` BEFORE INSERT ON `x` FOR EACH ROW SET NEW.a = 1";
        assert_eq!(
            without_definer(text),
            "CREATE TRIGGER `t` BEFORE INSERT ON `x` FOR EACH ROW SET NEW.a = 1"
        );
        assert_eq!(without_definer("CREATE TABLE `x` (a int)"), "CREATE TABLE `x` (a int)");
    }
}
