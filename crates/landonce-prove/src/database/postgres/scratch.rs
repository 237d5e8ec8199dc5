//! One scratch database instead of many clones, where none can be created: emptied and filled again for every clone.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, Weak};

use tempfile::TempDir;
use tokio_postgres::Client;

use super::connect::connect;
use super::server::{Server, failed};
use super::{dump, settings};
use crate::database::url::Url;
use crate::error::{Error, Result};

/// Drops all that is made in the current database but the schema `public` itself, whose owner and rights stay. Extensions
/// that aren't ours to drop stay as well: a dump takes them as they are.
const EMPTY: &str = r"
DO $$
DECLARE it record;
BEGIN
  SET LOCAL client_min_messages = error;
  FOR it IN SELECT extname FROM pg_extension WHERE extname <> 'plpgsql' AND pg_has_role(extowner, 'USAGE') LOOP
    EXECUTE format('DROP EXTENSION IF EXISTS %I CASCADE', it.extname);
  END LOOP;
  FOR it IN SELECT pubname FROM pg_publication LOOP
    EXECUTE format('DROP PUBLICATION IF EXISTS %I', it.pubname);
  END LOOP;
  FOR it IN SELECT evtname FROM pg_event_trigger LOOP
    EXECUTE format('DROP EVENT TRIGGER IF EXISTS %I CASCADE', it.evtname);
  END LOOP;
  FOR it IN SELECT fdwname FROM pg_foreign_data_wrapper
    WHERE NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_foreign_data_wrapper'::regclass AND objid = pg_foreign_data_wrapper.oid AND deptype = 'e')
  LOOP
    EXECUTE format('DROP FOREIGN DATA WRAPPER IF EXISTS %I CASCADE', it.fdwname);
  END LOOP;
  FOR it IN SELECT nspname FROM pg_namespace n
    WHERE nspname NOT LIKE 'pg\_%' AND nspname NOT IN ('information_schema', 'public')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_namespace'::regclass AND objid = n.oid AND deptype = 'e')
  LOOP
    EXECUTE format('DROP SCHEMA IF EXISTS %I CASCADE', it.nspname);
  END LOOP;
  FOR it IN SELECT c.oid::regclass AS name, c.relkind AS kind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
  LOOP
    -- One that went with another before it has no name any more.
    CONTINUE WHEN NOT EXISTS (SELECT FROM pg_class WHERE oid = it.name::oid);
    EXECUTE format('DROP %s IF EXISTS %s CASCADE',
      CASE it.kind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE'
        WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, it.name);
  END LOOP;
  FOR it IN SELECT t.oid::regtype AS name FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE n.nspname = 'public' AND t.typtype IN ('c', 'd', 'e', 'r') AND (t.typrelid = 0 OR EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind = 'c'))
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_type'::regclass AND objid = t.oid AND deptype = 'e')
  LOOP
    CONTINUE WHEN NOT EXISTS (SELECT FROM pg_type WHERE oid = it.name::oid);
    EXECUTE format('DROP TYPE IF EXISTS %s CASCADE', it.name);
  END LOOP;
  FOR it IN SELECT p.oid::regprocedure AS name, p.prokind AS kind FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'public'
      AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
  LOOP
    CONTINUE WHEN NOT EXISTS (SELECT FROM pg_proc WHERE oid = it.name::oid);
    EXECUTE format('DROP %s IF EXISTS %s CASCADE', CASE it.kind WHEN 'a' THEN 'AGGREGATE' ELSE 'ROUTINE' END, it.name);
  END LOOP;
  PERFORM lo_unlink(oid) FROM pg_largeobject_metadata WHERE pg_has_role(lomowner, 'USAGE');
END $$";

/// Whether someone has made anything in the current database.
const HAS_OBJECTS: &str = "SELECT EXISTS (SELECT FROM pg_class c WHERE c.oid >= 16384 AND c.relnamespace <> 'pg_toast'::regnamespace \
     AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')) \
     OR EXISTS (SELECT FROM pg_proc p WHERE p.oid >= 16384 \
     AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')) \
     OR EXISTS (SELECT FROM pg_type WHERE oid >= 16384 AND typtype IN ('d', 'e', 'r')) \
     OR EXISTS (SELECT FROM pg_extension WHERE extname <> 'plpgsql') \
     OR EXISTS (SELECT FROM pg_largeobject_metadata) \
     OR EXISTS (SELECT FROM pg_namespace WHERE oid >= 16384 AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'public')";

/// The comment of a database that may be emptied: whoever is killed leaves it, and what was in there, to the next proof.
const MARK: &str = "scratch of landonce prove, may be emptied";

/// The scratch database and what it is filled with.
#[derive(Debug)]
pub(super) struct Scratch {
    url: Url,
    database: String,
    is_superuser: bool,
    folder: TempDir,
    /// What a clone begins with; `None` until the first is asked for, since `--setup` may write before.
    base: tokio::sync::Mutex<Option<State>>,
    /// The one clone that there may be.
    clone: std::sync::Mutex<Weak<()>>,
}

#[derive(Debug)]
enum State {
    Empty,
    Dumped(PathBuf),
}

