//! Writes plots: one SVG file per source, with a panel per figure and a curve per subject. The files are
//! self-contained and can be opened directly or embedded in a page.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weir_sim::chart::{Axis, escaped};

use super::history::{Figure, History, Part, Sourced};
use super::table::text;

/// Reason why plots cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {cause}")]
pub struct PlotError {
    path: String,
    cause: io::Error,
}

/// Writes `SOURCE.svg` for each source into a directory, which is created if it is missing. Replaces existing
/// files atomically. Returns the paths.
///
/// # Errors
/// If a file cannot be written.
pub fn write_plots(history: &History, directory: &Path) -> Result<Vec<PathBuf>, PlotError> {
    let error = |path: &Path| {
        let path = path.display().to_string();
        move |cause| PlotError { path, cause }
    };
    fs::create_dir_all(directory).map_err(error(directory))?;
    let write = |sourced: &Sourced| -> Result<PathBuf, PlotError> {
        let path = directory.join(format!("{}.svg", sourced.name));
        let new = directory.join(format!(".{}.svg.new", sourced.name));
        fs::write(&new, draw(sourced)).map_err(error(&new))?;
        fs::rename(&new, &path).map_err(error(&path))?;
        Ok(path)
    };
    history.sources.iter().map(write).collect()
}

const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 16.0;
const PANELS: usize = 2;
const PANEL_WIDTH: f64 = (WIDTH - 3.0 * MARGIN) / PANELS as f64;
const PANEL_HEIGHT: f64 = 204.0;
/// Margins of a panel around the curves.
const LEFT: f64 = 48.0;
const TOP: f64 = 38.0;
const BOTTOM: f64 = 24.0;

/// Number of colors, and so of subjects that are shown.
const THINGS: usize = 8;
const LEGEND_COLUMNS: usize = 4;
const LEGEND_LETTERS: usize = 32;
const LINE: f64 = 18.0;
const LETTERS_A_LINE: usize = 150;

const STYLE: &str = "\
text { font: 11px system-ui, sans-serif; fill: #5b6470; }\n\
.name { font-weight: 600; font-size: 13px; fill: #1b1f24; }\n\
.head { font-weight: 600; font-size: 18px; fill: #1b1f24; }\n\
.paper { fill: #ffffff; }\n\
.grid { stroke: #dfe3e8; fill: none; }\n\
.curve { fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }\n\
.curve:hover { stroke-width: 4; }\n\
.key { fill: currentColor; }\n\
.c0 { color: #0b6bcb; } .c1 { color: #e07b00; } .c2 { color: #1a9850; } .c3 { color: #c2185b; }\n\
.c4 { color: #7b52ab; } .c5 { color: #00a0a8; } .c6 { color: #a5682a; } .c7 { color: #8a9a00; }\n\
@media (prefers-color-scheme: dark) {\n\
  text { fill: #9aa4b0; } .name, .head { fill: #e6e9ed; } .paper { fill: #14171b; } .grid { stroke: #2c323a; }\n\
  .c0 { color: #62aef7; } .c1 { color: #ffab4a; } .c2 { color: #57c785; } .c3 { color: #f06292; }\n\
  .c4 { color: #b39ddb; } .c5 { color: #4dd0d6; } .c6 { color: #d29b64; } .c7 { color: #c6d540; }\n\
}\n";

fn draw(sourced: &Sourced) -> String {
    let all = sourced.things();
    let things: Vec<&str> = all.iter().copied().take(THINGS).collect();
    let shown: Vec<Panel<'_>> = sourced.figures.iter().filter_map(|it| Panel::new(it, &things)).collect();
    let (flat, panels): (Vec<_>, Vec<_>) = shown.into_iter().partition(|panel| panel.is_flat());
    let mut body = String::new();
    let mut y = MARGIN + LINE;
    heading(&mut body, sourced, &all, y);
    y += legend(&mut body, &things, y + 8.0) + 16.0;
    let (unit, seconds) = time_unit(sourced.end_s());
    let x = Axis::linear(unit, sourced.end_s() / seconds);
    for row in panels.chunks(PANELS) {
        for (at, panel) in row.iter().enumerate() {
            let left = MARGIN + at as f64 * (PANEL_WIDTH + MARGIN);
            panel.draw(&mut body, left, y, &x, seconds);
        }
        y += PANEL_HEIGHT + MARGIN;
    }
    for line in unchanged(&flat) {
        y += LINE;
        // Writing to a string does not fail, here and below.
        let _ = writeln!(body, "<text x=\"{MARGIN}\" y=\"{y:.0}\">{}</text>", clean(&line));
    }
    if panels.is_empty() && flat.is_empty() {
        y += LINE;
        let _ = writeln!(
            body,
            "<text x=\"{MARGIN}\" y=\"{y:.0}\">Nothing is known yet: most figures follow from two looks.</text>"
        );
    }
    let height = y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"{}\">\n<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        sourced.name
    )
}

