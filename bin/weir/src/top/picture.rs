//! Draws the live view as SVG, from the cells of its terminal output.

use std::fmt::Write;
use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};
use weir_control::Snapshot;

use super::app::App;
use super::draw::draw;
use super::feed::Update;

/// Width and height of a cell, in pixels, for monospace fonts of 14 pixels.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;
/// Distance of the baseline from the upper edge of a line, in pixels.
const BASELINE: f64 = 13.0;

/// Style sheet with a class for each color of the view.
const STYLE: &str = "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre;fill:#dbe2ea}\
    .b{font-weight:600}.g{fill:#6ee7a0}.c{fill:#67d7e8}.y{fill:#fcd34d}.r{fill:#fca5a5}.u{fill:#7aa7ff}.d{fill:#8895a6}";

/// Draws the view after these snapshots, for a terminal of this size.
pub(crate) fn svg(snapshots: Vec<Snapshot>, panel: Vec<String>, columns: u16, lines: u16) -> String {
    let mut app = App { panel, ..App::new(Path::new("control.sock")) };
    snapshots.into_iter().for_each(|snapshot| app.update(Update::Snapshot(Box::new(snapshot))));
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, &mut app)).unwrap();
    let (width, height) = (f64::from(columns) * CELL.0, f64::from(lines) * CELL.1);
    let (width, height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\">\n<style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0e1217\"/>\n"
    );
    for (number, line) in terminal.backend().buffer().content.chunks(columns.into()).enumerate() {
        self::line(&mut svg, MARGIN + number as f64 * CELL.1, line);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws one line, with one element for adjacent cells of the same class.
fn line(svg: &mut String, top: f64, cells: &[Cell]) {
    let mut at = 0;
    for run in cells.chunk_by(|a, b| class(a) == class(b) && is_bar(a) == is_bar(b)) {
        let text: String = run.iter().map(Cell::symbol).collect();
        let blanks = text.chars().take_while(|c| *c == ' ').count();
        let x = MARGIN + (at + blanks) as f64 * CELL.0;
        let class = class(&run[0]);
        if is_bar(&run[0]) {
            let (width, y) = (text.chars().map(eighths).sum::<u32>(), top + 2.0);
            let width = f64::from(width) / 8.0 * CELL.0;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" class=\"{class}\"/>",
                CELL.1 - 4.0
            );
        } else if !text.trim().is_empty() {
            let text = text.trim();
            let (width, y) = (text.chars().count() as f64 * CELL.0, top + BASELINE);
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            // `textLength` aligns the columns in every font.
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{width:.1}\" class=\"{class}\">{text}</text>"
            );
        }
        at += run.len();
    }
}

fn class(cell: &Cell) -> &'static str {
    match (cell.fg, cell.modifier.contains(Modifier::BOLD)) {
        (Color::Green, false) => "g",
        (Color::Cyan, false) => "c",
        (Color::Yellow, false) => "y",
        (Color::Red, false) => "r",
        (Color::Blue, false) => "u",
        (Color::DarkGray, false) => "d",
        (Color::Green, true) => "g b",
        (Color::Cyan, true) => "c b",
        (Color::Yellow, true) => "y b",
        (Color::Red, true) => "r b",
        (_, true) => "b",
        (_, false) => "",
    }
}

/// Returns true if the cell shows a block character. Fonts draw gaps between them, so they become rectangles.
fn is_bar(cell: &Cell) -> bool {
    cell.symbol().chars().next().is_some_and(|c| eighths(c) > 0)
}

fn eighths(c: char) -> u32 {
    // U+2588 is a whole block, U+2589 to U+258F are seven eighths to one.
    match u32::from(c) {
        code @ 0x2588..=0x258F => 0x2590 - code,
        _ => 0,
    }
}
