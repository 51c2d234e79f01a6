//! Tests of reloads.

use std::fs;
use std::sync::Arc;

use weir_control::RuntimeState;
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

use super::rig::{Rig, plan, whole_plan};
use crate::state::Endpoint;

const TWO: &str = "[pool.web]\nservers = [
    { name = \"a\", address = \"127.0.0.1:1\" },
    { name = \"b\", address = \"127.0.0.1:2\" },
]";

fn two() -> Rig {
    Rig::still(plan(TWO), RuntimeState::default())
}

fn with_listeners(listeners: &str, pools: &str) -> weir_config::Plan {
    whole_plan(&format!("[weir]\ncontrol = false\nstate = false\n{listeners}\n{pools}"))
}

#[tokio::test]
async fn an_unchanged_config_changes_nothing_that_workers_hold() {
    let rig = two();
    let (pool, generation) = (rig.pool("web"), rig.pool("web").generation());
    let counters = Arc::clone(&rig.shared.live().listeners[0].counters);
    assert!(rig.reload(plan(TWO)).await.is_empty());
    assert!(Arc::ptr_eq(&rig.pool("web"), &pool));
    assert_eq!(rig.pool("web").generation(), generation);
    assert!(Arc::ptr_eq(&rig.shared.live().listeners[0].counters, &counters));
    assert_eq!(rig.snapshot().process.reloads, 1);
}

#[tokio::test]
async fn servers_keep_what_is_known_of_them_whatever_changes_around_them() {
    let rig = two();
    let (a, b) = (rig.server("a"), rig.server("b"));
    let version = b.endpoint_version();
    a.counters.of(0).requests.add(3);
    rig.reload(plan(
        "[pool.web]\nbalance = \"round-robin\"\nservers = [
            { name = \"new\", address = \"127.0.0.1:9\" },
            { name = \"b\", address = \"127.0.0.1:2\", weight = 5 },
            { name = \"a\", address = \"127.0.0.1:7\" },
        ]",
    ))
    .await;
    let (a2, b2) = (rig.server("a"), rig.server("b"));
    assert!(Arc::ptr_eq(&a, &a2) && Arc::ptr_eq(&b, &b2));
    assert_eq!(*a2.endpoint(), Endpoint::Inet(vec!["127.0.0.1:7".parse().unwrap()]));
    assert_eq!(b2.endpoint_version(), version, "its idle connections stay good");
    assert_eq!(rig.pool("web").view().roster.candidate(b2.slot).unwrap().weight.get(), 5);
    let order: Vec<_> = rig.snapshot().pools[0].servers.iter().map(|server| server.name.clone()).collect();
    assert_eq!(order, ["new", "b", "a"]);
    assert_eq!(rig.shown("a").traffic.requests_total, 3);
}

#[tokio::test]
async fn a_changed_pool_keeps_its_counters_and_queue_and_those_who_still_hold_the_old_one_see_its_servers_go()
{
    let rig = two();
    let before = rig.pool("web");
    before.counters.of(0).requests.add(4);
    rig.reload(plan(&TWO.replace("[pool.web]", "[pool.web]\ntimeouts = { response = \"7s\" }"))).await;
    let after = rig.pool("web");
    assert!(!Arc::ptr_eq(&before, &after));
    assert!(Arc::ptr_eq(&before.counters, &after.counters) && Arc::ptr_eq(&before.queue, &after.queue));
    assert_eq!(after.plan.timeouts.response.0, 7_000);
    rig.done(r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#).await;
    assert_eq!(before.view().roster.members(), [1]);
    assert_eq!(after.view().roster.members(), [1]);
}

#[tokio::test]
async fn what_was_changed_at_runtime_outlives_a_reload_until_its_object_is_gone() {
    let rig = two();
    rig.done(r#"{"server-weight": {"pool": "web", "server": "b", "weight": 9}}"#).await;
    rig.done(r#"{"add-server": {"pool": "web", "server": {"name": "new", "address": "127.0.0.1:9"}}}"#).await;
    assert!(rig.reload(plan(TWO)).await.is_empty());
    assert_eq!(rig.rotation(), ["a", "b", "new"]);
    assert_eq!(rig.shown("b").weight, 9);
    let notes = rig.reload(plan("[pool.web]\nservers = { name = \"a\", address = \"127.0.0.1:1\" }")).await;
    assert_eq!(
        notes,
        ["pool web, server b: the runtime change is dropped: the config has no such server any more"]
    );
    assert_eq!(rig.rotation(), ["a", "new"]);
    assert_eq!(rig.snapshot().process.runtime_changes, 1);
}

#[tokio::test]
async fn one_bad_file_refuses_all_and_every_problem_is_told() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("missing.pem").display().to_string();
    let rig = two();
    let live = rig.shared.live();
    let bad = with_listeners(
        &format!(
            "[listener.web]\nbind = \":80\"\npool = \"web\"\n[listener.web.tls]\ncertificates = {{ certificate = \"{missing}\", key = \"{missing}\" }}"
        ),
        &format!("{TWO}\n[pool.web.tls]\nca = \"{missing}\"\n[pool.other]\nservers = \"127.0.0.1:5\""),
    );
    let error = rig.controller.prepare_reload(bad).await.unwrap_err();
    let not_found = "No such file or directory (os error 2)";
    assert_eq!(
        error.problems(),
        [
            format!("listener web: certificate {missing}: {not_found}"),
            format!("pool web: authorities {missing}: {not_found}"),
        ]
    );
    assert!(Arc::ptr_eq(&rig.shared.live(), &live));
    rig.controller.reload_failed(&error.to_string());
    let process = rig.snapshot().process;
    assert_eq!((process.reloads, process.reloads_failed), (0, 1));
    assert_eq!(process.reload_error, Some(error.to_string()));
    rig.reload(plan(TWO)).await;
    assert_eq!(rig.snapshot().process.reload_error, None);
}

#[tokio::test]
async fn tls_towards_servers_is_set_up_anew_only_if_its_files_have_changed() {
    let directory = TempDir::new().unwrap();
    let ca = directory.path().join("ca.pem");
    fs::write(&ca, Authority::new("first").pem()).unwrap();
    let config = plan(&format!("{TWO}\n[pool.web.tls]\nca = \"{}\"", ca.display()));
    let rig = Rig::still(config.clone(), RuntimeState::default());
    let (pool, connector) = (rig.pool("web"), rig.server("a").connector().unwrap());
    rig.reload(config.clone()).await;
    assert!(Arc::ptr_eq(&rig.pool("web"), &pool));
    assert!(Arc::ptr_eq(&rig.server("a").connector().unwrap(), &connector));

    fs::write(&ca, Authority::new("second").pem()).unwrap();
    let version = rig.server("a").endpoint_version();
    rig.reload(config).await;
    assert!(!Arc::ptr_eq(&rig.server("a").connector().unwrap(), &connector));
    assert_ne!(
        rig.server("a").endpoint_version(),
        version,
        "what was verified by the old rules is not used again"
    );

    rig.reload(plan(TWO)).await;
    assert!(rig.server("a").connector().is_none());
}

#[tokio::test]
async fn a_listener_that_is_taken_away_is_shown_until_its_last_connection_ends_and_its_counts_stay() {
    let both = with_listeners(
        "[listener.web]\nbind = \":80\"\npool = \"web\"\n[listener.old]\nbind = \":81\"\npool = \"web\"",
        TWO,
    );
    let rig = Rig::still(both.clone(), RuntimeState::default());
    let old = Arc::clone(&rig.shared.live().listeners[1]);
    old.counters.of(0).connections.add(5);
    old.counters.of(0).requests.add(50);
    assert!(old.open.enter(None));
    rig.reload(plan(TWO)).await;
    let snapshot = rig.snapshot();
    assert_eq!(
        snapshot.listeners.iter().map(|one| one.status.name()).collect::<Vec<_>>(),
        ["open", "closing"]
    );
    old.counters.of(1).requests.one();
    old.open.leave();
    assert_eq!(rig.snapshot().listeners.len(), 1);
    assert_eq!(rig.snapshot().process.requests_total, 51);
    // The last reference is gone: the listener is released and its counts are kept.
    drop(old);
    rig.controller.read_totals(tokio::time::Instant::now());
    assert_eq!((rig.snapshot().process.connections_total, rig.snapshot().process.requests_total), (5, 51));
    rig.reload(both).await;
    assert_eq!(rig.snapshot().listeners[1].requests_total, 0, "a new one");
    assert_eq!(rig.snapshot().process.requests_total, 51);
}

#[tokio::test]
async fn settings_that_wait_for_a_restart_are_named() {
    let rig = two();
    let next = whole_plan(&format!(
        "[weir]\ncontrol = false\nstate = false\nworkers = 7\nmax-connections = 99\nnode = \"two\"\n[admin]\nbind = \"127.0.0.1:1\"\n\
         [listener.web]\nbind = \":8080\"\npool = \"web\"\n{TWO}"
    ));
    assert_eq!(
        rig.reload(next.clone()).await,
        [
            "weir.workers: the change takes effect after a restart",
            "weir.max-connections: the change takes effect after a restart",
            "weir.node: the change takes effect after a restart",
            "admin.bind: the change takes effect after a restart",
        ]
    );
    assert!(rig.reload(next).await.is_empty());
}

#[tokio::test]
async fn ten_thousand_servers_are_taken_over_in_one_go() {
    let config = |from: usize| {
        let server = |n: usize| {
            format!("{{ name = \"s{n}\", address = \"10.{}.{}.{}:80\" }}", n >> 16, (n >> 8) & 255, n & 255)
        };
        let servers: Vec<_> = (from..from + 10_000).map(server).collect();
        plan(&format!("[pool.web]\ncheck = \"tcp\"\nservers = [{}]", servers.join(",\n")))
    };
    let rig = Rig::still(config(0), RuntimeState::default());
    let kept = rig.server("s9999");
    rig.reload(config(5_000)).await;
    let view = rig.pool("web").view();
    assert_eq!(view.roster.members().len(), 10_000);
    assert_eq!(view.servers.len(), 10_000, "slots that became free are used again");
    assert!(Arc::ptr_eq(&rig.server("s9999"), &kept));
    assert_eq!(rig.snapshot().pools[0].servers[0].name, "s5000");
}

#[tokio::test]
async fn a_listener_keeps_its_sessions_over_a_reload_and_reads_its_files_anew() {
    let directory = TempDir::new().unwrap();
    let authority = Authority::new("test");
    let files = authority.issue(&Request::names(&["one.example"])).write_to(directory.path(), "web");
    let config = with_listeners(
        &format!(
            "[listener.web]\nbind = \":80\"\npool = \"web\"\n[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}",
            files.certificate.display(),
            files.key.display()
        ),
        TWO,
    );
    let rig = Rig::still(config.clone(), RuntimeState::default());
    authority.issue(&Request::names(&["two.example"])).write_to(directory.path(), "web");
    rig.reload(config).await;
    let live = rig.shared.live();
    let names = live.listeners[0].tls.as_ref().unwrap().certificates()[0].names.clone();
    assert_eq!(names, ["two.example"]);
}
