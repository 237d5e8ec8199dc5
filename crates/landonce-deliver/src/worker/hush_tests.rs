//! What the log tells of failed attempts.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

use super::book::Book;
use super::fake::{Fake, declared, later, pass};
use super::tests::start;
use crate::Options;
use crate::destination::Answer;
use crate::policy::{Policy, Retry};

/// Keeps the INFO events, a line each.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() == Level::INFO {
            let mut line = Line(String::new());
            event.record(&mut line);
            self.0.lock().unwrap().push(line.0);
        }
    }
}

/// What is logged while a destination answers so to each of 30 messages, for so long.
async fn logged(answer: Answer, lasting: Duration) -> Vec<String> {
    let log = Log::default();
    // With two of them every place that logs asks each, and not only that of the thread which comes by first.
    let _another = Dispatch::new(Log::default());
    let _guard = tracing::subscriber::set_default(log.clone());
    let book = Book::default();
    for nth in 0..30 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(move |_| answer.clone());
    let retry = Retry { first: Duration::from_secs(2), most: Duration::from_secs(2), ..Retry::default() };
    let mut policy = Policy { retry, ..Policy::default() };
    policy.breaker.failures = 1_000;
    let (say, task) = start(&book, vec![declared("crew", "t", &fake, policy)], Options::default());
    pass(lasting).await;
    say.send(true).unwrap();
    task.await.unwrap().unwrap();
    let lines = log.0.lock().unwrap();
    lines.iter().filter(|line| line.contains("an attempt failed")).cloned().collect()
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_told_at_most_once_a_second_and_the_others_are_counted() {
    let lines = logged(later(None), Duration::from_millis(2_900)).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    for part in
        ["destination=\"crew\"", "topic=\"t\"", "id=", "attempt=1 ", "answer=\"500\"", "next=2", "left_out=0"]
    {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    assert!(lines[1].contains("attempt=2 ") && lines[1].contains("left_out=29"), "{}", lines[1]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_for_all_is_told_with_the_pause() {
    let asked = Some(Duration::from_mins(1));
    let all = Answer::Later { told: "429".into(), after: asked, is_for_all: true };
    let lines = logged(all, Duration::from_secs(5)).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    // As asked for, and up to a fifth more by chance.
    let next = lines[0].split("next=").nth(1).and_then(|rest| rest.split(['.', 's']).next()).unwrap();
    assert!((59..=72).contains(&next.parse().unwrap()), "{}", lines[0]);
    assert!(lines[0].contains("answer=\"429\""), "{}", lines[0]);
}