fn heading(body: &mut String, sourced: &Sourced, all: &[&str], y: f64) {
    let name = match all {
        [only] if *only != sourced.name => format!("{} {only}", sourced.name),
        _ => sourced.name.to_owned(),
    };
    let _ = write!(body, "<text x=\"{MARGIN}\" y=\"{y:.0}\" class=\"head\">{}", clean(&name));
    let count = all.len() + sourced.forgotten;
    if count > THINGS {
        let _ = write!(
            body,
            " <tspan font-size=\"12\" font-weight=\"400\">{THINGS} of {count}: those with most of any figure</tspan>"
        );
    }
    body.push_str("</text>\n");
}

/// Draws the legend of colors and returns its height.
fn legend(body: &mut String, things: &[&str], top: f64) -> f64 {
    if things.len() < 2 {
        return 0.0;
    }
    for (at, thing) in things.iter().enumerate() {
        let x = MARGIN + (at % LEGEND_COLUMNS) as f64 * (WIDTH - 2.0 * MARGIN) / LEGEND_COLUMNS as f64;
        let y = top + (at / LEGEND_COLUMNS) as f64 * LINE;
        let short: String = thing.chars().take(LEGEND_LETTERS).collect();
        let _ = writeln!(
            body,
            "<rect class=\"key c{at}\" x=\"{x:.0}\" y=\"{:.0}\" width=\"11\" height=\"11\" rx=\"3\"/><text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            y + 2.0,
            x + 17.0,
            y + 12.0,
            clean(&short)
        );
    }
    things.len().div_ceil(LEGEND_COLUMNS) as f64 * LINE + 8.0
}

/// One figure of the subjects that are shown.
struct Panel<'h> {
    figure: &'h Figure,
    /// Index of the color, subject, and parts of the curve.
    curves: Vec<(usize, &'h str, Vec<Part>)>,
    least: f64,
    most: f64,
}

impl<'h> Panel<'h> {
    /// Creates a panel; `None` = no values.
    fn new(figure: &'h Figure, things: &[&'h str]) -> Option<Self> {
        let known = things
            .iter()
            .enumerate()
            .filter_map(|(at, thing)| Some((at, *thing, figure.curves.get(*thing)?)));
        let known: Vec<_> = known.collect();
        let bounds = || known.iter().filter_map(|(_, _, curve)| curve.bounds());
        let least = bounds().map(|(least, _)| least).reduce(f64::min)?;
        let most = bounds().map(|(_, most)| most).reduce(f64::max)?;
        let curves = known.iter().map(|(at, thing, curve)| (*at, *thing, curve.parts())).collect();
        Some(Self { figure, curves, least, most })
    }

    /// Returns true if all values of all subjects are equal, so that a curve shows nothing.
    fn is_flat(&self) -> bool {
        self.least == self.most
    }

    fn draw(&self, body: &mut String, left: f64, top: f64, x: &Axis, seconds: f64) {
        let unit = Unit::new(self.figure, self.most);
        let y = Axis::linear("", self.most / unit.size * 1.05);
        let (from, right) = (left + LEFT, left + PANEL_WIDTH);
        let (ceiling, floor) = (top + TOP, top + PANEL_HEIGHT - BOTTOM);
        let at_x = |value: f64| from + (value / x.to).clamp(0.0, 1.0) * (right - from);
        let at_y = |value: f64| floor - (value / y.to).clamp(0.0, 1.0) * (floor - ceiling);
        let name = if unit.name.is_empty() { String::new() } else { format!(", {}", unit.name) };
        let _ = writeln!(
            body,
            "<text class=\"name\" x=\"{left:.0}\" y=\"{:.0}\">{}{name}</text><text x=\"{left:.0}\" y=\"{:.0}\">{}</text>",
            top + 12.0,
            self.figure.name,
            top + 27.0,
            escaped(self.figure.help)
        );
        for (value, label) in &y.ticks {
            let at = at_y(*value);
            let _ = writeln!(
                body,
                "<path class=\"grid\" d=\"M{from:.1} {at:.1}H{right:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                from - 6.0,
                at + 4.0
            );
        }
        for (at, (value, label)) in x.ticks.iter().enumerate() {
            let unit = if at == 0 { x.title } else { "" };
            let anchor = if at == 0 { "start" } else { "middle" };
            let _ = writeln!(
                body,
                "<path class=\"grid\" d=\"M{0:.1} {ceiling:.1}V{floor:.1}\"/><text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"{anchor}\">{label}{unit}</text>",
                at_x(*value),
                floor + 15.0
            );
        }
        for (colour, thing, parts) in &self.curves {
            let mut path = String::new();
            for part in parts {
                for (at, (second, value)) in part.iter().enumerate() {
                    let letter = if at == 0 { 'M' } else { 'L' };
                    let _ =
                        write!(path, "{letter}{:.1} {:.1}", at_x(second / seconds), at_y(value / unit.size));
                }
                // A single read is drawn as a dot.
                path.push_str(if part.len() == 1 { "h0" } else { "" });
            }
            let _ = writeln!(
                body,
                "<path class=\"curve c{colour}\" d=\"{path}\"><title>{}</title></path>",
                clean(thing)
            );
        }
    }
}

