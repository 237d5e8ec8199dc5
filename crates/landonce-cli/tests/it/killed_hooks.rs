//! kill -9 while webhooks come in: senders repeat until they are told, and every payment is booked once (F4, I8, C44).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::SystemTime;

use landonce_core::webhook::{Secret, sign};
use landonce_testkit::{postgres, wait};

use crate::folder::Folder;
use crate::serve::Served;

const YAML: &str = include_str!("../../../../examples/payments/payments.yaml");
const SCHEMA: &str = include_str!("../../../../examples/payments/schema.sql");
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SENDERS: u32 = 8;
const EACH: u32 = 30;
const KILLS: u32 = 5;

fn serving(folder: &Folder, url: &str) -> Served {
    let mut command = folder.command(&["serve", "payments.yaml", "--listen", "127.0.0.1:0", "--store", url]);
    command.env("PAYMENTS_SECRET", SECRET);
    Served::start(command)
}

/// The answer's status line and the rest; `None` where the connection breaks before it is all there.
fn post(at: &str, number: u32) -> Option<String> {
    let body = format!("{{\"type\":\"payment.succeeded\",\"customer_id\":\"ada\",\"amount\":{number}}}");
    let id = format!("evt_{number}");
    let now = i64::try_from(SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap();
    let signature = sign(&[Secret::parse(SECRET).unwrap()], &id, now, body.as_bytes());
    let length = body.len();
    let text = format!(
        "POST /v1/hooks/payments HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\ncontent-type: application/json\r\nwebhook-id: {id}\r\n\
         webhook-timestamp: {now}\r\nwebhook-signature: {signature}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(at).ok()?;
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    (!answer.is_empty()).then_some(answer)
}

/// Where the server is, while there is one.
#[derive(Default)]
struct Place {
    at: Mutex<Option<String>>,
    is_back: Condvar,
}

impl Place {
    fn is(&self, served: Option<&Served>) {
        *self.at.lock().unwrap() = served.map(|served| served.at.clone());
        self.is_back.notify_all();
    }

    /// Posts until it is told that the payment has landed.
    fn until_taken(&self, number: u32) {
        loop {
            let at = self.at.lock().unwrap();
            let at = self.is_back.wait_while(at, |at| at.is_none()).unwrap().clone().unwrap();
            let Some(answer) = post(&at, number) else { continue };
            if answer.starts_with("HTTP/1.1 200") {
                return;
            }
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        }
    }
}

async fn payments_through_kills(yaml: &str) {
    let folder = Folder::new();
    folder.write("payments.yaml", yaml);
    let database = postgres::database().await;
    let client = database.client().await;
    client.batch_execute(SCHEMA).await.unwrap();
    let mut served = serving(&folder, &database.url());
    let place = Arc::new(Place::default());
    place.is(Some(&served));
    let told = Arc::new(AtomicU32::new(0));
    let mut senders = Vec::new();
    for sender in 0..SENDERS {
        let (place, told) = (Arc::clone(&place), Arc::clone(&told));
        senders.push(std::thread::spawn(move || {
            for number in sender * EACH + 1..=(sender + 1) * EACH {
                place.until_taken(number);
                told.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    for kill in 1..=KILLS {
        let enough = kill * SENDERS * EACH / (KILLS + 1);
        wait::until(120, "events to land", async || (told.load(Ordering::Relaxed) >= enough).then_some(()))
            .await;
        drop(served);
        place.is(None);
        served = serving(&folder, &database.url());
        place.is(Some(&served));
    }
    wait::until(120, "the senders to end", async || {
        senders.iter().all(std::thread::JoinHandle::is_finished).then_some(())
    })
    .await;
    for sender in senders {
        sender.join().unwrap();
    }
    drop(served);
    let all = i64::from(SENDERS * EACH);
    let row = client
        .query_one(
            "SELECT (SELECT balance FROM customer WHERE customer_id = 'ada'), (SELECT payments FROM tally), \
             (SELECT count(*) FROM payment), (SELECT count(*) FROM landonce.inbox)",
            &[],
        )
        .await
        .unwrap();
    let found: [i64; 4] = [row.get(0), row.get(1), row.get(2), row.get(3)];
    assert_eq!(found, [all * (all + 1) / 2, all, all, all]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_are_booked_once_though_the_server_is_killed_again_and_again() {
    payments_through_kills(YAML).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_payments_are_booked_once_through_kills_too() {
    let field = "  fields: {payment: event_id}\n";
    assert!(YAML.contains(field));
    payments_through_kills(&YAML.replace(field, &format!("{field}  group: {{}}\n"))).await;
}
