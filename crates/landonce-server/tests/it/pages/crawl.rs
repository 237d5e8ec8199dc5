//! Every page that any page leads to is there, and none of it is anybody's markup.

use std::collections::{BTreeSet, VecDeque};

use landonce::Store;
use landonce_testkit::postgres;

use super::given::{Got, Site};
use crate::seed;

/// Pages that are looked at: enough to have been on every kind, with several of each.
const MOST: usize = 160;

/// What all seeds have in their names, ids, sources, records, messages and answers.
fn assert_harmless(path: &str, page: &Got) {
    for markup in [seed::MARKUP, "<img src", "<b>id", "<b>ird", "<script>lue"] {
        assert!(!page.text.contains(markup), "{path} has {markup} in it, unescaped");
    }
    for turning in ['\u{202e}', '\u{7}'] {
        assert!(!page.text.contains(turning), "{path} has {turning:?} in it, unseen");
    }
    // No script and no style but our own files; no handler; nothing from elsewhere.
    assert_eq!(page.text.matches("<script").count(), 1, "{path}");
    assert!(page.text.contains("<script src=\"/assets/page-"), "{path}");
    for tag in tags(&page.text) {
        let is_inline = tag.starts_with("style")
            || tag.contains(" style=")
            || tag.split(' ').any(|word| word.starts_with("on"));
        assert!(!is_inline, "{path}: <{tag}>");
    }
    for attribute in ["src=\"", "href=\"", "action=\""] {
        for rest in page.text.split(attribute).skip(1) {
            assert!(
                rest.starts_with('/') || rest.starts_with('#'),
                "{path} leads to {}",
                &rest[..40.min(rest.len())]
            );
        }
    }
}

/// What stands in the tags of a page, without the values of attributes.
fn tags(text: &str) -> Vec<String> {
    let tags = text.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    tags.map(|tag| tag.split('"').step_by(2).collect()).collect()
}