/// Returns lines of text with the constant figures and their values.
fn unchanged(flat: &[Panel<'_>]) -> Vec<String> {
    let told = flat.iter().map(|panel| {
        let unit = Unit::new(panel.figure, panel.most);
        let gap = if unit.name.is_empty() || unit.name == "%" { "" } else { " " };
        // Two decimals suffice for a constant value.
        let value = text(Some((panel.most / unit.size * 100.0).round() / 100.0));
        format!("{} {value}{gap}{}", panel.figure.name, unit.name)
    });
    let mut lines: Vec<String> = Vec::new();
    for one in told {
        match lines.last_mut() {
            Some(line) if line.len() + one.len() < LETTERS_A_LINE => line.push_str(&format!(", {one}")),
            Some(line) => {
                line.push(',');
                lines.push(one);
            }
            None => lines.push(format!("Unchanged all the time: {one}")),
        }
    }
    lines
}

/// Unit of a figure: its name and its size.
struct Unit {
    name: &'static str,
    size: f64,
}

impl Unit {
    /// Selects a unit by the name of the figure: bytes in binary units, shares in percent.
    fn new(figure: &Figure, most: f64) -> Self {
        const BYTES: [(&str, &str); 5] =
            [("B", "B/s"), ("KiB", "KiB/s"), ("MiB", "MiB/s"), ("GiB", "GiB/s"), ("TiB", "TiB/s")];
        let name = figure.name;
        let is_rate = name.ends_with("_per_s");
        if name.contains("bytes") {
            let power =
                BYTES.iter().enumerate().take_while(|(at, _)| *at == 0 || most >= 1024_f64.powi(*at as i32));
            let power = power.count() - 1;
            let (amount, rate) = BYTES[power];
            return Self { name: if is_rate { rate } else { amount }, size: 1024_f64.powi(power as i32) };
        }
        let alone = |name| Self { name, size: 1.0 };
        match name {
            _ if is_rate => alone("/s"),
            _ if name.ends_with("_ms") => alone("ms"),
            _ if name.ends_with("_w") => alone("W"),
            "queue" => alone(""),
            _ if figure.is_derived() => Self { name: "%", size: 0.01 },
            _ => alone(""),
        }
    }
}

/// Returns a readable unit of time: its name, and its length in seconds.
fn time_unit(end_s: f64) -> (&'static str, f64) {
    match end_s {
        _ if end_s <= 600.0 => (" s", 1.0),
        _ if end_s <= 36_000.0 => (" min", 60.0),
        _ if end_s <= 864_000.0 => (" h", 3_600.0),
        _ => (" days", 86_400.0),
    }
}

/// Removes control characters, which names may contain but XML forbids.
fn clean(text: &str) -> String {
    escaped(&text.replace(char::is_control, "?"))
}

#[cfg(test)]
mod tests {
    use super::super::source::Derived;
    use super::super::table::{Column, Row};
    use super::*;

    const COLUMNS: &[Column] = &[Column::gauge("memory_bytes", "Memory"), Column::gauge("limit", "Limit")];
    const DERIVED: &[Derived] = &[Derived { name: "busy", help: "Share & more", of: |_| None }];

    fn drawn(things: &[(&str, &[f64])]) -> String {
        let mut history = History::default();
        for (thing, values) in things {
            for (at, value) in values.iter().enumerate() {
                let row = Row::new(*thing, vec![Some(value * 4096.0), Some(7.0)]);
                history.source("told", COLUMNS, DERIVED).add(at as f64, &row, &[Some(*value)]);
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let paths = write_plots(&history, &directory.path().join("plots")).unwrap();
        assert_eq!(paths, [directory.path().join("plots/told.svg")]);
        assert_eq!(fs::read_dir(directory.path().join("plots")).unwrap().count(), 1, "and nothing else");
        fs::read_to_string(&paths[0]).unwrap()
    }

    #[test]
    fn each_figure_has_a_panel_and_each_thing_a_curve_in_its_colour() {
        let svg = drawn(&[("little", &[0.1, 0.2, 0.1]), ("much", &[0.5, 1.0, 0.5])]);
        assert_eq!(svg.matches("class=\"name\"").count(), 2, "{svg}");
        assert!(
            svg.contains("busy, %") && svg.contains("memory_bytes, KiB") && svg.contains("Share &amp; more")
        );
        assert_eq!(svg.matches("<path class=\"curve c0\"").count(), 2);
        assert_eq!(svg.matches("<title>much</title>").count(), 2);
        assert!(svg.contains("Unchanged all the time: limit 7"), "{svg}");
        // The highest point is nearly at the top, and time goes from left to right.
        let path = svg.split("class=\"curve c0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        let points: Vec<(f64, f64)> = path
            .split(['M', 'L'])
            .filter_map(|pair| pair.split_once(' '))
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert_eq!(points.len(), 3);
        assert!(
            points[0].0 < points[1].0 && points[1].0 < points[2].0 && points[1].1 < points[0].1,
            "{path}"
        );
    }

    #[test]
    fn names_do_not_become_markup_and_no_letter_is_one_that_xml_forbids() {
        let svg = drawn(&[("<b>\u{1b}&", &[0.1, 0.2]), ("other", &[0.1, 0.2])]);
        assert!(svg.contains("&lt;b&gt;?&amp;") && !svg.contains("<b>") && !svg.contains('\u{1b}'), "{svg}");
    }

    #[test]
    fn of_many_things_those_with_the_most_are_shown() {
        let names: Vec<String> = (0..20).map(|at| format!("disk{at}")).collect();
        let things: Vec<(&str, &[f64])> = names.iter().map(|name| (name.as_str(), &[0.1, 0.2][..])).collect();
        let svg = drawn(&things);
        assert!(svg.contains("8 of 20"), "{svg}");
        assert_eq!(svg.matches("class=\"key").count(), 8);
    }

    #[test]
    fn one_look_is_a_dot_and_none_is_said() {
        let svg = drawn(&[("a", &[0.5]), ("b", &[0.25])]);
        assert!(svg.contains("h0\""), "{svg}");
        let mut history = History::default();
        history.source("told", COLUMNS, DERIVED);
        let directory = tempfile::tempdir().unwrap();
        let paths = write_plots(&history, directory.path()).unwrap();
        assert!(fs::read_to_string(&paths[0]).unwrap().contains("Nothing is known yet"));
    }

    #[test]
    fn axes_of_time_have_units_that_suit_them() {
        let of = |end_s| time_unit(end_s).0.trim();
        assert_eq!([of(59.0), of(3_600.0), of(86_400.0), of(2e6)], ["s", "min", "h", "days"]);
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let error = write_plots(&History::default(), Path::new("/proc/nowhere")).unwrap_err().to_string();
        assert!(error.starts_with("/proc/nowhere: "), "{error}");
    }
}
