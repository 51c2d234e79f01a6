//! Tests that the diff of two plans turns the first into the second.

use std::fmt::Write;

use proptest::prelude::*;

use super::load_text;
use crate::Plan;
use crate::diff::{Change, apply, diff};

const BASE: &str = "[listener.web]\nbind = ':80'\npool = 'web'\n[pool.web]\nservers = [{ name = 'a', address = 'a:1' }, { name = 'b', address = 'b:1' }]\n[pool.api]\nservers = 'c:1'\n[[route]]\npath = '/api'\npool = 'api'\n";

fn plan(text: &str) -> Plan {
    load_text(text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0])).plan
}

fn changes(new: &str) -> Vec<String> {
    let (old, new) = (plan(BASE), plan(new));
    let changes = diff(&old, &new);
    assert_eq!(apply(&old, &changes), new);
    changes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_plan_does_not_differ_from_itself() {
    assert_eq!(changes(BASE), Vec::<String>::new());
}

#[test]
fn servers_are_told_apart_by_name() {
    let new = BASE.replace(
        "{ name = 'a', address = 'a:1' }",
        "{ name = 'a', address = 'a:2' }, { name = 'd', address = 'd:1' }",
    );
    assert_eq!(
        changes(&new),
        ["pool web, server a changed", "pool web, server d added", "pool web: order of servers changed"]
    );
    let new = BASE.replace("{ name = 'a', address = 'a:1' }, ", "");
    assert_eq!(changes(&new), ["pool web, server a removed"]);
}

#[test]
fn a_pool_that_moves_in_the_file_changes_no_listener() {
    let (start, pools) = BASE.split_once("[pool.web]").unwrap();
    let (web, rest) = pools.split_once("[pool.api]").unwrap();
    let (api, route) = rest.split_once("[[route]]").unwrap();
    let new = format!("{start}[pool.api]{api}[pool.web]{web}[[route]]{route}");
    assert_eq!(changes(&new), ["order of pools changed"]);
    let moved = diff(&plan(BASE), &plan(&new));
    assert!(!moved[0].matters());
}

#[test]
fn a_comment_moves_routes_but_matters_to_nobody() {
    let new = BASE.replace("[[route]]", "# a comment\n[[route]]");
    assert_eq!(changes(&new), ["listener web: places of routes changed"]);
    assert!(!diff(&plan(BASE), &plan(&new))[0].matters());
}

#[test]
fn the_parts_that_changed_are_named() {
    let new = BASE
        .replace("bind = ':80'", "bind = ':81'\ntimeouts = { head = '1s' }")
        .replace("servers = 'c:1'", "servers = 'c:1'\nbalance = 'random'\nretry = false")
        .replace("path = '/api'", "path = '/v1'");
    assert_eq!(
        changes(&new),
        ["pool api: balance, retry changed", "listener web: bind, routes, timeouts changed"]
    );
}

#[test]
fn a_key_that_did_not_change_is_not_named_beside_one_of_its_kind() {
    let listener = |keys: &str| BASE.replace("bind = ':80'", &format!("bind = ':80'\n{keys}"));
    let pool = |keys: &str| BASE.replace("servers = 'c:1'", &format!("servers = 'c:1'\n{keys}"));
    for (new, told) in [
        (listener("max-connections-per-client = 5"), "listener web: max-connections-per-client changed"),
        (listener("max-connections = 5"), "listener web: max-connections changed"),
        (pool("min-healthy = '50%'"), "pool api: min-healthy changed"),
        (pool("subset = { size = 1, instance = 0, instances = 2 }"), "pool api: subset changed"),
        (pool("zone = 'a'"), "pool api: zone changed"),
    ] {
        let changes = diff(&plan(BASE), &plan(&new)).into_iter().filter(Change::matters);
        assert_eq!(changes.map(|change| change.to_string()).collect::<Vec<_>>(), [told]);
    }
    let tcp = |keys: &str| format!("{BASE}[listener.raw]\nbind = ':90'\nmode = 'tcp'\n{keys}");
    let named = "sni = [{ host = 'a.example', pool = 'web' }]";
    let between = |old: &str, new: &str| -> Vec<String> {
        diff(&plan(&tcp(old)), &plan(&tcp(new))).iter().map(ToString::to_string).collect()
    };
    assert_eq!(between("pool = 'web'", "pool = 'api'"), ["listener raw: pool changed"]);
    assert_eq!(between("pool = 'web'", &format!("pool = 'web'\n{named}")), ["listener raw: sni changed"]);
}

#[test]
fn what_only_a_restart_can_change_is_named() {
    let new = format!("{BASE}[weir]\nworkers = 3\ndrain-timeout = '1s'\n");
    assert_eq!(changes(&new), ["[weir] changed; weir.workers only by a restart"]);
    assert_eq!(diff(&plan(BASE), &plan(&new))[0].needs_restart(), ["weir.workers"]);
    let new = format!("{BASE}[admin]\nbind = ':9'\n");
    assert_eq!(diff(&plan(BASE), &plan(&new))[0].needs_restart(), ["admin.bind"]);
    let new = format!("{BASE}[weir]\ndrain-timeout = '1s'\n");
    assert_eq!(changes(&new), ["[weir] changed"]);
}

/// Returns small configs with the same few names, so that two of them have some things in common.
fn config() -> impl Strategy<Value = String> {
    let names = || prop::sample::subsequence(vec!["a", "b", "c", "d"], 1..=4).prop_shuffle();
    let server = (prop::sample::select(vec![1, 2, 3]), any::<bool>());
    let pool = (names(), prop::collection::vec(server, 4), 0..4_u8);
    let pools = (names(), prop::collection::vec(pool, 4));
    let routes = prop::collection::vec(
        (prop::sample::select(vec!["/x", "/y", "/z"]), any::<prop::sample::Index>()),
        0..4,
    );
    let listener = (any::<prop::sample::Index>(), routes, 0..5_u8);
    let listeners = (names(), prop::collection::vec(listener, 4));
    (pools, listeners, 0..4_u8).prop_map(|(pools, listeners, process)| written(&pools, &listeners, process))
}

type Pools = (Vec<&'static str>, Vec<(Vec<&'static str>, Vec<(u16, bool)>, u8)>);
type Listeners =
    (Vec<&'static str>, Vec<(prop::sample::Index, Vec<(&'static str, prop::sample::Index)>, u8)>);

