//! A connection of ours to the user's server, with no limits that would end long work.

use tokio_postgres::Client;

use crate::database::url::Url;
use crate::error::{Error, Result};
use crate::wire::dial;

/// Connects. Fails within seconds, with place and advice; the message holds no secret.
pub(super) async fn connect(url: &Url) -> Result<Client> {
    let client = dial::connect(&url.to_text()).await?;
    // The user's settings for roles and databases are meant for the user's statements.
    client
        .batch_execute(
            "SELECT set_config(name, value, false) FROM pg_catalog.pg_settings JOIN (VALUES ('statement_timeout', '0'), \
             ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'), \
             ('default_transaction_read_only', 'off'), ('search_path', 'pg_catalog'), \
             ('client_min_messages', 'warning')) ours (setting_name, value) ON setting_name = name",
        )
        .await
        .map_err(|error| {
            let said = words(&error);
            Error::because(format!("cannot work with PostgreSQL at {}: {said}", url.place()), error)
        })?;
    Ok(client)
}

/// What the server, or else the driver, says.
pub(super) fn words(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        let more = |text: Option<&str>| text.map_or(String::new(), |text| format!("; {text}"));
        return format!("{}{}{}", db.message(), more(db.detail()), more(db.hint()));
    }
    let source = std::error::Error::source(error).map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}
