//! A stream of NATS JetStream: what is declared, checked.

use std::time::Duration;

use super::check::{Checked, fault};
use crate::spec::{LostSpec, NatsAuthSpec, NatsSpec, NatsStartSpec, NatsTlsSpec, RecreatedSpec};

/// A stream of NATS JetStream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nats {
    /// Servers to begin with; may hold `${NAME}`.
    pub servers: Vec<String>,
    /// The stream.
    pub stream: String,
    /// The parts, filters of subjects that have none in common; empty where the whole stream is one part.
    pub parts: Vec<String>,
    /// Where a part begins of which nothing has been landed yet.
    pub start: NatsStartSpec,
    /// What happens when the stream isn't the one that was landed.
    pub on_recreated: RecreatedSpec,
    /// What happens when messages are gone before they were landed.
    pub on_lost: LostSpec,
    /// How long a part may stand still, while messages wait, before a worker that lost it takes it again.
    pub stand_by: Duration,
    /// The JetStream domain, if it is another one.
    pub domain: Option<String>,
    /// TLS, if declared.
    pub tls: Option<NatsTlsSpec>,
    /// Who the worker is, if declared.
    pub auth: Option<NatsAuth>,
}

/// Who the worker is. Secrets are `${NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NatsAuth {
    /// A user with a password.
    User {
        /// The user; may hold `${NAME}`.
        user: String,
        /// The password, a `${NAME}`.
        password: String,
    },
    /// A token, a `${NAME}`.
    Token(String),
    /// A file of credentials; may hold `${NAME}`.
    Credentials(String),
    /// The seed of an NKey, a `${NAME}`.
    Nkey(String),
}

/// Checks what is declared.
pub(super) fn resolve(spec: NatsSpec) -> Checked<Nats> {
    if spec.servers.is_empty() || spec.servers.iter().any(String::is_empty) {
        return fault("source.nats.servers", "names no server; write `[nats://host:4222]`");
    }
    if spec.servers.iter().any(|server| server.contains('@')) {
        return fault(
            "source.nats.servers",
            "an address holds no user and no password; write them under `auth`",
        );
    }
    // What a server takes as a stream's name; it becomes a token of subjects.
    let no_name = |c: char| c.is_whitespace() || c.is_control() || ".*>/\\".contains(c);
    if spec.stream.is_empty() || spec.stream.contains(no_name) {
        return fault("source.nats.stream", format!("`{}` is no stream's name", spec.stream.escape_debug()));
    }
    for (at, part) in spec.parts.iter().enumerate() {
        if !is_filter(part) {
            let told = format!("`{}` is no filter of subjects, such as `orders.eu.>`", part.escape_debug());
            return fault("source.nats.parts", told);
        }
        if let Some(other) = spec.parts[..at].iter().find(|other| overlap(other, part)) {
            let told = format!(
                "`{other}` and `{part}` have subjects in common: no two workers may read one of them"
            );
            return fault("source.nats.parts", told);
        }
    }
    if let Some(tls) = &spec.tls
        && tls.cert.is_some() != tls.key.is_some()
    {
        return fault("source.nats.tls", "`cert` and `key` go together");
    }
    if spec.stand_by_s == Some(0) {
        return fault("source.nats.stand_by_s", "a number above 0 is due");
    }
    Ok(Nats {
        servers: spec.servers,
        stream: spec.stream,
        parts: spec.parts,
        start: spec.start,
        on_recreated: spec.on_recreated,
        on_lost: spec.on_lost,
        stand_by: Duration::from_secs(spec.stand_by_s.unwrap_or(30)),
        domain: spec.domain,
        tls: spec.tls,
        auth: spec.auth.map(auth).transpose()?,
    })
}

