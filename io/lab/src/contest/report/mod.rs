//! What came of a scenario, as a page, as Markdown and as CSV. All three tell the same.

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

/// One HTML file: nothing is fetched from anywhere, and there is no script.
pub fn html(analysis: &Analysis) -> String {
    html::render(&document::of(analysis))
}

/// Markdown; without plots.
pub fn markdown(analysis: &Analysis) -> String {
    markdown::render(&document::of(analysis))
}
