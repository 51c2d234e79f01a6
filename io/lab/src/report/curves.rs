//! Interactive plots: values under the pointer, zoom, and curves that can be hidden. uPlot draws them if
//! scripts run. Otherwise the page shows its static pictures. The page contains all of it and fetches
//! nothing.

use serde_json::{Value, json};
use weir_stats::NanosHistogram;

use crate::summary::{Run, Summary};
use crate::windows::Moment;

const UPLOT: &str = include_str!("uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("uplot/uPlot.min.css");
/// License of uPlot. Each page contains a copy of uPlot and therefore its license.
const UPLOT_LICENSE: &str = include_str!("uplot/LICENSE");
const SCRIPT: &str = include_str!("plots.js");

/// Overrides of the page's style for uPlot's tables, and colors for the dark theme.
const STYLE: &str = "\
.uplot { width: 100%; }\n\
.uplot table { width: auto; margin: 0 auto; font-variant-numeric: tabular-nums; }\n\
.uplot th, .uplot td { border: 0; text-align: left; color: var(--text); white-space: nowrap; }\n\
.uplot .u-value { min-width: 6em; }\n\
.uplot tbody tr:hover { background: none; }\n\
.u-select { background: var(--accent); opacity: 0.18; }\n";

/// Returns the style of the interactive plots.
pub(super) fn style() -> String {
    format!("{UPLOT_STYLE}\n{STYLE}")
}

/// Hint for users; hidden if scripts do not run.
pub(super) const HINT: &str = "<p class=\"hint plot-hint\" hidden>Values are those under the pointer. Drag over a part to enlarge it, double-click to see all again; \
                               click a name to leave out its curve.</p>\n";

/// Returns a picture that the plot of this name replaces.
pub(super) fn framed(name: &str, picture: &str) -> String {
    format!("<div class=\"plot\" id=\"plot-{name}\">{picture}</div>\n")
}

/// Returns the plots as scripts for the end of the page.
pub(super) fn script(run: &Run, summary: &Summary) -> String {
    // The data are only numbers and Weir's own names, so they cannot end the element.
    let data = data(run, &summary.moments);
    format!(
        "<script type=\"application/json\" id=\"plot-data\">{data}</script>\n<script>\n/*\n{}\n*/\n{UPLOT}\n</script>\n<script>\n{SCRIPT}</script>\n",
        UPLOT_LICENSE.trim_end()
    )
}

/// Returns the data of each plot: positions on the axis, then one list per curve. Times are in milliseconds.
fn data(run: &Run, moments: &[Moment]) -> Value {
    let width = moments.get(1).map_or(0.1, |second| second.at_s);
    // The middle of the interval.
    let at: Vec<f64> = moments.iter().map(|moment| rounded(moment.at_s + width / 2.0)).collect();
    let of = |value: &dyn Fn(&Moment) -> Value| moments.iter().map(value).collect::<Vec<_>>();
    // At least one microsecond, because zero has no logarithm.
    let ms = |us: Option<u64>| us.map_or(Value::Null, |us| json!(us.max(1) as f64 / 1e3));
    let mut data = json!({});
    if !moments.is_empty() {
        data["rate"] = json!([
            at,
            of(&|moment| json!(rounded(moment.due_per_s))),
            of(&|moment| json!(rounded(moment.answered_per_s))),
            of(&|moment| json!(rounded(moment.failed as f64 / width))),
        ]);
    }
    if moments.iter().any(|moment| moment.p50_us.is_some()) {
        data["latency"] = json!([
            at,
            of(&|moment| ms(moment.p50_us)),
            of(&|moment| ms(moment.p99_us)),
            of(&|moment| ms(moment.max_us)),
        ]);
    }
    let (latency, raw) = (&run.tally.all.latency, &run.tally.raw);
    if latency.count() > 0 {
        data["percentiles"] = percentiles(latency, raw);
        data["histogram"] = histogram(latency);
    }
    data
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Returns the middle of a bucket, in milliseconds.
fn middle_ms(low: u64, high: u64) -> f64 {
    low.midpoint(high).max(1) as f64 / 1e6
}

/// Maximum number of nines on the axis: 99.999%.
const NINES_MAX: f64 = 5.0;
/// Minimum step. Smaller steps are invisible.
const STEP_MIN: f64 = 0.004;

/// Returns the share of requests that completed within each time, as nines: 2 is 99%.
fn percentiles(latency: &NanosHistogram, raw: &NanosHistogram) -> Value {
    let own = latency.buckets().map(|(low, high, count)| (middle_ms(low, high), count, 0));
    let others = raw.buckets().map(|(low, high, count)| (middle_ms(low, high), 0, count));
    let mut steps: Vec<(f64, u64, u64)> = own.chain(others).collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    let nines = |seen: u64, all: u64| {
        let left = (1.0 - seen as f64 / all.max(1) as f64).max(10_f64.powf(-NINES_MAX));
        // Avoids negative zero.
        (-left.log10()).max(0.0)
    };
    let (mut at, mut due, mut sent) = (Vec::new(), Vec::new(), Vec::new());
    let (mut seen_due, mut seen_sent) = (0, 0);
    let end = steps.len();
    for (place, (ms, more_due, more_sent)) in steps.into_iter().enumerate() {
        seen_due += more_due;
        seen_sent += more_sent;
        let now = (nines(seen_due, latency.count()), nines(seen_sent, raw.count()));
        let is_seen = match (due.last(), sent.last()) {
            (Some(last_due), Some(last_sent)) => {
                let grown: f64 = f64::max(now.0 - last_due, now.1 - last_sent);
                grown >= STEP_MIN
            }
            _ => true,
        };
        if at.last() == Some(&ms) {
            // Both curves have a bucket at this position.
            due.pop();
            sent.pop();
        } else if is_seen || place + 1 == end {
            at.push(ms);
        } else {
            continue;
        }
        due.push(now.0);
        sent.push(now.1);
    }
    json!([at, due, sent])
}

/// Number of steps of the histogram.
const STEPS: usize = 160;

/// Returns the frequency of each latency, in equal steps on a logarithmic scale.
fn histogram(latency: &NanosHistogram) -> Value {
    let from = (latency.min_ns().max(1) as f64).log10();
    let width = (((latency.max_ns().max(2) as f64).log10() - from) / STEPS as f64).max(1e-3);
    let mut steps = [0_u64; STEPS + 1];
    for (low, high, count) in latency.buckets() {
        let at = ((low.midpoint(high).max(1) as f64).log10() - from) / width;
        steps[(at.max(0.0) as usize).min(STEPS - 1)] += count;
    }
    // The last value ends the curve and is always 0.
    let at = (0..=STEPS).map(|step| 10_f64.powf(from + step as f64 * width) / 1e6).collect::<Vec<_>>();
    json!([at, steps.to_vec()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram_of(values: &[(u64, u64)]) -> NanosHistogram {
        let mut histogram = NanosHistogram::new();
        values.iter().for_each(|(ns, times)| histogram.record_many(*ns, *times));
        histogram
    }

    fn lists(value: &Value) -> Vec<Vec<f64>> {
        let list = |list: &Value| list.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
        value.as_array().unwrap().iter().map(list).collect()
    }

    #[test]
    fn percentiles_grow_with_time_to_the_last_request() {
        let due = histogram_of(&[(1_000_000, 90), (5_000_000, 9), (80_000_000, 1)]);
        let sent = histogram_of(&[(1_000_000, 99), (2_000_000, 1)]);
        let lists = lists(&percentiles(&due, &sent));
        assert!(lists.iter().all(|list| list.len() == lists[0].len() && list.len() == 4), "{lists:?}");
        assert!(lists[0].windows(2).all(|two| two[0] < two[1]), "places are in order, each once: {lists:?}");
        assert!(lists[1..].iter().all(|list| list.windows(2).all(|two| two[0] <= two[1])), "{lists:?}");
        let near = |value: f64, wanted: f64| (value - wanted).abs() < 1e-9;
        assert!(
            near(lists[1][0], 1.0) && near(lists[2][0], 2.0),
            "90% and 99% within a millisecond: {lists:?}"
        );
        assert!(near(lists[1][2], 2.0) && near(lists[1][3], NINES_MAX), "{lists:?}");
    }

    #[test]
    fn a_histogram_has_every_request_and_its_places_have_logarithms() {
        for values in [&[(1_000, 5), (2_000_000, 7)][..], &[(50, 1)], &[(0, 3)]] {
            let recorded = histogram_of(values);
            let lists = lists(&histogram(&recorded));
            assert_eq!(lists[1].iter().sum::<f64>() as u64, recorded.count());
            assert!(lists[0].iter().all(|ms| *ms > 0.0) && lists[1][STEPS] == 0.0, "{lists:?}");
            assert_eq!((lists[0].len(), lists[1].len()), (STEPS + 1, STEPS + 1));
        }
    }

    #[test]
    fn what_is_put_into_a_page_cannot_end_its_element() {
        for text in [UPLOT, UPLOT_STYLE, SCRIPT, UPLOT_LICENSE] {
            assert!(!text.contains("</") && !text.contains("<!--"), "an element would end");
        }
        assert!(!UPLOT_LICENSE.contains("*/"));
        for outside in ["http://", "import(", "fetch(", "XMLHttpRequest"] {
            assert!(!UPLOT.contains(outside) && !SCRIPT.contains(outside), "{outside}: nothing is fetched");
        }
    }
}
