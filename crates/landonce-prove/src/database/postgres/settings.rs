//! `ALTER DATABASE … SET`: a copy by TEMPLATE doesn't have it, and a pipeline may depend on it.

use tokio_postgres::Client;

use super::server::{failed, identifier, literal};
use crate::error::Result;

/// Settings whose value is a list of names, each quoted by itself (`GUC_LIST_QUOTE`; pg_dump has the same list).
const LISTS: &[&str] = &[
    "local_preload_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

/// Gives one database the settings of another, also those of single roles in it. Returns what couldn't be set.
pub(super) async fn carry_over(client: &Client, from: &str, to: &str) -> Result<Vec<String>> {
    let rows = client
        .query(
            "SELECT unnest(setting.setconfig), role.rolname FROM pg_db_role_setting setting \
             JOIN pg_database database ON database.oid = setting.setdatabase \
             LEFT JOIN pg_roles role ON role.oid = setting.setrole \
             WHERE database.datname = $1 AND (setting.setrole = 0 OR role.oid IS NOT NULL)",
            &[&from],
        )
        .await
        .map_err(|error| failed("reading the database's settings", error))?;
    let mut notes = Vec::new();
    for row in rows {
        let (setting, role): (String, Option<String>) = (row.get(0), row.get(1));
        let Some((name, value)) = setting.split_once('=') else { continue };
        let whose = match &role {
            Some(role) => format!("ROLE {} IN DATABASE {}", identifier(role), identifier(to)),
            None => format!("DATABASE {}", identifier(to)),
        };
        let set = format!("ALTER {whose} SET {} TO {}", dotted(name), as_sql(name, value));
        if let Err(error) = client.batch_execute(&set).await {
            let whose = role.map_or(String::new(), |role| format!(" of the role {role}"));
            notes.push(format!(
                "the database's setting {name}{whose} could not be given to the clones: {}",
                super::connect::words(&error)
            ));
        }
    }
    Ok(notes)
}

/// `shop.tenant` has two names.
fn dotted(name: &str) -> String {
    name.split('.').map(identifier).collect::<Vec<_>>().join(".")
}

fn as_sql(name: &str, value: &str) -> String {
    if LISTS.contains(&name) {
        names(value).iter().map(|name| literal(name)).collect::<Vec<_>>().join(", ")
    } else {
        literal(value)
    }
}

/// The names of a list as the server writes it: `"$user", public`.
fn names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = list.trim_start();
    while !rest.is_empty() {
        let mut name = String::new();
        if let Some(mut inner) = rest.strip_prefix('"') {
            while let Some(end) = inner.find('"') {
                name.push_str(&inner[..end]);
                inner = &inner[end + 1..];
                let Some(behind) = inner.strip_prefix('"') else { break };
                name.push('"');
                inner = behind;
            }
            rest = inner;
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            rest[..end].trim_end().clone_into(&mut name);
            rest = &rest[end..];
        }
        names.push(name);
        rest = rest.trim_start().trim_start_matches(',').trim_start();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_set_name_by_name_and_a_value_as_it_is() {
        assert_eq!(as_sql("search_path", r#""$user", public, "a""b, c""#), r#"'$user', 'public', 'a"b, c'"#);
        assert_eq!(as_sql("search_path", r#""""#), "''");
        assert_eq!(as_sql("shop.tenant", r"a, 'b' \c"), r"E'a, ''b'' \\c'");
        assert_eq!(dotted("shop.tenant"), r#""shop"."tenant""#);
    }
}
