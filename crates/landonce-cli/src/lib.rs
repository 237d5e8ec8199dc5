//! landonce-cli
