//! Families of metrics.

use weir_control::{Latency, Responses};

use super::text::{Kind, Labels, Text, Value};

/// A family with at most one sample for each object.
pub(super) struct Family<T> {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    pub(super) value: fn(&T) -> Option<Value>,
}

/// A family of histograms.
pub(super) struct Histograms<T> {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) value: fn(&T) -> &Latency,
}

/// An object and its labels.
pub(super) type Labelled<'a, T> = (Labels, &'a T);

impl<T> Family<T> {
    pub(super) const fn counter(
        name: &'static str,
        help: &'static str,
        value: fn(&T) -> Option<Value>,
    ) -> Self {
        Self { name, kind: Kind::Counter, help, value }
    }

    pub(super) const fn gauge(
        name: &'static str,
        help: &'static str,
        value: fn(&T) -> Option<Value>,
    ) -> Self {
        Self { name, kind: Kind::Gauge, help, value }
    }

    pub(super) fn write(&self, text: &mut Text, things: &[Labelled<'_, T>]) {
        text.family(self.name, self.kind, self.help);
        for (labels, thing) in things {
            if let Some(value) = (self.value)(thing) {
                text.sample(self.name, self.kind, labels, value);
            }
        }
    }
}

impl<T> Histograms<T> {
    pub(super) fn write(&self, text: &mut Text, things: &[Labelled<'_, T>]) {
        text.family(self.name, Kind::Histogram, self.help);
        for (labels, thing) in things {
            text.histogram(self.name, labels, (self.value)(thing));
        }
    }
}

/// Writes responses by class as a family of their own.
pub(super) fn responses<T>(
    text: &mut Text,
    name: &str,
    help: &str,
    things: &[Labelled<'_, T>],
    value: fn(&T) -> &Responses,
) {
    text.family(name, Kind::Counter, help);
    for (labels, thing) in things {
        for (class, count) in Responses::LABELS.iter().zip(value(thing).counts()) {
            text.sample(name, Kind::Counter, &labels.with("code", class), Value::Whole(count));
        }
    }
}

/// Returns the value of a count that is always present.
pub(super) const fn whole(value: u64) -> Option<Value> {
    Some(Value::Whole(value))
}
