//! A proxy without faults before a PostgreSQL server: prints the URL that leads through it, and serves until its standard
//! input closes. scripts/bench-proxy measures with it what the wire costs. The runtime is as the program's, and as there the
//! proxy has a thread of its own.
//!
//!     cargo run --release -p landonce-prove --example proxy -- postgres://localhost/db

#![expect(clippy::print_stdout, reason = "an example that tells its URL")]

use std::io::{Read, Write};

use landonce_prove::wire::Proxy;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: proxy postgres://…")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let proxy = Proxy::start(&url).await?;
        println!("{}", proxy.url());
        std::io::stdout().flush()?;
        tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
        let (statements, writes) = proxy.counts();
        println!("{statements} statements, {writes} writes");
        Ok(())
    })
}
