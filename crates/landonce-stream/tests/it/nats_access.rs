//! Who the worker is for the servers (user, token, NKey, credentials, certificates), and that no secret is told.

use std::fs;
use std::path::Path;

use landonce::{Pipeline, Store};
use landonce_stream::{Error, Tally};
use landonce_testkit::nats::{Server, new_folder};
use landonce_testkit::receiver::Certificates;

use crate::jetstream::{declared, events, publish, until_end};

/// An NKey that everybody knows, of the client's own tests.
const SEED: &str = "SUACH75SWCM5D2JMJM6EKLR2WDARVGZT4QC6LX3AGHSWOMVAKERABBBRWM";
const PUBLIC: &str = "UAFHG6FUD2UU4SDFVAFUL5LDFO2XM4WYM76UNXTPJYJK7EEMYRBHT2VE";

/// Consumes what a server has that takes these options' clients only.
async fn consumed(
    server: &Server,
    as_: async_nats::ConnectOptions,
    folder: &Path,
    more: &str,
) -> Result<Tally, Error> {
    let client = as_.connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let config = async_nats::jetstream::stream::Config {
        name: "ORDERS".into(),
        subjects: vec!["orders.>".into()],
        ..Default::default()
    };
    context.get_or_create_stream(config).await.unwrap();
    publish(&context, events("eu", 0..10)).await;
    let store = Store::open(&format!("sqlite:{}", folder.join("t.db").display())).unwrap();
    let file = folder.join("orders.yaml");
    fs::write(&file, declared(server, more)).unwrap();
    until_end(&Pipeline::from_file(&file).unwrap(), &store).await
}

fn options() -> async_nats::ConnectOptions {
    async_nats::ConnectOptions::new()
}

/// A variable of the environment that the whole test program has: these are set by cargo, and are secrets to nobody.
const SECRET: &str = "CARGO_PKG_NAME";
const OTHER: &str = "CARGO_PKG_VERSION";

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_a_password_and_a_token_are_let_in_and_nobody_else_is() {
    let password = std::env::var(SECRET).unwrap();
    let wrong = std::env::var(OTHER).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&format!("authorization {{ user: worker, password: \"{password}\" }}"));
    let as_worker = || options().user_and_password("worker".into(), password.clone());
    let auth = |name: &str| format!("    auth: {{user: worker, password: '${{{name}}}'}}\n");
    let tally = consumed(&server, as_worker(), folder.path(), &auth(SECRET)).await.unwrap();
    assert_eq!(tally.messages, 10);
    for more in [auth(OTHER), String::new()] {
        let told = consumed(&server, as_worker(), folder.path(), &more).await.unwrap_err();
        assert!(
            matches!(told, Error::Broker(_)) && told.to_string().contains("refuses the worker"),
            "{told}"
        );
        assert!(!told.to_string().contains(&wrong), "{told}");
    }
    let told = consumed(&server, as_worker(), folder.path(), &auth("LANDONCE_NO_SUCH")).await.unwrap_err();
    assert!(told.to_string().contains("LANDONCE_NO_SUCH"), "{told}");

    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(&format!("authorization {{ token: \"{password}\" }}"));
    let more = format!("    auth: {{token: '${{{SECRET}}}'}}\n");
    let tally = consumed(&server, options().token(password), folder.path(), &more).await.unwrap();
    assert_eq!(tally.messages, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_credentials_that_holds_none_is_told_without_its_words() {
    let server = Server::start_with(&format!("authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("worker.creds"), "hunter2").unwrap();
    let as_nkey = || options().nkey(SEED.into());
    let more = "    auth: {credentials: worker.creds}\n";
    let told = consumed(&server, as_nkey(), folder.path(), more).await.unwrap_err().to_string();
    assert!(told.contains("worker.creds holds no credentials") && !told.contains("hunter2"), "{told}");
    let more = "    auth: {credentials: none.creds}\n";
    let told = consumed(&server, as_nkey(), folder.path(), more).await.unwrap_err().to_string();
    assert!(told.contains("none.creds is no file"), "{told}");
    // A seed that is none is refused, and not told.
    let wrong = std::env::var(OTHER).unwrap();
    let more = format!("    auth: {{nkey: '${{{OTHER}}}'}}\n");
    let told = consumed(&server, as_nkey(), folder.path(), &more).await.unwrap_err().to_string();
    assert!(told.contains("refuses the worker") && !told.contains(&wrong), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_of_ones_own_authority_are_trusted_when_it_is_named() {
    let made = new_folder();
    let certificates = Certificates::new(true);
    let (server_cert, server_key) = certificates.server_pem();
    let (client_cert, client_key) = certificates.client_pem();
    for (name, text) in [
        ("ca.pem", certificates.authority_pem()),
        ("server.pem", server_cert),
        ("server.key", server_key),
        ("client.pem", client_cert),
        ("client.key", client_key),
    ] {
        fs::write(made.join(name), text).unwrap();
    }
    let server = Server::start_in(
        &made,
        "tls { cert_file: \"{folder}/server.pem\", key_file: \"{folder}/server.key\", ca_file: \"{folder}/ca.pem\", verify: true }",
    );
    let as_client = || {
        options()
            .require_tls(true)
            .add_root_certificates(made.join("ca.pem"))
            .add_client_certificate(made.join("client.pem"), made.join("client.key"))
    };
    let folder = tempfile::tempdir().unwrap();
    let place = made.display();
    let full =
        format!("    tls: {{ca: '{place}/ca.pem', cert: '{place}/client.pem', key: '{place}/client.key'}}\n");
    let tally = consumed(&server, as_client(), folder.path(), &full).await.unwrap();
    assert_eq!(tally.messages, 10);
    // The system's certificates don't know that authority.
    let told = consumed(&server, as_client(), folder.path(), "    tls: {}\n").await.unwrap_err();
    assert!(matches!(told, Error::Broker(_)), "{told}");
    let told = consumed(&server, as_client(), folder.path(), "    tls: {ca: none.pem}\n").await.unwrap_err();
    assert!(told.to_string().contains("none.pem is no file"), "{told}");
}
