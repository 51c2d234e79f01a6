//! Reads the settings of measured weights.

use weir_balance::{AVERAGE_WEIGHT, Algorithm, AutoWeightRule, Hundredths, KnownSpeeds, WeightUse};
use weir_http::PathPattern;
use weir_model::Weight;

use super::plan::AutoWeightPlan;
use super::spread::keys::STATIC_PATHS;
use crate::common::matching::Path;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Span;
use crate::values::table::Table;

/// Reads a server's weight, and its known speeds if the weight is to be measured.
pub(crate) fn weight(server: &Table<'_, '_>) -> (Weight, Option<KnownSpeeds>) {
    let speed = |key| server.get(key).map(|_| Hundredths(server.share(key).into()));
    let known = KnownSpeeds { processor: speed("processor"), storage: speed("storage") };
    // The shape check permits no text except "auto".
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

/// Returns the position of the key that turns on measured weights: the first server's `weight = "auto"`. A
/// pool without servers of its own uses its `auto-weight`, for servers that fleets and operators add.
pub(crate) fn on_at(pool: &Table<'_, '_>) -> Option<Span> {
    let servers = pool.many("servers");
    if servers.is_empty() {
        return pool.get("auto-weight").map(|node| node.span);
    }
    let weights = servers.iter().filter_map(|server| server.get("weight"));
    weights.filter(|weight| weight.text().is_some()).map(|weight| weight.span).next()
}

/// Warns if the algorithm does not use weights as shares.
pub(crate) fn warn_of_algorithm(pool: &Table<'_, '_>, algorithm: Algorithm) {
    let Some(at) = on_at(pool) else { return };
    let (what, help) = match algorithm.weight_use() {
        WeightUse::Shares => return,
        WeightUse::MovesKeys => (
            "every change of a weight gives most keys to other servers, and weights that are found change again and again",
            "give the servers weights, or take ring, maglev, ketama or rendezvous, which move few keys",
        ),
        WeightUse::OrdersServers => (
            "the heaviest server gets everything: weights that are found put now one and now another in front",
            "give the servers weights in the order in which they are to be used",
        ),
        WeightUse::CountsRequests => (
            "takes weights for numbers of requests at once; those that are found are shares, 16 for an average server",
            "give the servers weights, or take an algorithm that goes by shares (the default does)",
        ),
        WeightUse::Nothing => (
            "weights do not count: finding them changes nothing",
            "take an algorithm that goes by shares (the default does)",
        ),
    };
    let message = format!("{}: {algorithm} with weight = \"auto\": {what}", pool.subject);
    pool.cx.report(Problem::warning(at, message).help(help));
}

/// Reads `auto-weight = { ... }`.
pub(crate) fn read(pool: &Table<'_, '_>) -> AutoWeightPlan {
    let table = pool.table("auto-weight");
    let written = table.many("static").iter().filter_map(|node| table.parse_node::<Path>("static", node));
    let static_paths: Vec<PathPattern> = match table.get("static") {
        Some(_) => written.map(|path| path.value.0).collect(),
        None => STATIC_PATHS.iter().map(|glob| PathPattern::Glob((*glob).to_owned())).collect(),
    };
    AutoWeightPlan {
        is_on: on_at(pool).is_some(),
        static_paths,
        interval: table.duration("interval"),
        rule: rule(&table),
    }
}

/// Reads the range of weights and the minimum number of requests, of a pool or of a scenario's balancer.
pub(crate) fn rule(table: &Table<'_, '_>) -> AutoWeightRule {
    let bound = |key| Weight::new(table.number(key)).unwrap_or_default();
    let rule =
        AutoWeightRule { min: bound("min"), max: bound("max"), requests_min: table.number("min-requests") };
    if rule.min > rule.max {
        let key = if table.get("min").is_some() { "min" } else { "max" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        table.error(key, span, format!("min {} is above max {}", rule.min, rule.max));
    }
    rule
}
