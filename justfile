# What people type. CI runs scripts/test.

failpoints := "--features landonce-cli/failpoints"

[private]
default:
    @just --list

# The binary, for trying things
build:
    cargo build

# Everything that must hold (scripts/test); with names, only the tests of these names: `just test redelivered`
test *names:
    {{ if names == "" { "scripts/test" } else { "cargo test --workspace " + failpoints + " -- " + names } }}

# Property tests with new cases, many of them
explore cases="2000" *names:
    PROPTEST_CASES={{ cases }} cargo test --workspace --lib {{ failpoints }} -- {{ names }}

# What the compiler and the house style object to
lint:
    scripts/check-files
    cargo clippy --workspace --all-targets {{ failpoints }} -- -D warnings

# Formats all Rust files
fmt:
    cargo fmt --all

# Time and memory against the hand-written base
bench *args:
    scripts/bench {{ args }}

# Bounded fuzzing of everything that reads bytes
fuzz *args:
    scripts/fuzz {{ args }}