fn written(pools: &Pools, listeners: &Listeners, process: u8) -> String {
    let mut text = String::new();
    for (pool, (servers, details, kind)) in pools.0.iter().zip(&pools.1) {
        let servers: Vec<_> = servers
            .iter()
            .zip(details)
            .map(|(name, (port, backup))| {
                format!("{{ name = '{name}', address = '{name}:{port}', backup = {backup} }}")
            })
            .collect();
        let check = ["", "check = 'tcp'", "check = 'GET /'\nreuse = false", "tls = true"][usize::from(*kind)];
        writeln!(text, "[pool.{pool}]\nservers = [{}]\n{check}", servers.join(", ")).unwrap();
    }
    for (port, (listener, (pool, routes, kind))) in listeners.0.iter().zip(&listeners.1).enumerate() {
        let pool = pool.get(&pools.0);
        let more =
            ["", "backlog = 5", "limits = { headers = 5 }", "tls = { certificates = 'x' }", "mode = 'tcp'"]
                [usize::from(*kind)];
        writeln!(text, "[listener.{listener}]\nbind = ':{}'\npool = '{pool}'\n{more}", port + 1).unwrap();
        let mut paths = Vec::new();
        for (path, pool) in routes {
            if *kind == 4 || paths.contains(path) {
                continue;
            }
            paths.push(path);
            let pool = pool.get(&pools.0);
            writeln!(text, "[[route]]\nlistener = '{listener}'\npath = '{path}'\npool = '{pool}'").unwrap();
        }
    }
    let more = [
        "",
        "[weir]\nworkers = 1",
        "[admin]\n[access-log]",
        "[resolver]\ntimeout = '1s'\n[error-page.500]\nbody = 'x'",
    ];
    text + more[usize::from(process)]
}

proptest! {
    #[test]
    fn the_changes_between_two_plans_make_the_second_of_the_first(old in config(), new in config()) {
        let (old, new) = (plan(&old), plan(&new));
        let changes = diff(&old, &new);
        prop_assert_eq!(apply(&old, &changes), new.clone());
        prop_assert_eq!(changes.is_empty(), old == new);
        prop_assert!(diff(&new, &new).is_empty());
    }

    #[test]
    fn any_printed_plan_loads_to_itself(text in config()) {
        super::print::assert_round_trip(&text);
    }
}
