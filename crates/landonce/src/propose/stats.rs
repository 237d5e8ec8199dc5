//! What a field's values are: how many are missing, and which types all the others fit.

use landonce_core::column::Type;
use landonce_core::geometry;
use landonce_core::json::{Json, Kind};
use landonce_core::number::Decimal;
use landonce_core::time;

/// CSV texts that often mean null.
pub(super) const NULL_TEXTS: [&str; 10] =
    ["NA", "N/A", "n/a", "NULL", "null", "\\N", "None", "NaN", "nan", "-"];

/// The most characters of a field's first value that are kept.
const FIRST: usize = 64;

/// What was seen of a field.
#[derive(Debug, Clone)]
pub(super) struct Stats {
    /// Records that have the field.
    pub(super) present: usize,
    /// JSON nulls.
    pub(super) nulls: usize,
    /// Empty texts of a CSV.
    pub(super) empties: usize,
    /// Each of [`NULL_TEXTS`], in a CSV.
    null_texts: [usize; NULL_TEXTS.len()],
    fits: Fits,
    has_nested: bool,
    /// The longest text, in bytes.
    pub(super) longest: usize,
    /// The first scalar's text, shortened.
    pub(super) first: Option<String>,
    /// The geometries' kinds, if they all are geometries.
    geometries: Vec<String>,
}

/// Which types all values so far fit.
#[derive(Debug, Clone, Copy)]
struct Fits {
    string: bool,
    truth: bool,
    nested: bool,
    integer: bool,
    decimal: bool,
    /// No number has an exponent, and none a point. `1e3` is a number among others with a point, and may be a code among
    /// whole ones.
    no_exponent: bool,
    no_point: bool,
    boolean: bool,
    date: bool,
    timestamptz: bool,
    timestamp: bool,
    uuid: bool,
    geometry: bool,
    /// Long and without a space, as made-up ids are.
    opaque: bool,
}

/// What a field is, going by all its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Guess {
    /// All values are of this type.
    Type(Type),
    /// Scalars of several kinds.
    Mixed,
    /// Nested values, or nested and scalar ones.
    Nested,
    /// There is no value to go by.
    Nothing,
}

impl Default for Stats {
    fn default() -> Self {
        let fits = Fits {
            string: true,
            truth: true,
            nested: true,
            integer: true,
            decimal: true,
            no_exponent: true,
            no_point: true,
            boolean: true,
            date: true,
            timestamptz: true,
            timestamp: true,
            uuid: true,
            geometry: true,
            opaque: true,
        };
        Self {
            present: 0,
            nulls: 0,
            empties: 0,
            null_texts: [0; NULL_TEXTS.len()],
            fits,
            has_nested: false,
            longest: 0,
            first: None,
            geometries: Vec::new(),
        }
    }
}

impl Stats {
    /// Takes a value in. A lexical source (CSV) has texts only.
    pub(super) fn see(&mut self, json: Json<'_>, is_lexical: bool) {
        self.present += 1;
        if json.kind() == Kind::Null {
            self.nulls += 1;
            return;
        }
        let text = match json.kind() {
            Kind::Number | Kind::True | Kind::False => Some(json.span().into()),
            _ => json.string(),
        };
        let Some(text) = text else {
            self.longest = self.longest.max(json.raw().len());
            self.see_nested(json);
            return;
        };
        if is_lexical && text.is_empty() {
            self.empties += 1;
            return;
        }
        if is_lexical && let Some(at) = NULL_TEXTS.iter().position(|null| *null == text) {
            self.null_texts[at] += 1;
            return;
        }
        self.longest = self.longest.max(text.len());
        if self.first.is_none() {
            self.first = Some(text.chars().take(FIRST).collect());
        }
        self.fits.see(json.kind(), &text, is_lexical);
    }

    fn see_nested(&mut self, json: Json<'_>) {
        self.has_nested = true;
        self.fits = Fits { nested: self.fits.nested, geometry: self.fits.geometry, ..Fits::NONE };
        if !self.fits.geometry {
            return;
        }
        self.fits.geometry = geometry::to_ewkb(json.raw(), None, 4326).is_ok();
        let kind = json.member("type").and_then(Json::string).unwrap_or_default();
        if self.fits.geometry && !self.geometries.iter().any(|has| *has == kind) {
            self.geometries.push(kind.into_owned());
        }
    }

