//! The loop, against a desk in memory and a destination that does as it is told; time is the test's.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::book::Book;
use super::fake::{Fake, declared, later, pass, taken};
use crate::destination::Answer;
use crate::policy::{Breaker, Policy, Retry};
use crate::run::deliver;
use crate::{Declared, Delivery, Error, Options, Summary};

const ONE: Duration = Duration::from_secs(1);

async fn once(book: &Book, routes: Vec<Declared>) -> Summary {
    let options = Options { is_once: true, ..Options::default() };
    start(book, routes, options).1.await.unwrap().unwrap()
}

pub(super) type Delivering = tokio::task::JoinHandle<Result<Summary, Error>>;

pub(super) fn start(
    book: &Book,
    routes: Vec<Declared>,
    options: Options,
) -> (watch::Sender<bool>, Delivering) {
    let (say, stop) = watch::channel(false);
    let (book, delivery) = (book.clone(), Delivery::new(routes).unwrap());
    let task = tokio::spawn(async move { deliver(&delivery, &options, move || book.desk(), stop).await });
    (say, task)
}

#[tokio::test(start_paused = true)]
async fn of_a_lane_one_goes_after_the_other_while_other_lanes_go_on() {
    let book = Book::default();
    for nth in 0..60 {
        book.enqueue("t", nth % 6);
    }
    let fake = Fake::new(|_| taken()).slow(Duration::from_millis(50));
    let began = Instant::now();
    let summary = once(&book, vec![declared("d", "t", &fake, Policy::default())]).await;
    assert_eq!(summary.destinations[0].sent, 60);
    assert!(summary.is_all_delivered());
    assert!(began.elapsed() < ONE, "six at once: {:?}", began.elapsed());
    assert_eq!(book.state_counts(), (0, 60, 0));
    let log = fake.log();
    for lane in 0..6 {
        let of_lane: Vec<_> = log.iter().filter(|call| call.lane == book.lane(lane)).collect();
        assert_eq!(of_lane.len(), 10);
        for pair in of_lane.windows(2) {
            assert!(pair[0].ended <= pair[1].began && pair[0].seq < pair[1].seq);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_holds_up_its_lane_only_and_counts_for_the_one_that_failed() {
    let book = Book::default();
    let (bad, next, other) = (book.enqueue("t", 1), book.enqueue("t", 1), book.enqueue("t", 2));
    let fake =
        Fake::new(move |call| if call.id == bad && call.attempts == 0 { later(None) } else { taken() });
    let route = || vec![declared("d", "t", &fake, Policy::default())];
    let summary = once(&book, route()).await;
    let tally = &summary.destinations[0];
    assert_eq!((tally.sent, tally.again, tally.waiting), (1, 1, 1));
    assert!(!summary.is_all_delivered());
    assert_eq!(fake.ids(), [bad, other], "what is behind it was not tried");
    assert_eq!((book.attempts(bad), book.attempts(next)), (1, 0));
    let failed_at = Instant::now();
    tokio::time::advance(Duration::from_millis(1_300)).await;
    once(&book, route()).await;
    assert_eq!(fake.ids()[2..], [bad, next], "in order");
    assert!(fake.log()[2].began.duration_since(failed_at) >= ONE);
}

#[tokio::test(start_paused = true)]
async fn what_a_receiver_asks_for_is_kept_to_by_all_its_messages_and_by_no_other_destination() {
    let book = Book::default();
    for nth in 0..500 {
        book.enqueue("t", nth);
        book.enqueue("o", 1_000 + nth);
    }
    let began = Instant::now();
    let asked = Duration::from_mins(2);
    let fake = Fake::new(move |call| {
        if call.began < began + asked {
            Answer::Later { told: "429".into(), after: Some(asked), is_for_all: true }
        } else {
            taken()
        }
    })
    .slow(Duration::from_millis(10));
    let other = Fake::new(|_| taken()).slow(Duration::from_millis(10));
    let routes =
        || vec![declared("d", "t", &fake, Policy::default()), declared("e", "o", &other, Policy::default())];
    let (say, task) = start(&book, routes(), Options { workers: 3, ..Options::default() });
    pass(Duration::from_secs(100)).await;
    assert_eq!(fake.log().len(), 1, "one has asked for it, and nobody else has tried");
    assert_eq!(other.log().len(), 500);
    assert!(other.log().iter().all(|call| call.began < began + Duration::from_secs(5)));
    assert_eq!(book.leased(), 0, "what waits is nobody's");
    pass(Duration::from_secs(100)).await;
    say.send(true).unwrap();
    task.await.unwrap().unwrap();
    let log = fake.log();
    assert_eq!(log.len(), 501);
    assert!(log[1].began >= began + asked);
    // One at first, then one more for each that was taken.
    assert!(log[2].began >= log[1].ended && log[3].began >= log[2].ended.min(log[1].ended));
    let soon =
        log.iter().skip(1).filter(|call| call.began < log[1].began + Duration::from_millis(25)).count();
    assert!(soon <= 8, "no burst: {soon}");
    assert!(log.iter().all(|call| call.attempts == 0), "the pause is no attempt of theirs");
}

#[tokio::test(start_paused = true)]
async fn a_message_dies_after_its_attempts_or_its_deadline_and_its_lane_goes_on() {
    for retry in [
        Retry { attempts: 3, ..Retry::default() },
        Retry { deadline: Duration::from_secs(3), ..Retry::default() },
    ] {
        let book = Book::default();
        let (bad, next) = (book.enqueue("t", 1), book.enqueue("t", 1));
        let fake = Fake::new(move |call| if call.id == bad { later(None) } else { taken() });
        let (say, task) = start(
            &book,
            vec![declared("d", "t", &fake, Policy { retry, ..Policy::default() })],
            Options::default(),
        );
        pass(Duration::from_secs(30)).await;
        say.send(true).unwrap();
        let summary = task.await.unwrap().unwrap();
        assert_eq!((summary.destinations[0].sent, summary.destinations[0].dead), (1, 1));
        assert_eq!(fake.ids(), [bad, bad, bad, next]);
        assert_eq!(book.state_counts(), (0, 1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_kills_no_message_before_its_deadline() {
    let book = Book::default();
    book.enqueue("t", 1);
    let began = Instant::now();
    let fake = Fake::new(move |call| {
        if call.began < began + Duration::from_hours(10) {
            Answer::Later { told: "connection refused".into(), after: None, is_for_all: true }
        } else {
            taken()
        }
    });
    let (say, task) = start(&book, vec![declared("d", "t", &fake, Policy::default())], Options::default());
    pass(Duration::from_hours(10) + Duration::from_mins(1)).await;
    assert_eq!(book.state_counts(), (0, 1, 0), "soon after the outage");
    say.send(true).unwrap();
    task.await.unwrap().unwrap();
    // At most one each 30 s, and sooner at first.
    assert!((900..1_300).contains(&fake.log().len()), "{}", fake.log().len());
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_pause_the_destination_for_every_process() {
    let book = Book::default();
    for nth in 0..50 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(|_| later(None)).slow(Duration::from_millis(1));
    let policy = Policy {
        concurrency: 4,
        breaker: Breaker { failures: 5, pause: Duration::from_secs(30) },
        ..Policy::default()
    };
    let (say, task) = start(&book, vec![declared("d", "t", &fake, policy)], Options::default());
    pass(Duration::from_secs(20)).await;
    assert_eq!(fake.log().len(), 5);
    assert!(book.pause("t").is_some());
    assert_eq!(book.leased(), 0);
    pass(Duration::from_secs(20)).await;
    assert_eq!(fake.log().len(), 6, "one tries");
    say.send(true).unwrap();
    task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_beyond_its_leases_sends_nothing_of_them() {
    let book = Book::default();
    for nth in 0..10 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(|_| taken());
    // One a second, so that most wait with their lease.
    let policy = || Policy { rate: Some(1.0), ..Policy::default() };
    let (say, task) = start(&book, vec![declared("d", "t", &fake, policy())], Options::default());
    pass(Duration::from_millis(2_500)).await;
    let before = fake.log().len();
    assert!((2..=4).contains(&before), "{before}");
    // The clock goes on while nothing of the process does, and somebody else takes its messages over.
    tokio::time::advance(Duration::from_mins(2)).await;
    book.take_over_all();
    pass(Duration::from_secs(20)).await;
    say.send(true).unwrap();
    let summary = task.await.unwrap().unwrap();
    assert_eq!(fake.log().len(), before, "not one of the others");
    assert_eq!(summary.destinations[0].lost as usize, 10 - before);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_another_took_over_is_not_sent() {
    let book = Book::default();
    let ids: Vec<_> = (0..4).map(|_| book.enqueue("t", 1)).collect();
    // The second one takes longer than a third of a lease: there is a renewal meanwhile, and it says what is lost.
    let fake = Fake::new(|_| taken()).slow(Duration::from_secs(25));
    let (say, task) = start(&book, vec![declared("d", "t", &fake, Policy::default())], Options::default());
    pass(ONE).await;
    book.take_over(ids[2]);
    pass(Duration::from_secs(100)).await;
    assert_eq!(fake.ids(), ids[..2], "neither it nor what is behind it");
    say.send(true).unwrap();
    let summary = task.await.unwrap().unwrap();
    assert_eq!((summary.destinations[0].sent, summary.destinations[0].lost), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn leases_are_held_for_as_long_as_their_messages_wait() {
    let book = Book::default();
    for nth in 0..200 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(|_| taken());
    let policy = Policy { rate: Some(1.0), ..Policy::default() };
    let summary = once(&book, vec![declared("d", "t", &fake, policy)]).await;
    assert_eq!((summary.destinations[0].sent, summary.destinations[0].lost), (200, 0));
    assert!(fake.log().iter().all(|call| call.fence == 1));
}

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_while_the_database_was_away_is_recorded_afterwards() {
    let book = Book::default();
    for nth in 0..40 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(|_| taken()).slow(Duration::from_millis(100));
    let (say, task) = start(&book, vec![declared("d", "t", &fake, Policy::default())], Options::default());
    pass(Duration::from_millis(250)).await;
    book.fail(true);
    pass(ONE).await;
    let sent = fake.log().len();
    pass(Duration::from_secs(20)).await;
    assert_eq!((fake.log().len(), sent < 40), (sent, true), "nothing is sent while it can't be recorded");
    book.fail(false);
    pass(Duration::from_secs(20)).await;
    say.send(true).unwrap();
    let summary = task.await.unwrap().unwrap();
    assert_eq!(fake.log().len(), 40, "each once");
    assert_eq!((summary.destinations[0].sent, book.state_counts()), (40, (0, 40, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_ever_for_a_database_that_says_nothing() {
    let book = Book::default();
    for nth in 0..10 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(|_| taken()).slow(ONE);
    let (say, task) = start(&book, vec![declared("d", "t", &fake, Policy::default())], Options::default());
    pass(Duration::from_millis(1_500)).await;
    book.say_nothing();
    pass(ONE).await;
    say.send(true).unwrap();
    let stopped_at = Instant::now();
    assert!(matches!(task.await.unwrap(), Err(Error::Silent { held: 1.. })));
    assert!(stopped_at.elapsed() <= Duration::from_secs(16), "{:?}", stopped_at.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_database_that_never_answers_is_an_error_at_once() {
    let book = Book::default();
    book.fail(true);
    let fake = Fake::new(|_| taken());
    let (_say, task) = start(&book, vec![declared("d", "t", &fake, Policy::default())], Options::default());
    assert!(matches!(task.await.unwrap(), Err(Error::Store(_))));
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_what_is_under_way_end_and_gives_back_the_rest() {
    let book = Book::default();
    for nth in 0..30 {
        book.enqueue("t", nth % 3);
    }
    let fake = Fake::new(|_| taken()).slow(ONE);
    let (say, task) = start(&book, vec![declared("d", "t", &fake, Policy::default())], Options::default());
    pass(Duration::from_millis(2_500)).await;
    let under_way = fake.log().len();
    say.send(true).unwrap();
    let summary = task.await.unwrap().unwrap();
    assert_eq!(fake.log().len(), under_way, "nothing new is begun");
    assert_eq!(summary.destinations[0].sent as usize, under_way);
    assert_eq!((book.leased(), book.state_counts().0), (0, 30 - under_way));
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_takes_several_gets_one_of_each_lane_at_a_time() {
    let book = Book::default();
    for nth in 0..40 {
        book.enqueue("t", nth % 8);
    }
    let fake = Fake::new(|_| taken()).slow(ONE).takes(100);
    let policy = Policy { concurrency: 1, ..Policy::default() };
    let began = Instant::now();
    let summary = once(&book, vec![declared("d", "t", &fake, policy)]).await;
    assert_eq!(summary.destinations[0].sent, 40);
    assert!(began.elapsed() < Duration::from_secs(6), "five times eight: {:?}", began.elapsed());
    for (at, call) in fake.log().iter().enumerate() {
        let clash = fake.log().iter().enumerate().any(|(other_at, other)| {
            at != other_at && call.lane == other.lane && other.began < call.ended && call.began < other.ended
        });
        assert!(!clash);
    }
}

#[tokio::test(start_paused = true)]
async fn many_messages_cost_few_transactions_and_no_waiting() {
    let book = Book::default();
    for nth in 0..2_000 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(|_| taken()).slow(Duration::from_millis(2));
    let policy = Policy { concurrency: 32, ..Policy::default() };
    let began = Instant::now();
    let summary = once(&book, vec![declared("d", "t", &fake, policy)]).await;
    assert_eq!(summary.destinations[0].sent, 2_000);
    // 2,000 by 32 at once and 2 ms each is 0.13 s. More is leased before there is nothing left.
    assert!(began.elapsed() < Duration::from_millis(400), "{:?}", began.elapsed());
    let (leases, settles) = book.asked();
    assert!(leases <= 25 && settles <= 50, "{leases} {settles}");
}

#[tokio::test(start_paused = true)]
async fn several_workers_share_a_destinations_limits() {
    let book = Book::default();
    for nth in 0..200 {
        book.enqueue("t", nth);
    }
    let fake = Fake::new(|_| taken()).slow(Duration::from_millis(10));
    let policy = Policy { concurrency: 4, ..Policy::default() };
    let options = Options { workers: 4, is_once: true, ..Options::default() };
    let summary = start(&book, vec![declared("d", "t", &fake, policy)], options).1.await.unwrap().unwrap();
    assert_eq!(summary.destinations[0].sent, 200);
    assert_eq!(fake.most_at_once(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_is_old_is_pruned_in_small_steps_while_there_is_nothing_to_do() {
    let book = Book::default();
    book.sent_long_ago(2_500);
    let fake = Fake::new(|_| taken());
    let mut delivery = Delivery::new(vec![declared("d", "t", &fake, Policy::default())]).unwrap();
    delivery.retention = Some(Duration::from_hours(24));
    let (say, stop) = watch::channel(false);
    let desks = book.clone();
    let task =
        tokio::spawn(
            async move { deliver(&delivery, &Options::default(), move || desks.desk(), stop).await },
        );
    pass(Duration::from_secs(10)).await;
    assert_eq!(book.prunes(), [1_000, 1_000, 500]);
    say.send(true).unwrap();
    task.await.unwrap().unwrap();

    book.sent_long_ago(1_200);
    let mut delivery = Delivery::new(vec![declared("d", "t", &fake, Policy::default())]).unwrap();
    delivery.retention = Some(Duration::from_hours(24));
    let (_say, stop) = watch::channel(false);
    let options = Options { is_once: true, ..Options::default() };
    let desks = book.clone();
    deliver(&delivery, &options, move || desks.desk(), stop).await.unwrap();
    assert_eq!(book.prunes()[3..], [1_000, 200], "with `once`, too");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_never_shorter_than_three_times_what_a_destination_may_take() {
    let fake = Fake::new(|_| taken());
    let lease = |lease: Duration| {
        let policy = Policy { lease, ..Policy::default() };
        crate::route::Route::new(declared("d", "t", &fake, policy)).lease()
    };
    // The destination's own limit is 10 s; the margin a tenth of the lease, at most 2 s.
    assert_eq!(lease(Duration::from_mins(1)), Duration::from_mins(1));
    assert_eq!(lease(Duration::from_secs(20)), Duration::from_secs(36));
    assert_eq!(lease(Duration::from_secs(10)), Duration::from_secs(33));
}
