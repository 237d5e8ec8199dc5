//! Tables through which a load goes on its way: they hold what the last run has read, and are emptied by the next.
//!
//! Known by a word of their name or of their schema's; nothing else tells them from a table that is replaced on purpose.

/// The words.
const WORDS: &[&str] = &["staging", "stage", "stg", "tmp", "temp"];

/// Whether a table (with its schema, or without) is staging, by its name.
pub(crate) fn is_staging(table: &str) -> bool {
    table.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staging_is_known_by_a_whole_word() {
        for table in ["raw_staging.orders", "stg_orders", "public.orders__dbt_tmp", "\"Stage\".t"] {
            assert!(is_staging(table), "{table}");
        }
        for table in ["raw.orders", "stages", "temperature", "public.backstage", "orders_template"] {
            assert!(!is_staging(table), "{table}");
        }
    }
}
