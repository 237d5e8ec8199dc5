//! Tokens: declared by their hash, compared by it, and nowhere in clear after they were printed once.

use std::collections::BTreeSet;

use landonce_deliver::Fault;
use rand::Rng as _;
use sha2::{Digest, Sha256};

use super::fault;
use super::spec::TokenSpec;
use crate::auth::May;

/// A token's beginning: what scanners for leaked secrets look for.
const PREFIX: &str = "lo_";
/// How a hash begins in the file.
const SHA256: &str = "sha256:";

/// Somebody who may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    name: String,
    hash: [u8; 32],
    may: BTreeSet<May>,
    pipelines: Option<BTreeSet<String>>,
}

impl Token {
    pub(super) fn new(at: usize, spec: &TokenSpec) -> Result<Self, Fault> {
        let key = |field: &str| format!("tokens[{at}].{field}");
        if spec.name.is_empty() || spec.name.len() > 100 || spec.name.chars().any(char::is_control) {
            return Err(fault(key("name"), "a token has a name of up to 100 printable characters"));
        }
        let mut hash = [0; 32];
        spec.hash
            .strip_prefix(SHA256)
            .filter(|hex| hex::decode_to_slice(hex, &mut hash).is_ok())
            .ok_or_else(|| {
                // The value isn't shown: somebody may have put the token itself there.
                fault(key("hash"), "must be `sha256:` and 64 hex digits; `landonce serve token` prints it")
            })?;
        if hash == Self::hash_of("") {
            return Err(fault(key("hash"), "is the hash of no text at all, so that an empty token would do"));
        }
        if spec.may.is_empty() {
            return Err(fault(key("may"), "is empty: the token is good for nothing"));
        }
        if spec.pipelines.as_ref().is_some_and(Vec::is_empty) {
            return Err(fault(
                key("pipelines"),
                "is empty: the token is good for nothing; leave it out for all of them",
            ));
        }
        Ok(Self {
            name: spec.name.clone(),
            hash,
            may: spec.may.iter().copied().collect(),
            pipelines: spec.pipelines.as_ref().map(|names| names.iter().cloned().collect()),
        })
    }

    /// A new token and the hash to declare, from 256 bits of the system's randomness.
    pub fn generate() -> (String, String) {
        let mut bytes = [0; 32];
        rand::rng().fill_bytes(&mut bytes);
        let token = format!("{PREFIX}{}", hex::encode(bytes));
        let hash = format!("{SHA256}{}", hex::encode(Self::hash_of(&token)));
        (token, hash)
    }

    /// The hash under which a token is declared.
    pub(crate) fn hash_of(token: &str) -> [u8; 32] {
        Sha256::digest(token.as_bytes()).into()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its SHA-256.
    pub(crate) fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Whether it is good for that, with that pipeline (`None`: with all of them).
    pub(crate) fn is_for(&self, may: May, pipeline: Option<&str>) -> bool {
        self.may.contains(&may)
            && match (&self.pipelines, pipeline) {
                (None, _) => true,
                (Some(names), Some(pipeline)) => names.contains(pipeline),
                (Some(_), None) => false,
            }
    }

    /// The pipelines that it names; `None`: all.
    pub(crate) fn pipelines(&self) -> Option<&BTreeSet<String>> {
        self.pipelines.as_ref()
    }
}
