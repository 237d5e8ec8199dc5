//! What a field's name says. Names order what was measured, and say in comments what was not; by themselves they never make
//! a field unique, stable or volatile.

/// A field's name in words: `InvoiceNo`, `invoice_no` and `invoice-no` are `invoice`, `no`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words(Vec<String>);

/// Names of ids that a sender or a database makes up, whole.
const GENERATED: &str = "id uuid guid oid fid gid ulid global_id object_id event_id event_uuid delivery_id message_id \
    msg_id notification_id webhook_id record_id row_id feature_id line_id entry_id log_id";
const KEY: &str = "id ids uuid guid key ref reference identifier sku isbn iban vin slug";
const CODE: &str = "code kind type no nr num number line event action leg position symbol currency";
const KIND: &str = "kind type event action status state category currency name";
const DAY: &str = "date day month year week quarter period";
const INSTANT: &str = "at time instant timestamp ts datetime hour";
const VERSION: &str = "version revision rev seq sequence lsn";
const CHANGED: &str = "updated modified changed";
/// What happens to a record on its way: the sender's clock and the loader's.
const ON_THE_WAY: &str = "sent received ingested loaded fetched delivered processed retrieved extracted exported emitted \
    scraped";
const ATTEMPT: &str = "attempt attempts retry retries tries trace span traceparent nonce signature";
const RUN: &str = "run batch request job load ingestion";
const MEASURE: &str = "amount price quantity qty total sum count value lat lon lng latitude longitude temp temperature \
    score size weight distance duration rate percent pct balance cost fee tax area length width height \
    speed seats delay";
const PROSE: &str =
    "description body text message comment comments note notes title html content summary details";
/// Words of a day on which a copy was made, not on which something happened.
const COPY: &str = "export extract load snapshot as report file generated run batch";

impl Words {
    pub(super) fn of(name: &str) -> Self {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut before = ' ';
        for (at, c) in name.char_indices() {
            let next_is_lower = name[at + c.len_utf8()..].starts_with(char::is_lowercase);
            let begins = c.is_uppercase() && (!before.is_uppercase() || next_is_lower);
            if !c.is_alphanumeric() || begins {
                words.push(std::mem::take(&mut word));
            }
            if c.is_alphanumeric() {
                word.extend(c.to_lowercase());
            }
            before = c;
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        Self(words)
    }

    /// The words, joined.
    pub(super) fn joined(&self, by: &str) -> String {
        self.0.join(by)
    }

    fn ends_in(&self, list: &str) -> bool {
        self.0.last().is_some_and(|last| is_in(list, last))
    }

    fn has(&self, list: &str) -> bool {
        self.0.iter().any(|word| is_in(list, word))
    }

    /// An id that is made up, going by the name.
    pub(super) fn is_generated(&self) -> bool {
        is_in(GENERATED, &self.joined("_")) || self.joined("").ends_with("globalid")
    }

    /// Something that a version might be.
    pub(super) fn is_version(&self) -> bool {
        self.ends_in(VERSION) || self.has(CHANGED)
    }

    /// Something that changes per attempt.
    pub(super) fn is_attempt(&self) -> bool {
        self.has(ATTEMPT)
            || (self.has(ON_THE_WAY) && (self.ends_in(INSTANT) || self.ends_in(DAY)))
            || (self.has(RUN) && self.ends_in(KEY))
    }

    pub(super) fn is_measure(&self) -> bool {
        self.has(MEASURE)
    }

    pub(super) fn is_prose(&self) -> bool {
        self.has(PROSE)
    }

    /// A kind of thing, which many things are of.
    pub(super) fn is_kind(&self) -> bool {
        self.ends_in(KIND)
    }

    /// Part of a day: with the others it says when.
    pub(super) fn is_day(&self) -> bool {
        self.0.len() == 1 && self.ends_in(DAY)
    }

    /// The day on which a copy was made.
    pub(super) fn is_copy_day(&self) -> bool {
        self.has(COPY)
    }

    /// How little the name looks like an identity, beside names that do.
    pub(super) fn distance(&self) -> u32 {
        if self.is_version() {
            25
        } else if self.ends_in(KEY) {
            0
        } else if self.ends_in(CODE) {
            1
        } else if self.ends_in(DAY) {
            3
        } else if self.ends_in(INSTANT) || self.has("instant timestamp utc") {
            4
        } else {
            10
        }
    }
}

/// Whether a word stands in a list of words.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|has| has == word)
}

