//! From what a pipeline declares to what is fetched.

use landonce::Pipeline;
use landonce_core::pipeline::Feed;

use crate::command::CommandFetch;
use crate::error::Error;
use crate::fetch::Fetch;
use crate::http::HttpFetch;
use crate::query::QueryFetch;
use crate::singer::SingerFetch;

/// The fetch that the pipeline declares. Reads secrets from the environment, and nothing else.
///
/// # Errors
/// When the pipeline declares no fetch, or one that can't be made: a variable that isn't set, a file that isn't there.
pub fn open(pipeline: &Pipeline) -> Result<Box<dyn Fetch>, Error> {
    let feed = &pipeline.declared().source().feed;
    match feed {
        Feed::Http(http) => Ok(Box::new(HttpFetch::new(http, pipeline)?)),
        Feed::Query(query) => Ok(Box::new(QueryFetch::new(pipeline, query)?)),
        Feed::Command(command) => Ok(match &command.singer {
            Some(singer) => Box::new(SingerFetch::new(pipeline, command, singer)?),
            None => Box::new(CommandFetch::new(pipeline, command)?),
        }),
        Feed::Kafka(_) | Feed::Nats(_) => Err(Error::Declared(format!(
            "`source.{}` is a stream: `landonce consume` reads it",
            feed.as_str()
        ))),
        Feed::Files => Err(Error::Declared("the pipeline declares nothing that is fetched".to_owned())),
    }
}
