//! The protocol's rules, each of which can be broken by itself, and the bounds of a check.

/// What the protocol rests on. Everything is true in the real one ([`Rules::OURS`]); a mutant has something false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// A move asks whether the part is still in the epoch in which its worker took it.
    pub(crate) asks_epoch: bool,
    /// A move asks whether the part is where the batch begins.
    pub(crate) asks_place: bool,
    /// The question and the move are one statement, which waits for the row and asks again.
    pub(crate) is_one_statement: bool,
    /// The position moves in the transaction of the rows, and not in another one behind it.
    pub(crate) moves_inside: bool,
    /// The inbox row is inserted in the transaction of the rows, and not committed before it.
    pub(crate) claims_inside: bool,
    /// A worker begins where the database says, and not where the broker says.
    pub(crate) trusts_database: bool,
    /// The place is read by the statement that raises the epoch, and not before it.
    pub(crate) reads_place_with_epoch: bool,
    /// Taking a part raises its epoch.
    pub(crate) raises_epoch: bool,
    /// A batch's id names the epoch.
    pub(crate) id_has_epoch: bool,
    /// A COMMIT without an answer is asked for, and not taken for done.
    pub(crate) resolves_unanswered: bool,
}

impl Rules {
    /// The protocol as it is.
    pub(crate) const OURS: Self = Self {
        asks_epoch: true,
        asks_place: true,
        is_one_statement: true,
        moves_inside: true,
        claims_inside: true,
        trusts_database: true,
        reads_place_with_epoch: true,
        raises_epoch: true,
        id_has_epoch: true,
        resolves_unanswered: true,
    };
}

/// How much may happen in one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    /// Workers.
    pub(crate) workers: usize,
    /// Messages in the log, at most five.
    pub(crate) messages: u8,
    /// Assignments that the broker makes though somebody has the part: two owners, or the same one again.
    pub(crate) assigns: u8,
    /// Crashes, cut connections and lost answers together.
    pub(crate) faults: u8,
    /// Times that a worker gives its batch up and cuts another one from the same place, in the same epoch.
    pub(crate) rereads: u8,
    /// Times that a person puts the position somewhere else, or makes the log anew and puts it to the beginning.
    pub(crate) persons: u8,
}

impl Bounds {
    /// The whole log with its repeat, its update and its delete.
    pub(crate) const LOG: Self =
        Self { workers: 2, messages: 5, assigns: 1, faults: 1, rereads: 0, persons: 0 };
    /// A person in between.
    pub(crate) const PERSON: Self =
        Self { workers: 2, messages: 3, assigns: 1, faults: 1, rereads: 0, persons: 1 };
    /// Three workers.
    pub(crate) const CROWD: Self =
        Self { workers: 3, messages: 3, assigns: 2, faults: 1, rereads: 0, persons: 0 };
    /// More faults one behind the other.
    pub(crate) const FAULTS: Self =
        Self { workers: 2, messages: 2, assigns: 1, faults: 3, rereads: 1, persons: 0 };
}
