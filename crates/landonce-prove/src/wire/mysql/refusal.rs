//! What a refused statement is answered, and what it does to the server's transaction, as MySQL and MariaDB do it.

use bytes::{BufMut, Bytes, BytesMut};

use super::super::Kind;
use super::super::ledger::Prepared;
use super::{packet, text};

/// How the servers refuse a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    number: u16,
    pub(super) sqlstate: &'static str,
    message: &'static str,
    /// The whole transaction is given up, not the statement alone.
    ends_transaction: bool,
}

impl Refusal {
    /// The refusal by its number in MariaDB. MySQL has no time limit but for SELECT: there a query is interrupted otherwise.
    pub(super) fn of(code: &str, is_mariadb: bool) -> Self {
        let (number, sqlstate, message, ends_transaction) = match code {
            "1213" => {
                (1213, "40001", "Deadlock found when trying to get lock; try restarting transaction", true)
            }
            "1205" => (1205, "HY000", "Lock wait timeout exceeded; try restarting transaction", false),
            "1969" if is_mariadb => {
                (1969, "70100", "Query execution was interrupted (max_statement_time exceeded)", false)
            }
            "1969" => (1317, "70100", "Query execution was interrupted", false),
            "1048" => (1048, "23000", "Column 'refused by landonce prove' cannot be null", false),
            _ => (1105, "HY000", "The server refused the statement", false),
        };
        Self { number, sqlstate, message, ends_transaction }
    }

    /// What the server does instead of the statement, so that its transaction is where a refusal of its own leaves it.
    pub(super) fn instead(self, statement: &Prepared) -> Option<&'static str> {
        if text::commits_first(statement.text.as_bytes()) {
            return Some("COMMIT AND NO CHAIN NO RELEASE");
        }
        // A COMMIT that fails rolls back, whatever it fails by.
        let is_over = self.ends_transaction || statement.facts.kind == Kind::Commit;
        is_over.then_some("ROLLBACK AND NO CHAIN NO RELEASE")
    }

    /// The packet that answers the one of this number.
    pub(super) fn packet(self, answers: u8) -> Bytes {
        let mut payload = BytesMut::new();
        payload.put_u8(0xff);
        payload.put_u16_le(self.number);
        payload.put_u8(b'#');
        payload.put_slice(self.sqlstate.as_bytes());
        payload.put_slice(self.message.as_bytes());
        packet::framed(answers.wrapping_add(1), &payload)
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::{Answer, answer};
    use super::*;

    fn instead(code: &str, statement: &str) -> Option<&'static str> {
        let facts = text::facts(statement.as_bytes());
        Refusal::of(code, true).instead(&Prepared { text: statement.into(), facts })
    }

    #[test]
    fn an_error_of_ours_is_read_as_one_of_the_servers() {
        let packet = Refusal::of("1213", true).packet(0);
        assert_eq!(packet[3..7], [1, 0xff, 0xbd, 0x04]);
        assert_eq!(answer(&packet), Answer::Failed(*b"40001"));
    }

    #[test]
    fn a_timeout_has_the_servers_own_number() {
        assert_eq!(Refusal::of("1969", true).number, 1969);
        assert_eq!(Refusal::of("1969", false).number, 1317);
    }

    #[test]
    fn a_refusal_does_to_the_transaction_what_the_servers_does() {
        let (rolls_back, commits) =
            (Some("ROLLBACK AND NO CHAIN NO RELEASE"), Some("COMMIT AND NO CHAIN NO RELEASE"));
        assert_eq!(instead("1213", "INSERT INTO t VALUES (1)"), rolls_back);
        assert_eq!(instead("1205", "INSERT INTO t VALUES (1)"), None);
        assert_eq!(instead("1969", "COMMIT"), rolls_back);
        // What commits by itself has done so before it can fail.
        assert_eq!(instead("1213", "CREATE TABLE t (a int)"), commits);
        assert_eq!(instead("1205", "CREATE TEMPORARY TABLE t (a int)"), None);
    }
}
