//! A server with something of everything in it, to look at: `cargo run -p landonce-server --example demo [ADDRESS]`.
#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "an example that fails stops, and says where it listens"
)]

#[path = "../tests/it/seed.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod seed;

use landonce_server::{App, Config};
use tokio::net::TcpListener;
use tokio::sync::watch;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (store, pipelines) = seed::everything(folder.path()).await;
    let at = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(at).await.unwrap();
    eprintln!("listening on http://{}", listener.local_addr().unwrap());
    let (_keep, stop) = watch::channel(false);
    landonce_server::serve(App::new(Config::default(), store, pipelines), listener, stop).await.unwrap();
}