/// A name for a pipeline and its table, from a path: the file's name without endings and dates, else its folder's.
pub(super) fn of_path(path: &str) -> (String, String) {
    let mut parts: Vec<&str> =
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != "." && *part != "..").collect();
    let file = parts.pop().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let words = [stem].into_iter().chain(parts.pop()).map(meaningful).find(|words| !words.is_empty());
    let words = words.filter(|words| words != "stdin").unwrap_or_else(|| "events".to_owned());
    let mut table = words.clone();
    if table.starts_with(|c: char| c.is_ascii_digit()) {
        table.insert_str(0, "t_");
    }
    // Names that begin so are landonce's own.
    if table.starts_with("landonce_") {
        table.insert_str(0, "from_");
    }
    table.truncate(63);
    (words.replace('_', "-"), table)
}

/// The words of a name that aren't numbers (2024, FY24, v2), in ASCII, so that they need no quotes anywhere.
fn meaningful(name: &str) -> String {
    let is_number = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        word.is_empty()
            || (!digits.is_empty()
                && digits.bytes().all(|b| b.is_ascii_digit())
                && word.len() - digits.len() <= 2)
    };
    let words: Vec<String> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !is_number(word))
        .map(str::to_ascii_lowercase)
        .collect();
    let mut joined = words.join("_");
    joined.truncate(150);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_apart_in_every_spelling() {
        for (name, want) in [
            ("invoice_no", "invoice no"),
            ("InvoiceNo", "invoice no"),
            ("CustomerID", "customer id"),
            ("GlobalID", "global id"),
            ("X-GitHub-Delivery", "x git hub delivery"),
            ("HTTPStatus", "http status"),
            ("_id", "id"),
            ("été", "été"),
            ("", ""),
        ] {
            assert_eq!(Words::of(name).joined(" "), want, "{name}");
        }
    }

    #[test]
    fn names_say_what_they_might_be() {
        let of = Words::of;
        for name in ["id", "_id", "event_id", "eventId", "GlobalID", "OBJECTID_GlobalID", "delivery_id"] {
            assert!(of(name).is_generated(), "{name}");
        }
        for name in ["flight_id", "parcel_id", "order_uuid", "code"] {
            assert!(!of(name).is_generated(), "{name}");
        }
        for name in ["sent_at", "attempt", "trace_id", "received_date", "run_id", "requestId"] {
            assert!(of(name).is_attempt(), "{name}");
        }
        for name in ["sent_by", "batch_no", "flight_id", "created_at", "run"] {
            assert!(!of(name).is_attempt(), "{name}");
        }
        for name in ["updated_at", "last_modified", "version", "revision", "seq"] {
            assert!(of(name).is_version(), "{name}");
        }
        assert!(of("flight_id").distance() < of("event_kind").distance());
        assert!(of("event_kind").distance() < of("instant_utc").distance());
        assert!(of("instant_utc").distance() < of("carrier").distance());
    }

    #[test]
    fn a_path_gives_a_name_that_needs_no_quotes() {
        for (path, pipeline, table) in [
            ("schedule/2013-03-03.ndjson.gz", "schedule", "schedule"),
            ("data/orders-2010-12-01.csv", "orders", "orders"),
            ("Flight Events (final).json", "flight-events-final", "flight_events_final"),
            ("/x/landonce_log.ndjson", "landonce-log", "from_landonce_log"),
            ("parcels/FY2013.geojson.gz", "parcels", "parcels"),
            ("3rd party.csv", "3rd-party", "t_3rd_party"),
            ("a.ndjson", "a", "a"),
            ("stdin", "events", "events"),
            ("../2024.csv", "events", "events"),
            ("日本.csv", "events", "events"),
            ("", "events", "events"),
        ] {
            assert_eq!(of_path(path), (pipeline.to_owned(), table.to_owned()), "{path}");
        }
    }
}
