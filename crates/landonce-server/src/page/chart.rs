//! Bars, drawn on the server: how much landed in each hour. The figures stand beside them as a table for those who can't see them.

use jiff::Timestamp;
use maud::{Markup, html};

use super::show::count;

/// An hour of a pipeline, or of all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bar {
    /// The hour's first moment, in microseconds since 1970.
    pub(super) hour: i64,
    /// Records that were read.
    pub(super) read: u64,
    /// Of these, the ones that changed a row.
    pub(super) changed: u64,
    /// Batches that landed.
    pub(super) batches: u64,
}

/// Height of the drawing, in its own units.
const HIGH: f64 = 100.0;

#[expect(clippy::cast_precision_loss, reason = "a drawing's height needs no more than 53 bits")]
fn height(part: u64, most: u64, high: f64) -> f64 {
    if most == 0 || part == 0 {
        return 0.0;
    }
    // Something is never drawn as nothing.
    (part as f64 / most as f64 * high).max(1.5)
}

/// Bars with an axis below them.
pub(super) fn bars(bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.read).max().unwrap_or_default();
    let wide = bars.len() * 10;
    html! {
        div class="chart" {
            svg viewBox={ "0 0 " (wide) " 101" } preserveAspectRatio="none" aria-hidden="true" {
                @for (at, bar) in bars.iter().enumerate() {
                    @let (whole, part) = (height(bar.read, most, HIGH), height(bar.changed, most, HIGH));
                    @if whole > 0.0 {
                        rect class="whole" x=(at * 10 + 1) y={ (format!("{:.2}", HIGH - whole)) } width="8" height=(format!("{whole:.2}")) {}
                    } @else {
                        rect class="rest" x=(at * 10 + 1) y="98.5" width="8" height="1.5" {}
                    }
                    @if part > 0.0 {
                        rect class="part" x=(at * 10 + 1) y={ (format!("{:.2}", HIGH - part)) } width="8" height=(format!("{part:.2}")) {}
                    }
                }
            }
            div class="axis" aria-hidden="true" {
                @for bar in ticks(bars) { span { (hour(bar.hour)) } }
            }
        }
    }
}

/// The same as a table.
pub(super) fn table(bars: &[Bar]) -> Markup {
    html! {
        table {
            caption class="unseen" { "Records by hour" }
            thead { tr { th scope="col" { "Hour (UTC)" } th scope="col" class="num" { "Batches" } th scope="col" class="num" { "Records" } th scope="col" class="num" { "Rows changed" } } }
            tbody {
                @for bar in bars.iter().rev().filter(|bar| bar.batches > 0) {
                    tr { th scope="row" { (hour(bar.hour)) } td class="num" { (count(bar.batches)) } td class="num" { (count(bar.read)) } td class="num" { (count(bar.changed)) } }
                }
            }
        }
    }
}

/// A line of small bars, for a table's cell.
pub(super) fn spark(bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.read).max().unwrap_or_default();
    html! {
        svg class="spark" viewBox={ "0 0 " (bars.len() * 4) " 24" } preserveAspectRatio="none" aria-hidden="true" {
            @for (at, bar) in bars.iter().enumerate() {
                @let high = height(bar.read, most, 23.0).max(if bar.read > 0 { 2.0 } else { 0.0 });
                @if high > 0.0 {
                    rect class="part" x=(at * 4) y=(format!("{:.1}", 24.0 - high)) width="3" height=(format!("{high:.1}")) {}
                } @else {
                    rect class="rest" x=(at * 4) y="23" width="3" height="1" {}
                }
            }
        }
    }
}

/// About five of them, the first and the last included.
fn ticks(bars: &[Bar]) -> Vec<&Bar> {
    let step = bars.len().saturating_sub(1).div_ceil(4).max(1);
    bars.iter()
        .step_by(step)
        .chain(bars.last().filter(|_| !bars.len().saturating_sub(1).is_multiple_of(step)))
        .collect()
}

fn hour(microseconds: i64) -> String {
    Timestamp::from_microsecond(microseconds)
        .map(|at| at.strftime("%b %-d, %H:00").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_never_drawn_as_nothing() {
        assert!(height(1, 1_000_000, 100.0) >= 1.0);
        assert!(height(0, 10, 100.0) < f64::EPSILON && height(0, 0, 100.0) < f64::EPSILON);
        assert!((height(10, 10, 100.0) - 100.0).abs() < f64::EPSILON);
    }

    #[test]
    fn the_axis_has_a_beginning_and_an_end() {
        let bars: Vec<Bar> = (0..48).map(|hour| Bar { hour, ..Bar::default() }).collect();
        let told = ticks(&bars);
        assert_eq!((told.len(), told[0].hour, told[told.len() - 1].hour), (5, 0, 47));
    }
}
