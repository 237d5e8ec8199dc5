//! Messages as a worker would hand them over.

use std::time::Duration;

use landonce_deliver::destination::Answer;
use landonce_deliver::environment::Environment;
use landonce_store::outbox::Parcel;
use uuid::Uuid;

/// The `n`-th message, of a lane of its own.
pub(crate) fn parcel(n: u64, payload: &str) -> Parcel {
    Parcel {
        id: landonce_core::message::id("p", "crew", &n.to_string(), b"change"),
        fence: 1,
        seq: n.cast_signed(),
        topic: "crew".into(),
        lane: Uuid::from_u128(n.into()),
        entity: format!("{{\"flight\":\"B6-{n}\"}}"),
        kind: "updated".into(),
        payload: payload.into(),
        attempts: 2,
        age: Duration::from_secs(1),
    }
}

/// Variables by name; the other ones aren't set.
pub(crate) fn with_environment<T>(variables: &[(&str, &str)], run: impl FnOnce(Environment<'_>) -> T) -> T {
    let look_up =
        |name: &str| variables.iter().find(|(there, _)| *there == name).map(|(_, value)| (*value).to_owned());
    run(Environment::new(&look_up))
}

/// `taken`, `later`, `later for all` or `never`, with what was told.
pub(crate) fn answer(answer: &Answer) -> (&'static str, &str) {
    match answer {
        Answer::Taken { told } => ("taken", told),
        Answer::Later { told, is_for_all: false, .. } => ("later", told),
        Answer::Later { told, is_for_all: true, .. } => ("later for all", told),
        Answer::Never { told } => ("never", told),
    }
}
