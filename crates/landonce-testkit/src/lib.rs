//! landonce-testkit
