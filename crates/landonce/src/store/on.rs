//! Where the databases part: the one place that knows that a store is one of several.

/// Does something with a store's database, whichever it is. `$given` are things of the caller's (anything that is `Clone`; text as
/// `String`), which `$what` sees as references. SQLite's verbs block, so it goes to a thread that may.
macro_rules! on {
    ($store:expr, [$($given:ident),*], |$database:ident| $what:expr) => {{
        $(let $given = $given.clone();)*
        Box::pin(async move {
            match $store.backend() {
                $crate::store::Backend::Postgres($database) => {
                    $(let $given = &$given;)*
                    $what
                }
                $crate::store::Backend::Sqlite(database) => {
                    let database = database.clone();
                    $crate::store::blocking(move || async move {
                        let $database = &database;
                        $(let $given = &$given;)*
                        $what
                    })
                    .await
                }
            }
        })
    }};
}

/// As [`on!`], on a connection of its own, opened for `$access`.
macro_rules! ask {
    ($store:expr, $access:expr, [$($given:ident),*], |$session:pat_param| $question:expr) => {
        $crate::store::on::on!($store, [$($given),*], |database| {
            let $session = $crate::ingest::Connect::open(database, $access).await?;
            $question
        })
    };
}

pub(crate) use {ask, on};