    /// What two deliveries showed, as one.
    pub(super) fn with(mut self, other: &Self) -> Self {
        self.present += other.present;
        self.nulls += other.nulls;
        self.empties += other.empties;
        for (mine, theirs) in self.null_texts.iter_mut().zip(other.null_texts) {
            *mine += theirs;
        }
        self.fits = self.fits.and(other.fits);
        self.has_nested |= other.has_nested;
        self.longest = self.longest.max(other.longest);
        self.first = self.first.or_else(|| other.first.clone());
        for kind in &other.geometries {
            if !self.geometries.contains(kind) {
                self.geometries.push(kind.clone());
            }
        }
        self
    }

    /// Values that say something: neither null, nor empty, nor one of the texts that mean null in this file.
    pub(super) fn values(&self, nulls: &[&str]) -> usize {
        let meant: usize = self.of_null_texts(|text| nulls.contains(&text));
        self.present - self.nulls - self.empties - meant
    }

    /// The texts that stand where everything else is a number, a date or the like: they mean null there.
    pub(super) fn null_texts(&self) -> Vec<&'static str> {
        let is_typed = matches!(self.fits.ty(), Some(ty) if ty != Type::TEXT);
        let sees_values = self.values(&NULL_TEXTS) > 0;
        NULL_TEXTS
            .into_iter()
            .zip(self.null_texts)
            .filter(|(_, count)| is_typed && sees_values && *count > 0)
            .map(|(text, _)| text)
            .collect()
    }

    fn of_null_texts(&self, counts: impl Fn(&str) -> bool) -> usize {
        NULL_TEXTS.iter().zip(self.null_texts).filter(|(text, _)| counts(text)).map(|(_, count)| count).sum()
    }

    /// What the field is, in a file in which these texts mean null.
    pub(super) fn guess(&self, nulls: &[&str]) -> Guess {
        if self.values(nulls) == 0 {
            return Guess::Nothing;
        }
        // A text that looks like null and isn't meant so is a text like any other.
        if self.of_null_texts(|text| !nulls.contains(&text)) > 0 {
            return Guess::Type(Type::TEXT);
        }
        if self.fits.nested {
            return if self.fits.geometry { Guess::Type(self.geometry()) } else { Guess::Nested };
        }
        match self.fits.ty() {
            Some(ty) => Guess::Type(ty),
            None if self.has_nested => Guess::Nested,
            None => Guess::Mixed,
        }
    }

    /// All values look made up: UUIDs, long runs of letters and digits, or whole numbers.
    pub(super) fn looks_generated(&self) -> bool {
        self.fits.uuid || self.fits.integer || self.fits.opaque
    }

    /// All values are long runs of letters and digits.
    pub(super) fn is_opaque(&self) -> bool {
        self.fits.opaque
    }

    /// All values are UUIDs.
    pub(super) fn is_uuid(&self) -> bool {
        self.fits.uuid
    }

    fn geometry(&self) -> Type {
        let is_only = |kinds: &[&str]| self.geometries.iter().all(|kind| kinds.contains(&kind.as_str()));
        let kind = [["Point", "Point"], ["LineString", "LineString"], ["Polygon", "Polygon"]]
            .into_iter()
            .chain([["Point", "MultiPoint"], ["LineString", "MultiLineString"], ["Polygon", "MultiPolygon"]])
            .find(|kinds| is_only(kinds));
        Type::Geometry { kind: kind.map(|kinds| kinds[1].to_owned()), srid: 4326 }
    }
}

impl Fits {
    const NONE: Self = Self {
        string: false,
        truth: false,
        nested: false,
        integer: false,
        decimal: false,
        no_exponent: false,
        no_point: false,
        boolean: false,
        date: false,
        timestamptz: false,
        timestamp: false,
        uuid: false,
        geometry: false,
        opaque: false,
    };

