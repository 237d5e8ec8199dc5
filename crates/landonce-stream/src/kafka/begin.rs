//! Where a partition is begun at: a pure function of what is stored, what the broker has, and what is declared.

use landonce_core::spec::{LostSpec, RecreatedSpec, StartSpec};

use crate::error::Error;
use crate::source::Start;

/// What the broker has of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// The number of its first message.
    pub(super) low: u64,
    /// The number behind its last.
    pub(super) high: u64,
    /// Where the group has committed to, if it has been asked.
    pub(super) committed: Option<u64>,
}

/// What is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) start: StartSpec,
    pub(super) on_recreated: RecreatedSpec,
    pub(super) on_lost: LostSpec,
}

/// Where to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Begin {
    /// The number of the first message to ask for.
    pub(super) at: u64,
    /// The mark of that message, which is the one that was landed last: it is compared, and not landed again.
    pub(super) mark: Option<Vec<u8>>,
    /// The place is told to the store before any message comes.
    pub(super) is_put: bool,
    /// The place is behind the broker's end, as the broker tells it, and this is what to say of it. The fetch decides: brokers that
    /// speak Kafka's protocol don't all tell their ends alike.
    pub(super) beyond: Option<String>,
}

impl Begin {
    /// At a message; nothing before it can be compared.
    pub(super) fn at(at: u64) -> Self {
        Self { at, ..Self::default() }
    }
}

/// Decides. `shown` is the partition's name for errors.
pub(super) fn begin(shown: &str, start: &Start, known: Known, rules: Rules) -> Result<Begin, Error> {
    let Known { low, high, committed } = known;
    let place = |next: u64| match next {
        next if next < low => lost(shown, next, low, rules),
        next => {
            let beyond = (next > high).then(|| {
                format!("the place to go on at is {next}, and the broker's last message is before {high}")
            });
            Ok(Begin { beyond, ..Begin::at(next) })
        }
    };
    let Some(next) = start.next else {
        return Ok(match (rules.start, committed) {
            (StartSpec::Latest, _) => Begin { is_put: true, ..Begin::at(high) },
            (StartSpec::Committed, Some(next)) => Begin { is_put: true, ..place(next)? },
            (StartSpec::Earliest, _) | (StartSpec::Committed, None) => Begin::at(low),
        });
    };
    let mut begin = place(next)?;
    if begin.at == next && next > low && start.mark.is_some() {
        begin.at = next - 1;
        begin.mark.clone_from(&start.mark);
    }
    Ok(begin)
}

/// The stream isn't the one that was landed.
pub(super) fn recreated(shown: &str, found: &str, low: u64, rules: Rules) -> Result<Begin, Error> {
    match rules.on_recreated {
        RecreatedSpec::Earliest => {
            tracing::warn!(part = shown, found, "it was made anew, and is read from its beginning");
            Ok(Begin::at(low))
        }
        RecreatedSpec::Fail => Err(Error::Recreated(format!(
            "{shown}: {found}: the topic was made anew, or cut. Nothing was read. `on_recreated: earliest` reads it from its beginning; \
             `landonce position set` puts the position elsewhere"
        ))),
    }
}

fn lost(shown: &str, next: u64, low: u64, rules: Rules) -> Result<Begin, Error> {
    let missing = low - next;
    match rules.on_lost {
        LostSpec::Continue => {
            tracing::warn!(
                part = shown,
                missing,
                next,
                first = low,
                "messages are gone before they were landed"
            );
            Ok(Begin::at(low))
        }
        LostSpec::Fail => Err(Error::Lost(format!(
            "{shown}: the place to go on at is {next}, and the first message that the broker still has is {low}: {missing} numbers are \
             gone before they were landed. `on_lost: continue` goes on behind them"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAIL: Rules =
        Rules { start: StartSpec::Earliest, on_recreated: RecreatedSpec::Fail, on_lost: LostSpec::Fail };

    fn known(low: u64, high: u64) -> Known {
        Known { low, high, committed: None }
    }

    fn at(next: u64) -> Start {
        Start { next: Some(next), mark: Some(vec![7]) }
    }

    fn compare(at: u64) -> Begin {
        Begin { mark: Some(vec![7]), ..Begin::at(at) }
    }

    #[test]
    fn what_is_stored_wins_and_is_compared_where_it_can_be() {
        let begin = |next, known| begin("t/0", &at(next), known, FAIL).unwrap();
        assert_eq!(begin(10, known(0, 20)), compare(9));
        assert_eq!(begin(20, known(0, 20)), compare(19));
        assert_eq!(begin(10, known(10, 20)), Begin::at(10), "the one before has expired");
        let committed = Known { committed: Some(3), ..known(0, 20) };
        assert_eq!(begin(10, committed), compare(9));
        let beyond = begin(21, known(0, 20));
        assert!(beyond.at == 20 && beyond.beyond.unwrap().contains("before 20"));
    }

    #[test]
    fn a_partition_without_a_position_begins_where_it_is_declared() {
        let none = Start { next: None, mark: None };
        let begin = |start, committed| {
            begin("t/0", &none, Known { committed, ..known(5, 20) }, Rules { start, ..FAIL }).unwrap()
        };
        let put = |at| Begin { is_put: true, ..Begin::at(at) };
        assert_eq!(begin(StartSpec::Earliest, Some(9)), Begin::at(5));
        assert_eq!(begin(StartSpec::Latest, Some(9)), put(20));
        assert_eq!(begin(StartSpec::Committed, Some(9)), put(9));
        assert_eq!(begin(StartSpec::Committed, None), Begin::at(5));
    }

    #[test]
    fn nothing_is_skipped_and_nothing_mistaken_unless_it_is_declared() {
        let told = begin("t/0", &at(3), known(5, 20), FAIL).unwrap_err();
        assert!(matches!(told, Error::Lost(_)) && told.to_string().contains("2 numbers are gone"), "{told}");
        assert!(matches!(recreated("t/0", "x", 5, FAIL), Err(Error::Recreated(_))));
        let easy = Rules { on_recreated: RecreatedSpec::Earliest, on_lost: LostSpec::Continue, ..FAIL };
        assert_eq!(recreated("t/0", "x", 5, easy).unwrap(), Begin::at(5));
        assert_eq!(begin("t/0", &at(3), known(5, 20), easy).unwrap(), Begin::at(5));
    }
}
