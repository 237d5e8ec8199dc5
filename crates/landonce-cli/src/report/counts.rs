//! The sum: read = inserted + updated + …, with the parts that are not zero.

use landonce::Outcome;

/// The sum of a batch. The parts always add up to what was read (X3).
pub(crate) fn counts(outcome: &Outcome) -> String {
    let parts = [
        ("inserted", outcome.inserted),
        ("updated", outcome.updated),
        ("unchanged", outcome.unchanged),
        ("stale", outcome.stale),
        ("conflicts", outcome.conflicts),
        ("duplicates", outcome.duplicates),
        ("quarantined", outcome.quarantined),
        ("deleted", outcome.deleted),
    ];
    let told: Vec<String> =
        parts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{name} {count}")).collect();
    let mut out = if told.is_empty() {
        format!("read {} (the batch is empty)", outcome.read)
    } else {
        format!("read {} = {}", outcome.read, told.join(" + "))
    };
    // No record stands for these rows, so they are no part of the sum.
    for (name, count) in
        [("removed", outcome.removed), ("retired", outcome.retired), ("restored", outcome.restored)]
    {
        if count > 0 {
            out.push_str(&format!("; {name} {count}"));
        }
    }
    out
}

/// The first twelve characters of a long id (enough to find it by); a short one whole.
pub(crate) fn short(id: &str) -> &str {
    let is_digest = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digest { &id[..12] } else { id }
}

/// An RFC 3339 instant in UTC, to the second: `2026-11-29 19:56:02`. Anything else is left as it is.
pub(crate) fn moment(instant: &str) -> String {
    match (instant.get(..10), instant.get(10..11), instant.get(11..19)) {
        (Some(date), Some("T"), Some(time)) => format!("{date} {time}"),
        _ => super::line(instant).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parts_that_are_not_zero_are_told() {
        let outcome = Outcome { read: 7, inserted: 4, duplicates: 2, deleted: 1, ..Outcome::default() };
        assert_eq!(counts(&outcome), "read 7 = inserted 4 + duplicates 2 + deleted 1");
        assert_eq!(counts(&Outcome::default()), "read 0 (the batch is empty)");
        let vanished = Outcome { read: 1, unchanged: 1, removed: 3, ..Outcome::default() };
        assert_eq!(counts(&vanished), "read 1 = unchanged 1; removed 3");
    }

    #[test]
    fn moments_are_shown_to_the_second() {
        assert_eq!(moment("2026-11-29T19:56:02.123456Z"), "2026-11-29 19:56:02");
        assert_eq!(moment("soon"), "soon");
    }

    #[test]
    fn only_digests_are_shortened() {
        assert_eq!(short(&"a1".repeat(32)), "a1a1a1a1a1a1");
        assert_eq!(short("nyc-schedule-2013-03-01"), "nyc-schedule-2013-03-01");
    }
}
