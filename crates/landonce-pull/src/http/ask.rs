//! Asking for a page until it has been read to its end, or can't be.
//!
//! | what happens | |
//! |---|---|
//! | 2xx with a body that ends where it says | taken |
//! | 304 to a conditional request | nothing new |
//! | no connection, silence, a cut body, 408, 425, 429, 5xx | asked again, as `Retry-After` says |
//! | a redirect within the origin | followed |
//! | a certificate that isn't trusted, a redirect elsewhere, any other 4xx | refused at once |
//! | 204, 206, a page of HTML | not what was declared |

use std::time::{Duration, SystemTime};

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use landonce_core::pipeline::http::Retry;
use landonce_core::spec::RedirectsSpec;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use url::Url;

use super::address::Address;
use super::body::{Broken, Sink, root};
use super::client::{HttpClient, request};
use super::pause;
use super::veil::Veil;
use crate::error::Error;
use crate::gather::spooling;

/// The most redirects of one request.
const REDIRECTS: usize = 5;
/// How much of a refusal's body is read.
const REFUSAL: u64 = 64 << 10;

/// Asks.
pub(super) struct Asker {
    pub(super) client: HttpClient,
    pub(super) address: Address,
    pub(super) veil: Veil,
    /// What every request has.
    pub(super) headers: HeaderMap,
    /// What requests to the declared origin have, too.
    pub(super) own_headers: HeaderMap,
    pub(super) redirects: RedirectsSpec,
    pub(super) timeout: Duration,
    pub(super) deadline: Duration,
    pub(super) retry: Retry,
    pub(super) pace: Duration,
    /// When the next request may go.
    pub(super) next_at: Option<Instant>,
}

/// What a conditional request is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Validators {
    pub(super) etag: Option<String>,
    pub(super) modified: Option<String>,
}

/// An answer, whose body is in the sink.
pub(super) struct Answer {
    /// Where it came from, after redirects; without the secret parameters.
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    /// 304: what there is has been read before.
    pub(super) is_unchanged: bool,
}

/// Why an attempt has no answer.
enum Failed {
    /// It may have one the next time.
    Passing { told: String, after: Option<Duration> },
    /// It won't.
    Final(Error),
}

impl Asker {
    /// Asks for a page until the sink has its body.
    pub(super) async fn ask(
        &mut self,
        url: &Url,
        validators: &Validators,
        sink: &mut Sink,
    ) -> Result<Answer, Error> {
        let began = Instant::now();
        let deadline = began + self.deadline;
        let mut attempt = 0;
        let mut before = String::new();
        loop {
            self.wait_for_turn().await;
            attempt += 1;
            sink.clear().map_err(|error| spooling(&error))?;
            let (told, after) = match timeout_at(deadline, self.attempt(url, validators, sink)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(Failed::Final(error))) => return Err(error),
                Ok(Err(Failed::Passing { told, after })) => (told, after),
                Err(_) => {
                    let limit = self.deadline.as_secs_f64();
                    (format!("it wasn't read within {limit} s (`deadline`){before}"), None)
                }
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(pause) = pause::behind(&self.retry, attempt, after, left) else {
                let times = if attempt == 1 { "once" } else { &format!("{attempt} times") };
                let asked = after.map_or_else(String::new, |after| {
                    format!("; it asks to be left alone for {} s", after.as_secs())
                });
                return Err(Error::Away(format!(
                    "{}: {told}{asked}; it was asked {times} in {:.1} s",
                    self.shown(url),
                    began.elapsed().as_secs_f64()
                )));
            };
            tracing::info!(url = self.shown(url), attempt, told, "again after {} ms", pause.as_millis());
            before = format!("; before that: {told}");
            sleep(pause).await;
        }
    }

    /// The address, as it may be told.
    pub(super) fn shown(&self, url: &Url) -> String {
        self.veil.clean(url.as_str())
    }

    /// Keeps to the rate.
    async fn wait_for_turn(&mut self) {
        if self.pace.is_zero() {
            return;
        }
        if let Some(at) = self.next_at {
            sleep_until(at).await;
        }
        self.next_at = Some(Instant::now() + self.pace);
    }

