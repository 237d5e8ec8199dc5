//! MySQL's and MariaDB's side, on a real MariaDB.

mod fixes;
mod fixtures;
mod prepared;
mod refusals;
