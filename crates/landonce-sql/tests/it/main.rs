//! What the crate promises: one meaning, on every store that it is rendered for.
//!
//! - `meaning`: the same table and the same "who wrote" on SQLite, PostgreSQL and MariaDB, case by case;
//! - `keys`: keys that differ in case, accent or blanks, and NULL in a key;
//! - `race`: of many at once, one is told that it wrote;
//! - `random`: whatever upserts come, the stores agree;
//! - `refusals`: what isn't written, and why;
//! - `soup`: any text has a meaning or a refusal;
//! - `spellings`: three spellings of one meaning leave one table;
//! - `unspeakable`: statements that aren't taken, and what to write instead.
#![expect(clippy::unwrap_used, reason = "a failed test says where")]

mod keys;
mod meaning;
mod race;
mod random;
mod refusals;
mod soup;
mod spellings;
mod unspeakable;
mod world;
