//! `notified`: what goes out over HTTP is recorded, and compared between a run, its repeat, and a run that was killed.

use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Leftovers, Stand};
use crate::class::Class;
use crate::error::Result;
use crate::judge::{Draft, list};
use crate::recorder::{Call, Recorder};
use crate::wire::{At, Fault};

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    let first = match calls_of_a_clean_run(stage).await {
        Ok(calls) => calls,
        Err(error) => {
            outcome.because(error.whole());
            return outcome;
        }
    };
    let effects = distinct(&first);
    if effects.is_empty() {
        let tunnels = first.iter().any(|call| call.method == "CONNECT");
        outcome.because(if tunnels {
            "calls went out through tunnels that couldn't be looked into: the command doesn't trust the certificate that \
             it was given"
        } else {
            "no call with an effect went out by way of HTTP_PROXY or {hook}"
        });
        return outcome;
    }
    let count = effects.len() as u64;
    let name = "calls of a run and of its repeat";
    outcome.trial(stage, "notified:twice", name, async || repeated(stage).await).await;
    let mut holds = vec![1];
    if count > 1 {
        holds.push(count);
    }
    for nth in holds {
        let name = format!("killed when call {nth} of {count} had gone out, then run again");
        let id = format!("notified:killed:{nth}");
        outcome
            .trial(stage, &id, &name, async || killed_at_call(stage, nth, effects.len(), &name).await)
            .await;
    }
    if stage.has_wire() && clean.writes() > 0 {
        let name = "killed when its last write was done, then run again";
        outcome
            .trial(stage, "notified:lost", name, async || {
                killed_at_commit(stage, clean, name, effects.len()).await
            })
            .await;
    }
    outcome
}

/// Whether doing it twice is more than doing it once.
fn is_effect(call: &Call) -> bool {
    !call.is_idempotent && call.method != "CONNECT"
}

fn conditions(recorder: &Recorder) -> Conditions {
    Conditions {
        environment: recorder.environment(),
        hook: Some(recorder.hook_url()),
        ..Conditions::default()
    }
}

async fn calls_of_a_clean_run(stage: &Stage<'_>) -> Result<Vec<Call>> {
    let recorder = Recorder::start().await?;
    let mut stand = Stand::new(stage).await?;
    stand.run("first run", &conditions(&recorder)).await?;
    stand.give_back().await?;
    Ok(recorder.calls())
}

async fn repeated(stage: &Stage<'_>) -> Result<(Leftovers, Shown)> {
    let recorder = Recorder::start().await?;
    let mut stand = Stand::new(stage).await?;
    stand.run("first run", &conditions(&recorder)).await?;
    let first = recorder.calls();
    stand.note(format!("{} calls have gone out", first.len()));
    stand.run("repeat", &conditions(&recorder)).await?;
    let all = recorder.calls();
    stand.note(format!("{} calls more have gone out", all.len() - first.len()));
    let again = beyond(&all, distinct(&first).len());
    let mut drafts = Vec::new();
    if !again.is_empty() {
        drafts.push(Draft::new(
            Class::EffectRepeated,
            format!(
                "The second run on the same input made {} calls again that the first had made: {}. They carry no \
                 idempotency key by which the receiver could tell.",
                again.len(),
                list(&again)
            ),
        ));
    }
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

async fn killed_at_call(stage: &Stage<'_>, nth: u64, once: usize, name: &str) -> Result<(Leftovers, Shown)> {
    let recorder = Recorder::start().await?;
    recorder.hold_answer(nth);
    let mut stand = Stand::new(stage).await?;
    let mut going = stand.begin("faulted run", &conditions(&recorder)).await?;
    tokio::select! {
        () = recorder.held() => {}
        ended = going.running.ended_within(stage.limit()) => {
            if let Some(ended) = ended? {
                stand.keep(going, ended).await?;
                let why = "the run ended before that call came";
                return Ok((stand.give_back().await?, Shown::Unjudged(why.to_owned())));
            }
        }
    }
    stand.fault(name);
    stand.kill(going).await?;
    stand.run("clean re-run", &conditions(&recorder)).await?;
    let again = beyond(&recorder.calls(), once);
    let mut drafts = Vec::new();
    if !again.is_empty() {
        drafts.push(Draft::new(
            Class::EffectRepeated,
            format!(
                "{name}: {} calls went out a second time: {}. They carry no idempotency key by which the receiver could tell.",
                again.len(),
                list(&again)
            ),
        ));
    }
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

async fn killed_at_commit(
    stage: &Stage<'_>,
    clean: &Clean,
    name: &str,
    once: usize,
) -> Result<(Leftovers, Shown)> {
    let recorder = Recorder::start().await?;
    let mut stand = Stand::new(stage).await?;
    let mut faulted = conditions(&recorder);
    faulted.faults = vec![Fault::HoldAnswer(At::Write(clean.writes()))];
    let mut going = stand.begin("faulted run", &faulted).await?;
    let armed = going.armed[0].clone();
    tokio::select! {
        () = armed.fired() => {}
        ended = going.running.ended_within(stage.limit()) => {
            if let Some(ended) = ended? {
                stand.keep(going, ended).await?;
                let why = "the run ended before that write came";
                return Ok((stand.give_back().await?, Shown::Unjudged(why.to_owned())));
            }
        }
    }
    stand.fault(name);
    stand.kill(going).await?;
    stand.run("clean re-run", &conditions(&recorder)).await?;
    let all = recorder.calls();
    let found = distinct(&all).len();
    let again = beyond(&all, once);
    let mut drafts = Vec::new();
    if found < once {
        drafts.push(Draft::new(
            Class::EffectLost,
            format!(
                "{name}: {found} of {once} calls went out in all. The data is in, so the next run finds nothing to do, and \
                 what should have followed it never happens."
            ),
        ));
    } else if !again.is_empty() {
        drafts.push(Draft::new(
            Class::EffectRepeated,
            format!("{name}: {} calls went out a second time: {}.", again.len(), list(&again)),
        ));
    }
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

/// The calls with an effect, less those that a receiver drops because it has seen their idempotency key.
fn distinct(calls: &[Call]) -> Vec<&Call> {
    let mut kept: Vec<&Call> = Vec::new();
    for call in calls.iter().filter(|call| is_effect(call)) {
        let is_known = call.idempotency_key.is_some()
            && kept.iter().any(|other| other.idempotency_key == call.idempotency_key);
        if !is_known {
            kept.push(call);
        }
    }
    kept
}

/// Those beyond the first `once`, in words.
fn beyond(calls: &[Call], once: usize) -> Vec<String> {
    distinct(calls).into_iter().skip(once).map(|call| format!("{} {}", call.method, call.url)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(method: &str, key: Option<&str>) -> Call {
        Call {
            method: method.into(),
            url: "http://hooks/alert".into(),
            body_digest: "a".into(),
            body_start: String::new(),
            idempotency_key: key.map(str::to_owned),
            is_idempotent: method != "POST",
        }
    }

    #[test]
    fn whatever_goes_out_beyond_the_first_run_is_repeated() {
        let calls = [call("POST", None), call("GET", None), call("POST", None)];
        assert_eq!(beyond(&calls, 1), ["POST http://hooks/alert"]);
        assert!(beyond(&calls, 2).is_empty());
    }

    #[test]
    fn a_receiver_tells_by_the_key() {
        assert!(beyond(&[call("POST", Some("k")), call("POST", Some("k"))], 1).is_empty());
        assert_eq!(beyond(&[call("POST", Some("k")), call("POST", Some("l"))], 1).len(), 1);
    }
}
