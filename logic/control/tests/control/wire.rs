//! Tests of commands and replies on the wire, because other people's programs depend on the format.

use serde_json::json;
use weir_control::{AdminState, Answer, Code, Command, Refusal, Reply, Right, ServerSpec, What};
use weir_model::{Name, Weight};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Returns every command with its JSON and the right that it needs.
fn commands() -> Vec<(Command, serde_json::Value, Right)> {
    let (pool, server) = (name("web"), name("w1"));
    let spec = ServerSpec {
        weight: Weight::new(5).unwrap(),
        backup: true,
        connections_max: Some(10),
        ..ServerSpec::new(server.clone(), "10.0.0.1:80".parse().unwrap())
    };
    let both = |pool: &Name, server: &Name| (pool.clone(), server.clone());
    let (p, s) = both(&pool, &server);
    let state = Command::ServerState { pool: p, server: s, state: AdminState::Drain };
    let (p, s) = both(&pool, &server);
    let weight = Command::ServerWeight { pool: p, server: s, weight: Weight::MAX };
    let (p, s) = both(&pool, &server);
    let address = Command::ServerAddress { pool: p, server: s, address: "[::1]:81".parse().unwrap() };
    let (p, s) = both(&pool, &server);
    let remove = Command::RemoveServer { pool: p, server: s, force: true };
    vec![
        (Command::Show { what: What::All, pool: None }, json!({"show": {"what": "all"}}), Right::Read),
        (
            Command::Show { what: What::Runtime, pool: Some(pool.clone()) },
            json!({"show": {"what": "runtime", "pool": "web"}}),
            Right::Read,
        ),
        (state, json!({"server-state": {"pool": "web", "server": "w1", "state": "drain"}}), Right::Operate),
        (weight, json!({"server-weight": {"pool": "web", "server": "w1", "weight": 256}}), Right::Operate),
        (
            address,
            json!({"server-address": {"pool": "web", "server": "w1", "address": "[::1]:81"}}),
            Right::Admin,
        ),
        (
            Command::AddServer { pool: pool.clone(), server: spec },
            json!({"add-server": {"pool": "web", "server": {
                "name": "w1", "address": "10.0.0.1:80", "weight": 5, "backup": true, "connections_max": 10
            }}}),
            Right::Admin,
        ),
        (remove, json!({"remove-server": {"pool": "web", "server": "w1", "force": true}}), Right::Admin),
        (Command::Reset { pool, server: None }, json!({"reset": {"pool": "web"}}), Right::Admin),
        (
            Command::ClearSticky { pool: name("web"), key: None },
            json!({"clear-sticky": {"pool": "web"}}),
            Right::Operate,
        ),
        (
            Command::ClearSticky { pool: name("web"), key: Some("192.0.2.7".to_owned()) },
            json!({"clear-sticky": {"pool": "web", "key": "192.0.2.7"}}),
            Right::Operate,
        ),
        (
            Command::FleetScale { fleet: name("web"), servers: Some(5) },
            json!({"fleet-scale": {"fleet": "web", "servers": 5}}),
            Right::Operate,
        ),
        (
            Command::FleetScale { fleet: name("web"), servers: None },
            json!({"fleet-scale": {"fleet": "web"}}),
            Right::Operate,
        ),
        (
            Command::FleetPause { fleet: name("web"), paused: true },
            json!({"fleet-pause": {"fleet": "web", "paused": true}}),
            Right::Operate,
        ),
        (
            Command::FleetHistory { fleet: name("web"), rows: 60 },
            json!({"fleet-history": {"fleet": "web", "rows": 60}}),
            Right::Read,
        ),
        (
            Command::StorageUnlock {
                area: Some(name("data")),
                path: "/data/f".to_owned(),
                below: true,
                holder: Some("user ada".to_owned()),
                dry_run: true,
            },
            json!({"storage-unlock": {
                "area": "data", "path": "/data/f", "below": true, "holder": "user ada", "dry_run": true
            }}),
            Right::Operate,
        ),
        (
            Command::StorageUnlock {
                area: None,
                path: "/f".to_owned(),
                below: false,
                holder: None,
                dry_run: false,
            },
            json!({"storage-unlock": {"path": "/f"}}),
            Right::Operate,
        ),
        (Command::Reload, json!("reload"), Right::Admin),
    ]
}

