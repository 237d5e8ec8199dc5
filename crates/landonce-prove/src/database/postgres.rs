//! PostgreSQL: the base is a copy of the source by TEMPLATE (or by pg_dump while others use it), clones are copies of it.
//!
//! Without the right to create databases one scratch database takes the place of the clones, see `scratch.rs`.

mod address;
mod connect;
mod dump;
mod scratch;
mod server;
mod settings;

use std::sync::Arc;

use rand::Rng;
use tokio_postgres::Client as Connection;

use super::names::Names;
use super::url::Url;
use crate::error::{Error, Result};
use scratch::Scratch;
use server::{Creating, Server, failed, identifier, literal};

/// The oldest server that can be proved against, as `server_version_num`.
const OLDEST: i32 = 140_000;

#[derive(Debug)]
pub(super) struct Source {
    server: Arc<Server>,
    url: Url,
    place: String,
    base: Base,
    base_url: String,
    names: Names,
    notes: Vec<String>,
}

#[derive(Debug)]
enum Base {
    Database(String),
    InPlace(Scratch),
}

#[derive(Debug)]
pub(super) struct Clone {
    server: Arc<Server>,
    database: String,
    url: String,
    /// Of a clone in place: lets the next one come when it is dropped.
    token: Option<Arc<()>>,
}

/// Who we are and where.
struct Facts {
    database: String,
    user: String,
    version: i32,
    is_superuser: bool,
    may_create: bool,
}

impl Source {
    pub(super) async fn open(url: &str, in_place: Option<&str>) -> Result<Self> {
        let mut url = address::read(url)?;
        let client = connect::connect(&url).await?;
        let facts = Facts::read(&client, &mut url).await?;
        if let Some(scratch) = in_place {
            return Self::open_in_place(client, url, scratch).await;
        }
        if !facts.may_create {
            return Err(Error::new(format!(
                "the role {} may not create databases, and every trial needs a fresh one: `ALTER ROLE {} CREATEDB`, or name \
                 a scratch database that may be emptied with `--in-place URL`",
                facts.user,
                identifier(&facts.user)
            )));
        }
        let names = Names::new();
        let server = Server::of(&url, names.number()).await;
        server.drop_left_over().await?;
        let base = names.base();
        let base_url = url.with_database(&base).to_text();
        // A copy by TEMPLATE needs the source for itself, and it is held against us for a moment after we go.
        let locale = Locale::read(&client).await?;
        drop(client);
        let made = async {
            let mut notes = make_base(&server, &url, &base, &facts, &locale).await?.note(&facts);
            notes.extend(settings::carry_over(&*server.client().await?, &facts.database, &base).await?);
            Ok(notes)
        };
        let notes = match made.await {
            Ok(notes) => notes,
            Err(error) => {
                // What is half made is of no use; the reason is what counts.
                let _ = server.remove(&base).await;
                return Err(error);
            }
        };
        Ok(Self {
            server: Arc::new(server),
            place: url.place(),
            url,
            base: Base::Database(base),
            base_url,
            names,
            notes,
        })
    }

    async fn open_in_place(client: Connection, url: Url, scratch: &str) -> Result<Self> {
        let mut scratch = address::read(scratch)?;
        let scratch_client = connect::connect(&scratch).await?;
        let facts = Facts::read(&scratch_client, &mut scratch).await?;
        refuse_the_source(&client, &scratch_client).await?;
        drop((client, scratch_client));
        let names = Names::new();
        let server = Server::of(&scratch, names.number()).await;
        let (scratch, notes) = Scratch::open(&server, &url, scratch, facts.is_superuser).await?;
        Ok(Self {
            server: Arc::new(server),
            place: url.place(),
            url,
            base_url: scratch.url(),
            base: Base::InPlace(scratch),
            names,
            notes,
        })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) async fn fresh(&self) -> Result<Clone> {
        match &self.base {
            Base::InPlace(scratch) => {
                let token = Some(scratch.fresh(&self.server).await?);
                let database = scratch.database().to_owned();
                Ok(Clone { server: Arc::clone(&self.server), database, url: scratch.url(), token })
            }
            Base::Database(base) => {
                let database = self.names.next();
                self.server.copy(base, &database).await?;
                settings::carry_over(&*self.server.client().await?, base, &database).await?;
                let url = self.url.with_database(&database).to_text();
                Ok(Clone { server: Arc::clone(&self.server), database, url, token: None })
            }
        }
    }

