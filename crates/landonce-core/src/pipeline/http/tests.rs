//! What can be declared, and what is refused with which words.

use crate::pipeline::http::{Auth, Http, Overlap, Page, Step};
use crate::pipeline::{Feed, Pipeline};
use crate::spec::Spec;

fn declared(http: &str, more: &str) -> Result<Http, String> {
    let yaml =
        format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\n{more}\nsource:\n  http: {http}\n");
    let spec = Spec::parse(&yaml).map_err(|error| error.to_string())?;
    let pipeline = Pipeline::new(spec).map_err(|error| error.to_string())?;
    match &pipeline.source().feed {
        Feed::Http(http) => Ok(http.as_ref().clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_keys_mean_what_they_say() {
    let http = declared(
        "{url: 'https://api.example/roster?day=1', auth: {bearer: '${TOKEN}'}, records: data.items, \
         page: {cursor: {param: cursor, from: meta.next}}, total: meta.total, timeout: 5s, rate: 10/s, \
         since: {param: updated_since, field: updated_at, overlap: 5m}}",
        "",
    )
    .unwrap();
    assert!(matches!(&http.auth, Auth::Bearer(variable) if variable.name() == "TOKEN"));
    assert!(matches!(&http.page, Page::Cursor { param, .. } if param == "cursor"));
    assert_eq!(http.pace.as_millis(), 100);
    assert_eq!(http.since.unwrap().overlap, Overlap::Time(std::time::Duration::from_mins(5)));
    let http = declared("{url: 'https://a/b', page: {link: {from: 'links[rel=next].href'}}}", "").unwrap();
    let Page::Link(path) = http.page else { panic!("a link") };
    assert_eq!(path.steps()[1], Step::Where("rel".into(), "next".into()));
    assert!(matches!(
        declared("{url: 'https://a/b', page: {link: next}}", "").unwrap().page,
        Page::Header(_)
    ));
}

#[test]
fn what_makes_no_sense_is_refused_by_its_key() {
    for (http, told) in [
        ("{url: 'ftp://a/b'}", "source.http.url"),
        ("{url: 'https://u:p@a/b'}", "auth.basic"),
        ("{url: 'https://a/b?api_key=abc'}", "auth.query"),
        ("{url: 'https://a/b', auth: {bearer: abc}}", "source.http.auth.bearer: a secret isn't written"),
        ("{url: 'https://a/b', auth: {}}", "one of `bearer`"),
        ("{url: 'https://a/b', headers: {Authorization: 'Bearer abc'}}", "source.http.headers"),
        ("{url: 'https://a/b', headers: {Host: x}}", "is set by landonce"),
        ("{url: 'https://a/b', page: {}}", "source.http.page"),
        ("{url: 'https://a/b', page: {link: next, number: {param: p}}}", "one of `cursor`"),
        ("{url: 'https://a/b', page: {cursor: {param: c}}}", "one of `from`"),
        ("{url: 'https://a/b', page: {cursor: {param: c, record: id}}}", "goes with `more`"),
        ("{url: 'https://a/b', records: 'a..b'}", "no way to a value"),
        ("{url: 'https://a/b', timeout: 5}", "timeout"),
        ("{url: 'https://a/b', timeout: 0s}", "longer than nothing"),
        ("{url: 'https://a/b', rate: fast}", "no rate"),
        ("{url: 'https://a/b', retry: {attempts: 0}}", "source.http.retry.attempts"),
        ("{url: 'https://a/b', pages: 3}", "pages"),
        ("{url: 'https://a/{period.date}'}", "source.http.url: has a placeholder of a period"),
    ] {
        let error = declared(http, "").unwrap_err();
        assert!(error.contains(told), "{http}: {error}");
    }
    let snapshot = "write: {mode: snapshot, absent: retire}";
    let error = declared("{url: 'https://a/b', since: {param: s, field: f}}", snapshot).unwrap_err();
    assert!(error.contains("source.http.since"), "{error}");
}

#[test]
fn a_secret_is_not_repeated() {
    let error =
        declared("{url: 'https://a/b', auth: {basic: {user: u, password: hunter2}}}", "").unwrap_err();
    assert!(error.contains("${NAME}") && !error.contains("hunter2"), "{error}");
}

#[test]
fn a_period_stands_in_the_address_and_the_headers() {
    let yaml = "pipeline: p\nidentity: [id]\ntarget: {table: t, columns: {day: date}}\n\
                write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}\n\
                source: {http: {url: 'https://a/b?day={period.date}', headers: {x-day: '{period.date}'}}}\n";
    let pipeline = Pipeline::new(Spec::parse(yaml).unwrap()).unwrap();
    assert_eq!(pipeline.source().placeholder(), Some("source.http.url"));
    let march = pipeline.in_period("2026-03-01").unwrap();
    let Feed::Http(http) = &march.source().feed else { panic!("http") };
    assert_eq!(http.url, "https://a/b?day=2026-03-01");
    assert_eq!(http.headers, [("x-day".to_owned(), "2026-03-01".to_owned())]);
}
