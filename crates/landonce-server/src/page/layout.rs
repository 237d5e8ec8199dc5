//! The frame of every page: head, navigation, what was just done, and what is said to people who can't see it.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::assets::{CSS_AT, ICON_AT, JS_AT};
use super::show::{self, shape, text};
use super::visitor::Visitor;
use crate::app::App;

const MARK: &str = r#"<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M12 3v12M6.5 10 12 15.5 17.5 10M4 20.5h16"/></svg>"#;

/// The places that the navigation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Overview,
    Batches,
    Periods,
    Held,
    Quarantine,
    Outbox,
    Records,
    Actions,
    /// A page outside of it: an error, the login.
    Nowhere,
}

impl Place {
    const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Overview, "/", "Overview"),
        (Self::Batches, "/batches", "Batches"),
        (Self::Periods, "/periods", "Periods"),
        (Self::Held, "/held", "Held"),
        (Self::Quarantine, "/quarantine", "Quarantine"),
        (Self::Outbox, "/outbox", "Outbox"),
        (Self::Records, "/records", "Records"),
        (Self::Actions, "/actions", "Actions"),
    ];
}

/// A page's own part.
pub(super) struct Page<'a> {
    /// Where it is in the navigation.
    pub(super) place: Place,
    /// Its title.
    pub(super) title: &'a str,
    /// The page above it: address and name.
    pub(super) above: Option<(&'a str, &'a str)>,
    /// What it answers, in a sentence.
    pub(super) about: Markup,
    /// It has parts that stay current.
    pub(super) is_live: bool,
    /// All the rest.
    pub(super) body: Markup,
}

impl<'a> Page<'a> {
    /// A page with nothing but a title and a body.
    pub(super) fn new(place: Place, title: &'a str, body: Markup) -> Self {
        Self { place, title, above: None, about: html! {}, is_live: false, body }
    }

    #[must_use]
    pub(super) fn above(self, at: &'a str, name: &'a str) -> Self {
        Self { above: Some((at, name)), ..self }
    }

    #[must_use]
    pub(super) fn about(self, about: Markup) -> Self {
        Self { about, ..self }
    }

    #[must_use]
    pub(super) fn live(self) -> Self {
        Self { is_live: true, ..self }
    }

    /// The page for a visitor.
    pub(super) fn shown(self, app: &App, visitor: &Visitor) -> Response {
        self.framed(Some((app, visitor)), StatusCode::OK)
    }

    /// The page for anybody.
    pub(super) fn bare(self, status: StatusCode) -> Response {
        self.framed(None, status)
    }

    fn framed(self, inside: Option<(&App, &Visitor)>, status: StatusCode) -> Response {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (text(self.title)) " · landonce" }
                    link rel="icon" href=(*ICON_AT);
                    link rel="stylesheet" href=(*CSS_AT);
                    // Not deferred: it chooses the theme before anything is drawn.
                    script src=(*JS_AT) {}
                }
                body {
                    a class="skip" href="#main" { "Skip to the content" }
                    (self.side(inside))
                    main id="main" tabindex="-1" {
                        @if let Some(told) = inside.and_then(|(_, visitor)| visitor.told.as_ref()) {
                            div class={ "told " (told.tone.class()) } role="status" {
                                (shape(told.tone))
                                div { @for line in told.words.lines() { p { (text(line)) } } }
                            }
                        }
                        div class="head" {
                            div {
                                @if let Some((at, name)) = self.above { p class="crumb" { a href=(at) { "← " (text(name)) } } }
                                h1 { (text(self.title)) }
                                p { (self.about) }
                            }
                        }
                        (self.body)
                    }
                    div id="live-said" class="unseen" aria-live="polite" {}
                }
            }
        };
        (status, page).into_response()
    }

    fn side(&self, inside: Option<(&App, &Visitor)>) -> Markup {
        html! {
            header class="side" {
                a class="brand" href="/" { (PreEscaped(MARK)) "landonce" }
                @if self.place != Place::Nowhere || inside.is_some() {
                    nav aria-label="Pages" {
                        ul {
                            @for (place, at, name) in Place::ALL {
                                li { a href=(at) aria-current=[(place == self.place).then_some("page")] { (name) } }
                            }
                        }
                    }
                }
                div class="foot" {
                    @if self.is_live {
                        div id="live" class="tools" hidden {
                            span class="soft live" id="live-status" { "live" }
                            button class="plain" id="pause" type="button" aria-label="Pause updates" { "Pause" }
                        }
                    }
                    @if let Some((app, visitor)) = inside {
                        p class="where" { "Store " span class="id" { (text(&app.store().place())) } }
                        p class="where" { "You are " b { (text(&visitor.name)) } ". Times are UTC." }
                    }
                    div class="tools" {
                        button class="plain" id="theme" type="button" hidden { "Theme: auto" }
                        @if let Some((_, visitor)) = inside {
                            @if visitor.name != "local" {
                                form method="post" action="/logout" {
                                    input type="hidden" name="csrf" value=(visitor.csrf);
                                    button class="plain" { "Log out" }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Where there is nothing to show: what that means, and what to do next.
#[expect(clippy::needless_pass_by_value, reason = "it is written where it is handed over")]
pub(super) fn empty(title: &str, next: Markup) -> Markup {
    html! { div class="sheet empty" { b { (title) } (next) } }
}

/// A command to be copied.
pub(super) fn command(line: &str) -> Markup {
    html! { pre class="cmd" tabindex="0" { (show::text(line)) } }
}

/// A form of one button.
pub(super) fn button(
    visitor: &Visitor,
    to: &str,
    hidden: &[(&str, &str)],
    class: &str,
    word: &str,
) -> Markup {
    html! {
        form method="post" action=(to) {
            input type="hidden" name="csrf" value=(visitor.csrf);
            @for (name, value) in hidden { input type="hidden" name=(name) value=(value); }
            button class=(class) { (word) }
        }
    }
}
