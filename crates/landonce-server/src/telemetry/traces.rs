//! Traces by OTLP over HTTP: a span a request, in the trace that the sender names (`traceparent`), with the batch and what became of it.

use std::fmt;

use axum::http::{HeaderMap, Method};
use bytes::Bytes;
use hyper::{Request as HttpRequest, Response};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, Tracer as _, TracerProvider as _};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use tokio::runtime::Handle;

use super::Told;
use super::post::Post;
use crate::config::Otlp;

/// Where spans go. They wait in a bounded queue, and are sent by a thread of their own.
#[derive(Debug)]
pub(super) struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// A request's span.
pub(super) struct Request(Span);

impl Traces {
    /// Starts; `None`, with a line in the log, where that isn't possible.
    pub(super) fn start(to: &Otlp) -> Option<Self> {
        match Self::new(to) {
            Ok(traces) => Some(traces),
            Err(error) => {
                tracing::error!(error, "no traces are sent");
                None
            }
        }
    }

    fn new(to: &Otlp) -> Result<Self, String> {
        let client = Collector { post: Post::new()?, runtime: Handle::current() };
        let headers =
            to.headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&to.url)
            .with_headers(headers)
            .build()
            .map_err(|error| error.to_string())?;
        let resource = Resource::builder()
            .with_service_name(to.service.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        let scope =
            InstrumentationScope::builder("landonce-server").with_version(env!("CARGO_PKG_VERSION")).build();
        Ok(Self { tracer: provider.tracer_with_scope(scope), provider })
    }

    /// A request has come.
    pub(super) fn request(&self, method: &Method, route: &str, path: &str, headers: &HeaderMap) -> Request {
        let parent = TraceContextPropagator::new().extract(&Carrier(headers));
        let mut attributes = vec![
            KeyValue::new("http.request.method", method.to_string()),
            KeyValue::new("http.route", route.to_owned()),
        ];
        if route.starts_with("/v1/pipelines/{name}") || route.starts_with("/v1/hooks/{name}") {
            let name = path.split('/').nth(3).unwrap_or_default();
            attributes.push(KeyValue::new("landonce.pipeline", name.to_owned()));
        }
        let builder = SpanBuilder::from_name(format!("{method} {route}"))
            .with_kind(SpanKind::Server)
            .with_attributes(attributes);
        Request(self.tracer.build_with_context(builder, &parent))
    }

    /// Sends what waits.
    pub(super) async fn flush(&self) {
        let provider = self.provider.clone();
        // It waits for the exporting thread, which needs this runtime.
        let flushed = tokio::task::spawn_blocking(move || provider.shutdown()).await;
        if let Ok(Err(error)) = flushed {
            tracing::warn!(%error, "the last traces");
        }
    }
}

impl Request {
    /// It has its answer.
    pub(super) fn end(mut self, status: u16, code: Option<&str>, told: Option<&Told>) {
        let span = &mut self.0;
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        if let Some(told) = told {
            span.set_attribute(KeyValue::new("landonce.batch_id", told.batch_id.clone()));
            span.set_attribute(KeyValue::new("landonce.run_id", told.run_id.to_string()));
            span.set_attribute(KeyValue::new("landonce.status", told.status));
            for (name, count) in [
                ("landonce.read", told.outcome.read),
                ("landonce.inserted", told.outcome.inserted),
                ("landonce.updated", told.outcome.updated),
                ("landonce.quarantined", told.outcome.quarantined),
            ] {
                span.set_attribute(KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX)));
            }
        }
        if let Some(code) = code {
            span.set_attribute(KeyValue::new("error.type", code.to_owned()));
        }
        // A request that was refused is the sender's error, not this span's.
        if status >= 500 {
            span.set_status(Status::error(code.unwrap_or_default().to_owned()));
        }
        span.end();
    }
}

/// The headers of a request, for the propagator.
struct Carrier<'h>(&'h HeaderMap);

impl Extractor for Carrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(axum::http::HeaderName::as_str).collect()
    }
}

/// The collector. The exporter's thread belongs to no runtime, so the request is made on ours.
#[derive(Clone)]
struct Collector {
    post: Post,
    runtime: Handle,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector(…)")
    }
}

#[async_trait::async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: HttpRequest<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let post = self.post.clone();
        let sent = self.runtime.spawn(async move { post.send(request).await }).await;
        let response = sent.map_err(|error| error.to_string()).and_then(|sent| sent);
        response.map_err(HttpError::from)
    }
}
