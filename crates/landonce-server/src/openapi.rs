//! The API as a document (OpenAPI 3.1), at `/openapi.json` and in `docs/reference/openapi.json`.
//!
//! The schemas are those of the types that are answered, so that they say what is true; what a path takes and may answer is written
//! here. The pages for people, with their forms, aren't part of it.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::batches::{Listed, Planned, Report, Stored};
use crate::hooks::Report as EventReport;
use crate::problem::Problem;

const ABOUT: &str = "Batches and webhooks with the guarantees of `landonce run`: what is delivered twice leaves what one delivery leaves. An \
answer is given only after the COMMIT of its transaction. Every failure is a problem (RFC 9457) that says by `retry` what to do: `same_key`, \
send the same request again with the same key; `stop`, it will fail again.";

/// What any request may be told.
const ALWAYS: [u16; 4] = [400, 403, 421, 500];

/// The document, pretty-printed.
pub fn document() -> String {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut schemas = settings.into_generator();
    let paths = paths(&mut schemas);
    let problem = schema::<Problem>(&mut schemas);
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "landonce",
            "description": ABOUT,
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0"}
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token that the server's file declares, good for `write`, `read` or `operate`. A server that declares none \
                                    listens on loopback only, and asks for none."
                }
            },
            "responses": {
                "Problem": {
                    "description": "A failure: its code says which, `retry` what to do.",
                    "headers": {
                        "Retry-After": {
                            "description": "How long to wait first, in seconds, where waiting helps.",
                            "schema": {"type": "integer", "minimum": 0}
                        }
                    },
                    "content": {"application/problem+json": {"schema": problem}}
                }
            }
        }
    });
    // Plain JSON values always serialise.
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn schema<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Schema {
    schemas.subschema_for::<T>()
}

fn paths(schemas: &mut SchemaGenerator) -> Value {
    let pipeline = parameter("name", "The pipeline's name.");
    json!({
        "/v1/pipelines": {"get": operation(
            "listPipelines",
            "The pipelines that the token is good for.",
            json!({}),
            (json_of(&schema::<Listed>(schemas)), "The pipelines."),
            &[401],
        )},
        "/v1/pipelines/{name}/batches": {"post": operation(
            "deliverBatch",
            "Lands a batch in one transaction, once: the same key with the same body is answered with the stored outcome and \
             `Idempotent-Replayed: true`, with another body it is 422.",
            json!({"parameters": batch_parameters(&pipeline), "requestBody": body()}),
            (
                json!({"application/json": {"schema": {"anyOf": [schema::<Report>(schemas), schema::<Planned>(schemas)]}}}),
                "What became of the batch; with `dry_run=true`, what would become of it.",
            ),
            &[401, 404, 408, 409, 413, 415, 422, 429, 503, 507],
        )},
        "/v1/pipelines/{name}/batches/{id}": {"get": operation(
            "getBatch",
            "The outcome of a batch that has landed: for whoever has lost the answer.",
            json!({"parameters": [pipeline, parameter("id", "The batch's id.")]}),
            (json_of(&schema::<Stored>(schemas)), "The stored outcome."),
            &[401, 404, 503],
        )},
        "/v1/hooks/{name}": {"post": operation(
            "receiveEvent",
            "Lands one event, once. The request is shown to be its sender's by the scheme that the pipeline's `hook:` names, over the bytes of \
             the body; the event's id is where that sender puts it. No token is needed.",
            json!({
                "security": [{}],
                "parameters": [pipeline],
                "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object"}}}}
            }),
            (json_of(&schema::<EventReport<'_>>(schemas)), "The event is in the store, by this request or an earlier one."),
            &[401, 404, 408, 413, 415, 422, 503],
        )},
        "/livez": {"get": open("live", "Whether the process answers.", "text/plain", &[])},
        "/readyz": {"get": open("ready", "Whether requests may be sent here.", "text/plain", &[503])},
        "/metrics": {"get": operation(
            "metrics",
            "Figures in the text form that Prometheus reads.",
            json!({}),
            (text("text/plain"), "The figures."),
            &[401],
        )},
        "/openapi.json": {"get": open("openapi", "This document.", "application/json", &[])},
        "/problems/{code}": {"get": operation(
            "problem",
            "The page of a code, as `landonce explain` prints it.",
            json!({"security": [{}], "parameters": [parameter("code", "The code, as `L0501`.")]}),
            (text("text/markdown"), "What it means, and what to do."),
            &[404],
        )},
    })
}

/// An operation that anybody may ask for.
fn open(id: &str, about: &str, kind: &str, failures: &[u16]) -> Value {
    operation(id, about, json!({"security": [{}]}), (text(kind), "It is so."), failures)
}

