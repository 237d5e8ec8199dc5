//! A destination that does as it is told, and remembers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use landonce_store::outbox::Parcel;
use tokio::time::Instant;
use uuid::Uuid;

use crate::Declared;
use crate::destination::{Answer, Destination, Sending};
use crate::policy::Policy;

/// A message that was handed over.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: Uuid,
    pub(super) lane: Uuid,
    pub(super) seq: i64,
    pub(super) fence: i64,
    pub(super) attempts: u32,
    pub(super) began: Instant,
    pub(super) ended: Instant,
}

/// The test's clock goes on for so long; nobody waits for it.
pub(super) async fn pass(lasting: Duration) {
    // That it is over is what was waited for.
    let _ = tokio::time::timeout(lasting, std::future::pending::<()>()).await;
}

type Script = Box<dyn Fn(&Call) -> Answer + Send + Sync>;

pub(super) struct Fake {
    script: Script,
    lasts: Duration,
    takes: usize,
    log: Mutex<Vec<Call>>,
    at_once: Mutex<(usize, usize)>,
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

pub(super) fn taken() -> Answer {
    Answer::Taken { told: "200".into() }
}

pub(super) fn later(after: Option<Duration>) -> Answer {
    Answer::Later { told: "500".into(), after, is_for_all: false }
}

pub(super) fn declared(name: &str, topic: &str, fake: &Arc<Fake>, policy: Policy) -> Declared {
    Declared { name: name.into(), topics: vec![topic.into()], policy, destination: Arc::<Fake>::clone(fake) }
}

impl Fake {
    pub(super) fn new(script: impl Fn(&Call) -> Answer + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            lasts: Duration::ZERO,
            takes: 1,
            log: Mutex::default(),
            at_once: Mutex::default(),
        })
    }

    fn own(self: Arc<Self>) -> Self {
        Arc::try_unwrap(self).unwrap()
    }

    pub(super) fn slow(self: Arc<Self>, lasts: Duration) -> Arc<Self> {
        Arc::new(Self { lasts, ..self.own() })
    }

    pub(super) fn takes(self: Arc<Self>, takes: usize) -> Arc<Self> {
        Arc::new(Self { takes, ..self.own() })
    }

    pub(super) fn log(&self) -> Vec<Call> {
        self.log.lock().unwrap().clone()
    }

    pub(super) fn ids(&self) -> Vec<Uuid> {
        self.log().iter().map(|call| call.id).collect()
    }

    pub(super) fn most_at_once(&self) -> usize {
        self.at_once.lock().unwrap().1
    }
}

impl Destination for Fake {
    fn takes(&self) -> usize {
        self.takes
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a> {
        Box::pin(async move {
            {
                let mut at_once = self.at_once.lock().unwrap();
                at_once.0 += 1;
                at_once.1 = at_once.1.max(at_once.0);
            }
            let began = Instant::now();
            let call = |parcel: &Parcel| Call {
                id: parcel.id,
                lane: parcel.lane,
                seq: parcel.seq,
                fence: parcel.fence,
                attempts: parcel.attempts,
                began,
                ended: began + self.lasts,
            };
            let calls: Vec<Call> = parcels.iter().map(call).collect();
            self.log.lock().unwrap().extend(calls.iter().cloned());
            pass(self.lasts).await;
            self.at_once.lock().unwrap().0 -= 1;
            calls.iter().map(|call| (self.script)(call)).collect()
        })
    }
}
