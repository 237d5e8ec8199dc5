//! `allow_private:` as written: false, true, or networks.

use std::fmt;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

/// Which addresses that aren't public may be connected to.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum AllowSpec {
    /// None of them (`false`).
    #[default]
    #[schemars(with = "bool")]
    None,
    /// All of them (`true`).
    #[schemars(with = "bool")]
    All,
    /// Those in these networks: `[10.1.0.0/16, 127.0.0.1/32]`.
    #[schemars(with = "Vec<String>")]
    Networks(Vec<IpNet>),
}

impl<'de> Deserialize<'de> for AllowSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = AllowSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a list of networks (`[10.1.0.0/16, 127.0.0.1/32]`)")
            }

            fn visit_bool<E: de::Error>(self, all: bool) -> Result<AllowSpec, E> {
                Ok(if all { AllowSpec::All } else { AllowSpec::None })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<AllowSpec, A::Error> {
                let mut networks = Vec::new();
                while let Some(text) = list.next_element::<String>()? {
                    networks.push(text.trim().parse().map_err(|_| {
                        de::Error::custom(format!(
                            "`{text}` is no network; write `10.1.0.0/16` or `127.0.0.1/32`"
                        ))
                    })?);
                }
                Ok(AllowSpec::Networks(networks))
            }
        }
        deserializer.deserialize_any(Written)
    }
}