/// Walks all pages from the overview on; the kinds of pages that it has been on.
async fn walk(site: &Site) -> BTreeSet<String> {
    let (mut seen, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    let mut next = VecDeque::from(["/".to_owned()]);
    let mut looked = 0;
    while let Some(path) = next.pop_front() {
        if looked == MOST
            || path.starts_with("/assets/")
            || path.starts_with("/problems/")
            || !seen.insert(path.clone())
        {
            continue;
        }
        looked += 1;
        let page = site.page(&path).await;
        assert_harmless(&path, &page);
        let before_query = path.split('?').next().unwrap_or_default();
        kinds.insert(
            before_query.split('/').nth(1).unwrap_or_default().to_owned()
                + if before_query.matches('/').count() > 1 { "/…" } else { "" },
        );
        let links = page.links();
        // Few of each kind first: a list of two hundred would hide all else.
        for (nth, link) in links.into_iter().enumerate() {
            if nth % 5 == 0 { next.push_back(link) } else { next.push_front(link) }
        }
        if looked % 2 == 0 {
            next.make_contiguous().reverse();
        }
    }
    kinds
}

const KINDS: [&str; 13] = [
    "",
    "actions",
    "batches",
    "batches/…",
    "held",
    "held/…",
    "outbox",
    "outbox/…",
    "periods",
    "periods/…",
    "quarantine",
    "quarantine/…",
    "records",
];

#[tokio::test]
async fn every_link_leads_to_a_page_and_no_text_becomes_markup() {
    let site = Site::seeded().await;
    let kinds = walk(&site).await;
    for kind in KINDS {
        assert!(kinds.contains(kind), "{kind} was never looked at: {kinds:?}");
    }
    // What the walk may have missed: the ugliest of each.
    let ugly = site.page(&format!("/batches?pipeline={}", encoded(seed::UGLY))).await;
    for link in
        ugly.links().iter().filter(|link| link.starts_with("/batches/") || link.starts_with("/batch?"))
    {
        let page = site.page(link).await;
        assert_harmless(link, &page);
    }
    let record = site
        .page(&format!(
            "/records/{}?{}={}",
            encoded(seed::UGLY),
            encoded("<b>id</b>"),
            encoded("<script>alert('k')</script>")
        ))
        .await;
    assert_harmless("a record", &record);
    assert!(record.text.contains("U+202E") && record.text.contains("&lt;img src=x"), "{}", record.text);
    assert!(record.text.contains("inserted"), "{}", record.text);
}

#[tokio::test]
async fn the_pages_are_the_same_on_postgresql() {
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let pipelines = seed::pipelines(folder.path());
    seed::fill(&store, &pipelines).await;
    seed::attempts(&store, &["orders-changed"]).await;
    let site = Site::serve("{}", store, pipelines, folder).await;
    let kinds = walk(&site).await;
    for kind in KINDS {
        assert!(kinds.contains(kind), "{kind} was never looked at: {kinds:?}");
    }
    let record = site.page("/records/orders?order_id=A-7").await;
    for decided in ["inserted", "updated", "stale", "unchanged"] {
        assert!(record.text.contains(decided), "{decided}");
    }
}

#[tokio::test]
async fn an_id_of_dots_has_a_page() {
    let site = Site::empty("{}", &["pipeline: p\nidentity: [id]\ntarget: {table: t}"]).await;
    let pipeline = landonce::Pipeline::from_yaml("pipeline: p\nidentity: [id]\ntarget: {table: t}").unwrap();
    for id in ["..", ".", "a/../b", "%2e%2e", "?", "#", "ü\u{202e}"] {
        let batch =
            landonce::Batch::from_bytes("x.ndjson", format!("{{\"id\":\"{}\"}}", id.len())).with_id(id);
        pipeline.ingest(&site.store, &batch).await.unwrap();
    }
    let links: Vec<String> = site
        .page("/batches")
        .await
        .links()
        .into_iter()
        .filter(|link| link.starts_with("/batches/") || link.starts_with("/batch?"))
        .collect();
    assert_eq!(links.len(), 7, "{links:?}");
    for link in links {
        let page = site.page(&link).await;
        assert!(page.text.contains("What it did"), "{link}");
    }
}

#[tokio::test]
async fn batches_are_paged_without_a_gap_or_a_repeat() {
    let yaml = "pipeline: p\nidentity: [id]\ntarget: {table: t}";
    let site = Site::empty("{}", &[yaml]).await;
    let pipeline = landonce::Pipeline::from_yaml(yaml).unwrap();
    for number in 0..120 {
        let batch = landonce::Batch::from_bytes("x.ndjson", format!("{{\"id\":{number}}}"))
            .with_id(format!("b-{number}"));
        pipeline.ingest(&site.store, &batch).await.unwrap();
    }
    let mut found = Vec::new();
    let mut at = "/batches?pipeline=p".to_owned();
    loop {
        let page = site.page(&at).await;
        found.extend(page.links().into_iter().filter(|link| link.starts_with("/batches/p/")));
        let Some(older) = page.links().into_iter().find(|link| link.contains("before=")) else { break };
        at = older;
    }
    let due: Vec<String> = (0..120).rev().map(|number| format!("/batches/p/b-{number}")).collect();
    assert_eq!(found, due);
}

#[tokio::test]
async fn an_empty_server_says_what_to_do_next() {
    let site = Site::empty("{}", &["pipeline: first\nidentity: [id]\ntarget: {table: t}"]).await;
    let overview = site.page("/").await;
    assert!(overview.text.contains("Nothing needs you."), "{}", overview.text);
    let curl = format!("curl -fsS 'http://{}/v1/pipelines/first/batches'", site.at);
    assert!(overview.text.contains(&curl), "{}", overview.text);
    for path in
        ["/batches", "/periods", "/held", "/outbox", "/quarantine", "/actions", "/records", "/records/first"]
    {
        assert_harmless(path, &site.page(path).await);
    }
}

/// A text as a part of an address.
pub(super) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
