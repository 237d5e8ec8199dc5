//! What `${NAME}` stands for: the environment variable, or what is in the file that `NAME_FILE` names, as secrets are handed to services
//! and containers (systemd's `LoadCredential`, Docker's and Kubernetes' secrets).

pub use crate::pipeline::expand;

/// The value of a variable: its own, or the content of the file that `NAME_FILE` names, less the line's end behind it. `None` when neither
/// is set, or the file can't be read, which the log tells.
pub fn variable(name: &str) -> Option<String> {
    if let Ok(value) = std::env::var(name) {
        return Some(value);
    }
    let path = std::env::var_os(format!("{name}_FILE"))?;
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(error) => {
            tracing::warn!(variable = name, path = %path.display(), %error, "the file that a variable names can't be read");
            None
        }
    }
}
