//! A refused statement leaves the session as the server's own refusal would.

use landonce_prove::wire::mysql::Proxy;
use landonce_prove::wire::{Armed, At, Fault};
use landonce_testkit::mariadb::{self, TestDatabase};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts, OptsBuilder};

/// A database with an empty table `t`, a proxy before it, and a client through that.
struct Rig {
    database: TestDatabase,
    proxy: Proxy,
    client: Conn,
}

impl Rig {
    async fn new() -> Self {
        let database = mariadb::database().await;
        let made = "CREATE TABLE t (a int PRIMARY KEY, b longtext) ENGINE InnoDB";
        database.client().await.query_drop(made).await.unwrap();
        let proxy = Proxy::start(&database.url()).await.unwrap();
        let options = OptsBuilder::from_opts(Opts::from_url(proxy.url()).unwrap())
            .prefer_socket(false)
            .max_allowed_packet(Some(64 << 20));
        let client = Conn::new(options).await.unwrap();
        Self { database, proxy, client }
    }

    fn refuse(&self, write: u64, code: &'static str) -> Armed {
        self.proxy.arm(Fault::Refuse(At::Write(write), code))
    }

    /// By the text protocol, or prepared.
    async fn run(&mut self, statement: &str, is_text: bool) -> Result<(), Error> {
        if is_text {
            self.client.query_drop(statement).await
        } else {
            self.client.exec_drop(statement, ()).await
        }
    }

    /// `number state message`.
    async fn refused(&mut self, statement: &str, is_text: bool) -> String {
        match self.run(statement, is_text).await {
            Err(Error::Server(error)) => format!("{} {} {}", error.code, error.state, error.message),
            other => panic!("{statement}: {other:?}"),
        }
    }

    async fn is_in_transaction(&mut self) -> bool {
        self.client.query_first("SELECT @@in_transaction").await.unwrap() == Some(1)
    }

    /// The rows of `t`, by a connection that doesn't pass the proxy.
    async fn rows(&self) -> Vec<i32> {
        self.database.client().await.query("SELECT a FROM t ORDER BY a").await.unwrap()
    }
}

const WORDS: [&str; 4] = [
    "1213 40001 Deadlock found when trying to get lock; try restarting transaction",
    "1205 HY000 Lock wait timeout exceeded; try restarting transaction",
    "1969 70100 Query execution was interrupted (max_statement_time exceeded)",
    "1048 23000 Column 'refused by landonce prove' cannot be null",
];

#[tokio::test]
async fn a_refusal_has_the_servers_words_and_the_connection_goes_on() {
    for words in WORDS {
        for is_text in [true, false] {
            let mut rig = Rig::new().await;
            let refuse = rig.refuse(1, &words[..4]);
            assert_eq!(rig.refused("INSERT INTO t VALUES (1, '')", is_text).await, words);
            assert!(refuse.has_fired());
            assert_eq!(refuse.at().unwrap().sqlstate.as_deref(), Some(&words[5..10]));
            rig.run("INSERT INTO t VALUES (2, '')", is_text).await.unwrap();
            assert_eq!(rig.rows().await, [2]);
        }
    }
}

#[tokio::test]
async fn a_deadlock_rolls_the_transaction_back() {
    for is_text in [true, false] {
        let mut rig = Rig::new().await;
        let refuse = rig.refuse(2, "1213");
        rig.run("START TRANSACTION", true).await.unwrap();
        rig.run("INSERT INTO t VALUES (1, '')", is_text).await.unwrap();
        assert_eq!(rig.refused("INSERT INTO t VALUES (2, '')", is_text).await, WORDS[0]);
        assert!(refuse.at().unwrap().is_in_transaction);
        assert!(!rig.is_in_transaction().await);
        // No transaction is open: it commits by itself, and a COMMIT has nothing to do.
        rig.run("INSERT INTO t VALUES (3, '')", is_text).await.unwrap();
        assert_eq!(rig.rows().await, [3]);
        rig.run("COMMIT", true).await.unwrap();
        assert_eq!(rig.proxy.log().last().unwrap().write, 0);
    }
}

#[tokio::test]
async fn without_autocommit_what_follows_a_deadlock_is_a_transaction_of_its_own() {
    let mut rig = Rig::new().await;
    rig.refuse(2, "1213");
    rig.run("SET autocommit = 0", true).await.unwrap();
    rig.run("INSERT INTO t VALUES (1, '')", true).await.unwrap();
    rig.refused("INSERT INTO t VALUES (2, '')", true).await;
    rig.run("INSERT INTO t VALUES (3, '')", true).await.unwrap();
    assert!(rig.proxy.log().last().unwrap().is_in_transaction);
    assert_eq!(rig.rows().await, [0; 0]);
    rig.run("COMMIT", true).await.unwrap();
    assert_eq!(rig.rows().await, [3]);
}

#[tokio::test]
async fn other_refusals_are_of_the_statement_alone() {
    for words in &WORDS[1..] {
        let mut rig = Rig::new().await;
        rig.refuse(2, &words[..4]);
        rig.run("START TRANSACTION", true).await.unwrap();
        rig.run("INSERT INTO t VALUES (1, '')", true).await.unwrap();
        assert_eq!(&rig.refused("INSERT INTO t VALUES (2, '')", true).await, words);
        assert!(rig.is_in_transaction().await);
        rig.run("INSERT INTO t VALUES (3, '')", true).await.unwrap();
        rig.run("COMMIT", true).await.unwrap();
        assert_eq!(rig.rows().await, [1, 3]);
    }
}

#[tokio::test]
async fn a_refused_commit_has_rolled_back_and_ended_the_transaction() {
    for words in WORDS {
        let mut rig = Rig::new().await;
        let refuse = rig.refuse(2, &words[..4]);
        rig.run("START TRANSACTION", true).await.unwrap();
        rig.run("INSERT INTO t VALUES (1, '')", true).await.unwrap();
        assert_eq!(rig.refused("COMMIT", true).await, words);
        assert!(refuse.has_fired());
        assert!(!rig.is_in_transaction().await);
        assert_eq!(rig.rows().await, [0; 0]);
    }
}

#[tokio::test]
async fn a_refused_definition_has_committed_what_came_before_it() {
    for words in WORDS {
        let mut rig = Rig::new().await;
        rig.refuse(2, &words[..4]);
        rig.run("START TRANSACTION", true).await.unwrap();
        rig.run("INSERT INTO t VALUES (1, '')", true).await.unwrap();
        assert_eq!(rig.refused("CREATE TABLE u (a int)", true).await, words);
        rig.run("ROLLBACK", true).await.unwrap();
        assert_eq!(rig.rows().await, [1]);
    }
}

#[tokio::test]
async fn a_statement_longer_than_a_packet_is_refused_whole() {
    let mut rig = Rig::new().await;
    rig.refuse(1, "1205");
    let long = format!("INSERT INTO t VALUES (1, '{}')", "x".repeat(17 << 20));
    assert_eq!(rig.refused(&long, true).await, WORDS[1]);
    rig.run("INSERT INTO t VALUES (2, '')", true).await.unwrap();
    assert_eq!(rig.rows().await, [2]);
}
