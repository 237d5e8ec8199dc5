//! What people do by hand on the pages: it is done once, told, and written down.

use landonce::held::State as Standing;
use landonce::outbox::{State, Which};
use landonce::{Batch, Pipeline};

use super::given::{Site, between};
use crate::seed;

pub(crate) const PARCELS: &str = "pipeline: parcels
identity: [parcel]
source: {format: ndjson, complete: {end_marker: '#EOF'}}
target: {table: parcel, managed: {retired_at: retired_at, retired_by: retired_by}, columns: {parcel: text, zoning: text}}
write: {mode: snapshot, absent: retire}";

pub(crate) const ORDERS: &str = "pipeline: orders
identity: [id]
target: {table: orders, columns: {id: text, amount: 'numeric(12,2)'}}
on_bad_record: {quarantine: {max: 100%}}
notify: [{topic: orders-changed}]";

pub(crate) async fn deliver(site: &Site, yaml: &str, id: &str, text: &str) {
    let pipeline = Pipeline::from_yaml(yaml).unwrap();
    pipeline.ingest(&site.store, &Batch::from_bytes("x.ndjson", text).with_id(id)).await.unwrap();
}

pub(crate) fn parcels(count: u32, end: &str) -> String {
    let mut out: String =
        (0..count).map(|at| format!("{{\"parcel\":\"P-{at}\",\"zoning\":\"R1\"}}\n")).collect();
    out.push_str(end);
    out
}

/// A site with one snapshot held, cut short.
async fn holding() -> Site {
    let site = Site::empty("{}", &[PARCELS]).await;
    deliver(&site, PARCELS, "whole", &parcels(20, "#EOF\n")).await;
    deliver(&site, PARCELS, "cut", &parcels(18, "")).await;
    site
}

async fn standing(site: &Site) -> Vec<Standing> {
    site.store.held(None, true).await.unwrap().into_iter().map(|held| held.state).collect()
}

#[tokio::test]
async fn a_snapshot_is_released_only_with_the_word_that_is_due_and_once() {
    let site = holding().await;
    let at = site.page("/held").await.link("/held/parcels/");
    let page = site.page(&at).await;
    assert!(page.text.contains("#EOF") && page.text.contains("Retired"), "{}", page.text);
    let csrf = page.csrf();
    let release = format!("{at}/release");

    let refused = site.done(&release, &[("csrf", &csrf)]).await;
    assert!(refused.text.contains("Not released, and nothing was changed."), "{}", refused.text);
    assert_eq!(standing(&site).await, [Standing::Held]);

    let done = site.done(&release, &[("csrf", &csrf), ("incomplete", "yes")]).await;
    assert!(done.text.contains("Released: 18 read: 18 unchanged, 2 retired"), "{}", done.text);
    assert_eq!(standing(&site).await, [Standing::Released]);

    let again = site.done(&release, &[("csrf", &csrf), ("incomplete", "yes")]).await;
    assert!(again.text.contains("is released already"), "{}", again.text);
    let actions = site.store.actions(10).await.unwrap();
    assert_eq!(actions.len(), 3);
    assert_eq!((actions[1].who.as_str(), actions[1].what.as_str()), ("local", "release a held snapshot"));
    assert!(actions[1].detail.contains("18 unchanged, 2 retired"), "{actions:?}");
    assert!(site.page("/actions").await.text.contains("release a held snapshot"));
}

#[tokio::test]
async fn a_snapshot_is_rejected_once() {
    let site = holding().await;
    let at = site.page("/held").await.link("/held/parcels/");
    let csrf = site.page(&at).await.csrf();
    let reject = format!("{at}/reject");
    let done = site.done(&reject, &[("csrf", &csrf)]).await;
    assert!(done.text.contains("Rejected: its payload is dropped"), "{}", done.text);
    assert_eq!(standing(&site).await, [Standing::Rejected]);
    let again = site.done(&reject, &[("csrf", &csrf)]).await;
    assert!(again.text.contains("Nothing was done"), "{}", again.text);
}

