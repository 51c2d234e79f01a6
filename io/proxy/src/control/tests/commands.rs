//! Tests of runtime commands.

use std::fs;

use weir_control::{Answer, Reply, RuntimeState};
use weir_testkit::TempDir;

use super::rig::{Rig, plan, whole_plan};
use crate::state::Endpoint;

const THREE: &str = "[pool.web]\nservers = [
    { name = \"a\", address = \"127.0.0.1:1\" },
    { name = \"b\", address = \"127.0.0.1:2\", weight = 2 },
    { name = \"spare\", address = \"127.0.0.1:3\", backup = true },
]";

fn three() -> Rig {
    Rig::still(plan(THREE), RuntimeState::default())
}

#[tokio::test]
async fn a_drained_server_leaves_the_rotation_and_returns_when_it_is_ready() {
    let rig = three();
    assert_eq!(rig.rotation(), ["a", "b"]);
    let drain = r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#;
    assert_eq!(rig.done(drain).await, (true, vec![]));
    assert_eq!(rig.rotation(), ["b"]);
    assert_eq!(rig.done(drain).await, (false, vec![]), "it is so already");
    assert_eq!(rig.shown("a").overridden, ["state"]);
    let ready = r#"{"server-state": {"pool": "web", "server": "a", "state": "ready"}}"#;
    assert_eq!(rig.done(ready).await, (true, vec![]));
    assert_eq!(rig.rotation(), ["a", "b"]);
    assert!(rig.shown("a").overridden.is_empty());
}

#[tokio::test]
async fn whoever_takes_the_last_server_out_is_told() {
    let rig = three();
    rig.done(r#"{"server-state": {"pool": "web", "server": "a", "state": "maintenance"}}"#).await;
    let (_, notes) = rig.done(r#"{"server-weight": {"pool": "web", "server": "b", "weight": 0}}"#).await;
    assert_eq!(notes, ["only backup servers of pool web are left in rotation"]);
    assert_eq!(rig.rotation(), ["spare"]);
    let (_, notes) =
        rig.done(r#"{"server-state": {"pool": "web", "server": "spare", "state": "drain"}}"#).await;
    assert_eq!(notes, ["no server of pool web is left in rotation"]);
    assert!(rig.rotation().is_empty());
}

#[tokio::test]
async fn a_weight_holds_at_once_and_is_shown_as_changed() {
    let rig = three();
    let weight = || rig.pool("web").view().roster.candidate(1).unwrap().weight.get();
    assert_eq!(weight(), 2);
    assert_eq!(
        rig.done(r#"{"server-weight": {"pool": "web", "server": "b", "weight": 7}}"#).await,
        (true, vec![])
    );
    assert_eq!(weight(), 7);
    assert_eq!(rig.shown("b").overridden, ["weight"]);
    assert_eq!(rig.done(r#"{"reset": {"pool": "web", "server": "b"}}"#).await, (true, vec![]));
    assert_eq!(weight(), 2);
    assert_eq!(rig.done(r#"{"reset": {"pool": "web", "server": "b"}}"#).await, (false, vec![]));
}

#[tokio::test]
async fn a_change_of_weights_and_states_leaves_workers_nothing_to_look_at_but_the_roster() {
    let rig = three();
    let servers = || std::sync::Arc::clone(&rig.pool("web").view().servers);
    let before = servers();
    for change in [
        r#"{"server-weight": {"pool": "web", "server": "b", "weight": 7}}"#,
        r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#,
    ] {
        assert!(rig.done(change).await.0);
        assert!(std::sync::Arc::ptr_eq(&before, &servers()), "{change}");
    }
    rig.done(r#"{"remove-server": {"pool": "web", "server": "a", "force": true}}"#).await;
    assert!(!std::sync::Arc::ptr_eq(&before, &servers()));
    let without = servers();
    assert!(without[0].is_none() && without.len() == 3);
    rig.done(r#"{"add-server": {"pool": "web", "server": {"name": "new", "address": "127.0.0.1:9"}}}"#).await;
    assert!(!std::sync::Arc::ptr_eq(&without, &servers()), "another server in the slot of the one that went");
}

#[tokio::test]
async fn an_added_server_gets_the_lowest_free_slot_and_a_number_of_its_own() {
    let rig = three();
    let gone = rig.server("a");
    rig.done(r#"{"remove-server": {"pool": "web", "server": "a", "force": true}}"#).await;
    assert_eq!(rig.rotation(), ["b"]);
    let add = r#"{"add-server": {"pool": "web", "server": {"name": "new", "address": "127.0.0.1:9", "weight": 3}}}"#;
    assert_eq!(rig.done(add).await, (true, vec![]));
    assert_eq!(rig.rotation(), ["new", "b"]);
    let new = rig.server("new");
    assert_eq!(new.slot, gone.slot);
    assert_ne!(new.uid, gone.uid);
    assert_eq!(*new.endpoint(), Endpoint::Inet(vec!["127.0.0.1:9".parse().unwrap()]));
    assert_eq!(rig.refused(add).await, "exists: pool web, server new (127.0.0.1:9): there is one already");
    // A reset restores the removed server of the config and removes the added server.
    rig.done(r#"{"reset": {"pool": "web"}}"#).await;
    assert_eq!(
        rig.snapshot().pools[0].servers.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        ["a", "b", "spare"]
    );
    assert_ne!(rig.server("a").uid, gone.uid);
}

#[tokio::test]
async fn a_moved_server_keeps_what_is_known_of_it() {
    let rig = three();
    let (before, version) = (rig.server("a"), rig.server("a").endpoint_version());
    before.counters.of(0).requests.add(5);
    rig.done(r#"{"server-address": {"pool": "web", "server": "a", "address": "[::1]:77"}}"#).await;
    let after = rig.server("a");
    assert_eq!(after.uid, before.uid);
    assert_eq!(*after.endpoint(), Endpoint::Inet(vec!["[::1]:77".parse().unwrap()]));
    assert_ne!(after.endpoint_version(), version, "connections to the old place are not used again");
    assert_eq!(**after.address(), "[::1]:77");
    assert_eq!((rig.shown("a").address.as_str(), rig.shown("a").traffic.requests_total), ("[::1]:77", 5));
}

#[tokio::test]
async fn a_server_in_use_is_removed_only_by_force() {
    let rig = three();
    let remove = r#"{"remove-server": {"pool": "web", "server": "a"}}"#;
    assert_eq!(
        rig.refused(remove).await,
        "in-use: pool web, server a (127.0.0.1:1): it is still in rotation: drain it first, or remove it by force"
    );
    let roster = rig.pool("web").view();
    assert!(roster.roster.begin(0));
    let (_, notes) = rig.done(r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#).await;
    assert_eq!(notes, ["1 request is still in flight at server a"]);
    assert_eq!(
        rig.refused(remove).await,
        "in-use: pool web, server a (127.0.0.1:1): 1 request is still in flight: wait, or remove it by force"
    );
    roster.roster.end(0, &rig.server("a").load);
    assert_eq!(rig.done(remove).await, (true, vec![]));
    assert!(rig.pool("web").view().servers[0].is_none());
}

#[tokio::test]
async fn what_cannot_be_obeyed_is_refused_and_names_its_victim() {
    let rig = three();
    let cases = [
        (
            r#"{"server-weight": {"pool": "nope", "server": "a", "weight": 1}}"#,
            "not-found: there is no pool nope",
        ),
        (
            r#"{"server-weight": {"pool": "web", "server": "z", "weight": 1}}"#,
            "not-found: pool web has no server z",
        ),
        (r#"{"remove-server": {"pool": "web", "server": "z"}}"#, "not-found: pool web has no server z"),
        (r#"{"reset": {"pool": "web", "server": "z"}}"#, "not-found: pool web has no server z"),
        (r#"{"show": {"pool": "nope"}}"#, "not-found: there is no pool nope"),
        (
            r#"{"add-server": {"pool": "web", "server": {"name": "x", "address": "127.0.0.1:1", "connections_max": 0}}}"#,
            "bad-command: pool web, server x: connections_max is 0: at least 1, or none for no limit",
        ),
    ];
    for (command, refusal) in cases {
        assert_eq!(rig.refused(command).await, refusal);
    }
    assert_eq!(rig.rotation(), ["a", "b"]);
    rig.controller.begin_stop();
    let drain = r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#;
    assert_eq!(rig.refused(drain).await, "stopping: the process is stopping");
    assert!(
        matches!(rig.give(r#"{"show": {}}"#).await, Reply::Ok(Answer::Snapshot(shown)) if shown.process.stopping)
    );
}

#[tokio::test]
async fn show_tells_only_the_part_that_was_asked_for() {
    let rig = Rig::still(
        plan(&format!("{THREE}\n[pool.other]\nservers = \"127.0.0.1:5\"")),
        RuntimeState::default(),
    );
    let shown = async |command: &str| match rig.give(command).await {
        Reply::Ok(Answer::Snapshot(shown)) => {
            (shown.process.pid != 0, shown.listeners.len(), shown.pools.len())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(r#"{"show": {}}"#).await, (true, 1, 2));
    assert_eq!(shown(r#"{"show": {"what": "process"}}"#).await, (true, 0, 0));
    assert_eq!(shown(r#"{"show": {"what": "listeners"}}"#).await, (false, 1, 0));
    assert_eq!(shown(r#"{"show": {"what": "pools", "pool": "other"}}"#).await, (false, 0, 1));
    rig.done(r#"{"server-weight": {"pool": "web", "server": "a", "weight": 9}}"#).await;
    match rig.give(r#"{"show": {"what": "runtime"}}"#).await {
        Reply::Ok(Answer::Runtime(runtime)) => assert_eq!(runtime.len(), 1),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn runtime_changes_survive_a_restart_by_their_file() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("deep/state.toml");
    let config = |pools: &str| {
        whole_plan(&format!(
            "[weir]\ncontrol = false\nstate = \"{}\"\n[listener.web]\nbind = \":80\"\npool = \"web\"\n{pools}",
            file.display()
        ))
    };
    let rig = Rig::still(config(THREE), RuntimeState::default());
    rig.done(r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#).await;
    rig.done(r#"{"add-server": {"pool": "web", "server": {"name": "new", "address": "127.0.0.1:9"}}}"#).await;
    rig.done(r#"{"remove-server": {"pool": "web", "server": "spare", "force": true}}"#).await;

    let kept = RuntimeState::from_text(&fs::read_to_string(&file).unwrap()).unwrap();
    let again = Rig::still(config(THREE), kept);
    assert_eq!(again.rotation(), ["b", "new"]);
    assert_eq!(again.snapshot().process.runtime_changes, 3);
    assert!(again.lines().is_empty());
    let left: Vec<_> =
        fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["state.toml"], "nothing half-written is left");

    let without_a = THREE.replace("{ name = \"a\", address = \"127.0.0.1:1\" },", "");
    let kept = RuntimeState::from_text(&fs::read_to_string(&file).unwrap()).unwrap();
    let third = Rig::still(config(&without_a), kept);
    assert_eq!(
        third.lines(),
        ["pool web, server a: the runtime change is dropped: the config has no such server any more"]
    );
}

#[tokio::test]
async fn a_state_file_that_cannot_be_written_is_told_and_the_change_holds() {
    let directory = TempDir::new().unwrap();
    let blocked = directory.path().join("state.toml");
    fs::create_dir(&blocked).unwrap();
    let rig = Rig::still(
        whole_plan(&format!(
            "[weir]\ncontrol = false\nstate = \"{}\"\n[listener.web]\nbind = \":80\"\npool = \"web\"\n{THREE}",
            blocked.display()
        )),
        RuntimeState::default(),
    );
    let (changed, notes) =
        rig.done(r#"{"server-state": {"pool": "web", "server": "a", "state": "drain"}}"#).await;
    assert!(changed);
    let told = format!("runtime state {}: not saved, and lost at a restart: ", blocked.display());
    assert!(notes.len() == 1 && notes[0].starts_with(&told), "{notes:?}");
    assert_eq!(rig.lines(), notes);
    assert_eq!(rig.rotation(), ["b"]);
}

#[tokio::test]
async fn a_server_of_a_fleet_gets_nothing_before_its_check_has_passed_where_it_is_now() {
    let checked = THREE.replace("[pool.web]\n", "[pool.web]\ncheck = \"tcp\"\n");
    let rig = Rig::still(plan(&checked), RuntimeState::default());
    let add = |name: &str, fleet: &str| {
        format!(
            r#"{{"add-server": {{"pool": "web", "server": {{"name": "{name}", "address": "127.0.0.1:9"{fleet}}}}}}}"#
        )
    };
    rig.done(&add("by-hand", "")).await;
    assert_eq!(rig.rotation(), ["a", "b", "by-hand"]);
    rig.done(&add("of-fleet", r#", "fleet": "web""#)).await;
    assert_eq!(rig.rotation(), ["a", "b", "by-hand"]);
    let moved = |name: &str| {
        format!(r#"{{"server-address": {{"pool": "web", "server": "{name}", "address": "127.0.0.1:10"}}}}"#)
    };
    rig.done(&moved("by-hand")).await;
    rig.done(&moved("of-fleet")).await;
    assert_eq!(rig.rotation(), ["a", "b", "by-hand"]);
    // There were no checks during maintenance.
    for server in ["by-hand", "of-fleet"] {
        for state in ["maintenance", "ready"] {
            let command =
                format!(r#"{{"server-state": {{"pool": "web", "server": "{server}", "state": "{state}"}}}}"#);
            rig.done(&command).await;
        }
    }
    assert_eq!(rig.rotation(), ["a", "b", "by-hand"]);
}
