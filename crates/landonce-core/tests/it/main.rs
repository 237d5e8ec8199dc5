//! What the core promises to others, one file each.

mod vectors;
