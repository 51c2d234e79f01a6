//! Tests of the metrics page, parsed by the rules of its two formats.

use std::collections::{BTreeMap, BTreeSet};

use weir_admin::{Exposition, Scope, metrics};
use weir_control::{PoolSnapshot, Snapshot};

use crate::common;

/// A page as a scraper understands it.
#[derive(Debug, Default)]
struct Page {
    kinds: BTreeMap<String, String>,
    /// Values by `name{labels}`.
    samples: BTreeMap<String, f64>,
    names: BTreeMap<String, String>,
}

/// Parses a page, and panics on content that a scraper would refuse or misunderstand.
fn read(text: &str, exposition: Exposition) -> Page {
    let mut page = Page::default();
    let mut family = String::new();
    let mut helped = BTreeSet::new();
    for line in text.lines() {
        if line == "# EOF" {
            family.clear();
        } else if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(helped.insert(name.to_owned()), "{name} is announced twice");
            assert!(help.ends_with('.') && !help.contains('\\'), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(helped.contains(name), "{name}: help comes first");
            assert_eq!(
                page.kinds.insert(name.to_owned(), kind.to_owned()),
                None,
                "{name} is announced twice"
            );
            family = name.to_owned();
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{line}");
            check_labels(labels.strip_suffix('}').unwrap());
            check_name(name, &family, &page.kinds[&family], exposition);
            let value: f64 = value.parse().unwrap();
            assert!(value.is_finite() && value >= 0.0, "{line}");
            assert_eq!(page.samples.insert(series.to_owned(), value), None, "{series} is there twice");
            page.names.insert(series.to_owned(), name.to_owned());
        }
    }
    page
}

fn check_name(name: &str, family: &str, kind: &str, exposition: Exposition) {
    let suffix = name.strip_prefix(family).unwrap_or_else(|| panic!("{name} stands in the family {family}"));
    let permitted: &[&str] = match (kind, exposition) {
        ("histogram", _) => &["_bucket", "_sum", "_count"],
        ("counter", Exposition::OpenMetrics) => &["_total"],
        ("counter" | "gauge", _) => &[""],
        _ => panic!("{kind}"),
    };
    assert!(permitted.contains(&suffix), "{name} in the {kind} {family}");
    assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
}

