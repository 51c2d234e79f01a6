//! Reports of a scenario as a page, as Markdown and as CSV, with the same content.

mod cases;
mod csv;
mod document;
mod grid;
mod html;
mod markdown;
mod plots;
mod tables;
mod verdict;

use super::analysis::Analysis;

pub use csv::csv;
pub use verdict::{verdict, verdict_by_figure};

/// Returns one HTML file without scripts, which fetches nothing.
pub fn html(analysis: &Analysis) -> String {
    html::render(&document::of(analysis))
}

/// Returns Markdown without plots.
pub fn markdown(analysis: &Analysis) -> String {
    markdown::render(&document::of(analysis))
}
