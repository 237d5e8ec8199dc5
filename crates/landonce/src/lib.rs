//! landonce
