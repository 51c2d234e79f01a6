//! The rows of a history as a picture, like the published figure. It shows the rate on one axis and the
//! servers (needed, wanted, starting, draining and active) on the other, over time. The SVG 1.1 is
//! self-contained: it loads nothing and has no script.

use std::fmt::Write;

use crate::history::Row;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 56.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 44.0;
/// Maximum number of points; the picture has fewer pixels.
const POINTS_MAX: usize = 2_000;

/// One curve of the picture.
struct Curve {
    name: &'static str,
    colour: &'static str,
    /// True if a value holds until the next row, as numbers of servers do.
    is_step: bool,
    value: fn(&Row) -> Option<f64>,
}

const RATE: Curve =
    Curve { name: "requests per second", colour: "#7a8794", is_step: false, value: |row| row.rate_per_s };

const SERVERS: [Curve; 6] = [
    Curve { name: "needed", colour: "#c2410c", is_step: true, value: |row| Some(f64::from(row.needed)) },
    Curve { name: "wanted", colour: "#0f766e", is_step: true, value: |row| Some(f64::from(row.wanted)) },
    Curve { name: "starting", colour: "#ca8a04", is_step: true, value: |row| row.starting.map(f64::from) },
    Curve { name: "draining", colour: "#9333ea", is_step: true, value: |row| row.draining.map(f64::from) },
    Curve {
        // Rows of earlier versions do not distinguish the two.
        name: "starting or draining",
        colour: "#57534e",
        is_step: true,
        value: |row| match row.starting {
            Some(_) => None,
            None => Some(f64::from(row.active_cloud.saturating_sub(row.active_balancer))),
        },
    },
    Curve {
        name: "active",
        colour: "#1d4ed8",
        is_step: true,
        value: |row| Some(f64::from(row.active_balancer)),
    },
];

/// Draws rows, which are sorted by time. `title` may be any text.
pub fn svg(title: &str, rows: &[Row]) -> String {
    let rows = thinned(rows);
    let begins = rows.first().map_or(0.0, |row| row.timestamp);
    let lasts = rows.last().map_or(0.0, |row| row.timestamp - begins).max(1.0);
    let most = |curve: &Curve| rows.iter().filter_map(|row| (curve.value)(row)).fold(0.0, f64::max);
    let rate_top = rounded(most(&RATE) * 1.05);
    let servers_top = rounded(SERVERS.iter().map(most).fold(0.0, f64::max) * 1.05).max(2.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\">{}</text>\n",
        escaped(title)
    );
    // Omits curves without values.
    let is_drawn = |curve: &&Curve| rows.iter().any(|row| (curve.value)(row).is_some());
    let servers: Vec<&Curve> = SERVERS.iter().filter(is_drawn).collect();
    legend(&mut out, &servers);
    axes(&mut out, lasts, rate_top, servers_top);
    let across = |row: &Row| LEFT + (row.timestamp - begins) / lasts * (WIDTH - LEFT - RIGHT);
    for (curve, top) in
        std::iter::once((&RATE, rate_top)).chain(servers.iter().map(|curve| (*curve, servers_top)))
    {
        let points = rows.iter().filter_map(|row| Some((across(row), height((curve.value)(row)?, top))));
        let _ = writeln!(
            out,
            "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"><title>{}</title></path>",
            path(points, curve.is_step),
            curve.colour,
            curve.name
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Selects every n-th row, and all rows with an action, which readers look for.
fn thinned(rows: &[Row]) -> Vec<&Row> {
    let each = rows.len().div_ceil(POINTS_MAX).max(1);
    let last = rows.len().saturating_sub(1);
    let kept =
        rows.iter().enumerate().filter(|(at, row)| at % each == 0 || *at == last || !row.decision.is_empty());
    kept.map(|(_, row)| row).filter(|row| row.timestamp.is_finite()).collect()
}

fn path(points: impl Iterator<Item = (f64, f64)>, is_step: bool) -> String {
    let mut path = String::new();
    for (at, (x, y)) in points.enumerate() {
        // Writing into a string cannot fail, here and elsewhere.
        let _ = match (at, is_step) {
            (0, _) => write!(path, "M{x:.1} {y:.1}"),
            (_, true) => write!(path, "H{x:.1}V{y:.1}"),
            (_, false) => write!(path, "L{x:.1} {y:.1}"),
        };
    }
    path
}

fn legend(out: &mut String, servers: &[&Curve]) {
    let mut x = LEFT;
    for curve in std::iter::once(&RATE).chain(servers.iter().copied()) {
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"28\" width=\"12\" height=\"4\" fill=\"{}\"/><text x=\"{}\" y=\"34\">{}</text>",
            curve.colour,
            x + 17.0,
            curve.name
        );
        x += 40.0 + 7.0 * curve.name.len() as f64;
    }
}

fn axes(out: &mut String, lasts: f64, rate_top: f64, servers_top: f64) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for step in 0..=4 {
        let share = f64::from(step) / 4.0;
        let y = height(share, 1.0);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e3e6ea\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            number(rate_top * share),
            right + 6.0,
            y + 4.0,
            number(servers_top * share),
        );
    }
    for step in 0..=6 {
        let share = f64::from(step) / 6.0;
        let x = LEFT + share * (right - LEFT);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            span(lasts * share)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"14\" y=\"{0}\" transform=\"rotate(-90 14 {0})\" text-anchor=\"middle\">requests per second</text>\
         <text x=\"{1}\" y=\"{0}\" transform=\"rotate(90 {1} {0})\" text-anchor=\"middle\">servers</text>",
        HEIGHT / 2.0,
        WIDTH - 14.0
    );
}

