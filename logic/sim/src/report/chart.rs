//! Curves and bars as SVG, drawn without a library, and the style of the pages that contain them.

use std::fmt::Write;

/// One curve of a chart.
#[derive(Debug)]
pub struct Curve<'n> {
    /// Text shown while the pointer is on the curve.
    pub name: &'n str,
    /// CSS classes, which set its colour and highlight it.
    pub class: String,
    /// Points in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

/// One axis of a chart.
#[derive(Debug)]
pub struct Axis {
    /// Quantity that it measures.
    pub title: &'static str,
    /// Value at its start.
    pub from: f64,
    /// Value at its end.
    pub to: f64,
    /// Positions of grid lines, with their labels.
    pub ticks: Vec<(f64, String)>,
}

/// The style sheet of pages with charts.
pub const STYLE: &str = include_str!("style.css");

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// Draws curves in one frame and clips them at the axes. The last curve is on top.
pub fn curves(id: &str, label: &str, x: &Axis, y: &Axis, curves: &[Curve<'_>]) -> String {
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{label}\">\n\
         <clipPath id=\"{id}\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
        WIDTH - LEFT - RIGHT,
        HEIGHT - TOP - BOTTOM
    );
    let at_x = |value: f64| LEFT + x.share(value) * (WIDTH - LEFT - RIGHT);
    let at_y = |value: f64| HEIGHT - BOTTOM - y.share(value) * (HEIGHT - TOP - BOTTOM);
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    // Writing to a string cannot fail, here and below.
    for (value, text) in &x.ticks {
        let at = at_x(*value);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 18.0
        );
    }
    for (value, text) in &y.ticks {
        let at = at_y(*value);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"axis\" x=\"{right}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
         <text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n<g clip-path=\"url(#{id})\">",
        HEIGHT - 8.0,
        x.title,
        LEFT + 8.0,
        TOP + 14.0,
        y.title
    );
    for curve in curves {
        let mut path = String::new();
        for (index, (at, value)) in curve.points.iter().enumerate() {
            let _ =
                write!(path, "{}{:.1} {:.1}", if index == 0 { "M" } else { "L" }, at_x(*at), at_y(*value));
        }
        let _ = writeln!(
            svg,
            "<path class=\"curve {}\" d=\"{path}\"><title>{}</title></path>",
            curve.class, curve.name
        );
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Draws bars of values from 0 to 1, side by side in one row.
pub fn bars(label: &str, class: &str, values: &[f64]) -> String {
    const HEIGHT: f64 = 30.0;
    let step = WIDTH / values.len().max(1) as f64;
    let gap = if step > 6.0 { 2.0 } else { 0.0 };
    let mut svg = format!(
        "<svg class=\"bars\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">"
    );
    for (index, value) in values.iter().enumerate() {
        let height = (value.clamp(0.0, 1.0) * HEIGHT).max(0.5);
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            index as f64 * step,
            HEIGHT - height,
            (step - gap).max(0.5)
        );
    }
    svg.push_str("</svg>");
    svg
}

impl Axis {
    fn share(&self, value: f64) -> f64 {
        let width = self.to - self.from;
        // Limits the coordinates of points that are clipped anyway.
        if width > 0.0 { ((value - self.from) / width).clamp(-2.0, 3.0) } else { 0.0 }
    }

    /// Creates an axis from 0 to the next round number from `most` on, which has a tick, too.
    pub fn to_a_tick(title: &'static str, most: f64) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 5.0);
        Self::linear(title, (most / step - 1e-6).ceil() * step)
    }

    /// Creates an axis from 0 to `to`, with ticks at round numbers.
    pub fn linear(title: &'static str, to: f64) -> Self {
        let to = if to > 0.0 { to } else { 1.0 };
        let step = round_step(to / 5.0);
        let ticks =
            (0..=20).map(|index| f64::from(index) * step).take_while(|value| *value <= to * 1.000_001);
        Self { title, from: 0.0, to, ticks: ticks.map(|value| (value, short(value))).collect() }
    }
}

/// Escapes a text, so that names cannot become markup.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the least of 1, 2, 5, 10, 20, ... that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|round| *round >= step * 0.999)
        .unwrap_or(step)
}

fn short(value: f64) -> String {
    let text = if value >= 1e6 {
        format!("{}M", value / 1e6)
    } else if value >= 1e4 {
        format!("{}k", value / 1e3)
    } else {
        // Three digits of what is less than 1, however small it is; steps are no finer.
        let digits = if value > 0.0 && value < 1.0 { 2 + (-value.log10().floor()) as usize } else { 3 };
        format!("{value:.digits$}").trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if text.is_empty() { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_few_round_ticks() {
        let ticks = |to| Axis::linear("", to).ticks.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(ticks(10.0), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(ticks(0.35), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(ticks(73_000.0), ["0", "20k", "40k", "60k"]);
        assert_eq!(ticks(0.0).len(), 6);
        assert_eq!(ticks(0.0007), ["0", "0.0002", "0.0004", "0.0006"]);
    }

    #[test]
    fn an_axis_may_end_at_a_tick() {
        let axis = |most| {
            let axis = Axis::to_a_tick("", most);
            (axis.to, axis.ticks.last().unwrap().1.clone())
        };
        assert_eq!(axis(7_618.0), (8_000.0, "8000".to_owned()));
        assert_eq!(axis(10.0), (10.0, "10".to_owned()));
        assert_eq!(axis(31_000.0), (40_000.0, "40k".to_owned()));
        assert_eq!(axis(0.0), (1.0, "1".to_owned()));
    }
}