    pub(super) async fn close(self) -> Result<()> {
        match self.base {
            Base::InPlace(scratch) => {
                self.server.settle(scratch.database()).await?;
                scratch.empty(&self.server).await?;
                scratch.unmark().await
            }
            Base::Database(_) => self.server.drop_all(self.names.prefix()).await,
        }
    }
}

impl Clone {
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) async fn settle(&self) -> Result<()> {
        self.server.settle(&self.database).await
    }

    pub(super) async fn is_blocked(&self) -> Result<bool> {
        self.server.is_blocked(&self.database).await
    }

    pub(super) async fn discard(self) -> Result<()> {
        match self.token {
            // The next clone empties it.
            Some(_) => Ok(()),
            None => self.server.remove(&self.database).await,
        }
    }
}

impl Facts {
    /// Also writes into the URL what the server knows by now: the database and the user.
    async fn read(client: &Connection, url: &mut Url) -> Result<Self> {
        let row = client
            .query_one(
                "SELECT current_database()::text, current_user::text, current_setting('server_version_num')::int, \
                 rolsuper, rolsuper OR rolcreatedb FROM pg_roles WHERE rolname = current_user",
                &[],
            )
            .await
            .map_err(|error| failed("asking the server who we are", error))?;
        let facts = Self {
            database: row.get(0),
            user: row.get(1),
            version: row.get(2),
            is_superuser: row.get(3),
            may_create: row.get(4),
        };
        if facts.version < OLDEST {
            return Err(Error::new(format!(
                "the server at {} is PostgreSQL {}; a proof needs 14 or newer",
                url.place(),
                facts.version / 10_000
            )));
        }
        url.database = Some(facts.database.clone());
        url.user.get_or_insert_with(|| facts.user.clone());
        Ok(facts)
    }
}

/// How a database orders and spells text: what a database from template0 is told.
struct Locale(String);

impl Locale {
    async fn read(client: &Connection) -> Result<Self> {
        // As JSON: which columns there are depends on the version.
        let row = client
            .query_one(
                "SELECT pg_encoding_to_char(encoding)::text, to_jsonb(d)::text FROM pg_database d \
                 WHERE datname = current_database()",
                &[],
            )
            .await
            .map_err(|error| failed("reading the database's locale", error))?;
        let (encoding, facts): (String, String) = (row.get(0), row.get(1));
        let facts: serde_json::Value = serde_json::from_str(&facts)
            .map_err(|error| Error::because("the database's locale can't be read", error))?;
        let fact = |name: &str| facts.get(name).and_then(|value| value.as_str());
        let mut how = format!("TEMPLATE template0 ENCODING {}", literal(&encoding));
        let mut set = |option: &str, value: Option<&str>| {
            how.push_str(&value.map_or(String::new(), |value| format!(" {option} {}", literal(value))));
        };
        set("LC_COLLATE", fact("datcollate"));
        set("LC_CTYPE", fact("datctype"));
        let locale = fact("datlocale").or(fact("daticulocale"));
        match fact("datlocprovider") {
            Some("i") => {
                set("LOCALE_PROVIDER", Some("icu"));
                set("ICU_LOCALE", locale);
                set("ICU_RULES", fact("daticurules"));
            }
            Some("b") => {
                set("LOCALE_PROVIDER", Some("builtin"));
                set("BUILTIN_LOCALE", locale);
            }
            _ => {}
        }
        Ok(Self(how))
    }
}

