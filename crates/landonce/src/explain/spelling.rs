//! Two values that differ: whether they would be one under another declaration.

use std::borrow::Cow;

use landonce_core::column::Type;
use landonce_core::json::{Json, Kind};
use landonce_core::number::Decimal;
use landonce_core::record::normalized;
use landonce_core::spec::Normalize;
use landonce_core::time;

/// What to declare so that the two become equal; `None` when they are two things under any declaration.
///
/// `ty` is the type declared now. A declared type other than text has decided already.
pub(super) fn hint(one: Json<'_>, two: Json<'_>, ty: Option<&Type>) -> Option<String> {
    if !matches!(ty, None | Some(Type::Text { .. })) {
        return None;
    }
    let (one, two) = (scalar(one)?, scalar(two)?);
    if same(&one, &two, |text| time::timestamptz(text).ok()) {
        return Some("one instant, spelled differently: declare it as `timestamptz`".to_owned());
    }
    if same(&one, &two, |text| time::timestamp(text).ok()) {
        return Some("one civil time, spelled differently: declare it as `timestamp`".to_owned());
    }
    if same(&one, &two, |text| uuid::Uuid::try_parse(text).ok()) {
        return Some("one UUID, spelled differently: declare it as `uuid`".to_owned());
    }
    if same(&one, &two, |text| Decimal::parse(text).map(Decimal::into_owned)) {
        let is_whole = Decimal::parse(&one).is_some_and(|number| number.to_i64().is_some());
        let ty = if is_whole { "integer" } else { "decimal" };
        return Some(format!("one number, spelled differently: declare it as `{ty}`"));
    }
    let all = [("trim", Normalize::Trim), ("nfc", Normalize::Nfc), ("lowercase", Normalize::Lowercase)];
    // Fewest steps first: each bit of `set` is a step.
    let mut sets: Vec<u8> = (1..8).collect();
    sets.sort_by_key(|set| set.count_ones());
    sets.into_iter().find_map(|set| {
        let chosen: Vec<_> =
            all.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0).map(|(_, step)| *step).collect();
        let steps: Vec<Normalize> = chosen.iter().map(|(_, step)| *step).collect();
        let is_equal = normalized(one.clone(), &steps) == normalized(two.clone(), &steps);
        let names: Vec<&str> = chosen.iter().map(|(name, _)| *name).collect();
        is_equal.then(|| format!("one text once normalised: `normalize: [{}]`", names.join(", ")))
    })
}

fn scalar(json: Json<'_>) -> Option<Cow<'_, str>> {
    match json.kind() {
        Kind::Number => Some(Cow::Borrowed(json.span())),
        _ => json.string(),
    }
}

fn same<T: PartialEq>(one: &str, two: &str, parse: impl Fn(&str) -> Option<T>) -> bool {
    parse(one).is_some_and(|parsed| Some(parsed) == parse(two))
}

#[cfg(test)]
mod tests {
    use landonce_core::json::Tape;

    use super::*;

    fn told(one: &str, two: &str, ty: Option<&Type>) -> String {
        let (mut first, mut second) = (Tape::default(), Tape::default());
        let (one, two) = (first.scan(one.as_bytes()).unwrap(), second.scan(two.as_bytes()).unwrap());
        hint(one, two, ty).unwrap_or_default()
    }

    #[test]
    fn what_to_declare_is_named() {
        for (one, two, want) in [
            (r#""2024-06-01T00:00:00-06:00""#, r#""2024-06-01t06:00:00z""#, "`timestamptz`"),
            (r#""2024-06-01T06:00""#, r#""2024-06-01 06:00:00""#, "`timestamp`"),
            (r#""F47AC10B-58CC-4372-A567-0E02B2C3D479""#, r#""f47ac10b58cc4372a5670e02b2c3d479""#, "`uuid`"),
            ("1", r#""1""#, "`integer`"),
            (r#""1.50""#, r#""1.5""#, "`decimal`"),
            (r#""a ""#, r#""a""#, "[trim]"),
            (r#""e\u0301""#, r#""é""#, "[nfc]"),
            (r#"" E\u0301""#, r#""é""#, "[trim, nfc, lowercase]"),
        ] {
            assert!(told(one, two, None).contains(want), "{one} {two}: {}", told(one, two, None));
        }
    }

    #[test]
    fn what_differs_under_any_declaration_has_no_hint() {
        for (one, two) in [("1", "2"), (r#""a""#, r#""b""#), ("true", r#""true""#), ("null", r#""null""#)] {
            assert_eq!(told(one, two, None), "");
        }
        assert_eq!(told(r#""a""#, r#""A""#, Some(&Type::Uuid)), "");
    }
}
