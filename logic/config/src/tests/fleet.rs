//! Fleets: what the config says of them, and what people read when it is wrong.

use super::{complaints, load_text};
use crate::plan::FleetProvider;
use crate::print;

/// A config with a pool that is checked, and more.
fn with(more: &str) -> String {
    format!("[listener.web]\nbind = \":80\"\npool = \"web\"\n\n[pool.web]\ncheck = \"GET /health\"\n\n{more}")
}

#[test]
fn a_small_fleet_gets_every_default() {
    let text = with("[fleet.web]\npool = \"web\"\nmax = 5\ncapacity = 10\nprocess = { command = \"app\" }\n");
    let loaded = load_text(&text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let printed = print(&loaded.plan);
    let (_, fleet) = printed.split_once("[fleet.web]").unwrap();
    insta::assert_snapshot!(fleet);
    assert_eq!(loaded.warnings, []);
}

#[test]
fn what_is_wrong_with_fleets_is_shown_at_once() {
    insta::assert_snapshot!(complaints(&with(
        r#"
[pool.bare]
servers = "10.0.0.1:80"

[listener.bare]
bind = ":81"
pool = "bare"

[fleet.a]
pool = "web"
min = 5
max = 3
capacity = 0
port = 80
process = { command = [], ports = "9-1", environment = { "A=B" = "c" } }

[fleet.b]
pool = "wep"
max = 3
capacity = { initial = 5, least = 10 }
openstack = { flavor = "small", tags = "a,b" }

[fleet.c]
pool = "bare"
max = 3
capacity = "much"
exec = { command = "x" }
openstack = { image = "x", flavor = "y" }

[fleet.d]
pool = "bare"
max = 3
capacity = 1
exec = { command = "x" }
directory = "relative"
interval = "1m"
signals = [{ kind = "latency" }, { kind = "cpu" }, { kind = "power", per-server = 1 }]

[fleet.e]
max = 3
capacity = 1

[fleet.f]
haproxy = { socket = "admin.sock", backend = "a;b", server = "inter 1s" }
exec = { command = "x" }
max = 3
capacity = "auto"
signals = { kind = "latency", per-server = 1 }
"#
    )));
}

#[test]
fn what_is_wrong_with_a_fleet_of_pods_is_shown() {
    insta::assert_snapshot!(complaints(&with(
        r#"
[fleet.web]
pool = "web"
max = 3
capacity = 1
standby = 1
goes-first = "oldest"
kubernetes = { statefulset = "Web_1", service = "web/x" }

[pool.other]
check = "GET /health"

[listener.other]
bind = ":81"
pool = "other"

[fleet.other]
pool = "other"
max = 3
capacity = 1
kubernetes = { deployment = "web", statefulset = "web" }
"#
    )));
}

#[test]
fn a_fleet_of_pods_keeps_none_in_reserve_and_lets_the_last_of_a_stateful_set_go() {
    let text = with(
        "[fleet.web]\npool = \"web\"\nmax = 5\ncapacity = 10\nkubernetes = { statefulset = \"web\", service = \"web\" }\n",
    );
    let loaded = load_text(&text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    let rules = &loaded.plan.fleets[0].rules;
    assert_eq!((rules.standby.keep, rules.leaver), (0, weir_scale::Leaver::Last));
    super::print::assert_round_trip(&text);
}

#[test]
fn fleets_that_share_a_pool_or_a_directory_are_refused() {
    insta::assert_snapshot!(complaints(&with(
        r#"
[fleet.a]
pool = "web"
max = 3
capacity = 1
exec = { command = "x" }
directory = "/srv/fleet"

[fleet.b]
pool = "web"
max = 3
capacity = 1
exec = { command = "x" }
directory = "/srv/fleet"
"#
    )));
}

#[test]
fn fleets_that_share_a_lease_or_a_history_are_refused() {
    insta::assert_snapshot!(complaints(&with(
        r#"
[pool.other]
check = "GET /health"

[listener.other]
bind = ":81"
pool = "other"

[fleet.a]
pool = "web"
max = 3
capacity = 1
exec = { command = "x" }
lease = "/run/fleet.lease"
history = "/var/log/fleet.csv"

[fleet.b]
pool = "other"
max = 3
capacity = 1
exec = { command = "x" }
lease = "/run/fleet.lease"
history = "/var/log/fleet.csv"
"#
    )));
}

#[test]
fn the_load_of_processors_needs_somebody_who_tells_it() {
    let fleet = |agent: &str| {
        with(&format!(
            "{agent}\n[fleet.web]\npool = \"web\"\nmax = 5\ncapacity = 10\nsignals = {{ kind = \"cpu\", per-server = 0.7 }}\n\
             exec = {{ command = \"x\" }}\n"
        ))
    };
    assert!(complaints(&fleet("")).contains("pool web has no agent: nobody tells how busy processors are"));
    assert!(load_text(&fleet("agent = { port = 9999 }")).is_ok());
}

#[test]
fn the_plan_of_a_fleet_can_be_read_by_programs() {
    let loaded = load_text(include_str!("every_key.toml")).unwrap();
    let json = serde_json::to_value(&loaded.plan).unwrap();
    assert_eq!(json["fleets"][0]["rules"]["policy"][1]["utilisation"], "80%");
    assert_eq!(json["fleets"][3]["provider"]["openstack"]["flavor"], "m1.small");
    assert!(matches!(loaded.plan.fleets[1].provider, FleetProvider::Exec(_)));
}

#[test]
fn a_fleet_that_a_haproxy_balances_needs_neither_listener_nor_pool() {
    let text = "[fleet.web]\nhaproxy = { socket = \"/run/haproxy.sock\", backend = \"web\" }\nmax = 5\ncapacity = 10\nexec = { command = \"x\" }\n";
    let loaded = load_text(text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    assert_eq!((loaded.plan.listeners.len(), loaded.plan.fleets[0].pool()), (0, None));
    super::print::assert_round_trip(text);
}