    fn see(&mut self, kind: Kind, text: &str, is_lexical: bool) {
        let is_string = matches!(kind, Kind::Plain | Kind::Escaped);
        self.string &= is_string;
        self.truth &= matches!(kind, Kind::True | Kind::False);
        self.nested = false;
        self.geometry = false;
        let is_number = if is_lexical { is_plain_number(text) } else { kind == Kind::Number };
        self.integer = self.integer && is_number && is_integer(text, is_lexical);
        let is_code = is_lexical && is_whole(text) && !is_integer(text, true);
        self.decimal = self.decimal && is_number && !is_code;
        self.no_exponent &= !is_lexical || !text.contains('e');
        self.no_point &= !text.contains('.');
        let spelled = matches!(text, "true" | "false" | "TRUE" | "FALSE" | "True" | "False");
        self.boolean = self.boolean && (self.truth || (is_lexical && spelled));
        self.date = self.date && is_string && time::date(text).is_ok();
        self.timestamptz = self.timestamptz && is_string && time::timestamptz(text).is_ok();
        self.timestamp = self.timestamp && is_string && time::timestamp(text).is_ok();
        self.uuid = self.uuid && is_string && text.len() == 36 && uuid::Uuid::try_parse(text).is_ok();
        self.opaque = self.opaque && is_string && is_opaque(text);
    }

    fn and(self, other: Self) -> Self {
        Self {
            string: self.string && other.string,
            truth: self.truth && other.truth,
            nested: self.nested && other.nested,
            integer: self.integer && other.integer,
            decimal: self.decimal && other.decimal,
            no_exponent: self.no_exponent && other.no_exponent,
            no_point: self.no_point && other.no_point,
            boolean: self.boolean && other.boolean,
            date: self.date && other.date,
            timestamptz: self.timestamptz && other.timestamptz,
            timestamp: self.timestamp && other.timestamp,
            uuid: self.uuid && other.uuid,
            geometry: self.geometry && other.geometry,
            opaque: self.opaque && other.opaque,
        }
    }

    fn ty(self) -> Option<Type> {
        Some(match self {
            Self { integer: true, .. } => Type::INTEGER,
            Self { decimal: true, no_exponent, no_point, .. } if no_exponent || !no_point => Type::DECIMAL,
            Self { boolean: true, .. } => Type::Boolean,
            Self { date: true, .. } => Type::Date,
            Self { timestamptz: true, .. } => Type::Timestamptz,
            Self { timestamp: true, .. } => Type::Timestamp,
            Self { uuid: true, .. } => Type::Uuid,
            Self { string: true, .. } => Type::TEXT,
            _ => return None,
        })
    }
}

/// A number as it would be written again: no leading zeros (a postal code has them), no plus sign, no capital E (a code may
/// well be 1E5).
fn is_plain_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let mantissa = unsigned.split('e').next().unwrap_or_default();
    let whole = mantissa.split('.').next().unwrap_or_default();
    let is_decimal = unsigned.starts_with(|c: char| c.is_ascii_digit())
        && !unsigned.contains('E')
        && Decimal::parse(text).is_some();
    is_decimal && (whole == "0" || !whole.starts_with('0')) && text.len() <= 40
}