fn check_labels(labels: &str) {
    let mut rest = labels;
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").unwrap();
        assert!(name.chars().all(|c| c.is_ascii_lowercase()), "{labels}");
        let mut escaped = false;
        let end = value.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        rest = &value[end.unwrap() + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
}

fn prometheus(snapshot: &Snapshot, scope: Scope) -> String {
    metrics(snapshot, Exposition::Prometheus, scope)
}

#[test]
fn every_line_is_valid_in_both_formats() {
    for exposition in [Exposition::Prometheus, Exposition::OpenMetrics] {
        let text = metrics(&common::snapshot(), exposition, Scope::ALL);
        let page = read(&text, exposition);
        assert!(page.samples.len() > 500, "{}", page.samples.len());
        assert_eq!(text.ends_with("# EOF\n"), exposition == Exposition::OpenMetrics);
    }
}

#[test]
fn histograms_rise_to_their_count() {
    let page = read(&prometheus(&common::snapshot(), Scope::ALL), Exposition::Prometheus);
    let mut checked = 0;
    for (series, count) in page.samples.iter().filter(|(series, _)| page.names[*series].ends_with("_count")) {
        let (name, labels) = series.split_once("_count{").unwrap();
        let labels = labels.strip_suffix('}').unwrap();
        let bucket = |bound: &str| page.samples[&format!("{name}_bucket{{{labels},le=\"{bound}\"}}")];
        let bounds =
            ["0.0001", "0.00025", "0.001", "0.0025", "0.025", "0.1", "1", "2.5", "10", "100", "+Inf"];
        assert!(bounds.map(bucket).is_sorted(), "{series}");
        assert_eq!(bucket("+Inf"), *count, "{series}");
        assert!(page.samples.contains_key(&format!("{name}_sum{{{labels}}}")), "{series}");
        checked += 1;
    }
    // One of the listener, two of the pool, and three of each server with requests.
    assert_eq!(checked, 1 + 2 + 3 * 4);
    assert_eq!(
        page.samples["weir_listener_request_duration_seconds_bucket{listener=\"https\",le=\"0.001\"}"],
        5e6
    );
}

#[test]
fn values_are_in_base_units() {
    let page = read(&prometheus(&common::snapshot(), Scope::ALL), Exposition::Prometheus);
    let value = |series: &str| page.samples.get(series).copied();
    assert_eq!(value("weir_uptime_seconds"), Some(93_784.0));
    assert_eq!(value("process_start_time_seconds"), Some(1_795_157_117.838));
    assert_eq!(value("weir_build_info{version=\"0.1.0\"}"), Some(1.0));
    assert_eq!(value("weir_server_check_duration_seconds{pool=\"web\",server=\"w1\"}"), Some(0.001_87));
    assert_eq!(value("weir_server_downtime_seconds_total{pool=\"web\",server=\"w3\"}"), Some(754.0));
    assert_eq!(value("weir_pool_queue_seconds_sum{pool=\"web\"}"), Some(14.448));
    assert_eq!(value("weir_listener_responses_total{listener=\"https\",code=\"2xx\"}"), Some(11_500_000.0));
    assert_eq!(
        value("weir_listener_tls_handshakes_total{listener=\"https\",result=\"full\"}"),
        Some(280_000.0)
    );
}

#[test]
fn a_server_is_in_one_state_and_a_pool_counts_them() {
    let page = read(&prometheus(&common::snapshot(), Scope::ALL), Exposition::Prometheus);
    let of = |labels: &str| -> f64 {
        let states = page.samples.iter().filter(|(series, _)| series.starts_with(&format!("weir_{labels}")));
        states.map(|(_, value)| value).sum()
    };
    assert_eq!(of("server_state{pool=\"web\",server=\"w3\""), 1.0);
    assert_eq!(page.samples["weir_server_state{pool=\"web\",server=\"w3\",state=\"down\"}"], 1.0);
    assert_eq!(of("pool_servers{pool=\"web\""), 7.0);
    assert_eq!(page.samples["weir_pool_servers{pool=\"web\",state=\"up\"}"], 1.0);
    assert_eq!(of("pool_up{pool=\"web\""), 1.0);
    assert_eq!(of("pool_up{pool=\"mail\""), 0.0);
}

#[test]
fn a_fleet_tells_what_it_has_wants_and_has_done() {
    let page = read(&prometheus(&common::snapshot(), Scope::ALL), Exposition::Prometheus);
    let value = |series: &str| page.samples.get(series).copied();
    assert_eq!(value("weir_fleet_wanted_servers{fleet=\"front\"}"), Some(4.0));
    assert_eq!(value("weir_fleet_demand_servers{fleet=\"front\"}"), Some(3.25));
    assert_eq!(value("weir_fleet_servers{fleet=\"front\",state=\"coming\"}"), Some(1.0));
    assert_eq!(value("weir_fleet_actions_total{fleet=\"front\",action=\"create\"}"), Some(5.0));
    assert_eq!(value("weir_fleet_cut_requests_total{fleet=\"front\"}"), Some(1.0));
    assert_eq!(value("weir_fleet_start_up_seconds{fleet=\"front\"}"), Some(4.2));
}

#[test]
fn what_does_not_exist_has_no_sample() {
    let page = read(&prometheus(&common::snapshot(), Scope::ALL), Exposition::Prometheus);
    for series in [
        "weir_listener_connections_limit{listener=\"smtp\"}",
        "weir_server_check_passed{pool=\"web\",server=\"w6\"}",
        "weir_server_total_seconds_count{pool=\"web\",server=\"w3\"}",
        "weir_listener_tls_handshakes_total{listener=\"smtp\",result=\"full\"}",
    ] {
        assert!(!page.samples.contains_key(series), "{series}");
    }
}

#[test]
fn a_scope_leaves_the_rest_out() {
    let prefixes = |query: &str| -> BTreeSet<String> {
        let text = prometheus(&common::snapshot(), Scope::parse(query).unwrap());
        let page = read(&text, Exposition::Prometheus);
        page.kinds.keys().map(|name| name.split('_').take(2).collect::<Vec<_>>().join("_")).collect()
    };
    assert_eq!(prefixes("scope=pool"), BTreeSet::from(["weir_pool".to_owned()]));
    assert_eq!(prefixes("scope=fleet"), BTreeSet::from(["weir_fleet".to_owned()]));
    let two = BTreeSet::from(["weir_listener".to_owned(), "weir_server".to_owned()]);
    assert_eq!(prefixes("scope=listener,server"), two);
}

#[test]
fn a_name_cannot_leave_its_label() {
    let name = "a\"} 1\nweir_uptime_seconds 0\\".to_owned();
    let pool = PoolSnapshot { name, ..PoolSnapshot::default() };
    let snapshot = Snapshot { pools: vec![pool], ..Snapshot::default() };
    let text = prometheus(&snapshot, Scope::parse("scope=pool").unwrap());
    assert!(text.contains("weir_pool_up{pool=\"a\\\"} 1\\nweir_uptime_seconds 0\\\\\"} 0\n"), "{text}");
    read(&text, Exposition::Prometheus);
}

#[test]
fn the_names_are_these() {
    let text = prometheus(&common::snapshot(), Scope::ALL);
    let page = read(&text, Exposition::Prometheus);
    let names: Vec<_> = page.kinds.iter().map(|(name, kind)| format!("{kind} {name}")).collect();
    insta::assert_snapshot!(names.join("\n"));
}
