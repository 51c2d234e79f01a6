//! Prints `balance` in its short or its long form.

use toml::Value;
use weir_balance::{Algorithm, HashOptions, MeasureOptions, ResponseEnd};
use weir_http::RequestKey;

use super::plan::{HashPlan, KeyPlan};
use super::read::{default_key, needs_key};
use crate::common::writer::{Printed, Share, Spelled, Writer, table};

/// Prints only the name of the algorithm if everything else has its default, otherwise a table.
pub(crate) fn print(writer: &mut Writer, algorithm: Algorithm, hash: &HashPlan, measure: &MeasureOptions) {
    let default = HashOptions::of(algorithm);
    let options = &hash.options;
    let (key, function) = (&hash.key, options.function);
    let usual = MeasureOptions::default();
    let is_usual_key = key == &default_key(algorithm) && !needs_key(algorithm);
    if options == &default && is_usual_key && *measure == usual {
        return writer.key("balance", Printed(algorithm));
    }
    let uri = match key {
        KeyPlan::Request(RequestKey::Uri(part)) => *part,
        _ => weir_http::UriPart::default(),
    };
    let domain_only = matches!(key, KeyPlan::Request(RequestKey::Header { domain_only: true, .. }));
    let yes = |is: bool| is.then(|| true.spelled());
    let draws = if algorithm == Algorithm::LeastRequest { "choices" } else { "draws" };
    writer.key(
        "balance",
        table([
            ("algorithm", Some(Printed(algorithm).spelled())),
            ("key", (!is_usual_key && algorithm.takes_key()).then(|| key_value(key))),
            ("len", uri.bytes_max.map(|max| max.spelled())),
            ("depth", uri.depth.map(|depth| depth.spelled())),
            ("whole", yes(uri.whole)),
            ("path-only", yes(uri.path_only)),
            ("use-domain-only", yes(domain_only)),
            ("function", (function != default.function).then(|| Printed(function).spelled())),
            ("avalanche", (options.avalanche != default.avalanche).then(|| options.avalanche.spelled())),
            ("points", (options.points != default.points).then(|| options.points.name().spelled())),
            ("fallback", (!options.fallback).then(|| false.spelled())),
            ("port", yes(options.port)),
            ("table-size", (options.table_size != default.table_size).then(|| options.table_size.spelled())),
            (
                "expiration",
                (options.expiration != default.expiration).then(|| Printed(options.expiration).spelled()),
            ),
            ("bounded-load", options.bounded_load_percent.map(|share| Share(share).spelled())),
            (draws, (measure.draws != usual.draws).then(|| measure.draws.spelled())),
            ("distinct", yes(measure.distinct)),
            ("bias", measure.bias.map(|bias| Share(bias.0).spelled())),
            ("decay", (measure.decay != usual.decay).then(|| Printed(measure.decay).spelled())),
            (
                "default-rtt",
                (measure.default_rtt != usual.default_rtt).then(|| Printed(measure.default_rtt).spelled()),
            ),
            ("drawn", measure.drawn.map(|drawn| drawn.spelled())),
            ("until", (measure.until == ResponseEnd::LastByte).then(|| "last-byte".spelled())),
            ("inflight", yes(measure.inflight)),
            ("forgive", (measure.forgive != usual.forgive).then(|| Printed(measure.forgive).spelled())),
        ]),
    );
}

fn key_value(key: &KeyPlan) -> Value {
    match key {
        KeyPlan::Request(RequestKey::Expression(text)) => table([("expression", Some(text.spelled()))]),
        key => Printed(key).spelled(),
    }
}
