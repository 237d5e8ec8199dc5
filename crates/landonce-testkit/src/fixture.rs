//! Flight-like events as NDJSON, about 350 bytes each: the same bytes for the same seed, on every machine and for ever.
//!
//! Each event depends on the seed and its own number alone, so that any part can be made without the rest. The generator is
//! `SplitMix64`, written out: the streams of crates may change between versions, and committed results stand on these.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::civil::Date;

/// Legs flown on one day; each has four events.
const LEGS_A_DAY: u64 = 4000;
/// A duplicate comes this many events after its first.
const DUPLICATE_LAG: u64 = 7;

const CARRIERS: [&str; 8] = ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E"];
const AIRPORTS: [&str; 10] = ["EWR", "LGA", "JFK", "CLT", "IAH", "ORD", "LAX", "SFO", "ATL", "MIA"];
const KINDS: [&str; 4] = ["scheduled_departure", "actual_departure", "scheduled_arrival", "actual_arrival"];

/// A file's worth of events.
///
/// The identity is (`flight_id`, `event_kind`, `instant_utc`), no two events share one; `updated_at` can be a version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Events {
    seed: u64,
    count: u64,
    changed: f64,
    duplicated: f64,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Different identities.
    pub events: u64,
    /// Of these, the ones whose content differs from that of the same events unchanged.
    pub changed: u64,
    /// Lines that repeat an earlier one, byte for byte; on top of the events.
    pub duplicates: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Written {
    /// How many lines there are.
    pub fn lines(&self) -> u64 {
        self.events + self.duplicates
    }
}

impl Events {
    /// So many different events.
    pub fn new(seed: u64, count: u64) -> Self {
        Self { seed, count, changed: 0.0, duplicated: 0.0 }
    }

    /// The same events, about this share of them (0 to 1) with other content and a later `updated_at`.
    #[must_use]
    pub fn changed(self, share: f64) -> Self {
        Self { changed: share, ..self }
    }

    /// The same events, about this share of them (0 to 1) twice.
    #[must_use]
    pub fn duplicated(self, share: f64) -> Self {
        Self { duplicated: share, ..self }
    }

    /// The event of this number (from 0), without a line end.
    pub fn event(&self, number: u64) -> String {
        let mut line = Vec::new();
        self.push(number, &mut line);
        String::from_utf8(line).expect("an event is ASCII")
    }

    /// Whether the event of this number is among the changed.
    pub fn is_changed(&self, number: u64) -> bool {
        self.chance(number, 1) < self.changed
    }

    /// Whether the event of this number comes twice.
    pub fn is_duplicated(&self, number: u64) -> bool {
        self.chance(number, 2) < self.duplicated
    }

    /// Writes all of them, each with a line end. Never holds more than a few.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<Written> {
        let mut written = Written { events: self.count, ..Written::default() };
        let mut line = Vec::with_capacity(512);
        for step in 0..self.count + DUPLICATE_LAG {
            let again = step.checked_sub(DUPLICATE_LAG).filter(|&earlier| self.is_duplicated(earlier));
            let first = Some(step).filter(|&number| number < self.count);
            written.duplicates += u64::from(again.is_some());
            written.changed += u64::from(first.is_some_and(|number| self.is_changed(number)));
            for number in first.into_iter().chain(again) {
                line.clear();
                self.push(number, &mut line);
                line.push(b'\n');
                out.write_all(&line)?;
                written.bytes += line.len() as u64;
            }
        }
        Ok(written)
    }

    /// Writes all of them to a new file.
    ///
    /// # Panics
    ///
    /// When the file can't be written.
    pub fn write_file(&self, path: impl AsRef<Path>) -> Written {
        let path = path.as_ref();
        let write = || {
            let mut out = BufWriter::with_capacity(1 << 18, File::create(path)?);
            let written = self.write_to(&mut out)?;
            out.flush()?;
            Ok::<_, io::Error>(written)
        };
        write().unwrap_or_else(|error| panic!("writing events to {}: {error}", path.display()))
    }

    fn push(&self, number: u64, line: &mut Vec<u8>) {
        let (leg, kind) = (number / 4, number % 4);
        let (day, of_day) = (leg / LEGS_A_DAY, leg % LEGS_A_DAY);
        let mut draw = Draw(mix(self.seed ^ mix(leg)));
        let carrier = CARRIERS[of_day as usize % CARRIERS.len()];
        let flight = 100 + of_day;
        let origin = draw.below(AIRPORTS.len() as u64);
        let dest = (origin + 1 + draw.below(AIRPORTS.len() as u64 - 1)) % AIRPORTS.len() as u64;
        let (origin, dest) = (AIRPORTS[origin as usize], AIRPORTS[dest as usize]);
        let date = date(day).to_string();
        let (tail, distance) = (100 + draw.below(900), 90 + draw.below(2400));
        let departure = draw.below(18 * 60);
        let minute = departure + kind / 2 * (60 + distance / 8) % 300;
        let instant = format_args!("{date}T{:02}:{:02}:00Z", minute / 60, minute % 60);
        let mut draw = Draw(mix(self.seed ^ mix(number).rotate_left(17)));
        let delay = draw.below(90) as i64 - 15;
        let is_changed = self.is_changed(number);
        let (delay, revised) = if is_changed { (delay + 100, 1) } else { (delay, 0) };
        write!(
            line,
            "{{\"flight_id\":\"{carrier}-{flight}-{origin}-{date}\",\"event_kind\":\"{}\",\"instant_utc\":\"{instant}\",\
             \"carrier\":\"{carrier}\",\"origin\":\"{origin}\",\"dest\":\"{dest}\",\
             \"payload\":{{\"delay_min\":{delay},\"distance_mi\":{distance},\"tailnum\":\"N{tail}{carrier}\",\"gate\":\"{}{}\",\
             \"fuel_t\":{}.{:02},\"crew\":[\"C{:05}\",\"C{:05}\"],\"note\":null,\"source\":\"ops-feed\"}},\
             \"updated_at\":\"{date}T23:{:02}:{:02}.{:06}Z\"}}",
            KINDS[kind as usize],
            char::from(b'A' + draw.below(6) as u8),
            1 + draw.below(40),
            2 + draw.below(60),
            draw.below(100),
            draw.below(100_000),
            draw.below(100_000),
            draw.below(30) + 30 * revised,
            draw.below(60),
            draw.below(1_000_000),
        )
        .expect("memory takes what is written");
    }

    /// A number from 0 to 1 that belongs to this event and this question.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are as many as a double holds")]
    fn chance(&self, number: u64, question: u64) -> f64 {
        let bits = mix(self.seed ^ mix(number ^ mix(question)));
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn date(day: u64) -> Date {
    let first = jiff::civil::date(2026, 1, 1);
    i64::try_from(day)
        .ok()
        .and_then(|day| first.checked_add(jiff::Span::new().try_days(day).ok()?).ok())
        .expect("so many events that the calendar ends")
}

/// The output function of `SplitMix64`.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A stream of numbers.
struct Draw(u64);

impl Draw {
    /// The next, below `limit`. The bias is far below what a test could see.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0) % limit
    }
}
