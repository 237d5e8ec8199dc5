//! Secrets: what comes from the environment and is never shown, not in `Debug`, not in an error, not in a log.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// A secret's value. Nothing shows it; [`Secret::reveal`] is where it leaves.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret of this value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the one who has to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A secret as a file names it: `${NAME}`, nothing before it, nothing behind it. A secret that is written out is refused.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct SecretName(#[schemars(regex(pattern = r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$"))] String);

impl SecretName {
    /// The environment variable's name.
    pub fn variable(&self) -> &str {
        &self.0
    }
}

/// What `${NAME}` names, if the text is that and no more.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

impl<'de> Deserialize<'de> for SecretName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl Visitor<'_> for Written {
            type Value = SecretName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an environment variable, as ${NAME}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SecretName, E> {
                // The text may be the secret itself: it is not repeated.
                let name = variable(text).ok_or_else(|| {
                    E::custom(
                        "a secret isn't written into a file; put it into an environment variable, and write ${NAME} here",
                    )
                })?;
                Ok(SecretName(name.to_owned()))
            }
        }
        deserializer.deserialize_str(Written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        assert_eq!(format!("{:?}", Secret::new("sekret")), "Secret(…)");
    }

    #[test]
    fn only_the_name_of_a_variable_is_one() {
        assert_eq!(variable("${TOKEN_2}"), Some("TOKEN_2"));
        for text in ["sekret", "${A} ${B}", "x${A}", "${}", "${2}", "$A", "${A"] {
            assert_eq!(variable(text), None, "{text}");
        }
    }
}