/// How the base was made.
enum Made {
    ByTheServer,
    ByDump,
}

impl Made {
    fn note(self, facts: &Facts) -> Vec<String> {
        match self {
            Self::ByDump if !facts.is_superuser => vec![format!(
                "everything in the clones belongs to {}, so rights that it lacks in {} aren't missed there",
                facts.user, facts.database
            )],
            Self::ByDump | Self::ByTheServer => Vec::new(),
        }
    }
}

async fn make_base(server: &Server, url: &Url, base: &str, facts: &Facts, locale: &Locale) -> Result<Made> {
    let template = format!("TEMPLATE {}", identifier(&facts.database));
    match server.create(base, &template).await {
        Ok(()) => return Ok(Made::ByTheServer),
        Err(Creating::Failed(error)) => return Err(error),
        Err(Creating::InUse(error)) => {
            if !dump::is_at_hand() {
                return Err(Error::because(in_use(server, &facts.database).await?, error));
            }
        }
        // Only its owner and superusers may copy a database; to read it all is enough for a dump.
        Err(Creating::NotAllowed(_)) if dump::is_at_hand() => {}
        Err(Creating::NotAllowed(error)) => {
            return Err(Error::because(
                format!(
                    "the role {} isn't the owner of the database {}, so the server won't copy it; connect as its owner, \
                     or install PostgreSQL's client programs (pg_dump, pg_restore)",
                    facts.user, facts.database
                ),
                error,
            ));
        }
    }
    match server.create(base, &locale.0).await {
        Ok(()) => {}
        Err(Creating::Failed(error) | Creating::InUse(error) | Creating::NotAllowed(error)) => {
            return Err(error);
        }
    }
    let folder = tempfile::Builder::new()
        .prefix("landonce-prove-")
        .tempdir()
        .map_err(|error| Error::because("cannot make a temporary folder (TMPDIR)", error))?;
    let file = folder.path().join("source.dump");
    dump::dump(url, &file).await?;
    dump::restore(&url.with_database(base), &file, facts.is_superuser).await?;
    Ok(Made::ByDump)
}

/// Says who uses the source.
async fn in_use(server: &Server, database: &str) -> Result<String> {
    let row = server
        .client()
        .await?
        .query_one(
            "SELECT count(*), string_agg(DISTINCT COALESCE(NULLIF(application_name, ''), 'unnamed'), ', ') \
             FROM pg_stat_activity WHERE datname = $1 AND usesysid IS NOT NULL AND pid <> pg_backend_pid()",
            &[&database],
        )
        .await
        .map_err(|error| failed("looking for sessions", error))?;
    let (count, names): (i64, Option<String>) = (row.get(0), row.get(1));
    Ok(format!(
        "{count} sessions use the database {database} ({}), and the server copies only one that nobody uses; end them, or \
         install PostgreSQL's client programs (pg_dump, pg_restore), which don't mind",
        names.as_deref().unwrap_or("none by now")
    ))
}

/// Fails if both connections are to one database, whatever its URLs look like.
async fn refuse_the_source(source: &Connection, scratch: &Connection) -> Result<()> {
    let key = rand::rng().next_u64().cast_signed();
    let ask = |error| failed("telling the scratch database from the source", error);
    // In a transaction: a pooler leaves us the server's session for so long. A number that no lock has by chance.
    source.batch_execute("BEGIN").await.map_err(ask)?;
    source.execute("SELECT pg_advisory_xact_lock($1)", &[&key]).await.map_err(ask)?;
    let row = scratch.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&key]).await.map_err(ask)?;
    source.batch_execute("ROLLBACK").await.map_err(ask)?;
    if row.get::<_, bool>(0) {
        return Ok(());
    }
    Err(Error::new(
        "`--in-place` names the source itself: the scratch database is emptied, so it must be another",
    ))
}
