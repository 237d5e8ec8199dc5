//! An answer's frames, matched with the requests that they belong to.

use super::super::frame;
use super::{Expect, State, Verdict};

impl State {
    pub(super) fn answer(&mut self, tag: u8, body: &[u8]) -> Verdict {
        match tag {
            b'Z' => self.ready(body.first().copied().unwrap_or(b'I')),
            b'E' => self.failed(body),
            // CommandComplete, EmptyQueryResponse, PortalSuspended
            b'C' => self.completed(Some(frame::text(&mut { body }))),
            b'I' => self.completed(Some(b"")),
            b's' => self.completed(None),
            // ParseComplete, BindComplete, CloseComplete; RowDescription and NoData for a Describe
            b'1' => self.stepped(b'P'),
            b'2' => self.stepped(b'B'),
            b'3' => self.stepped(b'C'),
            b'T' | b'n' => self.stepped(b'D'),
            // CopyInResponse, CopyBothResponse: the client has to see it, or it won't go on.
            b'G' | b'W' => {
                self.begin_copy();
                Verdict::Pass
            }
            // FunctionCallResponse
            b'V' => self.completed(Some(b"FUNCTION CALL")),
            b'N' if matches!(self.queue.front(), Some(Expect::Ours)) => Verdict::Hide,
            _ => self.keep_or_pass(),
        }
    }

    /// What isn't decided yet stays with the answer that it is part of.
    fn keep_or_pass(&self) -> Verdict {
        let is_kept = self.keeps
            || match self.queue.front() {
                Some(Expect::Execute(running) | Expect::Query(running)) => !running.charges.is_empty(),
                _ => false,
            };
        if is_kept { Verdict::Keep } else { Verdict::Pass }
    }

    fn stepped(&mut self, request: u8) -> Verdict {
        self.pass_copy_ends();
        // Decided before the step is taken off: it is no part of what comes behind it.
        let verdict = self.keep_or_pass();
        if matches!(self.queue.front(), Some(Expect::Step(tag)) if *tag == request) {
            self.queue.pop_front();
        }
        verdict
    }

    /// A statement has been done, or (`None`) a part of its rows fetched.
    fn completed(&mut self, tag: Option<&[u8]>) -> Verdict {
        self.pass_copy_ends();
        match self.queue.front_mut() {
            Some(Expect::Ours) => Verdict::Hide,
            Some(Expect::Query(running)) => {
                self.ledger.answer(running.entry, tag);
                running.has_failed |= running.is_commit && tag == Some(b"ROLLBACK");
                self.last = Some(running.entry);
                self.keep_or_pass()
            }
            Some(Expect::Execute(_)) => self.executed(tag),
            _ => self.keep_or_pass(),
        }
    }

    fn executed(&mut self, tag: Option<&[u8]>) -> Verdict {
        let Some(Expect::Execute(running)) = self.queue.pop_front() else { return Verdict::Pass };
        self.ledger.answer(running.entry, tag);
        self.last = Some(running.entry);
        if let Some(is_open) = running.opens {
            self.status = if is_open { b'T' } else { b'I' };
        }
        if running.charges.is_empty() {
            return self.keep_or_pass();
        }
        if running.is_commit && tag == Some(b"ROLLBACK") {
            self.give_back(&running.charges);
            return self.keep_or_pass();
        }
        let charges = running.charges.into_iter().map(|charge| (charge, running.entry));
        if running.is_commit || self.status != b'I' {
            return Verdict::Fire(charges.collect());
        }
        // Not committed before the Sync. A client that asks for answers before it (by a Flush) has to get them.
        if self.queue.iter().any(|expect| matches!(expect, Expect::Ready { .. })) {
            self.at_ready.extend(charges);
            self.keeps = true;
            return Verdict::Keep;
        }
        let (holds, cuts): (Vec<_>, Vec<_>) = charges.partition(|(charge, _)| charge.is_hold());
        self.at_ready.extend(cuts);
        if holds.is_empty() { self.keep_or_pass() } else { Verdict::Fire(holds) }
    }

    fn ready(&mut self, status: u8) -> Verdict {
        let mut is_hidden = false;
        while let Some(expect) = self.queue.pop_front() {
            match expect {
                Expect::Ready { is_hidden: hidden } => is_hidden = hidden,
                Expect::Ours => {}
                Expect::Query(running) => {
                    is_hidden = running.hides_ready;
                    if running.has_failed {
                        self.give_back(&running.charges);
                    } else {
                        let entry = running.entry;
                        self.at_ready.extend(running.charges.into_iter().map(|charge| (charge, entry)));
                    }
                }
                // Nothing of that ends with a ReadyForQuery: we have lost count, and find it again here.
                skipped => {
                    self.drop_unanswered(skipped);
                    continue;
                }
            }
            break;
        }
        self.status = status;
        self.is_copying = false;
        self.keeps = false;
        self.last = None;
        if !self.awaits_statements() {
            self.is_open = status != b'I';
            self.has_written &= self.is_open;
        }
        let fired = std::mem::take(&mut self.at_ready);
        if is_hidden {
            for (charge, _) in fired {
                self.ledger.give_back(&charge);
            }
            Verdict::Hide
        } else if fired.is_empty() {
            Verdict::Pass
        } else {
            Verdict::Fire(fired)
        }
    }

