//! One connection. Client and server take turns, so both directions are one task's.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::Fault;
use super::super::ledger::{Charge, KEPT_TEXT, Prepared};
use super::super::sql::Facts;
use super::packet::{self, Answer, HEAD};
use super::refusal::Refusal;
use super::{Shared, execution, text};

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const BULK_EXECUTE: u8 = 0xfa;
const CLOSE: u8 = 0x19;
const RESET: u8 = 0x1a;

/// A fault has ended the connection, at this statement.
type Cut = (Charge, Option<usize>);

/// Serves the client until either side ends or a fault cuts.
pub(super) async fn run(client: TcpStream, shared: Arc<Shared>) {
    let mut cut = shared.cut.subscribe();
    let served = tokio::select! {
        served = serve(client, &shared) => served,
        _ = cut.wait_for(|is_cut| *is_cut) => return,
    };
    // By now both sockets are closed: who waits for the fault finds it done.
    if let Ok(Some((charge, entry))) = served {
        shared.ledger.fire(&charge, entry);
    }
}

/// What becomes of a command.
enum Next {
    Passes,
    IsCut(Cut),
    IsRefused(Refused),
}

/// A statement that the server doesn't get.
struct Refused {
    charge: Charge,
    entry: usize,
    refusal: Refusal,
    /// What it gets instead.
    instead: Option<&'static str>,
}

/// A statement that the server has prepared.
struct Made {
    statement: Arc<Prepared>,
    parameters: u16,
    /// The types of its parameters, where the server hasn't got them with an execution that was refused.
    types: Option<Bytes>,
}

/// What the next answer belongs to.
enum Awaited {
    Nothing,
    Statement { entry: usize, charges: Vec<Charge> },
    Preparation(Arc<Prepared>),
}

struct Session<'a> {
    shared: &'a Shared,
    number: u32,
    client: TcpStream,
    server: TcpStream,
    prepared: HashMap<u32, Made>,
    awaited: Awaited,
    is_in_transaction: bool,
    has_written: bool,
    /// The client sends a file: its packets are no commands, whatever their numbers.
    sends_file: bool,
    is_mariadb: bool,
}

