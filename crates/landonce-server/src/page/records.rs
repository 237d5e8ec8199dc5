//! `/records/{pipeline}`: why a row is as it is. A form asks for the identity; the answer is every delivery of it that can be known.

mod history;

use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use landonce::{Kind, Pipeline};
use landonce_core::pipeline::IdentityFrom;
use maud::{Markup, html};

use super::layout::{Page, Place, empty};
use super::link;
use super::reads::failed;
use super::show::{Tone, shape, text};
use super::visitor::{Visitor, not_found};
use crate::app::App;
use crate::problem::Problem;

/// `GET /records`
pub(super) async fn list(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let pipelines: Vec<&Pipeline> = app.pipelines().filter(|one| visitor.may_read(one.name())).collect();
    let body = html! {
        div class="sheet" { table class="cards" {
            caption class="unseen" { "Pipelines, and what makes two of their records the same" }
            thead { tr { th scope="col" { "Pipeline" } th scope="col" { "Table" } th scope="col" { "A record is the same by" } } }
            tbody { @for one in pipelines {
                tr {
                    th scope="row" { a href=(link::of("records", one.name())) { (text(one.name())) } }
                    td data-label="Table" { (text(&one.declared().target().table.to_string())) }
                    td data-label="The same by" { @match fields(one) { Some(fields) => code { (text(&fields.join(", "))) }, None => "its whole content" } }
                }
            } }
        } }
    };
    Ok(Page::new(Place::Records, "Records", body)
        .about(html! { "Why is this row so? Choose a pipeline, then say which record." })
        .shown(&app, &visitor))
}

/// The fields of an identity; `None` where it is the content itself.
pub(super) fn fields(pipeline: &Pipeline) -> Option<&[String]> {
    match &pipeline.declared().identity().from {
        IdentityFrom::Fields { names, .. } => Some(names),
        IdentityFrom::SenderId(field) => Some(std::slice::from_ref(field)),
        IdentityFrom::Content(_) => None,
    }
}

/// `GET /records/{pipeline}?field=value…`
pub(super) async fn one(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    visitor.check_read(&name)?;
    let pipeline = app.pipeline(&name).ok_or_else(|| not_found("No pipeline of this name is served."))?;
    let given = given(query.as_deref().unwrap_or_default());
    let identity: Vec<(String, String)> = fields(pipeline)
        .unwrap_or_default()
        .iter()
        .filter_map(|field| Some((field.clone(), value(&given, field)?.to_owned())))
        .collect();
    let is_asked = fields(pipeline).is_some_and(|fields| identity.len() == fields.len());
    let told = if is_asked { Some(pipeline.history(app.store(), &identity).await) } else { None };
    let told = match told {
        // A value that doesn't fit is the asker's to mend, in the form that is there.
        Some(Err(error)) if error.kind() == Kind::Pipeline => Some(Err(error.to_string())),
        told => told.transpose().map_err(failed)?.map(Ok),
    };
    let body = html! {
        @match fields(pipeline) {
            None => (empty("Its records have no identity but their content", html! { p { "Two records of it are the same when everything in them is." } })),
            Some(fields) => (form(&name, fields, &given)),
        }
        @match &told {
            None => {}
            Some(Ok(history)) => (history::shown(history)),
            Some(Err(why)) => div class="told bad" { (shape(Tone::Bad)) div { p { (text(why)) } } },
        }
    };
    Ok(Page::new(Place::Records, &name, body)
        .above("/records", "Records")
        .about(html! { "Why is this row so?" })
        .shown(&app, &visitor))
}

fn form(name: &str, fields: &[String], given: &[(String, String)]) -> Markup {
    html! {
        form class="sheet pad" method="get" action=(link::of("records", name)) {
            div class="row" {
                @for (at, field) in fields.iter().enumerate() {
                    div class="field grow" {
                        label for={ "field-" (at) } { (text(field)) }
                        input type="text" id={ "field-" (at) } name=(field) value=[value(given, field)] required autocomplete="off" spellcheck="false";
                    }
                }
                button class="main" { "Show its history" }
            }
        }
    }
}

fn value<'g>(given: &'g [(String, String)], field: &str) -> Option<&'g str> {
    given.iter().find(|(name, _)| name == field).map(|(_, value)| value.as_str())
}

/// A query's fields and values.
fn given(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
