//! What an action came to, told on the page that the browser is sent to afterwards: a reload tells it again and does nothing twice.
//!
//! Kept in memory, the last few hundred of them, under an id that is in the address; shown to whoever acted and to nobody else.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::{IntoResponse, Redirect, Response};
use uuid::Uuid;

use super::show::Tone;

/// How many are kept.
const KEPT: usize = 512;
/// Of how many what was written is kept as well, which may be long.
const WRITTEN: usize = 32;

/// What is told.
#[derive(Debug, Clone)]
pub(super) struct Told {
    /// How it went.
    pub(super) tone: Tone,
    /// In words.
    pub(super) words: String,
    /// What was written into a form that came to nothing, so that it isn't written twice.
    given: Option<Given>,
}

#[derive(Debug, Clone)]
struct Given {
    /// The page that the form is on.
    at: String,
    text: String,
}

impl Told {
    /// What was written into the form of a page.
    pub(super) fn given(&self, at: &str) -> Option<&str> {
        self.given.as_ref().filter(|given| given.at == at).map(|given| given.text.as_str())
    }
}

/// The latest.
#[derive(Debug, Clone, Default)]
pub(super) struct Flashes(Arc<Mutex<VecDeque<Flash>>>);

#[derive(Debug)]
struct Flash {
    id: String,
    who: String,
    told: Told,
}

impl Flashes {
    /// What was told to somebody under an id.
    pub(super) fn told(&self, id: &str, who: &str) -> Option<Told> {
        let flashes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        flashes.iter().find(|flash| flash.id == id && flash.who == who).map(|flash| flash.told.clone())
    }

    /// Sends the browser to a page that tells it.
    pub(super) fn redirect(&self, to: &str, who: &str, tone: Tone, words: impl Into<String>) -> Response {
        self.send(to, who, Told { tone, words: words.into(), given: None })
    }

    /// The same, where what was written is to stand in the page's form again.
    pub(super) fn back(&self, to: &str, who: &str, words: impl Into<String>, text: String) -> Response {
        let given = Some(Given { at: to.to_owned(), text });
        self.send(to, who, Told { tone: Tone::Bad, words: words.into(), given })
    }

    fn send(&self, to: &str, who: &str, told: Told) -> Response {
        let id = Uuid::now_v7().simple().to_string();
        let join = if to.contains('?') { '&' } else { '?' };
        let at = format!("{to}{join}told={id}");
        let mut flashes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if flashes.len() >= KEPT {
            flashes.pop_front();
        }
        flashes.push_back(Flash { id, who: who.to_owned(), told });
        for old in flashes.iter_mut().rev().skip(WRITTEN) {
            old.told.given = None;
        }
        Redirect::to(&at).into_response()
    }
}
