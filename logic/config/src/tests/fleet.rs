//! Tests fleets: their settings, and the messages about mistakes.

use std::path::Path;

use super::{complaints, load_text};
use crate::plan::{FleetBalancer, FleetProvider, HistoryForm, LeaseStoreKind};
use crate::print;

/// Returns a config with a checked pool, and `more`.
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
fn a_flavour_that_the_fleet_makes_itself_is_no_other_one() {
    let complaints = complaints(&with(
        "[fleet.web]\npool = \"web\"\nmax = 5\ncapacity = 10\nport = 80\n\
         flavours = { small = 5, \"a b\" = 3, large = 40 }\n\
         openstack = { image = \"web\", flavor = \"small\" }\n",
    ));
    for why in ["small is what the fleet makes: capacity says what it can do", "' ' cannot stand in a name"] {
        assert!(complaints.contains(why), "{complaints}");
    }
    assert!(!complaints.contains("large is"), "{complaints}");
}

#[test]
fn flavours_that_nobody_tells_and_capacities_that_nobody_can_find_out_are_refused() {
    let fleet = |rest: &str| {
        complaints(&with(&format!(
            "[fleet.web]\nmax = 5\ncapacity = 10\nflavours = {{ large = \"auto\" }}\n{rest}\n"
        )))
    };
    for provider in ["process = { command = [\"x\", \"{port}\"] }", "kubernetes = { deployment = \"web\" }"] {
        let told = fleet(&format!("pool = \"web\"\n{provider}"));
        assert!(told.contains("only openstack and exec tell the flavour of a server"), "{told}");
    }
    let told = fleet("haproxy = { socket = \"/run/h.sock\", backend = \"web\" }\nexec = { command = \"x\" }");
    assert!(told.contains("large: cannot be found out from HAProxy's statistics: give a number"), "{told}");
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

/// Returns a config of a fleet with this lease.
fn with_lease(lease: &str) -> String {
    with(&format!(
        "[fleet.web]\npool = \"web\"\nmax = 5\ncapacity = 10\nexec = {{ command = \"x\" }}\nlease = {lease}\n"
    ))
}

#[test]
fn a_lease_is_a_file_or_a_key_in_a_store() {
    let lease = |text: &str| {
        let text = with_lease(text);
        super::print::assert_round_trip(&text);
        let loaded = load_text(&text).unwrap_or_else(|errors| panic!("{}", errors[0]));
        loaded.plan.fleets[0].lease.clone()
    };
    assert_eq!(lease("\"/run/fleet.lease\"").file(), Some(Path::new("/run/fleet.lease")));
    let redis = lease("{ redis = \"redis.internal:6379\", tls = true }");
    let store = redis.store().unwrap();
    assert_eq!((store.kind, store.key.as_str()), (LeaseStoreKind::Redis, "weir/fleet/web"));
    assert_eq!(
        (store.lasts.to_string().as_str(), store.tls.as_ref().map(|tls| tls.verify)),
        ("10s", Some(true))
    );
    let etcd = lease("{ etcd = [\"10.0.0.1:2379\", \"10.0.0.2:2379\"], lasts = \"30s\" }");
    assert_eq!(etcd.store().unwrap().addresses.len(), 2);
}

#[test]
fn what_is_wrong_with_a_lease_in_a_store_is_shown() {
    for (lease, why) in [
        ("{ lasts = \"5s\" }", "fleet web: lease: one of redis, etcd is missing"),
        ("{ redis = \"10.0.0.1:6379\", etcd = \"10.0.0.1:2379\" }", "only one of redis, etcd can be there"),
        ("{ redis = \"10.0.0.1\" }", "fleet web: lease.redis: "),
        ("{ etcd = [] }", "expected at least one address"),
        ("{ etcd = \"unix:/run/etcd\" }", "an etcd is asked over TCP: give host and port"),
        ("{ redis = \"a:1\", lasts = \"1s\" }", "lease.lasts"),
        ("{ redis = \"a:1\", key = \"a b\" }", "\"a b\" cannot be a key"),
        ("{ redis = \"a:1\", username = \"weir\" }", "there is no password for it"),
        ("{ etcd = \"a:1\", password-env = \"PASSWORD\" }", "missing: etcd wants a name with the password"),
        (
            "{ redis = \"a:1\", password-env = \"A\", password-file = \"/b\" }",
            "password-file says where the secret is already",
        ),
    ] {
        let said = complaints(&with_lease(lease));
        assert!(said.contains(why), "{lease}: {said}");
    }
}

#[test]
fn fleets_that_share_a_key_in_a_store_are_refused() {
    let config = format!(
        "{}\n[pool.other]\ncheck = \"tcp\"\n\n[listener.other]\nbind = \":81\"\npool = \"other\"\n\n\
         [fleet.other]\npool = \"other\"\nmax = 5\ncapacity = 10\nexec = {{ command = \"x\" }}\n\
         lease = {{ etcd = [\"b:2379\", \"c:2379\"], key = \"shop\" }}\n",
        with_lease("{ etcd = [\"a:2379\", \"b:2379\"], key = \"shop\" }")
    );
    assert!(complaints(&config).contains("fleet other: fleet web has the key shop there already"));
    assert!(
        load_text(&config.replace("\"c:2379\"], key = \"shop\"", "\"c:2379\"], key = \"shop/other\""))
            .is_ok()
    );
}

#[test]
fn a_history_is_a_database_if_its_name_says_so() {
    let history = |value: &str| {
        let text = with(&format!(
            "[fleet.web]\npool = \"web\"\nmax = 5\ncapacity = 10\nexec = {{ command = \"x\" }}\nhistory = {value}\n"
        ));
        load_text(&text).map(|loaded| {
            let files = loaded.plan.fleets[0].history.iter();
            files.map(|history| (history.file.display().to_string(), history.form)).collect::<Vec<_>>()
        })
    };
    let files = history(r#"["/a/b.csv", "/a/b.SQLite", "/a.db/b", "/a/b.db"]"#).unwrap();
    let forms: Vec<HistoryForm> = files.iter().map(|(_, form)| *form).collect();
    assert_eq!(forms, [HistoryForm::Csv, HistoryForm::Sqlite, HistoryForm::Csv, HistoryForm::Sqlite]);
    assert_eq!(history("\"/a/b.sqlite3\"").unwrap(), [("/a/b.sqlite3".to_owned(), HistoryForm::Sqlite)]);
    assert_eq!(history("false").unwrap(), []);
    for (value, why) in [
        (r#"["/a", "b.db"]"#, "\"b.db\" does not begin with a /"),
        (r#"["/a", "/a"]"#, "\"/a\" is there twice"),
    ] {
        let errors = history(value).unwrap_err();
        assert!(errors[0].to_string().contains(why), "{}", errors[0]);
    }
}

/// Returns the config of a fleet in a HAProxy with this template.
fn with_template(name: &str, template: &str) -> String {
    format!(
        "[fleet.{name}]\nhaproxy = {{ socket = \"/run/h.sock\", backend = \"{name}\", template = {template} }}\n\
         max = 5\ncapacity = 10\nexec = {{ command = \"x\" }}\n"
    )
}

#[test]
fn a_haproxy_with_a_template_is_validated_and_reloaded_by_the_usual_commands() {
    let text = with_template("web", r#"{ file = "/etc/h.in", config = "/etc/h.cfg" }"#);
    let loaded = load_text(&text).unwrap();
    let FleetBalancer::Haproxy(haproxy) = &loaded.plan.fleets[0].balancer else { panic!("a HAProxy") };
    let template = haproxy.template.as_ref().unwrap();
    assert_eq!(template.validate, ["haproxy", "-c", "-f", "{file}"]);
    assert_eq!(template.reload, ["systemctl", "reload", "haproxy"]);
    super::print::assert_round_trip(&text);
}

#[test]
fn what_is_wrong_with_a_template_for_haproxy_is_told() {
    for (template, why) in [
        (r#"{ config = "/etc/h.cfg" }"#, "file is missing"),
        (r#"{ file = "/etc/h.in", config = "h.cfg" }"#, "\"h.cfg\" does not begin with a /"),
        (r#"{ file = "/etc/h.cfg", config = "/etc/h.cfg" }"#, "the template would be written over"),
        (r#"{ file = "/a", config = "/b", validate = "haproxy" }"#, "nothing would be validated"),
        (r#"{ file = "/a", config = "/b", reload = [] }"#, "there is no program"),
    ] {
        let told = complaints(&with_template("web", template));
        assert!(told.contains(why), "{template}: {told}");
    }
    let template = r#"{ file = "/etc/h.in", config = "/etc/h.cfg" }"#;
    let two = complaints(&(with_template("a", template) + &with_template("b", template)));
    assert!(two.contains("fleet a has this configuration of HAProxy already"), "{two}");
}
