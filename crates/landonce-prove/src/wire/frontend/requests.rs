//! What a client's frames mean: which statement each executes, and what is expected of the server then.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::super::flow::{Flow, Running};
use super::super::frame;
use super::super::ledger::{Charge, KEPT_TEXT, Prepared};
use super::super::session::Session;
use super::super::sql::{self, Facts};
use super::super::{Fault, Kind};
use super::{Sent, Statement, joined};

/// The longest text of a statement that is read whole. Of a longer one only so much counts.
const READ_TEXT: usize = 8 << 20;
/// Names of statements and portals are 63 bytes long at most.
const READ_NAMES: usize = 1024;

/// How much of a client's frame has to be there before it can be told what it is. The rest is passed on as it comes.
pub(super) fn read_of(tag: u8) -> usize {
    match tag {
        b'Q' | b'P' => READ_TEXT,
        b'B' | b'E' | b'C' | b'D' | b'F' => READ_NAMES,
        _ => 0,
    }
}

/// A client's frame.
pub(super) enum Request {
    Pass,
    Statement(Box<Statement>),
    /// Send this in its place.
    Instead(Bytes),
    /// The client says good-bye.
    Close(Vec<Charge>),
}

/// What has to be remembered of a connection's requests.
pub(super) struct Requests<'a> {
    session: &'a Session,
    flow: &'a Flow,
    statements: HashMap<Vec<u8>, Arc<Prepared>>,
    portals: HashMap<Vec<u8>, Portal>,
    /// A COMMIT was refused since the last Sync: its transaction ends after the next.
    is_commit_refused: bool,
    has_said_goodbye: bool,
}

struct Portal {
    statement: Arc<Prepared>,
    /// Its execution, once it has begun. To go on with it is no other.
    entry: Option<usize>,
}

impl<'a> Requests<'a> {
    pub(super) fn new(session: &'a Session, flow: &'a Flow) -> Self {
        Self {
            session,
            flow,
            statements: HashMap::new(),
            portals: HashMap::new(),
            is_commit_refused: false,
            has_said_goodbye: false,
        }
    }

    pub(super) fn has_said_goodbye(&self) -> bool {
        self.has_said_goodbye
    }

    /// Reads a frame, of which so much is there as [`read_of`] asks for. An execution still has to be sent by
    /// [`Requests::send`]; all else is as good as sent.
    pub(super) fn read(&mut self, tag: u8, mut body: &[u8]) -> Request {
        match tag {
            b'Q' => {
                let statement = prepared(frame::text(&mut body));
                return self.statement(&statement, true);
            }
            b'P' => {
                let name = frame::text(&mut body);
                let statement = Arc::new(prepared(frame::text(&mut body)));
                self.statements.insert(name.to_vec(), statement);
                self.flow.step(tag);
            }
            b'B' => {
                let portal = frame::text(&mut body);
                let name = frame::text(&mut body);
                let statement =
                    self.statements.get(name).map_or_else(|| unseen("statement", name), Arc::clone);
                self.portals.insert(portal.to_vec(), Portal { statement, entry: None });
                self.flow.step(tag);
            }
            b'E' => return self.execute(frame::text(&mut body)),
            b'D' => self.flow.step(tag),
            b'C' => {
                if let Some((of, mut name)) = body.split_first() {
                    let name = frame::text(&mut name);
                    if *of == b'S' {
                        self.statements.remove(name);
                    } else {
                        self.portals.remove(name);
                    }
                }
                self.flow.step(tag);
            }
            b'S' => {
                if std::mem::take(&mut self.is_commit_refused) {
                    self.flow.sync(true);
                    self.flow.ours();
                    // The Sync itself, which has no body.
                    return Request::Instead(joined(b"S\0\0\0\x04", &frame::query("ROLLBACK")));
                }
                self.flow.sync(false);
            }
            b'F' => {
                let function = body.first_chunk().copied().map_or(0, u32::from_be_bytes);
                let text = format!("(call of the function with the identifier {function})");
                return self.statement(&Prepared { text: text.into(), facts: Facts::UNSEEN }, true);
            }
            b'c' | b'f' => self.flow.copy_end(),
            b'X' => {
                self.has_said_goodbye = true;
                return Request::Close(self.session.ledger().close());
            }
            _ => {}
        }
        Request::Pass
    }

