//! The headers of a request, as a scheme looks at them.

use super::Refusal;

/// The headers of a request, in their order, borrowed. Collected from pairs of name and value:
/// `map.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect()`.
#[derive(Clone, Default)]
pub struct Headers<'h>(Vec<(&'h str, &'h [u8])>);

impl<'h, V: AsRef<[u8]> + ?Sized> FromIterator<(&'h str, &'h V)> for Headers<'h> {
    fn from_iter<I: IntoIterator<Item = (&'h str, &'h V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name, value.as_ref())).collect())
    }
}

impl<'h> Headers<'h> {
    /// Whether there is one of that name, whatever its case.
    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// The text of the only header of that name, whatever the name's case, without the spaces and tabs around it, which are no
    /// part of a value (RFC 9110, section 5.5).
    ///
    /// Refused when there is none; when there are several, since a proxy and landonce might each look at another one; and when
    /// the text isn't visible ASCII and spaces.
    pub fn one(&self, name: &str) -> Result<&'h str, Refusal> {
        let mut values = self.values(name);
        let value = values.next().ok_or_else(|| Refusal::Missing(name.to_owned()))?;
        if values.next().is_some() {
            return Err(Refusal::Repeated(name.to_owned()));
        }
        let is_visible = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
        std::str::from_utf8(value)
            .ok()
            .filter(|_| is_visible)
            .map(|text| text.trim_matches([' ', '\t']))
            .ok_or_else(|| Refusal::malformed(name, "visible ASCII"))
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'h [u8]> {
        self.0.iter().filter(move |(has, _)| has.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<'h>(pairs: &[(&'h str, &'h [u8])]) -> Result<&'h str, Refusal> {
        pairs.iter().copied().collect::<Headers<'_>>().one("X-Id")
    }

    #[test]
    fn a_name_fits_in_any_case_and_spaces_around_a_value_are_no_part_of_it() {
        assert_eq!(one(&[("x-id", b"a b")]), Ok("a b"));
        assert_eq!(one(&[("other", b"x"), ("X-ID", b" \ta\t ")]), Ok("a"));
        assert_eq!(one(&[("x-id", b"")]), Ok(""));
    }

    #[test]
    fn a_header_that_is_missing_repeated_or_not_ascii_is_refused() {
        assert_eq!(one(&[("X-Id2", b"a")]), Err(Refusal::Missing("X-Id".to_owned())));
        assert_eq!(one(&[("X-Id", b"a"), ("x-id", b"a")]), Err(Refusal::Repeated("X-Id".to_owned())));
        for value in ["ä".as_bytes(), b"\xff", b"a\0", b"a\nb", b"\x7f"] {
            assert_eq!(
                one(&[("x-id", value)]),
                Err(Refusal::malformed("X-Id", "visible ASCII")),
                "{value:?}"
            );
        }
    }
}
