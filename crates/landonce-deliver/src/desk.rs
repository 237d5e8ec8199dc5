//! Where messages come from and verdicts go: the outbox, as the loop sees it. A trait, so that the loop is tested against a desk
//! that loses its connection, forgets leases and has a clock of its own.

use std::time::Duration;

use landonce::outbox::Outbox;
use landonce::{Pending, RetryPolicy};
use landonce_store::outbox::{Depth, Lease, Leased, Verdict, Want};

/// The outbox's verbs of delivery; what each promises is written in [`landonce_store::outbox`].
pub(crate) trait Desk: Send + 'static {
    /// Leases messages that are due.
    fn lease<'a>(&'a mut self, want: &'a Want<'a>) -> Pending<'a, Leased>;
    /// Holds leases for so much longer; returns those that are lost.
    fn renew<'a>(&'a mut self, leases: &'a [Lease], lease: Duration) -> Pending<'a, Vec<Lease>>;
    /// Says what became of messages; returns the leases that are lost.
    fn settle<'a>(&'a mut self, verdicts: &'a [Verdict]) -> Pending<'a, Vec<Lease>>;
    /// No message of a topic is leased for so long, by anybody.
    fn pause<'a>(&'a mut self, topic: &'a str, lasting: Duration, reason: &'a str) -> Pending<'a, ()>;
    /// How long until a message of these topics can be leased.
    fn next_due<'a>(&'a mut self, topics: &'a [String]) -> Pending<'a, Option<Duration>>;
    /// The figures of every topic.
    fn depth(&mut self) -> Pending<'_, Vec<Depth>>;
    /// Deletes messages that were done with so long ago.
    fn prune(&mut self, older_than: Duration, most: u32) -> Pending<'_, u64>;
}

/// How often a verb itself tries again: a deadlock is nothing to hear of, and what lasts longer is the loop's to wait for, because
/// it holds back what it could send meanwhile.
pub(crate) fn patience() -> RetryPolicy {
    RetryPolicy { attempts: 3, deadline: Duration::from_secs(2), ..RetryPolicy::default() }
}

impl Desk for Outbox {
    fn lease<'a>(&'a mut self, want: &'a Want<'a>) -> Pending<'a, Leased> {
        self.lease(want)
    }

    fn renew<'a>(&'a mut self, leases: &'a [Lease], lease: Duration) -> Pending<'a, Vec<Lease>> {
        self.renew(leases, lease)
    }

    fn settle<'a>(&'a mut self, verdicts: &'a [Verdict]) -> Pending<'a, Vec<Lease>> {
        self.settle(verdicts)
    }

    fn pause<'a>(&'a mut self, topic: &'a str, lasting: Duration, reason: &'a str) -> Pending<'a, ()> {
        self.pause(topic, lasting, reason)
    }

    fn next_due<'a>(&'a mut self, topics: &'a [String]) -> Pending<'a, Option<Duration>> {
        self.next_due(topics)
    }

    fn depth(&mut self) -> Pending<'_, Vec<Depth>> {
        self.depth()
    }

    fn prune(&mut self, older_than: Duration, most: u32) -> Pending<'_, u64> {
        self.prune(older_than, most)
    }
}
