# What people type. CI runs scripts/test.

features := "--features landonce-cli/failpoints,landonce-cli/s3,landonce-cli/kafka-tls,landonce-cli/nats,landonce-cli/registry,landonce-cli/parquet,landonce-cli/otlp,landonce-cli/openlineage"

[private]
default:
    @just --list

# The binary, for trying things
build:
    cargo build

# Everything that must hold (scripts/test); with names, only the tests of these names: `just test redelivered`
test *names:
    {{ if names == "" { "scripts/test" } else { "cargo test --workspace " + features + " -- " + names } }}

# Property tests with new cases, many of them
explore cases="2000" *names:
    PROPTEST_CASES={{ cases }} cargo test --workspace --lib {{ features }} -- {{ names }}

# What the compiler and the house style object to
lint:
    scripts/check-files
    cargo clippy --workspace --all-targets {{ features }} -- -D warnings

# Formats all Rust files
fmt:
    cargo fmt --all

# Time and memory against the hand-written base
bench *args:
    scripts/bench {{ args }}

# Bounded fuzzing of everything that reads bytes
fuzz *args:
    scripts/fuzz {{ args }}