#[tokio::test]
async fn a_bad_record_is_mended_and_lands_and_the_same_again_changes_nothing() {
    let site = Site::empty("{}", &[ORDERS]).await;
    deliver(&site, ORDERS, "one", r#"{"id":"a","amount":"1e9999","note":"<x>"}"#).await;
    let at = site.page("/quarantine").await.link("/quarantine/");
    let page = site.page(&at).await;
    assert!(page.text.contains("<mark>  &quot;amount&quot;: &quot;1e9999&quot;,</mark>"), "{}", page.text);
    let csrf = page.csrf();
    let edit = format!("{at}/edit");

    for (text, why) in [
        ("{\"id\":\"a\",\"amount\":\"twelve\"}", "amount"),
        ("not json <script>alert(1)</script>", "no JSON object"),
        ("[1]", "a JSON object is due"),
    ] {
        let told = site.done(&edit, &[("csrf", &csrf), ("text", text)]).await;
        assert!(told.text.contains("It has not landed, and nothing was written."), "{}", told.text);
        assert!(told.text.contains(why) && !told.text.contains(seed::MARKUP), "{}", told.text);
        // What was written is there to be mended, not what came; on this page, and once the form is left, no more.
        let form = between(&told.text, "<textarea", "</textarea>");
        let written = text.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
        assert!(form.ends_with(&format!(">\n{written}")), "{form}");
        assert!(between(&site.page(&at).await.text, "<textarea", "</textarea>").contains("1e9999"));
        assert!(site.store.quarantine(None, 5).await.unwrap()[0].resolved_by.is_none());
    }

    let good = "{\r\n  \"id\": \"a\",\r\n  \"amount\": \"12.75\"\r\n}";
    let told = site.done(&edit, &[("csrf", &csrf), ("text", good)]).await;
    assert!(told.text.contains("It has landed: 1 read: 1 inserted"), "{}", told.text);
    assert!(!told.text.contains("<textarea"), "a closed entry can't be mended again");
    let told = site.done(&edit, &[("csrf", &csrf), ("text", good)]).await;
    assert!(told.text.contains("This correction had landed already"), "{}", told.text);
    let history = site.page("/records/orders?id=a").await;
    assert!(history.text.contains("12.75"), "{}", history.text);
}

#[tokio::test]
async fn all_of_a_pipeline_are_delivered_again() {
    let site = Site::empty("{}", &[ORDERS]).await;
    deliver(&site, ORDERS, "one", "{\"id\":\"a\",\"amount\":\"x\"}\n{\"id\":\"b\",\"amount\":\"y\"}").await;
    let page = site.page("/quarantine?pipeline=orders").await;
    let told = site.done("/quarantine/retry", &[("csrf", &page.csrf()), ("pipeline", "orders")]).await;
    assert!(told.text.contains("0 of 2 open records landed."), "{}", told.text);
}

#[tokio::test]
async fn messages_are_tried_redriven_discarded_and_a_pause_ends() {
    let site = Site::empty("{}", &[ORDERS]).await;
    let lines: Vec<String> = (0..8).map(|id| format!("{{\"id\":\"{id}\",\"amount\":\"1\"}}")).collect();
    deliver(&site, ORDERS, "one", &lines.join("\n")).await;
    seed::attempts(&site.store, &["orders-changed"]).await;
    let count = async |state| {
        let which = Which { state: Some(state), ..Which::default() };
        site.store.outbox().messages(&which, 100).await.unwrap().len()
    };
    assert_eq!((count(State::Dead).await, count(State::Sent).await, count(State::Pending).await), (2, 3, 3));
    let page = site.page("/outbox?state=dead").await;
    let csrf = page.csrf();
    let message = page.link("/outbox/");
    let act = format!("{message}/act");

    let told = site.done(&act, &[("csrf", &csrf), ("act", "redrive")]).await;
    assert!(told.text.contains("It is pending again, with no attempts counted."), "{}", told.text);
    assert_eq!(count(State::Dead).await, 1);
    let told = site.done(&act, &[("csrf", &csrf), ("act", "redrive")]).await;
    assert!(told.text.contains("Nothing was done"), "{}", told.text);
    let told = site.done(&act, &[("csrf", &csrf), ("act", "discard")]).await;
    assert!(
        told.text.contains("It won&#39;t be sent.") || told.text.contains("It won't be sent."),
        "{}",
        told.text
    );
    assert_eq!(count(State::Discarded).await, 1);
    assert_eq!(site.press(&act, &[("csrf", &csrf), ("act", "drop table")]).await.status, 422);

    let told = site.done("/outbox/redrive", &[("csrf", &csrf), ("topic", "orders-changed")]).await;
    assert!(told.text.contains("1 dead letter is pending again."), "{}", told.text);
    assert_eq!(count(State::Dead).await, 0);

    assert!(site.page("/outbox").await.text.contains("pauses, "));
    let told = site.done("/outbox/resume", &[("csrf", &csrf), ("topic", "orders-changed")]).await;
    assert!(told.text.contains("its pause is over"), "{}", told.text);
    assert!(site.store.outbox().depth().await.unwrap()[0].paused.is_none());
    assert_eq!(site.store.actions(50).await.unwrap().len(), 5);
}