fn is_whole(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

/// In a CSV, a run of more digits than any count has is a code.
fn is_integer(text: &str, is_lexical: bool) -> bool {
    (!is_lexical || text.len() <= 18) && text.parse::<i64>().is_ok()
}

fn is_opaque(text: &str) -> bool {
    let is_made_of =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'=' | b'+' | b'/' | b'{' | b'}');
    text.len() >= 16
        && text.bytes().all(is_made_of)
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use landonce_core::json::Tape;

    use super::*;

    fn seen(values: &[&str], is_lexical: bool) -> Stats {
        let mut stats = Stats::default();
        for value in values {
            let mut tape = Tape::default();
            stats.see(tape.scan(value.as_bytes()).unwrap(), is_lexical);
        }
        stats
    }

    fn json(values: &[&str]) -> String {
        match seen(values, false).guess(&[]) {
            Guess::Type(ty) => ty.to_string(),
            other => format!("{other:?}"),
        }
    }

    fn csv(values: &[&str], nulls: &[&str]) -> String {
        let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
        let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
        match seen(&quoted, true).guess(nulls) {
            Guess::Type(ty) => ty.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_type_is_what_all_values_fit() {
        for (values, want) in [
            (&["1", "-20", "null"][..], "integer"),
            (&["1", "1.5"], "decimal"),
            (&["18446744073709551615"], "decimal"),
            (&["1.0"], "decimal"),
            (&["true", "false"], "boolean"),
            (&["\"2026-06-01\""], "date"),
            (&["\"2026-06-01T12:30:00+02:00\"", "\"2026-06-01T12:30:00Z\""], "timestamptz"),
            (&["\"2026-06-01T12:30:00\""], "timestamp"),
            (&["\"2026-06-01T12:30:00Z\"", "\"2026-06-01\""], "text"),
            (&["\"f47ac10b-58cc-4372-a567-0e02b2c3d479\""], "uuid"),
            (&["\"17850\""], "text"),
            (&["1", "\"1\""], "Mixed"),
            (&["1", "{}"], "Nested"),
            (&["{}", "1"], "Nested"),
            (&["[1]"], "Nested"),
            (&["null"], "Nothing"),
            (&[r#"{"type":"Point","coordinates":[1,2]}"#], "geometry(Point,4326)"),
            (
                &[
                    r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}"#,
                    r#"{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}"#,
                ],
                "geometry(MultiPolygon,4326)",
            ),
            (&[r#"{"type":"Point","coordinates":[1,2]}"#, r#"{"type":"Point"}"#], "Nested"),
        ] {
            assert_eq!(json(values), want, "{values:?}");
        }
    }

    #[test]
    fn a_csv_number_is_one_that_would_be_written_so_again() {
        for (values, want) in [
            (&["1", "20", ""][..], "integer"),
            (&["1.50", "-0.5", "7"], "decimal"),
            (&["02138", "10001"], "text"),
            (&["1E5", "2"], "text"),
            (&["1e5", "2"], "text"),
            (&["1011.5", "1e3", "1012"], "decimal"),
            (&["1.5", "1234567890123456789"], "text"),
            (&["+1"], "text"),
            (&["1234567890123456789"], "text"),
            (&["TRUE", "false"], "boolean"),
            (&["0", "1"], "integer"),
            (&["2010-12-01 08:26:00"], "timestamp"),
            (&["536365", "C536379"], "text"),
            (&["", ""], "Nothing"),
        ] {
            assert_eq!(csv(values, &[]), want, "{values:?}");
        }
    }

    #[test]
    fn a_text_among_numbers_means_null_and_among_texts_it_is_one() {
        let numbers = seen(&["\"1\"", "\"NA\"", "\"2\""], true);
        assert_eq!(numbers.null_texts(), ["NA"]);
        assert_eq!(numbers.guess(&["NA"]), Guess::Type(Type::INTEGER));
        assert_eq!(numbers.values(&["NA"]), 2);
        assert_eq!(numbers.guess(&[]), Guess::Type(Type::TEXT));
        assert!(seen(&["\"NA\"", "\"DE\""], true).null_texts().is_empty());
        assert!(seen(&["\"NA\"", "\"NA\""], true).null_texts().is_empty());
        assert_eq!(seen(&["\"NA\"", "\"NA\""], true).guess(&["NA"]), Guess::Nothing);
    }

    #[test]
    fn made_up_ids_are_seen_by_their_looks() {
        for value in ["\"f47ac10b-58cc-4372-a567-0e02b2c3d479\"", "\"evt_f0e4301fc931ffb4d921dba5\"", "17"] {
            assert!(seen(&[value], false).looks_generated(), "{value}");
        }
        for value in ["\"US-1113\"", "\"C536379\"", "\"a long text of 2 words\"", "1.5"] {
            assert!(!seen(&[value], false).looks_generated(), "{value}");
        }
    }
}
