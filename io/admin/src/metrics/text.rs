//! The text of the metrics page.

use std::fmt::{self, Write};

use weir_control::Latency;

use super::Exposition;

/// Bounds of latency histograms in microseconds: 1, 2.5, 5 per decade from 100 us to 100 s.
const BOUNDS_US: [u64; 19] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
];

/// Type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A value in its internal unit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Whole(u64),
    /// Microseconds, written in seconds.
    Micros(u64),
    /// Milliseconds, written in seconds.
    Millis(u64),
}

/// Labels in escaped form: `pool="web",server="w1"`.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels(String);

/// The metrics page under construction. Each family has a header, followed by all its samples.
#[derive(Debug)]
pub(super) struct Text {
    out: String,
    exposition: Exposition,
}

impl Text {
    pub(super) fn new(exposition: Exposition) -> Self {
        Self { out: String::with_capacity(16 * 1024), exposition }
    }

    /// Writes the header of a family. `name` excludes the `_total` of counters.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let suffix = match (kind, self.exposition) {
            // The header has the name of the family in OpenMetrics, and that of the sample in the Prometheus
            // format.
            (Kind::Counter, Exposition::Prometheus) => "_total",
            _ => "",
        };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.write(format_args!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n"));
    }

    pub(super) fn sample(&mut self, name: &str, kind: Kind, labels: &Labels, value: Value) {
        let suffix = if kind == Kind::Counter { "_total" } else { "" };
        self.line(name, suffix, labels, value);
    }

    /// Writes one histogram. Omits empty histograms, which make up most of the page with 10,000 servers.
    pub(super) fn histogram(&mut self, name: &str, labels: &Labels, latency: &Latency) {
        let count = latency.count();
        if count == 0 {
            return;
        }
        for (bound_us, within) in BOUNDS_US.iter().zip(latency.counts_within(&BOUNDS_US)) {
            let bound = self.bound(*bound_us);
            self.line(name, "_bucket", &labels.with("le", &bound), Value::Whole(within));
        }
        self.line(name, "_bucket", &labels.with("le", "+Inf"), Value::Whole(count));
        self.line(name, "_sum", labels, Value::Micros(latency.sum_us()));
        self.line(name, "_count", labels, Value::Whole(count));
    }

    pub(super) fn finish(mut self) -> String {
        if self.exposition == Exposition::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }

    /// Formats a bound. Both formats mean the same number; OpenMetrics requires a float.
    fn bound(&self, us: u64) -> String {
        let whole = us.is_multiple_of(1_000_000) && self.exposition == Exposition::OpenMetrics;
        format!("{}{}", us as f64 / 1e6, if whole { ".0" } else { "" })
    }

    fn line(&mut self, name: &str, suffix: &str, labels: &Labels, value: Value) {
        match labels.0.as_str() {
            "" => self.write(format_args!("{name}{suffix} {value}\n")),
            labels => self.write(format_args!("{name}{suffix}{{{labels}}} {value}\n")),
        }
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(text);
    }
}

impl Labels {
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        pairs.iter().fold(Self::default(), |labels, (name, value)| labels.with(name, value))
    }

    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + name.len() + value.len() + 4);
        text.push_str(&self.0);
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(name);
        text.push_str("=\"");
        for c in value.chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                c => text.push(c),
            }
        }
        text.push('"');
        Self(text)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Micros(us) => (*us as f64 / 1e6).fmt(f),
            Self::Millis(ms) => (*ms as f64 / 1e3).fmt(f),
        }
    }
}
