//! Tests the suggestions for typing errors: for every key and choice, and for values.

use super::every_key::tables;
use super::{complaints, with};
use crate::root::ROOT;
use crate::schema::{Kind, Section};
use crate::syntax::tree::{Text, Value};
use crate::values::suggest::{Meant, did_you_mean, for_key, for_value};

fn sections(section: &'static Section, found: &mut Vec<&'static Section>) {
    found.push(section);
    for key in section.keys {
        for inner in tables(key.kind) {
            sections(inner, found);
        }
    }
}

fn all() -> Vec<&'static Section> {
    let mut found = Vec::new();
    sections(&ROOT, &mut found);
    found
}

fn choices(kind: Kind) -> Vec<&'static [&'static str]> {
    match kind {
        Kind::Choice(names) => vec![names],
        Kind::OneOrMany(kind) | Kind::Map(_, kind) => choices(*kind),
        Kind::AnyOf(kinds) => kinds.iter().flat_map(|kind| choices(*kind)).collect(),
        _ => Vec::new(),
    }
}

fn text(text: &str) -> Value {
    Value::Text(Text { text: text.to_owned(), substituted: false })
}

#[test]
fn every_key_is_known_in_capitals_with_underscores_and_without_a_letter() {
    let mut tried = 0;
    for section in all() {
        for key in section.keys {
            for wrong in [key.name.to_uppercase(), key.name.replace('-', "_")] {
                if section.key(&wrong).is_none() {
                    let meant = for_key(Some(&ROOT), section, &wrong);
                    let is_it = matches!(meant, Some(Meant::Key(name)) if name == key.name);
                    assert!(is_it, "{}: {wrong}", section.title);
                    tried += 1;
                }
            }
            let mut wrong = key.name.to_owned();
            if wrong.len() >= 6 {
                wrong.remove(2);
                let meant = for_key(Some(&ROOT), section, &wrong);
                let is_one = matches!(meant, Some(Meant::Key(_)));
                assert!(is_one || section.key(&wrong).is_some(), "{}: {wrong}", section.title);
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn every_choice_is_known_in_capitals() {
    let mut tried = 0;
    for names in all().iter().flat_map(|section| section.keys).flat_map(|key| choices(key.kind)) {
        for name in names {
            let wrong = name.to_uppercase();
            if wrong != *name {
                let help = for_value(Kind::Choice(names), &text(&wrong));
                assert_eq!(help, Some(did_you_mean(name)), "{wrong}");
                tried += 1;
            }
        }
    }
    assert!(tried > 50, "{tried}");
}

#[test]
fn what_others_call_an_algorithm_and_what_it_is_mistyped_for_leads_to_ours() {
    for (wrong, ours) in [
        ("leastconn", "least-connections"),
        ("LEAST_CONN", "least-connections"),
        ("least-conections", "least-connections"),
        ("roundrobin", "round-robin"),
        ("round robin", "round-robin"),
        ("weighted_round_robin", "round-robin"),
        ("ip_hash", "nginx-ip-hash"),
        ("RING_HASH", "ring"),
        ("magelv", "maglev"),
        ("p2c", "random"),
        ("twos", "ipvs-twos"),
        ("ewma", "peak-ewma"),
        ("uri", "hash"),
    ] {
        let config = with("").replace("[pool.web]", &format!("[pool.web]\nbalance = \"{wrong}\""));
        let shown = complaints(&config);
        assert!(shown.contains(&did_you_mean(ours)), "{wrong}: {shown}");
    }
}

#[test]
fn the_key_of_haproxys_servers_for_their_queues_leads_to_that_of_a_pools_queue() {
    let shown = complaints(&with("[pool.web.queue]\nmaxqueue = 5\n"));
    assert!(shown.contains(&did_you_mean("max-per-server")), "{shown}");
}

#[test]
fn a_key_behind_the_heading_of_a_table_below_is_told_where_it_belongs() {
    let shown = complaints(&with("[pool.web.timeouts]\nconnect = \"1s\"\nbalance = \"first\"\n"));
    let expected = "\"balance\" is a key of [pool.NAME]: write it above this table";
    assert!(shown.contains(expected), "{shown}");
    let shown = complaints(&with("[listener.web.forwarded.request-id]\nmax-connections = 5\n"));
    let expected = "\"max-connections\" is a key of [listener.NAME]: write it above this table";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn values_that_are_nearly_right_are_told_how_they_are_written() {
    for (more, help) in [
        ("[listener.web.timeouts]\nhead = \"1.5s\"", "write \"1500ms\""),
        ("[listener.web.timeouts]\nhead = \"5S\"", "write \"5s\""),
        ("[listener.web.timeouts]\nhead = 0.5", "write \"500ms\""),
        ("[listener.web.timeouts]\nmin-body-rate = \"1KiB\"", "write \"1KiB/s\""),
        ("[pool.web.retry]\nbudget = 0.2", "write \"20%\""),
        ("[pool.web.retry]\nbudget = \"20\"", "write \"20%\""),
        ("[pool.b]\nservers = \"b:1\"\ncheck = \"TCP\"", "did you mean \"tcp\"?"),
        ("[pool.b]\nservers = \"b:1\"\ncheck = \"health\"", "write \"GET /health\""),
        ("[pool.b]\nservers = \"b:1\"\ncheck = \"HEAD\"", "write \"HEAD /\""),
        ("[pool.b]\nservers = \"b:1\"\ncheck = \"http\"", "write \"GET /\""),
        (
            "[pool.b]\nservers = \"b:1\"\ncheck = { http = \"/\", expect = { status = \"2xx\" } }",
            "write \"200-299\"",
        ),
        (
            "[pool.b]\nservers = \"b:1\"\nbalance = { algorithm = \"hash\", key = \"haeder X-Tenant\" }",
            "did you mean \"header NAME\"?",
        ),
        ("[access-log]\nto = \"stdot\"", "did you mean \"stdout\"?"),
        ("[access-log]\nformat = \"JSON\"", "did you mean \"json\"?"),
    ] {
        let shown = complaints(&with(more));
        assert!(shown.contains(&format!("= help: {help}")), "{more}: {shown}");
    }
}

#[test]
fn nothing_is_suggested_that_would_be_wrong_as_well() {
    let kind = Kind::Duration { min_ms: 1_000, max_ms: 60_000 };
    assert_eq!(for_value(kind, &Value::Integer(Some(10))), Some("write \"10s\"".to_owned()));
    for wrong in [Value::Integer(Some(0)), Value::Integer(Some(61)), text("31d"), text("2min")] {
        assert_eq!(for_value(kind, &wrong), None, "{wrong}");
    }
    let kind = Kind::Percent { min: 0, max: 100 };
    assert_eq!(for_value(kind, &Value::Integer(Some(200))), None);
}
