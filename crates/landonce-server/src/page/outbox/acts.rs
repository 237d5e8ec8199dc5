//! What a person does with messages: try now, deliver after all, send again, discard; end a topic's pause.

use axum::extract::{Extension, Form, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use landonce::Code;
use landonce::outbox::{Act, State as Standing, Which};
use serde::Deserialize;
use uuid::Uuid;

use super::one::find;
use crate::app::App;
use crate::page::link;
use crate::page::reads::failed;
use crate::page::show::{Tone, counted};
use crate::page::told::Flashes;
use crate::page::visitor::check_form;
use crate::problem::Problem;

#[derive(Debug, Deserialize)]
pub(crate) struct Pressed {
    csrf: String,
    act: String,
}

/// `POST /outbox/{id}/act`
pub(crate) async fn act(
    State(app): State<App>,
    Extension(flashes): Extension<Flashes>,
    headers: HeaderMap,
    Path(id): Path<Uuid>,
    Form(form): Form<Pressed>,
) -> Result<Response, Problem> {
    // Who may is told by whose message it is; nobody learns of one by a form from elsewhere.
    app.check_form(&headers, &form.csrf)?;
    let entry = find(&app, id).await?;
    let who = check_form(&app, &headers, &form.csrf, Some(&entry.message.producer))?;
    let (act, done) = match form.act.as_str() {
        "retry" => (Act::Retry, "It is due now."),
        "redrive" => (Act::Redrive, "It is pending again, with no attempts counted."),
        "resend" => (Act::Resend, "It is pending again; its receiver gets the same id once more."),
        "discard" => (Act::Discard, "It won't be sent."),
        _ => {
            return Err(Problem::of(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::L1027,
                "there is no such action; nothing was done",
            ));
        }
    };
    let which = Which { ids: vec![id], ..Which::default() };
    let number = app.store().outbox().act(&which, act).await.map_err(failed)?;
    let (tone, words) = if number > 0 {
        (Tone::Good, done)
    } else {
        (Tone::Warn, "Nothing was done: the message isn't in a state for that any more.")
    };
    let what = format!("{} a message", form.act);
    app.store()
        .record_action(&who, &what, &format!("{} {id}", entry.message.topic), words)
        .await
        .map_err(failed)?;
    Ok(flashes.redirect(&format!("/outbox/{id}"), &who, tone, words))
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfTopic {
    csrf: String,
    topic: String,
}

/// `POST /outbox/redrive`: all dead letters of a topic.
pub(crate) async fn redrive_topic(
    State(app): State<App>,
    Extension(flashes): Extension<Flashes>,
    headers: HeaderMap,
    Form(form): Form<OfTopic>,
) -> Result<Response, Problem> {
    let who = check_form(&app, &headers, &form.csrf, None)?;
    let which = Which { topic: Some(form.topic.clone()), state: Some(Standing::Dead), ..Which::default() };
    let number = app.store().outbox().act(&which, Act::Redrive).await.map_err(failed)?;
    let words = format!("{} pending again.", counted(number, "dead letter is", "dead letters are"));
    app.store().record_action(&who, "redrive dead letters", &form.topic, &words).await.map_err(failed)?;
    let tone = if number > 0 { Tone::Good } else { Tone::Warn };
    Ok(flashes.redirect(&link::query("/outbox", &[("topic", Some(&form.topic))]), &who, tone, words))
}

/// `POST /outbox/resume`: ends a topic's pause.
pub(crate) async fn resume(
    State(app): State<App>,
    Extension(flashes): Extension<Flashes>,
    headers: HeaderMap,
    Form(form): Form<OfTopic>,
) -> Result<Response, Problem> {
    let who = check_form(&app, &headers, &form.csrf, None)?;
    app.store().outbox().resume(&form.topic).await.map_err(failed)?;
    let words = format!("{} goes on: its pause is over.", form.topic);
    app.store().record_action(&who, "resume a topic", &form.topic, &words).await.map_err(failed)?;
    Ok(flashes.redirect("/outbox", &who, Tone::Good, words))
}
