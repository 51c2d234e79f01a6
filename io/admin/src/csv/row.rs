//! Tables and rows of the CSV.

use std::collections::HashMap;
use std::fmt::{Display, Write};

use weir_control::Responses;

use super::COLUMNS;

/// The CSV text under construction.
#[derive(Debug)]
pub(super) struct Table {
    out: String,
    cells: Vec<String>,
    places: HashMap<&'static str, usize>,
}

/// Cells of one row, by column name.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    cells: &'a mut [String],
    places: &'a HashMap<&'static str, usize>,
}

impl Table {
    pub(super) fn new() -> Self {
        let places = COLUMNS.iter().enumerate().map(|(place, name)| (*name, place));
        Self {
            out: format!("# {},-,\n", COLUMNS.join(",")),
            cells: vec![String::new(); COLUMNS.len()],
            places: places.collect(),
        }
    }

    pub(super) fn row(&mut self, fill: impl FnOnce(&mut Fields<'_>)) {
        self.cells.iter_mut().for_each(String::clear);
        fill(&mut Fields { cells: &mut self.cells, places: &self.places });
        for cell in &self.cells {
            self.out.push_str(cell);
            self.out.push(',');
        }
        self.out.push_str("-,\n");
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

impl Fields<'_> {
    pub(super) fn set(&mut self, column: &str, value: impl Display) {
        let cell = self.cell(column);
        // Writing to a String cannot fail.
        let _ = write!(cell, "{value}");
    }

    pub(super) fn maybe(&mut self, column: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.set(column, value);
        }
    }

    /// Sets a text, quoted if necessary. Line breaks become spaces, because readers of this format read line
    /// by line.
    pub(super) fn text(&mut self, column: &str, text: &str) {
        let cell = self.cell(column);
        if text.contains([',', '"', '\n', '\r']) {
            let inner = text.replace('"', "\"\"").replace(['\n', '\r'], " ");
            let _ = write!(cell, "\"{inner}\"");
        } else {
            cell.push_str(text);
        }
    }

    fn cell(&mut self, column: &str) -> &mut String {
        // Column names are literals of this module, and its tests write each of them.
        debug_assert!(self.places.contains_key(column), "{column}");
        &mut self.cells[self.places.get(column).copied().unwrap_or_default()]
    }
}

pub(super) fn responses(fields: &mut Fields<'_>, responses: &Responses) {
    let columns = ["hrsp_1xx", "hrsp_2xx", "hrsp_3xx", "hrsp_4xx", "hrsp_5xx", "hrsp_other"];
    for (column, count) in columns.iter().zip(responses.counts()) {
        fields.set(column, count);
    }
}
