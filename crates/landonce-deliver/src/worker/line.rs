//! One destination as one worker sees it: what is leased for it and waits, and when to ask for more.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use landonce_store::outbox::Parcel;
use tokio::time::Instant;
use uuid::Uuid;

use super::flight::Lane;
use crate::route::Route;

/// The most messages of one lease.
const MOST: u32 = 512;
/// The shortest and the longest time between two looks into an outbox that has had nothing.
const LOOK: Duration = Duration::from_millis(200);
const LOOK_SELDOM: Duration = Duration::from_secs(1);
/// A lease that is used up sooner is too small, one that lasts longer too large.
const SOON: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(2);

/// One destination as one worker sees it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) route: Arc<Route>,
    /// Lanes whose next message may be handed over.
    pub(super) ready: VecDeque<Lane>,
    /// How many messages they hold.
    pub(super) waiting: usize,
    /// Where the next lease begins.
    pub(super) behind: Uuid,
    /// When to ask for more.
    pub(super) ask_at: Instant,
    /// It is asked first whether there is anything: nothing was there last time.
    pub(super) is_idle: bool,
    /// With `once`: nothing is left to be leased.
    pub(super) is_drained: bool,
    /// With `once`: nothing can be leased, and whether others hold something isn't known yet.
    pub(super) is_in_doubt: bool,
    /// With `once`: nobody else held anything when it was asked.
    pub(super) is_free: bool,
    look: Duration,
    most: u32,
    leased_at: Option<Instant>,
}

impl Line {
    pub(super) fn new(route: Arc<Route>, now: Instant) -> Self {
        let most = Self::least(&route).max(64).min(MOST.max(Self::least(&route)));
        Self {
            route,
            ready: VecDeque::new(),
            waiting: 0,
            // Workers that start elsewhere don't meet.
            behind: Uuid::from_u128(rand::random()),
            ask_at: now,
            is_idle: false,
            is_drained: false,
            is_in_doubt: false,
            is_free: false,
            look: LOOK,
            most,
            leased_at: None,
        }
    }

    /// What keeps the destination busy while more is asked for.
    fn least(route: &Route) -> u32 {
        let (takes, at_once) = (route.declared.destination.takes(), route.declared.policy.concurrency);
        u32::try_from(takes.saturating_mul(at_once).saturating_mul(2)).unwrap_or(MOST).clamp(16, 4 * MOST)
    }

    /// The most messages of the next lease, and the most of one lane.
    pub(super) fn most(&self) -> (u32, u32) {
        (self.most, (self.most / 4).max(16))
    }

    /// Whether more should be asked for, before what there is has run dry.
    pub(super) fn is_hungry(&self, now: Instant) -> bool {
        !self.is_drained && self.ask_at <= now && self.waiting <= self.most as usize / 2
    }

    /// A lease that was asked for at `asked_at` has brought this.
    pub(super) fn take(&mut self, parcels: Vec<Parcel>, chunk: u64, next: Uuid, asked_at: Instant) {
        let is_full = parcels.len() >= self.most as usize;
        if let Some(before) = self.leased_at.replace(asked_at) {
            let between = asked_at.duration_since(before);
            let (least, most) = (Self::least(&self.route), MOST.max(Self::least(&self.route)));
            if is_full && between < SOON {
                self.most = (self.most * 2).min(most);
            } else if between > LONG {
                self.most = (self.most / 2).max(least);
            }
        }
        self.behind = next;
        self.ask_at = asked_at;
        self.is_idle = false;
        self.is_in_doubt = false;
        self.is_free = false;
        self.look = LOOK;
        self.waiting += parcels.len();
        let mut parcels = parcels.into_iter().peekable();
        while let Some(first) = parcels.next() {
            let lane = first.lane;
            let mut of_lane = VecDeque::from([first]);
            while let Some(next) = parcels.next_if(|parcel| parcel.lane == lane) {
                of_lane.push_back(next);
            }
            self.ready.push_back(Lane { parcels: of_lane, chunk });
        }
    }

    /// There is nothing to be leased now; `due` is how long until there is, as far as is known.
    pub(super) fn rest(&mut self, now: Instant, due: Option<Duration>) {
        self.is_idle = true;
        // Something new may be enqueued any time.
        self.ask_at = now + due.unwrap_or(self.look).clamp(LOOK / 4, self.look);
        self.look = self.look.mul_f64(1.5).min(LOOK_SELDOM);
    }

    /// There may be something to be leased now.
    pub(super) fn wake(&mut self, now: Instant) {
        self.is_idle = false;
        self.ask_at = self.ask_at.min(now);
    }
}