#[test]
fn every_command_is_written_and_read_as_documented() {
    for (command, wire, right) in commands() {
        assert_eq!(serde_json::to_value(&command).unwrap(), wire);
        assert_eq!(serde_json::from_value::<Command>(wire).unwrap(), command);
        assert_eq!(command.right(), right, "{}", command.name());
    }
}

#[test]
fn what_may_be_left_out_has_its_default() {
    let read = |wire: serde_json::Value| serde_json::from_value::<Command>(wire).unwrap();
    assert_eq!(read(json!({"show": {}})), Command::Show { what: What::All, pool: None });
    let added =
        read(json!({"add-server": {"pool": "web", "server": {"name": "w1", "address": "10.0.0.1:80"}}}));
    let Command::AddServer { server, .. } = added else { panic!("{added:?}") };
    assert_eq!((server.weight, server.backup, server.connections_max), (Weight::ONE, false, None));
    assert_eq!(server, ServerSpec::new(name("w1"), "10.0.0.1:80".parse().unwrap()));
    let maint = read(json!({"server-state": {"pool": "web", "server": "w1", "state": "maint"}}));
    assert!(matches!(maint, Command::ServerState { state: AdminState::Maintenance, .. }));
}

#[test]
fn a_weight_that_is_found_is_true() {
    let wire = json!({"add-server": {"pool": "web", "server": {
        "name": "w1", "address": "10.0.0.1:80", "weight": 1, "auto_weight": true, "backup": false
    }}});
    let command: Command = serde_json::from_value(wire.clone()).unwrap();
    let Command::AddServer { server, .. } = &command else { panic!("{command:?}") };
    assert!(server.auto_weight.is_some());
    assert_eq!(serde_json::to_value(&command).unwrap(), wire);
}

#[test]
fn a_wrong_command_is_refused_with_its_reason() {
    let wrong = |wire: serde_json::Value| serde_json::from_value::<Command>(wire).unwrap_err().to_string();
    insta::assert_snapshot!(wrong(json!("shutdown")), @"unknown variant `shutdown`, expected one of `show`, `server-state`, `server-weight`, `server-address`, `add-server`, `remove-server`, `reset`, `clear-sticky`, `fleet-scale`, `fleet-pause`, `fleet-history`, `storage-unlock`, `reload`");
    insta::assert_snapshot!(wrong(json!({"server-weight": {"pool": "web", "server": "w1", "weight": 257}})), @"weight 257 is out of range: 0 to 256");
    insta::assert_snapshot!(wrong(json!({"server-weight": {"pool": "web", "server": "w1"}})), @"missing field `weight`");
    insta::assert_snapshot!(wrong(json!({"reset": {"pool": "web", "serv": "w1"}})), @"unknown field `serv`, expected `pool` or `server`");
    insta::assert_snapshot!(wrong(json!({"reset": {"pool": "a b"}})), @"' ' cannot stand in a name (letters, digits and _ - . : can)");
}

#[test]
fn replies_are_written_and_read_as_documented() {
    let noted = Answer::Done { changed: true, notes: vec!["nothing is left in rotation".to_owned()] };
    let cases = [
        (Reply::done(), json!({"ok": {"done": {"changed": true}}})),
        (Reply::unchanged(), json!({"ok": {"done": {"changed": false}}})),
        (
            Reply::Ok(noted),
            json!({"ok": {"done": {"changed": true, "notes": ["nothing is left in rotation"]}}}),
        ),
        (
            Reply::error(Code::NotFound, "there is no pool \"web\""),
            json!({"error": {"code": "not-found", "message": "there is no pool \"web\""}}),
        ),
        (Reply::Ok(Answer::Runtime(weir_control::RuntimeState::default())), json!({"ok": {"runtime": {}}})),
    ];
    for (reply, wire) in cases {
        assert_eq!(serde_json::to_value(&reply).unwrap(), wire);
        assert_eq!(serde_json::from_value::<Reply>(wire).unwrap(), reply);
    }
}

#[test]
fn a_code_is_named_as_on_the_wire() {
    for code in
        [Code::BadCommand, Code::TooLong, Code::NotPermitted, Code::InUse, Code::BadConfig, Code::Internal]
    {
        assert_eq!(serde_json::to_value(code).unwrap(), code.name());
    }
}

#[test]
fn a_caller_without_the_right_is_told_which_one() {
    let refusal = Refusal::not_permitted(&Command::Reload, Right::Operate);
    assert_eq!(refusal.to_string(), "reload needs the right \"admin\", and this caller has \"operate\"");
    assert!(Right::Read < Right::Operate && Right::Operate < Right::Admin);
}
