//! Takes batches and webhooks over HTTP with the guarantees of a run, and shows what happened.
//!
//! Every way in ends in the library's one batch transaction; an answer is given only after its COMMIT. The modules in the order in
//! which a request meets them:
//!
//! - [`config`] is what a user writes, [`app`] what it means: the store, the pipelines, the limits;
//! - [`serve`](mod@serve) is a server's life; `listen` takes connections and bounds them; [`auth`] says who may do what;
//! - `router` tells requests apart: `batches` and [`hooks`] land things, `page` shows them to people, `ops` to machines;
//! - [`problem`] is how a failure is told, `figures` what is counted; `work` runs what isn't anybody's request: derived tables and
//!   delivery; `telemetry` tells traces and lineage to systems that watch.
#![warn(missing_docs)]

pub mod app;
pub mod auth;
mod batches;
pub mod config;
mod figures;
pub mod hooks;
mod listen;
pub mod openapi;
mod ops;
mod page;
pub mod problem;
mod router;
pub mod serve;
mod telemetry;
mod work;

pub use app::App;
pub use config::Config;
pub use hooks::Hooks;
pub use serve::serve;
