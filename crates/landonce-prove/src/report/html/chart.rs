//! The bar chart: rows after one run, after two, and rewritten by the second, per table.

use maud::{Markup, html};

use super::percent;
use crate::report::TableCounts;
use crate::report::words::{count, line, plural, touched_first};

/// Tables with a picture; more of them are counted.
const MOST: usize = 30;

/// The chart. A table's three bars share one scale; two tables don't, or a small one couldn't be seen beside a big one.
pub(super) fn chart(tables: &[TableCounts]) -> Markup {
    let shown = touched_first(tables);
    html! {
        @if !tables.is_empty() {
            section.chart {
                h2 { "Two runs on the same input" }
                p.told { "After a safe retry the second bar is as long as the first, and the third isn't there." }
                @for table in shown.iter().take(MOST) { (group(table)) }
                @if shown.len() > MOST {
                    p.told { "… and " (plural((shown.len() - MOST) as u64, "more table")) ", in the JSON report." }
                }
            }
        }
    }
}

fn group(table: &TableCounts) -> Markup {
    let whole = table.after_one.max(table.after_two).max(table.rewritten);
    let second = match table.after_two.cmp(&table.after_one) {
        std::cmp::Ordering::Greater => format!(" (+{})", count(table.after_two - table.after_one)),
        std::cmp::Ordering::Less => format!(" (−{})", count(table.after_one - table.after_two)),
        std::cmp::Ordering::Equal => String::new(),
    };
    html! {
        figure {
            figcaption { code { (line(&table.table)) } }
            (bar("rows after 1 run", table.after_one, "", whole, "one"))
            (bar("after 2", table.after_two, &second, whole, if second.is_empty() { "one" } else { "grown" }))
            (bar("rewritten by run 2", table.rewritten, "", whole, "anew"))
        }
    }
}

fn bar(name: &str, rows: u64, more: &str, whole: u64, style: &str) -> Markup {
    html! {
        div.bar {
            span.name { (name) }
            svg width="100%" height="16" role="img" aria-label={ (name) ": " (count(rows)) } {
                rect class="track" width="100%" height="16" rx="2" {}
                @if rows > 0 { rect class=(style) width=(percent(rows, whole)) height="16" rx="2" {} }
            }
            span.figure { (count(rows)) (more) }
        }
    }
}