fn auth(spec: NatsAuthSpec) -> Checked<NatsAuth> {
    let secret = |name: &str, text: String| {
        let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        if inner.is_none_or(|inner| inner.is_empty() || inner.contains(['$', '{', '}'])) {
            return fault(
                "source.nats.auth",
                format!(
                    "`{name}` is a secret, which isn't written into a file; put it into an environment variable, and write ${{NAME}} here"
                ),
            );
        }
        Ok(text)
    };
    match (spec.user, spec.password, spec.token, spec.credentials, spec.nkey) {
        (Some(user), Some(password), None, None, None) => {
            Ok(NatsAuth::User { user, password: secret("password", password)? })
        }
        (None, None, Some(token), None, None) => Ok(NatsAuth::Token(secret("token", token)?)),
        (None, None, None, Some(file), None) => Ok(NatsAuth::Credentials(file)),
        (None, None, None, None, Some(seed)) => Ok(NatsAuth::Nkey(secret("nkey", seed)?)),
        _ => fault(
            "source.nats.auth",
            "one of `user` with `password`, `token`, `credentials` and `nkey` is due",
        ),
    }
}

/// Tokens that aren't empty, `>` only as the last one.
fn is_filter(filter: &str) -> bool {
    let mut tokens = filter.split('.').peekable();
    while let Some(token) = tokens.next() {
        let is_plain = !token.contains(|c: char| c.is_whitespace() || c.is_control() || c == '*' || c == '>');
        let is_token = match token {
            "" => false,
            "*" => true,
            ">" => tokens.peek().is_none(),
            _ => is_plain,
        };
        if !is_token {
            return false;
        }
    }
    true
}

/// Whether some subject matches both.
fn overlap(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.split('.'), other.split('.'));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(">"), Some(_)) | (Some(_), Some(">")) => return true,
            (None, _) | (_, None) => return false,
            (Some(a), Some(b)) if a == b || a == "*" || b == "*" => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Feed, Pipeline};
    use crate::spec::Spec;

    fn read(more: &str) -> Result<Nats, String> {
        let yaml = format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource:\n  nats:\n    servers: [nats://n:4222]\n    stream: ORDERS\n{more}"
        );
        let pipeline = Pipeline::new(Spec::parse(&yaml).map_err(|error| error.to_string())?)
            .map_err(|error| error.to_string())?;
        match &pipeline.source().feed {
            Feed::Nats(nats) => Ok(nats.as_ref().clone()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_subject_belongs_to_two_parts() {
        let parts = read("    parts: [a.*, b.>, c, a.b.c]\n").unwrap().parts;
        assert_eq!(parts, ["a.*", "b.>", "c", "a.b.c"]);
        assert!(read("").unwrap().parts.is_empty());
        for two in ["a, a", "'a.*', a.b", "'a.*', '*.b'", "'>', a", "a.b.c, 'a.>'", "'*.x.>', 'a.*.c'"] {
            let told = read(&format!("    parts: [{two}]\n")).unwrap_err();
            assert!(told.contains("subjects in common"), "{two}: {told}");
        }
        for two in ["a, a.b", "'a.*', a.b.c", "'a.>', a", "'*.x', 'a.y'"] {
            read(&format!("    parts: [{two}]\n")).unwrap();
        }
    }

    #[test]
    fn what_can_not_be_is_told_with_its_key() {
        for (more, want) in [
            ("    parts: [a..b]\n", "`a..b` is no filter"),
            ("    parts: ['a.>.b']\n", "is no filter"),
            ("    parts: ['a*']\n", "is no filter"),
            ("    tls: {cert: x}\n", "`cert` and `key` go together"),
            ("    auth: {user: u}\n", "one of `user` with `password`"),
            ("    auth: {token: '${T}', nkey: '${N}'}\n", "one of `user` with `password`"),
            ("    stand_by_s: 0\n", "source.nats.stand_by_s"),
            ("    start: committed\n", "earliest"),
        ] {
            let told = read(more).unwrap_err();
            assert!(told.contains(want), "{more}: {told}");
        }
    }

    #[test]
    fn secrets_are_named_and_never_written_out() {
        for more in [
            "    auth: {user: u, password: hunter2}\n",
            "    auth: {token: hunter2}\n",
            "    auth: {nkey: hunter2}\n",
        ] {
            let told = read(more).unwrap_err();
            assert!(told.contains("${NAME}") && !told.contains("hunter2"), "{told}");
        }
        let yaml = "pipeline: p\nidentity: [id]\ntarget: {table: t}\nsource: {nats: {servers: ['nats://u:hunter2@n'], stream: S}}\n";
        let told = Pipeline::new(Spec::parse(yaml).unwrap()).unwrap_err().to_string();
        assert!(told.contains("under `auth`") && !told.contains("hunter2"), "{told}");
    }
}
