//! What is simulated. Times are in microseconds.

/// A second.
pub(crate) const SECOND: u64 = 1_000_000;

/// A cluster, a database, and what goes wrong.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) parts: usize,
    /// Messages a second that are produced, over all parts; infinite where everything is there already.
    pub(crate) offered: f64,
    /// Every rebalance takes every part from its owner first; else only those that move.
    pub(crate) is_eager: bool,
    /// A worker crashes so often, on the average, and comes back after `restart`.
    pub(crate) crash_every: u64,
    pub(crate) restart: u64,
    /// How long the broker waits for a silent worker.
    pub(crate) session: u64,
    /// Something else that makes the group rebalance: deployments, scaling.
    pub(crate) rebalance_every: u64,
    /// From the beginning of a rebalance to the new assignment.
    pub(crate) barrier: u64,
    /// From an assignment to the next rebalance, where somebody has come or gone meanwhile.
    pub(crate) settle: u64,
    /// How often a worker hears of its loss only after the next one has taken the part.
    pub(crate) late: f64,
    /// How often a COMMIT isn't answered.
    pub(crate) unanswered: f64,
    /// How long the server holds the transaction of a connection that is gone.
    pub(crate) notice: u64,
    /// Messages in a batch, at most, and how long a batch that isn't full waits.
    pub(crate) batch: u64,
    pub(crate) linger: u64,
    /// Transactions that a worker has open at once.
    pub(crate) at_once: usize,
    /// A worker's own time for a message: decoding, hashing, encoding.
    pub(crate) worker_message: f64,
    /// A round trip, and how many a batch takes.
    pub(crate) round_trip: u64,
    pub(crate) round_trips: u64,
    /// The database's cores, its time for a batch and for a row, and its time for a COMMIT (shared by those that come together).
    pub(crate) cores: usize,
    pub(crate) batch_cost: f64,
    pub(crate) row_cost: f64,
    pub(crate) commit: u64,
    /// Connections.
    pub(crate) connections: usize,
    /// How long it all goes on.
    pub(crate) duration: u64,
    pub(crate) seed: u64,
    /// Moves ask for no epoch and no place: the checks must find it.
    pub(crate) is_broken: bool,
}

impl Settings {
    /// A group of so many workers, each with four parts, on a database of 16 cores that takes about 700,000 rows a second.
    pub(crate) fn of(workers: usize) -> Self {
        Self {
            workers,
            parts: workers * 4,
            offered: f64::INFINITY,
            is_eager: false,
            crash_every: 7_200 * SECOND,
            restart: 5 * SECOND,
            session: 10 * SECOND,
            rebalance_every: 300 * SECOND,
            barrier: SECOND,
            settle: SECOND,
            late: 0.05,
            unanswered: 0.001,
            notice: 2 * SECOND,
            batch: 2_000,
            linger: 200_000,
            at_once: 4,
            worker_message: 10.0,
            round_trip: 500,
            round_trips: 25,
            cores: 16,
            batch_cost: 30_000.0,
            row_cost: 7.0,
            commit: 2_000,
            connections: 400,
            duration: 600 * SECOND,
            seed: 1,
            is_broken: false,
        }
    }

    /// What the workers could do, and what the database could: messages a second.
    pub(crate) fn limits(&self) -> (f64, f64) {
        let batch = self.batch as f64;
        let database = self.cores as f64 * batch / (self.batch_cost + batch * self.row_cost) * SECOND as f64;
        (self.workers as f64 / self.worker_message * SECOND as f64, database)
    }
}