async fn serve(client: TcpStream, shared: &Shared) -> io::Result<Option<Cut>> {
    let server = TcpStream::connect((shared.host.as_str(), shared.port)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut session = Session {
        shared,
        number: shared.ledger.session(),
        client,
        server,
        prepared: HashMap::new(),
        awaited: Awaited::Nothing,
        is_in_transaction: false,
        has_written: false,
        sends_file: false,
        is_mariadb: false,
    };
    if !session.log_in().await? {
        return Ok(None);
    }
    session.pass().await
}

impl Session<'_> {
    /// Passes the login, in which the sides take turns as the method wants. False when it has come to nothing.
    async fn log_in(&mut self) -> io::Result<bool> {
        let (mut from_client, mut from_server) = (BytesMut::new(), BytesMut::new());
        let (mut is_greeted, mut has_answered) = (false, false);
        loop {
            tokio::select! {
                read = self.server.read_buf(&mut from_server) => if read? == 0 { return Ok(false) },
                read = self.client.read_buf(&mut from_client) => if read.unwrap_or(0) == 0 {
                    if is_greeted && !has_answered {
                        self.shared.is_tls_demanded.store(true, Ordering::Relaxed);
                    }
                    return Ok(false);
                },
            }
            self.shared.touch();
            if !from_client.is_empty() {
                has_answered = true;
                self.server.write_all(&from_client.split()).await?;
            }
            while let Some(packet) = packet::take(&mut from_server) {
                if is_greeted {
                    self.client.write_all(&packet).await?;
                    match packet::answer(&packet) {
                        Answer::Done { is_in_transaction, .. } => {
                            self.is_in_transaction = is_in_transaction;
                            self.shared.is_tls_demanded.store(false, Ordering::Relaxed);
                            return Ok(true);
                        }
                        Answer::Failed(_) => return Ok(false),
                        Answer::WantsFile | Answer::Other => {}
                    }
                } else {
                    is_greeted = true;
                    self.is_mariadb = packet::is_mariadb(&packet);
                    self.client.write_all(&packet::plain_greeting(&packet)).await?;
                }
            }
        }
    }

    async fn pass(&mut self) -> io::Result<Option<Cut>> {
        let (mut from_client, mut from_server) = (BytesMut::new(), BytesMut::new());
        let mut has_said_goodbye = false;
        loop {
            tokio::select! {
                read = self.server.read_buf(&mut from_server) => if read.unwrap_or(0) == 0 { return Ok(None) },
                read = self.client.read_buf(&mut from_client) => if read.unwrap_or(0) == 0 {
                    let cut = if has_said_goodbye { None } else { self.goodbye().await };
                    return Ok(cut);
                },
            }
            self.shared.touch();
            while let Some(packet) = packet::take(&mut from_client) {
                let is_command = packet[3] == 0 && !self.sends_file;
                if is_command && packet.get(HEAD) == Some(&QUIT) {
                    has_said_goodbye = true;
                    if let Some(cut) = self.goodbye().await {
                        return Ok(Some(cut));
                    }
                } else if is_command {
                    match self.command(&packet).await {
                        Next::Passes => {}
                        Next::IsCut(cut) => return Ok(Some(cut)),
                        Next::IsRefused(refused) => {
                            self.refuse(refused, packet, &mut from_client, &mut from_server).await?;
                            continue;
                        }
                    }
                }
                let packet = if is_command { self.with_types(packet) } else { packet };
                self.server.write_all(&packet).await?;
            }
            while let Some(packet) = packet::take(&mut from_server) {
                self.sends_file = false;
                if let Some(cut) = self.answer(&packet).await {
                    return Ok(Some(cut));
                }
                self.client.write_all(&packet).await?;
            }
        }
    }

    /// Answers a statement with an error, once the server's transaction is where that error leaves it.
    async fn refuse(
        &mut self,
        refused: Refused,
        packet: Bytes,
        from_client: &mut BytesMut,
        from_server: &mut BytesMut,
    ) -> io::Result<()> {
        let Refused { charge, entry, refusal, instead } = refused;
        if let [EXECUTE, a, b, c, d, ..] = packet[HEAD..] {
            let id = [a, b, c, d];
            if let Some(made) = self.prepared.get_mut(&u32::from_le_bytes(id)) {
                made.types = execution::types(&packet, made.parameters).or(made.types.take());
            }
            // Long values that came before it go with it.
            self.server.write_all(&packet::framed(0, &[&[RESET], &id[..]].concat())).await?;
            next(&mut self.server, from_server).await?;
        }
        let mut last = packet;
        while packet::is_continued(&last) {
            last = next(&mut self.client, from_client).await?;
        }
        if let Some(text) = instead {
            self.server.write_all(&packet::framed(0, &[&[QUERY], text.as_bytes()].concat())).await?;
            let answer = next(&mut self.server, from_server).await?;
            if let Answer::Done { is_in_transaction, .. } = packet::answer(&answer) {
                self.is_in_transaction = is_in_transaction;
                self.has_written = false;
            }
        }
        self.shared.ledger.fail(entry, refusal.sqlstate);
        self.shared.ledger.fire(&charge, Some(entry));
        self.client.write_all(&refusal.packet(last[3])).await
    }

    /// An execution that passes, with the types that came with a refused one.
    fn with_types(&mut self, packet: Bytes) -> Bytes {
        let [EXECUTE, a, b, c, d, ..] = packet[HEAD..] else { return packet };
        let Some(made) = self.prepared.get_mut(&u32::from_le_bytes([a, b, c, d])) else { return packet };
        match made.types.take() {
            Some(types) => execution::with_types(&packet, made.parameters, &types),
            None => packet,
        }
    }

    /// A command has come: what fires before the server gets it.
    async fn command(&mut self, packet: &Bytes) -> Next {
        let Some((&command, body)) = packet.get(HEAD..).and_then(<[u8]>::split_first) else {
            return Next::Passes;
        };
        let id = body.first_chunk().map_or(0, |id| u32::from_le_bytes(*id));
        let statement = match command {
            QUERY => Arc::new(prepared(body)),
            PREPARE => {
                self.awaited = Awaited::Preparation(Arc::new(prepared(body)));
                return Next::Passes;
            }
            EXECUTE | BULK_EXECUTE => {
                self.prepared.get(&id).map_or_else(unseen, |made| Arc::clone(&made.statement))
            }
            CLOSE => {
                self.prepared.remove(&id);
                return Next::Passes;
            }
            _ => return Next::Passes,
        };
        let (ledger, facts) = (&self.shared.ledger, statement.facts);
        let is_select_counted = facts.selects && ledger.counts_selects();
        let is_write = facts.writes || is_select_counted || facts.commits_earlier && self.has_written;
        let had_written = self.has_written;
        self.has_written |= is_select_counted;
        self.has_written = facts.leaves_written.unwrap_or(self.has_written);
        let arrival = ledger.arrive(self.number, &statement, self.is_in_transaction, is_write);
        // Answers that are still to come would be taken for those of the proxy's own statements.
        let is_idle = matches!(self.awaited, Awaited::Nothing);
        let (mut charges, mut cut, mut refused) = (Vec::new(), None, None);
        for charge in arrival.charges {
            match charge.fault {
                Fault::Hold(_) => {
                    ledger.fire(&charge, Some(arrival.entry));
                    charge.released().await;
                }
                Fault::Cut(_) if cut.is_none() => cut = Some(charge),
                Fault::Refuse(_, code) if is_idle && refused.is_none() => refused = Some((charge, code)),
                Fault::CutAnswer(_) | Fault::HoldAnswer(_) => charges.push(charge),
                Fault::Cut(_) | Fault::Refuse(..) => ledger.give_back(&charge),
            }
        }
        if cut.is_some() || refused.is_some() {
            // Nothing of it is answered by the server.
            for charge in charges.drain(..) {
                ledger.give_back(&charge);
            }
        }
        match (cut, refused) {
            (Some(cut), refused) => {
                if let Some((charge, _)) = refused {
                    ledger.give_back(&charge);
                }
                Next::IsCut((cut, Some(arrival.entry)))
            }
            (None, Some((charge, code))) => {
                self.has_written = had_written;
                let refusal = Refusal::of(code, self.is_mariadb);
                let instead = refusal.instead(&statement);
                Next::IsRefused(Refused { charge, entry: arrival.entry, refusal, instead })
            }
            (None, None) => {
                self.awaited = Awaited::Statement { entry: arrival.entry, charges };
                Next::Passes
            }
        }
    }

    /// A packet of the server's: if it is the first that answers a command, what fires before the client gets it.
    async fn answer(&mut self, packet: &Bytes) -> Option<Cut> {
        let (entry, charges) = match std::mem::replace(&mut self.awaited, Awaited::Nothing) {
            Awaited::Nothing => return None,
            Awaited::Preparation(statement) => {
                // Its id, the number of columns, the number of parameters.
                if let Some([0, a, b, c, d, _, _, low, high]) = packet.get(HEAD..HEAD + 9) {
                    let made = Made { statement, parameters: u16::from_le_bytes([*low, *high]), types: None };
                    self.prepared.insert(u32::from_le_bytes([*a, *b, *c, *d]), made);
                }
                return None;
            }
            Awaited::Statement { entry, charges } => (entry, charges),
        };
        let ledger = &self.shared.ledger;
        match packet::answer(packet) {
            Answer::Failed(state) => {
                ledger.fail(entry, &String::from_utf8_lossy(&state));
                for charge in &charges {
                    ledger.give_back(charge);
                }
                return None;
            }
            Answer::WantsFile => {
                self.sends_file = true;
                self.awaited = Awaited::Statement { entry, charges };
                return None;
            }
            Answer::Done { rows, is_in_transaction } => {
                self.is_in_transaction = is_in_transaction;
                ledger.answer(entry, Some(format!("{rows} rows").as_bytes()));
            }
            Answer::Other => ledger.answer(entry, None),
        }
        if !self.is_in_transaction {
            self.has_written = false;
        }
        for charge in charges {
            if matches!(charge.fault, Fault::CutAnswer(_)) {
                return Some((charge, Some(entry)));
            }
            ledger.fire(&charge, Some(entry));
            charge.released().await;
        }
        None
    }

    /// The client goes.
    async fn goodbye(&mut self) -> Option<Cut> {
        let ledger = &self.shared.ledger;
        for charge in ledger.close() {
            match charge.fault {
                Fault::Hold(_) | Fault::HoldAnswer(_) => {
                    ledger.fire(&charge, None);
                    charge.released().await;
                }
                Fault::Cut(_) | Fault::CutAnswer(_) => return Some((charge, None)),
                Fault::Refuse(..) => {}
            }
        }
        None
    }
}

/// The next whole packet of a stream.
async fn next(stream: &mut TcpStream, buffer: &mut BytesMut) -> io::Result<Bytes> {
    loop {
        if let Some(packet) = packet::take(buffer) {
            return Ok(packet);
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn prepared(text: &[u8]) -> Prepared {
    let kept = String::from_utf8_lossy(&text[..text.len().min(KEPT_TEXT)]);
    Prepared { text: kept.trim_end_matches('\u{fffd}').into(), facts: text::facts(text) }
}

/// A statement that was prepared out of our sight.
fn unseen() -> Arc<Prepared> {
    Arc::new(Prepared { text: "(a prepared statement)".into(), facts: Facts::UNSEEN })
}