    fn execute(&mut self, name: &[u8]) -> Request {
        let Some(portal) = self.portals.get_mut(name) else {
            // A cursor that was declared in SQL.
            let portal = Portal { statement: unseen("portal", name), entry: None };
            self.portals.insert(name.to_vec(), portal);
            return self.execute(name);
        };
        let statement = Arc::clone(&portal.statement);
        if let Some(entry) = portal.entry {
            let running = Running { entry, opens: statement.facts.opens, ..Running::default() };
            self.flow.execute(running);
            return Request::Pass;
        }
        let request = self.statement(&statement, false);
        if let (Request::Statement(sending), Some(portal)) = (&request, self.portals.get_mut(name)) {
            portal.entry = Some(sending.entry);
        }
        request
    }

    fn statement(&mut self, statement: &Prepared, is_simple: bool) -> Request {
        let place = self.flow.place(statement.facts, is_simple);
        let session = self.session;
        let arrival =
            session.ledger().arrive(session.number(), statement, place.is_in_transaction, place.is_write);
        let entry = arrival.entry;
        let (mut before, mut charges, mut refusal) = (Vec::new(), Vec::new(), None);
        for charge in arrival.charges {
            match charge.fault {
                Fault::Refuse(_, code) if refusal.is_none() => refusal = Some((charge, code)),
                // Of two refusals the second waits for another statement.
                Fault::Refuse(..) => session.ledger().give_back(&charge),
                Fault::CutAnswer(_) | Fault::HoldAnswer(_) => charges.push(charge),
                Fault::Cut(_) | Fault::Hold(_) => before.push(charge),
            }
        }
        if refusal.is_some() {
            // There won't be such an answer.
            for charge in charges.drain(..) {
                session.ledger().give_back(&charge);
            }
        }
        // A cut is the last that happens to a statement.
        before.sort_by_key(|charge| !charge.is_hold());
        let running = Running {
            entry,
            opens: statement.facts.opens,
            is_commit: statement.facts.kind == Kind::Commit,
            refusal,
            charges,
            ..Running::default()
        };
        Request::Statement(Box::new(Statement { entry, before, sent: Sent { running, is_simple } }))
    }

    /// The statement won't go to the server.
    pub(super) fn forget(&self, statement: Statement) {
        for charge in &statement.before {
            self.session.ledger().give_back(charge);
        }
        self.flow.forget(statement.sent.running);
    }

    /// The statement goes to the server now. Returns what goes instead of the client's frame, if it is refused.
    pub(super) fn send(&mut self, statement: Statement) -> Option<Bytes> {
        let Sent { mut running, is_simple } = statement.sent;
        let is_refused = running.refusal.is_some();
        let is_commit_refused = is_refused && running.is_commit;
        if !is_simple {
            self.flow.execute(running);
            self.is_commit_refused |= is_commit_refused;
            return is_refused.then(|| frame::failing(false));
        }
        running.hides_ready = is_commit_refused;
        self.flow.query(running);
        if is_commit_refused {
            self.flow.ours();
            return Some(joined(&frame::failing(true), &frame::query("ROLLBACK")));
        }
        is_refused.then(|| frame::failing(true))
    }
}

fn prepared(text: &[u8]) -> Prepared {
    let kept = String::from_utf8_lossy(&text[..text.len().min(KEPT_TEXT)]);
    // Cut inside a letter: what is left of it.
    let kept = if text.len() > KEPT_TEXT { kept.trim_end_matches('\u{fffd}') } else { &kept };
    Prepared { text: kept.into(), facts: sql::facts(text) }
}

/// A name that the wire doesn't know: it was given in SQL.
fn unseen(what: &str, name: &[u8]) -> Arc<Prepared> {
    let text = format!("({what} {})", String::from_utf8_lossy(name));
    // A cursor can't write; of a prepared statement nothing is known.
    let facts = if what == "portal" { sql::facts(b"FETCH") } else { Facts::UNSEEN };
    Arc::new(Prepared { text: text.into(), facts })
}
