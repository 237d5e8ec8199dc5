//! Recorded deliveries, posted twice and out of order.

use std::collections::BTreeMap;
use std::time::SystemTime;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use crate::wire::{Place, Wire};

const CONNECTIONS: usize = 8;
const STRIPE_SECRET: &[u8] = b"whsec_test_secret";

/// A delivery's headers and body.
type Delivery = (Vec<(String, String)>, String);

pub(crate) async fn replay(url: &str, sender: &str) {
    let deliveries: Vec<Delivery> =
        std::io::stdin().lines().map(|line| delivery(&line.unwrap(), sender == "stripe")).collect();
    // Each twice, in an order that has nothing to do with theirs: a step that divides no number of them.
    let count = deliveries.len() * 2;
    let order: Vec<usize> = (0..count).map(|at| at * 7919 % count % deliveries.len()).collect();
    let mut lanes = vec![Vec::new(); CONNECTIONS];
    for (at, number) in order.into_iter().enumerate() {
        lanes[at % CONNECTIONS].push(deliveries[number].clone());
    }
    let posting: Vec<_> = lanes
        .into_iter()
        .map(|lane| {
            let mut wire = Wire::new(Place::of(url));
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for (headers, body) in lane {
                    let headers: Vec<_> =
                        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                    answers.push(wire.post(&headers, body.as_bytes()).await);
                }
                answers
            })
        })
        .collect();
    let mut counts = BTreeMap::<String, usize>::new();
    for posted in posting {
        for answer in posted.await.unwrap() {
            *counts.entry(answer).or_default() += 1;
        }
    }
    println!("{counts:?}");
}

fn delivery(line: &str, is_stripe: bool) -> Delivery {
    let recorded: Value = serde_json::from_str(line).unwrap();
    let body = recorded["body"].as_str().unwrap().to_owned();
    let headers = recorded["headers"].as_object().unwrap().iter();
    let mut headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
    if is_stripe {
        let at = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut mac = Hmac::<Sha256>::new_from_slice(STRIPE_SECRET).unwrap();
        mac.update(format!("{at}.{body}").as_bytes());
        headers.retain(|(name, _)| name != "Stripe-Signature");
        let signature = format!("t={at},v1={}", hex::encode(mac.finalize().into_bytes()));
        headers.push(("Stripe-Signature".to_owned(), signature));
    }
    (headers, body)
}