impl Scratch {
    /// Empties the scratch database and fills it as the source is. One that isn't empty is refused, unless a proof has left
    /// what is in there: a URL is mistyped easily.
    pub(super) async fn open(
        server: &Server,
        source: &Url,
        url: Url,
        is_superuser: bool,
    ) -> Result<(Self, Vec<String>)> {
        let folder = tempfile::Builder::new()
            .prefix("landonce-prove-")
            .tempdir()
            .map_err(|error| Error::because("cannot make a temporary folder (TMPDIR)", error))?;
        let (from, to) = (database_of(source), database_of(&url));
        let scratch = Self {
            database: to.clone(),
            url,
            is_superuser,
            folder,
            base: tokio::sync::Mutex::new(None),
            clone: std::sync::Mutex::new(Weak::new()),
        };
        scratch.mark().await?;
        let state = scratch.state_of(source, "source.dump").await?;
        scratch.fill(server, &state).await?;
        let client = server.client().await?;
        let notes = settings::carry_over(&client, &from, &to).await?;
        Ok((scratch, notes))
    }

    async fn mark(&self) -> Result<()> {
        let client = connect(&self.url).await?;
        let marked = "SELECT shobj_description(oid, 'pg_database') = $1 FROM pg_database WHERE datname = current_database()";
        let row = client.query_one(marked, &[&MARK]).await;
        let row = row.map_err(|error| failed("looking for the scratch database's comment", error))?;
        let is_marked: Option<bool> = row.get(0);
        if is_marked != Some(true) && has_objects(&client, true).await? {
            return Err(Error::new(format!(
                "the database {} of `--in-place` isn't empty, and would be emptied; give an empty one, or, if it may be: \
                 {}",
                self.database,
                self.comment(&format!("'{MARK}'"))
            )));
        }
        // Who isn't the owner can't leave it, and starts with an empty one the next time.
        let _ = client.batch_execute(&self.comment(&format!("'{MARK}'"))).await;
        Ok(())
    }

    /// Takes the mark away again; the database is empty.
    pub(super) async fn unmark(&self) -> Result<()> {
        let _ = connect(&self.url).await?.batch_execute(&self.comment("NULL")).await;
        Ok(())
    }

    fn comment(&self, text: &str) -> String {
        let name = postgres_protocol::escape::escape_identifier(&self.database);
        format!("COMMENT ON DATABASE {name} IS {text}")
    }

    pub(super) fn url(&self) -> String {
        self.url.to_text()
    }

    pub(super) fn database(&self) -> &str {
        &self.database
    }

    /// Makes it a fresh clone, which is one for as long as the token is kept.
    pub(super) async fn fresh(&self, server: &Server) -> Result<Arc<()>> {
        let mut base = self.base.lock().await;
        if self.clone.lock().unwrap_or_else(PoisonError::into_inner).strong_count() > 0 {
            return Err(Error::new(
                "with `--in-place` there is room for one clone at a time, and the last isn't discarded yet",
            ));
        }
        server.settle(&self.database).await?;
        let state = match base.take() {
            Some(state) => state,
            None => self.state_of(&self.url, "base.dump").await?,
        };
        let filled = self.fill(server, &state).await;
        *base = Some(state);
        filled?;
        let token = Arc::new(());
        *self.clone.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&token);
        Ok(token)
    }

    /// Leaves nothing in it.
    pub(super) async fn empty(&self, server: &Server) -> Result<()> {
        server.roll_back_prepared(&self.database).await?;
        let client = connect(&self.url).await?;
        client.batch_execute(EMPTY).await.map_err(|error| {
            failed(&format!("cannot empty the scratch database {}", self.database), error)
        })?;
        if has_objects(&client, true).await? {
            return Err(Error::new(format!(
                "the scratch database {} can't be emptied: it holds objects of others; give one that is yours alone",
                self.database
            )));
        }
        Ok(())
    }

    async fn fill(&self, server: &Server, state: &State) -> Result<()> {
        self.empty(server).await?;
        match state {
            State::Empty => Ok(()),
            State::Dumped(file) => dump::restore(&self.url, file, self.is_superuser).await,
        }
    }

    async fn state_of(&self, url: &Url, name: &str) -> Result<State> {
        if !has_objects(&connect(url).await?, false).await? {
            return Ok(State::Empty);
        }
        let file = self.folder.path().join(name);
        dump::dump(url, &file).await?;
        Ok(State::Dumped(file))
    }
}

/// Whether the database holds anything. Extensions of others stay where a database is emptied.
async fn has_objects(client: &Client, but_extensions: bool) -> Result<bool> {
    let sql = if but_extensions {
        HAS_OBJECTS.replace("OR EXISTS (SELECT FROM pg_extension WHERE extname <> 'plpgsql')", "").replace(
            "typtype IN ('d', 'e', 'r')",
            "typtype IN ('d', 'e', 'r') AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_type'::regclass \
             AND objid = pg_type.oid AND deptype = 'e')",
        )
    } else {
        HAS_OBJECTS.to_owned()
    };
    let row = client
        .query_one(&sql, &[])
        .await
        .map_err(|error| failed("looking for what is in the database", error))?;
    Ok(row.get(0))
}

fn database_of(url: &Url) -> String {
    url.database.clone().unwrap_or_default()
}
