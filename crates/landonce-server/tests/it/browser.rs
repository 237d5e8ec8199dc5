//! The pages in a real browser: every page and every action, at the width of a phone and of a desk, light and dark, with and without
//! JavaScript; and axe-core has nothing serious to say. `tests/browser/pages.mjs` does the looking.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::pages::acts::{ORDERS, PARCELS, deliver, parcels};
use crate::pages::given::Site;
use crate::seed;

/// A site with one of everything that a person can do something about.
async fn with_work() -> Site {
    let site = Site::empty("{}", &[ORDERS, PARCELS]).await;
    deliver(&site, PARCELS, "whole", &parcels(20, "#EOF\n")).await;
    deliver(&site, PARCELS, "cut", &parcels(18, "")).await;
    deliver(&site, PARCELS, "small", &parcels(2, "#EOF\n")).await;
    let mut lines: Vec<String> = (0..8).map(|id| format!("{{\"id\":\"{id}\",\"amount\":\"1\"}}")).collect();
    lines.extend(["x", "y"].map(|bad| format!("{{\"id\":\"{bad}\",\"amount\":\"{bad}\"}}")));
    deliver(&site, ORDERS, "one", &lines.join("\n")).await;
    seed::attempts(&site.store, &["orders-changed"]).await;
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_and_action_works_in_a_browser_for_everybody() {
    let folder = std::env::var("LANDONCE_TEST_BROWSER").expect(
        "LANDONCE_TEST_BROWSER names a folder in which `npm ci` was run with tests/browser/package.json; scripts/test makes one",
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser/pages.mjs");
    let look = Site::seeded().await;
    // Wide and narrow, with and without JavaScript: each does everything on a store of its own.
    let acts = [with_work().await, with_work().await, with_work().await, with_work().await];
    let (token, hash) = landonce_server::config::Token::generate();
    let config = format!("tokens: [{{name: boss, hash: '{hash}', may: [write, read, operate]}}]");
    let guarded = Site::empty(&config, &[ORDERS]).await;
    let url = |site: &Site| format!("http://{}", site.at);
    let sites = json!({
        "look": url(&look),
        "acts": acts.iter().map(url).collect::<Vec<_>>(),
        "guarded": { "url": url(&guarded), "token": token },
        "ugly": seed::UGLY,
    });
    let output = tokio::task::spawn_blocking(move || {
        Command::new("node").arg(script).arg(sites.to_string()).env("LANDONCE_TEST_BROWSER", folder).output()
    });
    let output = output.await.unwrap().expect("node runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for site in &acts {
        let actions = site.store.actions(50).await.unwrap();
        let mut done: Vec<&str> = actions.iter().map(|action| action.what.as_str()).collect();
        done.sort_unstable();
        assert_eq!(
            done,
            [
                "deliver an edited record",
                "deliver an edited record",
                "deliver quarantined records again",
                "discard a message",
                "redrive a message",
                "redrive dead letters",
                "reject a held snapshot",
                "release a held snapshot",
                "resume a topic",
                "retry a message",
            ]
        );
    }
}
