//! Where a part is begun at: a pure function of what is stored, what the stream has, and what is declared.

use std::time::Duration;

use landonce_core::spec::{LostSpec, NatsStartSpec, RecreatedSpec};

use crate::error::Error;
use crate::source::Start;

/// What the stream has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// The number of its first message.
    pub(super) low: u64,
    /// The number behind its last one.
    pub(super) high: u64,
    /// The mark of what stands before the place that is stored, if anything does.
    pub(super) before: Option<Vec<u8>>,
    /// It keeps so many messages of each subject: older ones give way to newer ones.
    pub(super) gives_way: bool,
}

/// What is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) start: NatsStartSpec,
    pub(super) on_recreated: RecreatedSpec,
    pub(super) on_lost: LostSpec,
    /// How often a quiet part's position moves on.
    pub(super) quiet: Duration,
}

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// At this number.
    At(u64),
    /// At this number, which is told to the store before any message comes.
    Put(u64),
}

/// Decides. `shown` is the part's name for errors.
pub(super) fn begin(shown: &str, start: &Start, known: &Known, rules: Rules) -> Result<Begin, Error> {
    let Known { low, high, .. } = *known;
    let Some(next) = start.next else {
        return Ok(match rules.start {
            NatsStartSpec::Earliest => Begin::At(low),
            NatsStartSpec::Latest => Begin::Put(high),
        });
    };
    if next > high {
        let found =
            format!("the store says to go on at {next}, and the stream's last message is before {high}");
        return recreated(shown, &found, low, rules).map(Begin::At);
    }
    if let (Some(due), Some(found)) = (&start.mark, &known.before)
        && due != found
    {
        let found = format!("another message than the one that was landed stands at {}", next - 1);
        return recreated(shown, &found, low, rules).map(Begin::At);
    }
    if next < low {
        lost(shown, next, known, rules)?;
        return Ok(Begin::At(low));
    }
    Ok(Begin::At(next))
}

/// The stream isn't the one that was landed: its first number, if it is to be read from there.
pub(super) fn recreated(shown: &str, found: &str, low: u64, rules: Rules) -> Result<u64, Error> {
    match rules.on_recreated {
        RecreatedSpec::Earliest => {
            tracing::warn!(part = shown, found, "the stream was made anew, and is read from its beginning");
            Ok(low)
        }
        RecreatedSpec::Fail => Err(Error::Recreated(format!(
            "{shown}: {found}: the stream was made anew, or cut. Nothing was read. `on_recreated: earliest` reads it from its beginning; \
             `landonce position set` puts the position elsewhere"
        ))),
    }
}

/// Messages between `next` and the stream's first one aren't there any more.
pub(super) fn lost(shown: &str, next: u64, known: &Known, rules: Rules) -> Result<(), Error> {
    let (first, missing) = (known.low, known.low - next);
    if known.gives_way {
        tracing::debug!(part = shown, next, first, "older messages have given way to newer ones");
        return Ok(());
    }
    match rules.on_lost {
        LostSpec::Continue => {
            tracing::warn!(part = shown, missing, next, first, "messages are gone before they were landed");
            Ok(())
        }
        LostSpec::Fail => Err(Error::Lost(format!(
            "{shown}: the store says to go on at {next}, and the first message that the stream still has is {first}: {missing} numbers \
             are gone, which may have been this part's, and were not landed. `on_lost: continue` goes on behind them"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAIL: Rules = Rules {
        start: NatsStartSpec::Earliest,
        on_recreated: RecreatedSpec::Fail,
        on_lost: LostSpec::Fail,
        quiet: Duration::from_mins(5),
    };
    const EASY: Rules = Rules { on_recreated: RecreatedSpec::Earliest, on_lost: LostSpec::Continue, ..FAIL };

    fn known(low: u64, high: u64) -> Known {
        Known { low, high, before: None, gives_way: false }
    }

    fn at(next: u64) -> Start {
        Start { next: Some(next), mark: Some(vec![7]) }
    }

    #[test]
    fn a_part_without_a_position_begins_where_it_is_declared() {
        let none = Start { next: None, mark: None };
        assert_eq!(begin("s", &none, &known(5, 20), FAIL).unwrap(), Begin::At(5));
        let latest = Rules { start: NatsStartSpec::Latest, ..FAIL };
        assert_eq!(begin("s", &none, &known(5, 20), latest).unwrap(), Begin::Put(20));
    }

    #[test]
    fn what_is_stored_wins_and_is_compared_where_it_can_be() {
        let seen = |before: Option<Vec<u8>>| Known { before, ..known(5, 20) };
        assert_eq!(begin("s", &at(9), &seen(Some(vec![7])), FAIL).unwrap(), Begin::At(9));
        assert_eq!(begin("s", &at(9), &seen(None), FAIL).unwrap(), Begin::At(9), "it was deleted");
        assert!(matches!(begin("s", &at(9), &seen(Some(vec![8])), FAIL), Err(Error::Recreated(_))));
        assert_eq!(begin("s", &at(9), &seen(Some(vec![8])), EASY).unwrap(), Begin::At(5));
    }

    #[test]
    fn nothing_is_skipped_and_nothing_mistaken_unless_it_is_declared() {
        let told = |next| begin("s", &at(next), &known(5, 20), FAIL).unwrap_err();
        assert!(matches!(told(21), Error::Recreated(_)), "{}", told(21));
        assert!(matches!(told(3), Error::Lost(_)));
        assert!(told(3).to_string().contains("2 numbers are gone"), "{}", told(3));
        assert_eq!(begin("s", &at(21), &known(5, 20), EASY).unwrap(), Begin::At(5));
        assert_eq!(begin("s", &at(3), &known(5, 20), EASY).unwrap(), Begin::At(5));
        let bucket = Known { gives_way: true, ..known(5, 20) };
        assert_eq!(begin("s", &at(3), &bucket, FAIL).unwrap(), Begin::At(5));
    }
}
