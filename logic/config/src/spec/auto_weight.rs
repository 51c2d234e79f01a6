//! Weights that are found by measurement.

use weir_balance::{AVERAGE_WEIGHT, AutoWeightRule, Hundredths, KnownSpeeds};
use weir_http::PathPattern;
use weir_model::Weight;

use super::matching::Path;
use crate::keys::STATIC_PATHS;
use crate::plan::AutoWeightPlan;
use crate::source::Span;
use crate::table::Table;

/// A server's weight, and what is known of its speed if it is to be measured.
pub(super) fn weight(server: &Table<'_, '_>) -> (Weight, Option<KnownSpeeds>) {
    let speed = |key| server.get(key).map(|_| Hundredths(server.share(key).into()));
    let known = KnownSpeeds { processor: speed("processor"), storage: speed("storage") };
    // Of the texts, only "auto" has passed the check of the shape.
    if server.text_if("weight").is_some() {
        return (Weight::new(AVERAGE_WEIGHT).unwrap_or_default(), Some(known));
    }
    for key in ["processor", "storage"] {
        if let Some(node) = server.get(key) {
            server.error(key, node.span, "only with weight = \"auto\"");
        }
    }
    (Weight::new(server.number("weight")).unwrap_or_default(), None)
}

/// Where the first server of a pool has `weight = "auto"`.
pub(super) fn first_at(pool: &Table<'_, '_>) -> Option<Span> {
    let weights = pool.many("servers").iter().filter_map(|server| server.get("weight"));
    weights.filter(|weight| weight.text().is_some()).map(|weight| weight.span).next()
}

/// `auto-weight = { ... }`.
pub(super) fn read(pool: &Table<'_, '_>) -> AutoWeightPlan {
    let table = pool.table("auto-weight");
    let written = table.many("static").iter().filter_map(|node| table.parse_node::<Path>("static", node));
    let static_paths: Vec<PathPattern> = match table.get("static") {
        Some(_) => written.map(|path| path.value.0).collect(),
        None => STATIC_PATHS.iter().map(|glob| PathPattern::Glob((*glob).to_owned())).collect(),
    };
    let bound = |key| Weight::new(table.number(key)).unwrap_or_default();
    let rule =
        AutoWeightRule { min: bound("min"), max: bound("max"), requests_min: table.number("min-requests") };
    if rule.min > rule.max {
        let key = if table.get("min").is_some() { "min" } else { "max" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        table.error(key, span, format!("min {} is above max {}", rule.min, rule.max));
    }
    AutoWeightPlan {
        is_on: first_at(pool).is_some(),
        static_paths,
        interval: table.duration("interval"),
        rule,
    }
}
