//! `/actions`: what people have done by hand.

use axum::extract::State;
use axum::response::Response;
use maud::html;

use super::layout::{Page, Place, empty};
use super::reads::failed;
use super::show::{long, text, time};
use super::visitor::Visitor;
use crate::app::App;
use crate::problem::Problem;

/// Actions that are shown.
const SHOWN: usize = 200;

/// `GET /actions`
pub(super) async fn page(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    if !visitor.may_read_all() {
        // An action's subject may be anybody's.
        app.allow(&visitor.headers, crate::auth::May::Read, None)?;
    }
    let found = app.store().actions(SHOWN).await.map_err(failed)?;
    let body = html! {
        div id="actions" data-live {
            @if found.is_empty() {
                (empty("Nobody has done anything by hand", html! { p { "Releasing, rejecting, mending, retrying and discarding are written down here, with who did it." } }))
            } @else {
                div class="sheet" { table class="cards" {
                    caption class="unseen" { "Actions, newest first" }
                    thead { tr { th scope="col" { "When (UTC)" } th scope="col" { "Who" } th scope="col" { "What" } th scope="col" { "To what" } th scope="col" { "How it ended" } } }
                    tbody { @for one in &found {
                        tr {
                            td data-label="When (UTC)" { (time(&one.at)) }
                            td data-label="Who" { (text(&one.who)) }
                            td data-label="What" { (text(&one.what)) }
                            td data-label="To what" { (long(&one.subject, 60)) }
                            td data-label="How it ended" { (long(&one.detail, 120)) }
                        }
                    } }
                } }
            }
        }
    };
    Ok(Page::new(Place::Actions, "Actions", body)
        .about(html! { "What was done by hand, by whom, and how it ended." })
        .live()
        .shown(&app, &visitor))
}