/// An operation with its answer, its failures, and whatever else is said of it.
fn operation(id: &str, about: &str, more: Value, (content, fine): (Value, &str), failures: &[u16]) -> Value {
    let mut responses = Map::new();
    let mut ok = json!({"description": fine, "content": content});
    if ["deliverBatch", "receiveEvent"].contains(&id) {
        ok["headers"] = json!({
            "Idempotent-Replayed": {
                "description": "`true` where the answer is an earlier delivery's.",
                "schema": {"type": "string", "enum": ["true"]}
            }
        });
    }
    responses.insert("200".to_owned(), ok);
    let mut codes: Vec<u16> = ALWAYS.iter().chain(failures).copied().collect();
    codes.sort_unstable();
    for code in codes {
        responses.insert(code.to_string(), json!({"$ref": "#/components/responses/Problem"}));
    }
    let mut operation = json!({"operationId": id, "summary": about, "responses": responses});
    if let (Value::Object(operation), Value::Object(more)) = (&mut operation, more) {
        operation.extend(more);
    }
    operation
}

fn json_of(schema: &Schema) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn text(kind: &str) -> Value {
    let schema =
        if kind == "application/json" { json!({"type": "object"}) } else { json!({"type": "string"}) };
    json!({kind: {"schema": schema}})
}

fn parameter(name: &str, about: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": about,
        "schema": {"type": "string", "minLength": 1}
    })
}

fn batch_parameters(pipeline: &Value) -> Value {
    let query = |name: &str, about: &str, schema: Value| json!({"name": name, "in": "query", "description": about, "schema": schema});
    json!([
        pipeline,
        {
            "name": "Idempotency-Key", "in": "header",
            "description": "The batch's id, in quotes or a single word; without one the SHA-256 of the body is it. The server's file may name a \
                            header of the sender's beside it.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 257},
            "example": "\"2026-06-01\""
        },
        query("batch_id", "The batch's id, where headers can't be set. The server's file may call it otherwise.", json!({"type": "string", "minLength": 1, "maxLength": 255})),
        query("period", "The period that the batch is a load of, in a pipeline that is loaded by periods.", json!({"type": "string"})),
        query("run_id", "The run's id; a UUIDv7 made by the server when left out. It is provenance, never identity.", json!({"type": "string", "format": "uuid"})),
        query("dry_run", "Says what would become of the batch, and writes nothing.", json!({"type": "boolean"})),
    ])
}

fn body() -> Value {
    let records = json!({
        "description": "An array of records, or one record.",
        "anyOf": [{"type": "array", "items": {"type": "object"}}, {"type": "object"}]
    });
    json!({
        "required": true,
        "description": "The records, plain or as `Content-Encoding` says (gzip, zstd).",
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}},
            "application/json": {"schema": records},
            "application/geo+json": {"schema": {"type": "object"}},
            "text/csv": {"schema": {"type": "string"}}
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn source_files(folder: &Path, into: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                source_files(&path, into);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                into.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    #[test]
    fn the_committed_document_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
        if std::env::var_os("SNAPSHOTS").is_some_and(|how| how == "overwrite") {
            std::fs::write(&path, document()).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == document(),
            "docs/reference/openapi.json is old; SNAPSHOTS=overwrite writes it anew"
        );
    }

    /// A router can't be asked for its routes, so they are read where they are declared.
    #[test]
    fn every_route_of_the_api_is_in_it_and_no_other() {
        let mut files = Vec::new();
        source_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
        let mut routes: Vec<String> = files
            .iter()
            .flat_map(|file| file.split(".route(\"").skip(1))
            .filter_map(|behind| behind.split_once('"'))
            .map(|(route, _)| route.to_owned())
            .filter(|route| {
                ["/v1/", "/livez", "/readyz", "/metrics", "/openapi.json", "/problems/"]
                    .iter()
                    .any(|begin| route.starts_with(begin))
            })
            .collect();
        routes.sort();
        assert!(routes.len() >= 9, "{routes:?}");
        let document: Value = serde_json::from_str(&document()).unwrap();
        let mut paths: Vec<String> = document["paths"].as_object().unwrap().keys().cloned().collect();
        paths.sort();
        assert_eq!(paths, routes);
    }

    #[test]
    fn every_reference_is_there() {
        let text = document();
        let document: Value = serde_json::from_str(&text).unwrap();
        let references: Vec<&str> =
            text.split("\"$ref\": \"#").skip(1).filter_map(|behind| behind.split('"').next()).collect();
        assert!(references.len() > 20);
        for reference in references {
            assert!(document.pointer(reference).is_some(), "{reference}");
        }
    }
}
