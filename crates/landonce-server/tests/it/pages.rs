//! The pages: each shows what there is, nothing that is anybody's text becomes markup, and an action is done once, by whoever may.

pub(crate) mod acts;
mod crawl;
pub(crate) mod given;
mod refusals;
mod rights;
mod shown;
