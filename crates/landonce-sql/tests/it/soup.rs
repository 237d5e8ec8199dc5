//! Whatever text comes, the answer is a meaning or a refusal; and what is rendered is read again as what it was.

use landonce_sql::{Dialect, Keys, parse, render};
use proptest::prelude::*;

use crate::random;
use crate::world::owned;

const WORDS: [&str; 64] = [
    "INSERT",
    "INTO",
    "UPSERT",
    "REPLACE",
    "IGNORE",
    "OR",
    "t",
    "s.t",
    "\"T\"",
    "`t`",
    "AS",
    "new",
    "x",
    "(",
    "(",
    ")",
    ")",
    ",",
    ",",
    "id",
    "v",
    "VALUES",
    "VALUES",
    "SELECT",
    "FROM",
    "WHERE",
    "WITH",
    "ON",
    "CONFLICT",
    "ON CONFLICT (id)",
    "DO",
    "NOTHING",
    "DO UPDATE SET",
    "ON DUPLICATE KEY UPDATE",
    "CONSTRAINT",
    "=",
    "=",
    "excluded.v",
    "VALUES(v)",
    "t.v",
    "+",
    "-",
    "/",
    "||",
    "::",
    "int",
    "1",
    "'a'",
    "'a''\\'",
    "E'\\''",
    "\"",
    "$1",
    "$2",
    "?",
    "?2",
    ":n",
    "%s",
    "%(n)s",
    "NULL",
    "DEFAULT",
    "RETURNING",
    ";",
    "--",
    "/*",
];

/// Statements that are taken, to be disturbed.
const GOOD: [&str; 5] = [
    "INSERT INTO t ( id , v ) VALUES ( $1 , $2 ) ON CONFLICT ( id ) DO UPDATE SET v = t.v + excluded.v WHERE t.v < 3 RETURNING v",
    "UPSERT INTO t ( id , v ) VALUES ( ? , 'a' ) , ( ? , NULL )",
    "INSERT INTO t ( id , v ) VALUES ( %s , %s ) AS new ON DUPLICATE KEY UPDATE v = IF ( VALUES ( v ) > v , new . v , v )",
    "WITH c AS ( SELECT 1 ) INSERT INTO t ( id , v ) SELECT :a , x FROM c ON CONFLICT ( id ) DO NOTHING",
    "INSERT INTO t SET id = 1 , v = CASE WHEN ? IS NULL THEN 'x' ELSE \"y\" END ON DUPLICATE KEY UPDATE id = id",
];

fn read(sql: &str) {
    let key = owned(&["id"]);
    let Ok(spelled) = parse(sql) else { return };
    for dialect in Dialect::ALL {
        for keys in [Keys::Unknown, Keys::Given(&key)] {
            if let Ok(rendered) = spelled.upsert(dialect, &keys).and_then(|upsert| render(&upsert, dialect)) {
                assert!(
                    rendered.params.iter().all(|number| *number <= spelled.params().len()),
                    "{sql}\n{}",
                    rendered.sql
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn any_words_have_a_meaning_or_a_refusal(words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..30)) {
        read(&words.join(" "));
    }

    #[test]
    fn any_text_has_a_meaning_or_a_refusal(text in ".{0,80}") {
        read(&text);
        read(&format!("INSERT INTO t (id, v) VALUES (1, {text}) ON CONFLICT (id) DO NOTHING"));
        read(&format!("INSERT INTO t (id, v) VALUES (1, 2) ON DUPLICATE KEY UPDATE v = {text}"));
    }

    #[test]
    fn a_good_statement_that_is_disturbed_has_a_meaning_or_a_refusal(
        good in prop::sample::select(GOOD.to_vec()),
        at in any::<prop::sample::Index>(),
        word in prop::sample::select(WORDS.to_vec()),
        how in 0..3,
    ) {
        prop_assert!(parse(good).is_ok(), "{}: {:?}", good, parse(good).err());
        let mut words: Vec<&str> = good.split(' ').collect();
        let at = at.index(words.len());
        match how {
            0 => words[at] = word,
            1 => words.insert(at, word),
            _ => { words.remove(at); }
        }
        read(&words.join(" "));
        read(&words[..at].join(" "));
    }

    #[test]
    fn what_is_rendered_is_read_as_what_it_was((upsert, _) in random::statement()) {
        for dialect in [Dialect::Postgres, Dialect::Sqlite] {
            let first = render(&upsert, dialect).unwrap();
            // What a table declares of its own conflicts is taken back by OR ABORT, which nobody writes by hand.
            let written = first.sql.replace("INSERT OR ABORT", "INSERT");
            let read = parse(&written).unwrap().upsert(dialect, &Keys::Unknown).unwrap();
            prop_assert_eq!(render(&read, dialect).unwrap().sql, first.sql);
            // The same meaning for the others, too: names are quoted, so nothing is folded.
            for other in Dialect::ALL {
                prop_assert_eq!(render(&read, other).ok(), render(&upsert, other).ok());
            }
        }
    }
}