    fn failed(&mut self, body: &[u8]) -> Verdict {
        let sqlstate = frame::sqlstate(body);
        self.give_back_at_ready();
        self.pass_copy_ends();
        if frame::is_fatal(body) {
            if let Some(Expect::Query(running) | Expect::Execute(running)) = self.queue.front() {
                self.ledger.fail(running.entry, &sqlstate);
            }
            return Verdict::Pass;
        }
        if self.status == b'T' {
            self.status = b'E';
        }
        let (refusal, entry, is_commit) = match self.queue.front_mut() {
            Some(Expect::Query(running)) => {
                running.has_failed = true;
                let charges = std::mem::take(&mut running.charges);
                let failed = (running.refusal.take(), Some(running.entry), running.is_commit);
                self.give_back(&charges);
                self.is_copying = false;
                failed
            }
            Some(Expect::Execute(_)) => {
                let Some(Expect::Execute(running)) = self.queue.pop_front() else { return Verdict::Pass };
                self.give_back(&running.charges);
                self.skip_to_sync();
                (running.refusal, Some(running.entry), running.is_commit)
            }
            // The statement that was being prepared or bound is the next to be executed, if any is.
            Some(Expect::Step(_)) => (None, self.skip_to_sync(), false),
            Some(Expect::Ours) => return Verdict::Hide,
            // A commit at the Sync failed.
            Some(Expect::Ready { .. }) => (None, self.last, false),
            Some(Expect::CopyEnd) | None => (None, None, false),
        };
        if let (Some((charge, code)), Some(entry)) = (refusal, entry) {
            self.ledger.fail(entry, code);
            self.ledger.fire(&charge, Some(entry));
            return Verdict::Replace(frame::error_response(code, is_commit));
        }
        if let Some(entry) = entry {
            self.ledger.fail(entry, &sqlstate);
        }
        Verdict::Pass
    }

    /// Whether what has been sent may still change the transaction's state.
    pub(super) fn awaits_statements(&self) -> bool {
        self.queue.iter().any(|expect| match expect {
            Expect::Execute(_) | Expect::Ours => true,
            // The error passes before its ReadyForQuery, and a client needn't wait for that.
            Expect::Query(running) => !running.has_failed,
            Expect::Step(_) | Expect::Ready { .. } | Expect::CopyEnd => false,
        })
    }

    /// The server reads on to the next Sync. Returns the first statement that it leaves out.
    fn skip_to_sync(&mut self) -> Option<usize> {
        self.is_copying = false;
        let mut first = None;
        while let Some(expect) = self.queue.pop_front() {
            match &expect {
                Expect::Ready { .. } => {
                    self.queue.push_front(expect);
                    break;
                }
                Expect::Execute(running) | Expect::Query(running) => {
                    first = first.or(Some(running.entry));
                }
                Expect::Step(_) | Expect::Ours | Expect::CopyEnd => {}
            }
            self.drop_unanswered(expect);
        }
        first
    }

    /// Every Sync sent before the data's end is ignored by the server.
    fn begin_copy(&mut self) {
        self.pass_copy_ends();
        if !matches!(self.queue.front(), Some(Expect::Execute(_) | Expect::Query(_))) {
            return;
        }
        let end = self.queue.iter().position(|expect| matches!(expect, Expect::CopyEnd));
        self.is_copying = end.is_none();
        let mut at = 0;
        self.queue.retain(|expect| {
            let is_ignored = end.is_none_or(|end| at < end) && matches!(expect, Expect::Ready { .. });
            at += 1;
            !is_ignored
        });
    }

    fn pass_copy_ends(&mut self) {
        while matches!(self.queue.front(), Some(Expect::CopyEnd)) {
            self.queue.pop_front();
        }
    }

    pub(super) fn drop_unanswered(&self, expect: Expect) {
        if let Expect::Execute(running) | Expect::Query(running) = expect {
            self.give_back(&running.charges);
            if let Some((charge, _)) = running.refusal {
                self.ledger.give_back(&charge);
            }
        }
    }

    pub(super) fn give_back_at_ready(&mut self) {
        self.keeps = false;
        for (charge, _) in std::mem::take(&mut self.at_ready) {
            self.ledger.give_back(&charge);
        }
    }

    fn give_back(&self, charges: &[super::Charge]) {
        for charge in charges {
            self.ledger.give_back(charge);
        }
    }
}
