//! Tests of the snapshot functions that user interfaces use.

use weir_control::{
    AdminState, Code, FleetSnapshot, Health, ListenerSnapshot, PoolSnapshot, PoolStatus, ProcessSnapshot,
    ServerSnapshot, ServerState, Snapshot, StickySnapshot, Tone, What,
};
use weir_model::Name;

fn server(health: Health, admin: AdminState, weight: u32, backup: bool) -> ServerSnapshot {
    ServerSnapshot { health, admin, weight, backup, ..ServerSnapshot::default() }
}

fn pool(name: &str, servers: Vec<ServerSnapshot>) -> PoolSnapshot {
    PoolSnapshot { name: name.to_owned(), servers, ..PoolSnapshot::default() }
}

fn snapshot() -> Snapshot {
    Snapshot {
        time_unix_ms: 1,
        process: ProcessSnapshot { pid: 7, ..ProcessSnapshot::default() },
        listeners: vec![ListenerSnapshot::default()],
        pools: vec![pool("web", Vec::new()), pool("api", Vec::new())],
        fleets: vec![FleetSnapshot {
            name: "front".to_owned(),
            pool: "web".to_owned(),
            ..FleetSnapshot::default()
        }],
        storage: Vec::new(),
        transfers: Default::default(),
    }
}

#[test]
fn a_pool_is_up_as_long_as_one_ordinary_server_takes_requests() {
    let up = server(Health::Up, AdminState::Ready, 1, false);
    let failing = server(Health::GoingDown { failures: 2, fall: 3 }, AdminState::Ready, 1, false);
    let down = server(Health::Down, AdminState::Ready, 1, false);
    let coming = server(Health::GoingUp { successes: 1, rise: 2 }, AdminState::Ready, 1, false);
    let drained = server(Health::Up, AdminState::Drain, 1, false);
    let weightless = server(Health::Up, AdminState::Ready, 0, false);
    let backup = server(Health::NoCheck, AdminState::Ready, 1, true);
    let status =
        |servers: &[&ServerSnapshot]| pool("web", servers.iter().map(|s| (*s).clone()).collect()).status();
    assert_eq!(status(&[&up, &down]), PoolStatus::Up);
    assert_eq!(status(&[&failing]), PoolStatus::Up);
    assert_eq!(status(&[&down, &coming, &drained, &weightless, &backup]), PoolStatus::Backup);
    assert_eq!(status(&[&down, &coming, &drained, &weightless]), PoolStatus::Down);
    assert_eq!(status(&[]), PoolStatus::Down);
}

#[test]
fn what_the_operator_wants_is_shown_before_what_checks_say() {
    let shown = |health, admin| {
        let state = server(health, admin, 1, false).state();
        (state.name(), state.to_string(), state.tone())
    };
    let ejected = Health::Ejected { remaining_ms: 1_500 };
    assert_eq!(
        shown(Health::Down, AdminState::Maintenance),
        ("maintenance", "maintenance".into(), Tone::Calm)
    );
    assert_eq!(shown(ejected, AdminState::Ready), ("ejected", "ejected 2s".into(), Tone::Bad));
    let failing = Health::GoingDown { failures: 2, fall: 3 };
    assert_eq!(shown(failing, AdminState::Ready), ("going-down", "up, 2/3 failed".into(), Tone::Warning));
}

#[test]
fn every_state_has_its_name_in_the_list() {
    let healths = [
        Health::Up,
        Health::NoCheck,
        Health::GoingDown { failures: 1, fall: 2 },
        Health::GoingUp { successes: 1, rise: 2 },
        Health::Down,
        Health::Ejected { remaining_ms: 1 },
        Health::HalfOpen { successes: 1, of: 3 },
    ];
    let mut names: Vec<_> = healths.map(ServerState::Ready).map(ServerState::name).to_vec();
    names.extend([ServerState::Drain.name(), ServerState::Maintenance.name()]);
    assert_eq!(names, ServerState::NAMES);
}

#[test]
fn only_the_part_that_was_asked_for_is_told() {
    let parts = |what, pool: Option<&str>| {
        let part = snapshot().select(what, pool.map(|pool| Name::new(pool).unwrap()).as_ref()).unwrap();
        (part.process.pid, part.listeners.len(), part.pools.len())
    };
    assert_eq!(parts(What::All, None), (7, 1, 2));
    assert_eq!(parts(What::Process, None), (7, 0, 0));
    assert_eq!(parts(What::Listeners, None), (0, 1, 0));
    assert_eq!(parts(What::Pools, None), (0, 0, 2));
    assert_eq!(parts(What::Pools, Some("api")), (0, 0, 1));
    assert_eq!(parts(What::All, Some("api")), (7, 0, 1));
    assert_eq!(parts(What::Sticky, None), (0, 0, 0), "no pool is sticky");
    let mut sticky = snapshot();
    sticky.pools[1].sticky = Some(StickySnapshot::default());
    let part = sticky.select(What::Sticky, None).unwrap();
    assert_eq!((part.pools.len(), part.pools[0].servers.len()), (1, 0));
}

#[test]
fn an_unknown_pool_is_refused_by_name() {
    let refusal = snapshot().select(What::Pools, Some(&Name::new("nope").unwrap())).unwrap_err();
    assert_eq!((refusal.code, refusal.message.as_str()), (Code::NotFound, "there is no pool nope"));
}

#[test]
fn a_snapshot_reads_back_the_same_and_an_older_one_with_less_in_it_too() {
    let text = serde_json::to_string(&snapshot()).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snapshot());
    let older =
        serde_json::from_str::<Snapshot>(r#"{"pools": [{"name": "web", "from_the_future": 1}]}"#).unwrap();
    assert_eq!(older.pools[0].name, "web");
}
