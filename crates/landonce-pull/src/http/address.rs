//! Addresses: the declared one with its secrets, the pages' made from it, and what may be shown of them.

use landonce::environment::variable;
use landonce_core::pipeline::http::{Auth, Http};
use url::Url;

use super::veil::Veil;
use crate::error::Error;

/// From so many characters on a piece of a path that came from the environment may be a token of its own.
const LONG: usize = 16;

/// The declared address.
pub(super) struct Address {
    /// With the environment's variables, without the secret parameters.
    pub(super) url: Url,
    /// As it was declared: `${NAME}` stands for a value.
    declared: String,
    secret: Vec<(String, String)>,
}

impl Address {
    pub(super) fn new(http: &Http, veil: &mut Veil) -> Result<Self, Error> {
        let expanded = expand("source.http.url", &http.url, veil)?;
        let fault = |told: &str| Error::Declared(format!("source.http.url `{}`: {told}", http.url));
        let url = Url::parse(&expanded).map_err(|error| fault(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(fault("must begin with `https://` (or `http://`) and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault("holds a user or a password; give them under `auth.basic`"));
        }
        let mut secret = Vec::new();
        if let Auth::Query(params) = &http.auth {
            for (name, value) in params {
                secret.push((name.clone(), look_up("source.http.auth.query", value.name(), veil)?));
            }
        }
        Ok(Self { url, declared: http.url.clone(), secret })
    }

    /// What the feed is called: the address as declared.
    pub(super) fn name(&self) -> &str {
        &self.declared
    }

    /// The address of a page as it is asked for: with the secret parameters, unless it leads elsewhere.
    pub(super) fn asked(&self, page: &Url) -> Url {
        let mut url = page.clone();
        if self.is_ours(page) {
            for (name, value) in &self.secret {
                set(&mut url, name, value);
            }
        }
        url
    }

    /// The address that a text of an answer names, seen from a page; without the secret parameters, which are put in again.
    pub(super) fn joined(&self, page: &Url, text: &str) -> Option<Url> {
        let mut url = page.join(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        url.set_fragment(None);
        for (name, _) in &self.secret {
            if url.query_pairs().any(|(has, _)| has == name.as_str()) {
                drop_param(&mut url, name);
            }
        }
        Some(url)
    }

    /// Whether it is of the declared scheme, host and port: what is secret goes nowhere else.
    pub(super) fn is_ours(&self, url: &Url) -> bool {
        url.origin() == self.url.origin()
    }
}

/// Gives a parameter a value, whatever it had before. Other parameters keep their spelling where nothing is replaced.
pub(super) fn set(url: &mut Url, name: &str, value: &str) {
    if url.query_pairs().any(|(has, _)| has == name) {
        drop_param(url, name);
    }
    url.query_pairs_mut().append_pair(name, value);
}

fn drop_param(url: &mut Url, name: &str) {
    let kept = url.query_pairs().filter(|(has, _)| has != name);
    let kept: Vec<(String, String)> =
        kept.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
}

/// The text with every `${NAME}` replaced. What is put in isn't told later.
pub(super) fn expand(key: &str, text: &str, veil: &mut Veil) -> Result<String, Error> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let end =
            inside.find('}').ok_or_else(|| Error::Declared(format!("{key}: `${{` isn't closed by `}}`")))?;
        let value = look_up(key, &inside[..end], veil)?;
        out.push_str(&value);
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// A variable's value; empty counts as not set.
pub(super) fn look_up(key: &str, name: &str, veil: &mut Veil) -> Result<String, Error> {
    let value = variable(name).filter(|value| !value.is_empty()).ok_or_else(|| {
        Error::Declared(format!("{key}: the environment variable `{name}` isn't set, or is empty"))
    })?;
    note(veil, &value);
    Ok(value)
}

/// What isn't told of a value.
fn note(veil: &mut Veil, value: &str) {
    match Url::parse(value) {
        // Where an address leads is no secret, and stands in many an answer; what stands behind that may be.
        Ok(url) if url.has_host() => {
            let long = |piece: &&str| piece.len() >= LONG;
            url.path_segments().into_iter().flatten().filter(long).for_each(|piece| veil.add(piece));
            url.query_pairs().for_each(|(_, value)| veil.add(&value));
            veil.add(url.password().unwrap_or_default());
        }
        _ => veil.add(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_token_in_an_address_of_the_environment_is_veiled() {
        let mut veil = Veil::default();
        note(&mut veil, "https://api.example/v1/0123456789abcdef0/x?key=k3y");
        assert_eq!(
            veil.clean("https://api.example/v1/0123456789abcdef0/x?key=k3y"),
            "https://api.example/v1/…/x?key=…"
        );
        note(&mut veil, "t0ken:with");
        assert_eq!(veil.clean("a t0ken:with"), "a …");
    }

    #[test]
    fn a_parameter_is_set_once_and_the_others_keep_their_spelling() {
        let mut url = Url::parse("https://a/b?x=1%2C2&page=1").unwrap();
        set(&mut url, "size", "10");
        assert_eq!(url.as_str(), "https://a/b?x=1%2C2&page=1&size=10");
        set(&mut url, "page", "2&3");
        assert_eq!(url.as_str(), "https://a/b?x=1%2C2&size=10&page=2%263");
    }
}
