//! Where an archive lies: a folder, or an S3-compatible store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;

use crate::error::Error;

/// A place as written.
pub(crate) enum Place<'u> {
    /// A folder.
    Folder(&'u Path),
    /// `s3://bucket/prefix`
    S3 {
        /// The bucket.
        bucket: &'u str,
        /// The prefix, perhaps empty.
        prefix: &'u str,
    },
}

impl<'u> Place<'u> {
    /// What a URL or path means. One that holds credentials is refused and not repeated.
    pub(crate) fn parse(url: &'u str) -> Result<Self, Error> {
        if let Some(rest) = url.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            if rest.contains('@') {
                return Err(Error::Place(
                    "an `s3://` place holds `@`; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into(),
                ));
            }
            if bucket.is_empty() || bucket.contains(['?', '#', ':']) {
                return Err(Error::Place("`s3://bucket/prefix` is due".into()));
            }
            return Ok(Self::S3 { bucket, prefix: prefix.trim_matches('/') });
        }
        let path = url.strip_prefix("file://").or(url.strip_prefix("file:")).unwrap_or(url);
        match url.split_once("://") {
            Some((scheme, _))
                if scheme != "file" && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
            {
                Err(Error::Place(format!(
                    "`{scheme}://` is no place that is known; known are a folder and `s3://bucket/prefix`"
                )))
            }
            _ if path.trim().is_empty() => Err(Error::Place("it names no folder".into())),
            _ => Ok(Self::Folder(Path::new(path))),
        }
    }
}

/// A folder's store. Synced to the disk: a batch that has landed must find its bytes after a power cut too.
pub(crate) fn folder(path: &Path) -> Result<(Arc<dyn ObjectStore>, PathBuf), Error> {
    let place = path.display().to_string();
    let failed = |source| Error::Store { place: place.clone(), doing: "opening".into(), source };
    let local = LocalFileSystem::new_with_prefix(path).map_err(failed)?.with_fsync(true);
    Ok((Arc::new(local), path.to_owned()))
}

/// An S3 bucket's store, its settings from the environment.
#[cfg(feature = "s3")]
pub(crate) fn s3(bucket: &str, prefix: &str) -> Result<Arc<dyn ObjectStore>, Error> {
    use std::time::Duration;

    use object_store::aws::AmazonS3Builder;
    use object_store::prefix::PrefixStore;
    use object_store::{ClientOptions, RetryConfig};

    // reqwest brings no cryptography of its own; where the program has chosen some, that stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Bytes that keep coming may take as long as they like; silence may not.
    let mut client = ClientOptions::new()
        .with_timeout_disabled()
        .with_read_timeout(Duration::from_mins(1))
        .with_connect_timeout(Duration::from_secs(10));
    if std::env::var("AWS_ALLOW_HTTP").is_ok_and(|value| value.eq_ignore_ascii_case("true") || value == "1") {
        client = client.with_allow_http(true);
    }
    let retry =
        RetryConfig { max_retries: 6, retry_timeout: Duration::from_mins(1), ..RetryConfig::default() };
    let store = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_client_options(client)
        .with_retry(retry)
        .build()
        .map_err(|source| Error::Store {
            place: format!("s3://{bucket}/{prefix}"),
            doing: "opening".into(),
            source,
        })?;
    Ok(if prefix.is_empty() { Arc::new(store) } else { Arc::new(PrefixStore::new(store, prefix)) })
}

/// This build speaks no S3.
#[cfg(not(feature = "s3"))]
pub(crate) fn s3(_: &str, _: &str) -> Result<Arc<dyn ObjectStore>, Error> {
    Err(Error::Place(
        "this build of landonce speaks no S3; build it with the feature `s3` (`cargo install landonce-cli --features s3`)".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_a_bucket() {
        assert!(matches!(Place::parse("archive/"), Ok(Place::Folder(path)) if path == Path::new("archive/")));
        assert!(matches!(Place::parse("file:/a/b"), Ok(Place::Folder(path)) if path == Path::new("/a/b")));
        assert!(matches!(Place::parse("s3://b/p/q/"), Ok(Place::S3 { bucket: "b", prefix: "p/q" })));
        assert!(matches!(Place::parse("s3://b"), Ok(Place::S3 { bucket: "b", prefix: "" })));
    }

    #[test]
    fn what_is_no_place_is_refused_and_secrets_are_not_repeated() {
        for url in [
            "",
            "file:",
            "s3://",
            "s3:///p",
            "gs://bucket",
            "s3://key:sekret@bucket/p",
            "https://u:sekret@h/p",
        ] {
            let told = Place::parse(url).err().map(|error| error.to_string());
            assert!(told.as_ref().is_some_and(|told| !told.contains("sekret")), "{url}: {told:?}");
        }
    }
}