    async fn attempt(&self, url: &Url, validators: &Validators, sink: &mut Sink) -> Result<Answer, Failed> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let response = self.send(&url, validators).await?;
            match response.status() {
                StatusCode::NOT_MODIFIED if *validators != Validators::default() => {
                    return Ok(Answer { url, headers: response.headers().clone(), is_unchanged: true });
                }
                status if status.is_redirection() => url = self.redirected(&url, &response)?,
                status if status.is_success() => return self.taken(url, response, sink).await,
                _ => return Err(self.refused(&url, response).await),
            }
        }
        Err(self.never(&url, &format!("it redirects more than {REDIRECTS} times")))
    }

    async fn send(&self, url: &Url, validators: &Validators) -> Result<Response<Incoming>, Failed> {
        let mut headers = self.headers.clone();
        if self.address.is_ours(url) {
            headers.extend(self.own_headers.iter().map(|(name, value)| (name.clone(), value.clone())));
            for (name, value) in
                [(header::IF_NONE_MATCH, &validators.etag), (header::IF_MODIFIED_SINCE, &validators.modified)]
            {
                if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
                    headers.insert(name, value);
                }
            }
        }
        let asked = self.address.asked(url);
        let uri =
            asked.as_str().parse().map_err(|_| self.never(url, "it is no address that can be asked"))?;
        let sent = self.client.request(request(uri, headers));
        match timeout(self.timeout, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(match tls(&error) {
                Some(told) => self.never(
                    url,
                    &format!("TLS: {told}; name its authority's certificate under `tls.ca` if you trust it"),
                ),
                None => Failed::Passing {
                    told: format!("no answer: {}", self.veil.clean(&root(&error))),
                    after: None,
                },
            }),
            Err(_) => {
                let told = format!("no answer within {} s", self.timeout.as_secs_f64());
                Err(Failed::Passing { told, after: None })
            }
        }
    }

    /// Reads the body of a good answer.
    async fn taken(&self, url: Url, response: Response<Incoming>, sink: &mut Sink) -> Result<Answer, Failed> {
        let (head, body) = response.into_parts();
        if head.status == StatusCode::NO_CONTENT || head.status == StatusCode::PARTIAL_CONTENT {
            let told = format!("status {} isn't an answer with all of its records", head.status.as_u16());
            return Err(Failed::Final(Error::Unreadable(format!("{}: {told}", self.shown(&url)))));
        }
        let filled = sink.fill(body, &head.headers, self.timeout).await;
        let is_html = head.headers.get(header::CONTENT_TYPE).is_some_and(|value| {
            let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
            value.starts_with("text/html") || value.starts_with("application/xhtml")
        });
        match filled {
            Ok(()) if is_html => {
                let told = match sink {
                    Sink::Memory(body, _) => self.veil.beginning(body),
                    Sink::File(_) => String::new(),
                };
                let told = format!("{}: it is a page of HTML: {told}", self.shown(&url));
                Err(Failed::Final(Error::Unreadable(told)))
            }
            Ok(()) => Ok(Answer { url, headers: head.headers, is_unchanged: false }),
            Err(Broken::Cut(told)) => Err(Failed::Passing { told: self.veil.clean(&told), after: None }),
            Err(Broken::Unreadable(told)) => {
                Err(Failed::Final(Error::Unreadable(format!("{}: {told}", self.shown(&url)))))
            }
            Err(Broken::NoSpool(error)) => Err(Failed::Final(spooling(&error))),
        }
    }

    /// An answer that isn't good.
    async fn refused(&self, url: &Url, response: Response<Incoming>) -> Failed {
        let (head, body) = response.into_parts();
        let mut sink = Sink::Memory(Vec::new(), REFUSAL);
        // What can't be read of it isn't told.
        let _ = sink.fill(body, &head.headers, self.timeout).await;
        let Sink::Memory(text, _) = sink else { return self.never(url, head.status.as_str()) };
        let text = self.veil.beginning(&text);
        let told =
            format!("status {}{}{text}", head.status.as_u16(), if text.is_empty() { "" } else { ": " });
        let is_passing = head.status.is_server_error()
            || matches!(
                head.status,
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
            );
        if is_passing {
            return Failed::Passing { told, after: pause::asked(&head.headers, SystemTime::now()) };
        }
        self.never(url, &told)
    }

    fn never(&self, url: &Url, told: &str) -> Failed {
        Failed::Final(Error::Refused(format!("{}: {told}", self.shown(url))))
    }

    /// Where an answer sends us, if that may be followed.
    fn redirected(&self, url: &Url, response: &Response<Incoming>) -> Result<Url, Failed> {
        let status = response.status().as_u16();
        let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        let to = to.filter(|_| status != 304).and_then(|to| self.address.joined(url, to));
        let Some(to) = to else {
            return Err(
                self.never(url, &format!("status {status} without an address that could be followed"))
            );
        };
        // Only where to, not the query, which may hold anything.
        let place = self.veil.clean(to.as_str().split('?').next().unwrap_or_default());
        let is_weaker = url.scheme() == "https" && to.scheme() != "https";
        let advice = match self.redirects {
            RedirectsSpec::None => "redirects aren't followed; write that address as `url`",
            _ if is_weaker => "that would give up TLS, and isn't followed",
            RedirectsSpec::SameOrigin if !self.address.is_ours(&to) => {
                "another host isn't followed; write its address as `url`, or allow `redirects: any`, which sends it no credentials"
            }
            RedirectsSpec::SameOrigin | RedirectsSpec::Any => return Ok(to),
        };
        Err(self.never(url, &format!("status {status} leads to {place}: {advice}")))
    }
}

/// What TLS says of a certificate that can't be trusted; other failures may pass.
fn tls(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(error, rustls::Error::InvalidCertificate(_)).then(|| error.to_string());
    }
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inner {
        Some(inner) => tls(inner),
        None => tls(error.source()?),
    }
}
