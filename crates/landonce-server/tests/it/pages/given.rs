//! A server with something to look at, and a browser without a window: it follows addresses and fills in forms.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::HeaderMap;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use landonce::{Pipeline, Store};
use landonce_server::{App, Config};
use landonce_testkit::wait;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::seed;

/// A running server; it ends with the test.
pub(crate) struct Site {
    pub(crate) at: SocketAddr,
    pub(crate) store: Store,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

/// What a browser got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The value of the first form's token.
    pub(crate) fn csrf(&self) -> String {
        between(&self.text, "name=\"csrf\" value=\"", "\"").to_owned()
    }

    /// The addresses that the page leads to.
    pub(crate) fn links(&self) -> Vec<String> {
        self.text
            .split("href=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap_or_default().replace("&amp;", "&"))
            .filter(|link| link.starts_with('/'))
            .collect()
    }

    /// The first address in the page that begins so, and isn't just that.
    pub(crate) fn link(&self, beginning: &str) -> String {
        let links = self.links();
        let found = links.iter().find(|link| link.starts_with(beginning) && link.len() > beginning.len());
        found.unwrap_or_else(|| panic!("no link to {beginning}… in {links:?}")).clone()
    }
}

/// What stands between two texts.
pub(crate) fn between<'t>(text: &'t str, before: &str, behind: &str) -> &'t str {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}")).1;
    rest.split_once(behind).unwrap().0
}

impl Site {
    /// With something of everything, on SQLite.
    pub(crate) async fn seeded() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, pipelines) = seed::everything(folder.path()).await;
        Self::serve("{}", store, pipelines, folder).await
    }

    /// With these pipelines on an empty store of SQLite.
    pub(crate) async fn empty(config: &str, pipelines: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&format!("sqlite:{}", folder.path().join("test.db").display())).unwrap();
        store.migrate().await.unwrap();
        let pipelines = pipelines.iter().map(|yaml| Pipeline::from_yaml(yaml).unwrap()).collect();
        Self::serve(config, store, pipelines, folder).await
    }

    pub(crate) async fn serve(
        config: &str,
        store: Store,
        pipelines: Vec<Pipeline>,
        folder: tempfile::TempDir,
    ) -> Self {
        let app = App::new(Config::parse(config).unwrap(), store.clone(), pipelines);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(landonce_server::serve(app, listener, stopped));
        Self { at, store, _stop: stop, _folder: folder }
    }

    /// As a browser asks for a page.
    pub(crate) async fn look(&self, path: &str) -> Got {
        self.ask(Method::GET, path, &[("accept", "text/html,application/xhtml+xml")], String::new()).await
    }

    /// A page that is there.
    pub(crate) async fn page(&self, path: &str) -> Got {
        let got = self.look(path).await;
        assert_eq!(got.status, 200, "{path}: {got:?}");
        got
    }

    /// As a browser sends a form.
    pub(crate) async fn press(&self, path: &str, fields: &[(&str, &str)]) -> Got {
        self.press_with(path, fields, &[]).await
    }

    pub(crate) async fn press_with(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Got {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut all = vec![("accept", "text/html"), ("content-type", "application/x-www-form-urlencoded")];
        all.extend_from_slice(headers);
        self.ask(Method::POST, path, &all, body).await
    }

    /// A form is sent, and the browser follows to the page that tells what it came to.
    pub(crate) async fn done(&self, path: &str, fields: &[(&str, &str)]) -> Got {
        let sent = self.press(path, fields).await;
        assert_eq!(sent.status, 303, "{path}: {sent:?}");
        self.page(sent.header("location")).await
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Got {
        let stream = TcpStream::connect(self.at).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let talking = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("host", self.at.to_string());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        let response = wait::within(60, "an answer", sender.send_request(request)).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        talking.abort();
        Got { status: parts.status.as_u16(), headers: parts.headers, text }
    }
}
