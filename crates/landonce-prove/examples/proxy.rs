//! A proxy without faults before a PostgreSQL server: prints the URL that leads through it, and serves until its standard
//! input closes. scripts/bench-proxy measures with it what the wire costs.
//!
//!     cargo run --release -p landonce-prove --example proxy -- postgres://localhost/db

#![expect(clippy::print_stdout, reason = "an example that tells its URL")]

use std::io::{Read, Write};

use landonce_prove::wire::Proxy;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("usage: proxy postgres://… [single]")?;
    let mut runtime = match arguments.next() {
        None => tokio::runtime::Builder::new_multi_thread(),
        Some(_) => tokio::runtime::Builder::new_current_thread(),
    };
    runtime.enable_all().build()?.block_on(async {
        let proxy = Proxy::start(&url).await?;
        println!("{}", proxy.url());
        std::io::stdout().flush()?;
        tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
        let (statements, writes) = proxy.counts();
        println!("{statements} statements, {writes} writes");
        Ok(())
    })
}
