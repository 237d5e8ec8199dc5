//! What `${NAME}` stands for.

use crate::error::Fault;
use crate::secret::{Secret, SecretName};

/// Looks variables up; a closure, so that a test needs no process of its own.
#[derive(Clone, Copy)]
pub struct Environment<'a>(&'a dyn Fn(&str) -> Option<String>);

impl std::fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment(…)")
    }
}

impl<'a> Environment<'a> {
    /// Variables as `look_up` has them.
    pub fn new(look_up: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self(look_up)
    }

    /// This process's.
    pub fn process() -> Environment<'static> {
        Environment(&|name| landonce::environment::variable(name))
    }

    /// A variable's value, if it is set and not empty.
    pub(crate) fn look_up(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    fn get(&self, key: &str, name: &str) -> Result<String, Fault> {
        self.look_up(name).ok_or_else(|| {
            Fault::new(key, format!("the environment variable `{name}` isn't set, or is empty"))
        })
    }

    /// A secret's value.
    pub(crate) fn secret(&self, key: &str, name: &SecretName) -> Result<Secret, Fault> {
        self.get(key, name.variable()).map(Secret::new)
    }

    /// The text with every `${NAME}` replaced.
    ///
    /// # Errors
    /// When a variable isn't set; the error names `key` and the variable, never a value.
    pub fn expand(&self, key: &str, text: &str) -> Result<String, Fault> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            out.push_str(&rest[..at]);
            let inside = &rest[at + 2..];
            let end = inside.find('}').ok_or_else(|| Fault::new(key, "`${` isn't closed by `}`"))?;
            out.push_str(&self.get(key, &inside[..end])?);
            rest = &inside[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_variable_is_named_with_its_key() {
        let none = |_: &str| None;
        let told = Environment::new(&none).expand("store", "a${NO_SUCH}").unwrap_err().to_string();
        assert_eq!(told, "store: the environment variable `NO_SUCH` isn't set, or is empty");
    }

    #[test]
    fn values_are_put_in_once_and_not_read_again() {
        let all = |name: &str| Some(format!("<${{{name}}}>"));
        assert_eq!(Environment::new(&all).expand("k", "a${B}c").unwrap(), "a<${B}>c");
    }
}