fn height(value: f64, top: f64) -> f64 {
    HEIGHT - BOTTOM - (value / top).clamp(0.0, 1.0) * (HEIGHT - BOTTOM - TOP)
}

/// Returns the smallest number of the form 1, 2, 4 or 8 times a power of ten that is not below `value`, so
/// that its quarters are short.
fn rounded(value: f64) -> f64 {
    let unit = 10_f64.powf(value.max(1e-3).log10().floor());
    let mut fits = [1.0, 2.0, 4.0, 8.0, 10.0].into_iter().map(|factor| factor * unit);
    fits.find(|top| *top >= value).unwrap_or(1.0)
}

fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn span(seconds: f64) -> String {
    match seconds {
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if seconds < 7_200.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("{:.1} h", seconds / 3_600.0),
        _ => format!("{:.1} d", seconds / 86_400.0),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().filter(|c| !c.is_control()).take(200) {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at: u32, rate: f64, needed: u32, cloud: u32, balancer: u32) -> Row {
        Row {
            timestamp: f64::from(at),
            rate_per_s: Some(rate),
            needed,
            active_cloud: cloud,
            active_balancer: balancer,
            wanted: needed,
            ..Row::default()
        }
    }

    /// Returns the path of the curve with this name.
    fn drawn<'p>(picture: &'p str, name: &str) -> Option<&'p str> {
        let before = picture.split_once(&format!("<title>{name}</title>"))?.0;
        before.rsplit_once("d=\"")?.1.split_once('"').map(|(path, _)| path)
    }

    fn level(servers: f64) -> String {
        format!("{:.1}", height(servers, 10.0))
    }

    #[test]
    fn the_picture_tells_what_is_needed_from_what_is_wanted_and_servers_that_start_from_those_that_drain() {
        let row = |at, needed, wanted, starting, draining| Row {
            wanted,
            starting: Some(starting),
            draining: Some(draining),
            ..row(at, 10.0, needed, wanted, wanted - starting)
        };
        let picture = svg("fleet <web>", &[row(0, 2, 2, 0, 0), row(60, 9, 6, 4, 1), row(120, 5, 5, 0, 3)]);
        for part in ["fleet &lt;web&gt;", ">requests per second<", "2 min"] {
            assert!(picture.contains(part), "{part}: {picture}");
        }
        for (name, [first, second, third]) in [
            ("needed", [2.0, 9.0, 5.0]),
            ("wanted", [2.0, 6.0, 5.0]),
            ("starting", [0.0, 4.0, 0.0]),
            ("draining", [0.0, 1.0, 3.0]),
            ("active", [2.0, 2.0, 5.0]),
        ] {
            let path = format!("M56.0 {}H480.0V{}H904.0V{}", level(first), level(second), level(third));
            assert_eq!(drawn(&picture, name), Some(path.as_str()), "{name}");
        }
        assert!(!picture.contains("starting or draining") && !picture.contains("NaN"), "{picture}");
    }

    #[test]
    fn of_rows_that_do_not_tell_them_apart_servers_that_start_or_drain_are_one_curve() {
        let rows = [row(0, 1.0, 2, 2, 2), row(60, 75.0, 8, 8, 4), row(120, 80.0, 8, 8, 8)];
        let picture = svg("old", &rows);
        let path = format!("M56.0 {0}H480.0V{1}H904.0V{0}", level(0.0), level(4.0));
        assert_eq!(drawn(&picture, "starting or draining"), Some(path.as_str()));
        assert_eq!((drawn(&picture, "starting"), drawn(&picture, "draining")), (None, None));
    }

    #[test]
    fn no_rows_make_an_empty_picture_and_many_a_small_one() {
        assert!(svg("none", &[]).ends_with("</svg>\n"));
        let many: Vec<Row> = (0..100_000).map(|at| row(at, 1.0, 1, 1, 1)).collect();
        assert!(svg("many", &many).len() < 300_000);
    }

    #[test]
    fn axes_end_at_short_numbers_that_are_not_less() {
        for (value, top) in
            [(0.0, 0.001), (0.9, 1.0), (1.0, 1.0), (8.4, 10.0), (131.0, 200.0), (420.0, 800.0)]
        {
            assert!((rounded(value) - top).abs() < 1e-9, "{value}: {}", rounded(value));
        }
    }
}
