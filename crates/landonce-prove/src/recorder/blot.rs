//! URLs without their secrets: a report is shown around.

use hyper::Uri;

/// What stands where a secret was.
const BLOT: &str = "***";

/// Parts of the names of query parameters that carry secrets.
const SECRET_NAMES: [&str; 9] =
    ["token", "secret", "passw", "pwd", "apikey", "api_key", "api-key", "credential", "signature"];

/// Whole names of such parameters.
const SECRET_WHOLE_NAMES: [&str; 4] = ["key", "sig", "auth", "code"];

/// The URL of this scheme and authority: no user, no password, no secrets in the query or the path.
pub(super) fn url(scheme: &str, authority: &str, uri: &Uri) -> String {
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let host = match scheme {
        "https" => host.strip_suffix(":443").unwrap_or(host),
        _ => host.strip_suffix(":80").unwrap_or(host),
    };
    let user = user.map_or(String::new(), |_| format!("{BLOT}@"));
    format!("{scheme}://{user}{host}{}", path_and_query(uri))
}

/// The path and the query without secrets.
pub(super) fn path_and_query(uri: &Uri) -> String {
    let query = uri.query().map_or(String::new(), |query| {
        format!("?{}", query.split('&').map(parameter).collect::<Vec<_>>().join("&"))
    });
    format!("{}{query}", path(uri.path()))
}

fn parameter(pair: &str) -> String {
    let Some((name, _)) = pair.split_once('=') else { return pair.to_owned() };
    let lower = name.to_ascii_lowercase();
    let is_secret =
        SECRET_NAMES.iter().any(|part| lower.contains(part)) || SECRET_WHOLE_NAMES.contains(&lower.as_str());
    if is_secret { format!("{name}={BLOT}") } else { pair.to_owned() }
}

/// Chat services have the secret in the path: `/bot123:SECRET/sendMessage`, `/services/T0/B0/SECRET`,
/// `/api/webhooks/123/SECRET`.
fn path(path: &str) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut blotted: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        let is_secret = matches!(seen[..], [.., "services", _, _] | [.., "webhooks", _])
            || (segment.starts_with("bot") && segment.contains(':'));
        blotted.push(if is_secret && !segment.is_empty() { BLOT } else { segment });
        seen.push(segment);
    }
    blotted.join("/")
}

#[cfg(test)]
mod tests {
    use hyper::Uri;

    fn url(written: &str) -> String {
        let uri: Uri = written.parse().unwrap();
        super::url(uri.scheme_str().unwrap(), uri.authority().unwrap().as_str(), &uri)
    }

    #[test]
    fn secrets_are_blotted_out_and_the_rest_stays() {
        for (written, expected) in [
            ("http://user:word@shop.test:80/a?b=1&c=%20", "http://***@shop.test/a?b=1&c=%20"),
            ("https://shop.test:443", "https://shop.test/"),
            (
                "https://shop.test:8443/a?Access_Token=x&page=2&key=y",
                "https://shop.test:8443/a?Access_Token=***&page=2&key=***",
            ),
            ("https://api.telegram.org/bot12:AA/sendMessage", "https://api.telegram.org/***/sendMessage"),
            ("https://hooks.slack.com/services/T0/B0/XYZ", "https://hooks.slack.com/services/T0/B0/***"),
            (
                "https://discord.com/api/webhooks/12/XYZ?wait=true",
                "https://discord.com/api/webhooks/12/***?wait=true",
            ),
        ] {
            assert_eq!(url(written), expected);
        }
    }
}
