//! Why there is no answer, in words that say what to mend, and whether it is about all messages.

use std::error::Error as StdError;
use std::io;

use hyper_util::client::legacy::Error;

use super::dial::DialError;
use crate::destination::Answer;

/// What a request that got no answer means.
pub(super) fn of(error: &Error) -> Answer {
    let later = |told: String, is_for_all: bool| Answer::Later { told, after: None, is_for_all };
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    let mut last = error.to_string();
    while let Some(cause) = next {
        if let Some(dial) = cause.downcast_ref::<DialError>() {
            return later(dial.to_string(), true);
        }
        if let Some(tls) = tls(cause) {
            return later(told_of(tls), true);
        }
        last = cause.to_string();
        next = cause.source();
    }
    // The connection was there, and broke while it was used: that may be this message's doing.
    later(format!("no answer: {last}"), error.is_connect())
}

/// The TLS error that it is or wraps: an `io::Error` doesn't name what is inside as its source, but that one's source.
fn tls<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref() {
        return Some(tls);
    }
    error.downcast_ref::<io::Error>()?.get_ref().and_then(|inner| tls(inner))
}

fn told_of(error: &rustls::Error) -> String {
    use rustls::CertificateError::{NotValidForName, NotValidForNameContext, UnknownIssuer};
    let advice = match error {
        rustls::Error::InvalidCertificate(UnknownIssuer) => {
            "; name the certificate of its authority as `ca` if you trust it"
        }
        rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }) => {
            "; the receiver shows the certificate of another host"
        }
        rustls::Error::InvalidMessage(_) => "; is it `http://` and not `https://`?",
        rustls::Error::AlertReceived(_) => "; if it wants a client certificate, check `client`",
        _ => "",
    };
    format!("TLS: {error}{advice}")
}
