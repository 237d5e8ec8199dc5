//! Error codes: stable, each with a page in `docs/reference/errors.md`, which is in the binary too.

use std::fmt;
use std::str::FromStr;

/// All pages, one `## Lnnnn` section each.
pub const PAGES: &str = include_str!("../../../../docs/reference/errors.md");

macro_rules! codes {
    ($($code:ident),* $(,)?) => {
        /// An error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(
                #[doc = concat!("See the page of ", stringify!($code), ".")]
                $code,
            )*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];

            /// Its spelling.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($code),)*
                }
            }
        }
    };
}

codes!(
    L0101, L0102, L0201, L0202, L0301, L0302, L0303, L0304, L0305, L0306, L0401, L0402, L0501, L0502, L0503,
    L0504, L0601, L0602, L0603, L0604, L0605, L0701, L0801, L0811, L0812, L0813, L0851, L0901, L1001, L1002,
    L1003, L1004, L1005, L1006, L1007, L1008, L1009, L1021, L1022, L1023, L1024, L1025, L1026, L1027, L1028,
    L1029, L1030, L1031, L1032, L1033, L1034, L1035, L1101, L1102, L1103, L1104, L1105, L1121, L1122, L1123,
    L1124, L1125,
);

impl Code {
    /// Its page: what it means, why, what to do.
    pub fn page(self) -> &'static str {
        let heading = format!("## {}", self.as_str());
        let Some(start) = PAGES.find(&heading) else { return "" };
        let page = &PAGES[start..];
        let end = page[heading.len()..].find("\n## ").map_or(page.len(), |at| at + heading.len());
        page[..end].trim_end()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|code| code.as_str().eq_ignore_ascii_case(text.trim())).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_that_says_what_to_do() {
        for code in Code::ALL {
            let page = code.page();
            assert!(page.len() > 200, "{code} has no page");
            assert!(page.contains("**What to do**"), "{code} doesn't say what to do");
        }
        let pages = PAGES.matches("\n## L").count();
        assert_eq!(pages, Code::ALL.len(), "a page without a code, or a code without a page");
    }
}
