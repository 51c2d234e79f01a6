//! Tests of the provider that runs a program.

use std::net::IpAddr;
use std::time::Duration;

use weir_fleet::exec::{ExecProvider, ExecSettings};
use weir_fleet::{FailureKind, MachineId, MachineState, Order, Provider};
use weir_testkit::{PATIENCE, TempDir, wait_until};

use crate::tools::{run, token};

/// Creates a provider from a shell script; `$1` is the verb.
fn program(script: &str) -> ExecProvider {
    ExecProvider::new(ExecSettings {
        fleet: "web".to_owned(),
        command: ["sh", "-c", script, "cloud"].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        working_directory: None,
        timeout: PATIENCE,
        settling: Duration::ZERO,
    })
}

fn id(text: &str) -> MachineId {
    MachineId(text.to_owned())
}

#[test]
fn machines_are_what_the_program_tells() {
    let provider = program(
        r#"[ "$1" = list ] && echo '{"machines": [
            {"id": "i-1", "token": "web-1", "address": "10.0.0.5", "port": 8080, "state": "running", "flavour": "small",
             "zone": "north", "cost_per_hour": 0.25, "tags": {"zone": "a"}, "created": 1700000000, "more": "is for later versions"},
            {"id": "i-2", "state": "failed", "note": "no host"}]}'"#,
    );
    let machines = run(provider.machines()).unwrap();
    assert_eq!(machines.len(), 2);
    assert_eq!(machines[0].ip, Some("10.0.0.5".parse::<IpAddr>().unwrap()));
    assert_eq!((machines[0].port, machines[0].state), (Some(8080), MachineState::Running));
    assert_eq!(machines[0].tags["zone"], "a");
    assert_eq!((machines[0].zone.as_deref(), machines[0].cost_per_hour), (Some("north"), Some(0.25)));
    assert_eq!((machines[1].state, machines[1].note.as_deref()), (MachineState::Failed, Some("no host")));
}

#[test]
fn the_program_reads_what_it_is_to_do() {
    let directory = TempDir::new().unwrap();
    let log = directory.path().join("log");
    let script = format!(
        r#"cat >> {}; [ "$1" != create ] || echo '{{"machine": {{"id": "i-1", "state": "building"}}}}'"#,
        log.display()
    );
    let provider = program(&script);
    run(async {
        let made = provider.create(Order { token: &token("web-1"), again: true }).await.unwrap();
        assert_eq!((made.id, made.token), (id("i-1"), Some(token("web-1"))));
        provider.start(&id("i-1")).await.unwrap();
        provider.stop(&id("i-1")).await.unwrap();
        provider.delete(&id("i-1")).await.unwrap();
        assert_eq!(provider.room().await.unwrap(), None);
        provider.verify().await.unwrap();
    });
    let expected = "\
{\"version\":1,\"fleet\":\"web\",\"verb\":\"create\",\"token\":\"web-1\",\"again\":true}
{\"version\":1,\"fleet\":\"web\",\"verb\":\"start\",\"id\":\"i-1\"}
{\"version\":1,\"fleet\":\"web\",\"verb\":\"stop\",\"id\":\"i-1\"}
{\"version\":1,\"fleet\":\"web\",\"verb\":\"delete\",\"id\":\"i-1\"}
{\"version\":1,\"fleet\":\"web\",\"verb\":\"room\"}
{\"version\":1,\"fleet\":\"web\",\"verb\":\"verify\"}
";
    assert_eq!(std::fs::read_to_string(log).unwrap(), expected);
}

#[test]
fn a_refusal_says_of_what_kind_it_is() {
    let provider = program(
        r#"echo '{"error": {"kind": "quota", "message": "13 of 13 used", "retry_after": 30}}'; exit 1"#,
    );
    let failure = run(provider.start(&id("i-1"))).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Quota);
    assert_eq!(failure.message, "sh start: 13 of 13 used");
    assert_eq!(failure.retry_after, Some(Duration::from_secs(30)));
}

#[test]
fn deleting_what_is_gone_is_done() {
    let provider = program(r#"echo '{"error": {"kind": "not-found", "message": "no i-1"}}'"#);
    run(provider.delete(&id("i-1"))).unwrap();
    assert_eq!(run(provider.stop(&id("i-1"))).unwrap_err().kind, FailureKind::NotFound);
}

#[test]
fn a_failure_without_a_kind_leaves_open_what_has_happened() {
    let provider = program("echo one >&2; echo 'connection refused' >&2; exit 7");
    let failure = run(provider.start(&id("i-1"))).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Uncertain);
    assert_eq!(failure.message, "sh start: exit status: 7: one; connection refused");
    // A verb that only reads has changed nothing.
    assert_eq!(run(provider.machines()).unwrap_err().kind, FailureKind::Transient);
}

#[test]
fn an_answer_that_is_not_understood_is_a_failure() {
    for (script, said) in [
        ("echo hello", "sh list: the answer is not understood: "),
        (
            r#"echo '{"machines": [{"id": "i-1", "state": "running"}, {"id": "", "state": "running"}]}'"#,
            "sh list: the answer is not understood: machines[1].id is missing: what the machine is called",
        ),
        (
            r#"echo '{"machines": [{"id": ["i-1"], "state": "running"}]}'"#,
            "sh list: the answer is not understood: machines[0].id: [\"i-1\"] is not what the machine is called",
        ),
        (
            r#"echo '{"machines": ["i-1"]}'"#,
            "sh list: the answer is not understood: machines[0]: \"i-1\" is no object",
        ),
        (r#"echo '{"machines": {}}'"#, "sh list: the answer is not understood: machines: is no list"),
        ("true", "sh: the answer has no \"machines\""),
        ("yes", "sh list: the answer has more than 8388608 bytes"),
    ] {
        let failure = run(program(script).machines()).unwrap_err();
        assert!(failure.message.starts_with(said), "{script}: {failure}");
    }
}

/// Lists the machine `i-1` with this field, and `i-2`.
fn list_with(field: &str) -> ExecProvider {
    program(&format!(
        r#"if [ "$1" = list ]; then echo '{{"machines": [{{"id": "i-1", "state": "running", {field}}}, {{"id": "i-2", "state": "stopped"}}]}}'; fi"#
    ))
}

#[test]
fn a_field_that_is_written_in_another_way_is_understood_and_spoils_no_list() {
    for created in [
        "1795334400",
        "1795334400.75",
        "1.7953344e9",
        "\"1795334400\"",
        "\"1795334400.5\"",
        "1795334400123",
        "\"2026-11-22T08:00:00Z\"",
        "\"2026-11-22T09:00:00.5+01:00\"",
        "\"2026-11-22 08:00:00\"",
    ] {
        let provider = list_with(&format!("\"created\": {created}"));
        let machines = run(provider.machines()).unwrap();
        assert_eq!((machines.len(), machines[0].created_s), (2, Some(1_795_334_400)), "{created}");
        assert_eq!(provider.remarks().is_empty(), created == "1795334400", "{:?}", provider.remarks());
    }
    let provider = list_with(
        r#""port": "8080", "flavour": 4, "cost_per_hour": "0.25", "zone": null, "address": "", "tags": {"a": 1}"#,
    );
    let machines = run(provider.machines()).unwrap();
    let machine = &machines[0];
    assert_eq!((machine.port, machine.flavour.as_deref()), (Some(8080), Some("4")));
    assert_eq!((machine.cost_per_hour, &machine.zone, machine.ip), (Some(0.25), &None, None));
    assert_eq!(machine.tags["a"], "1");
    assert_eq!(provider.remarks()[0], "machines[0].port: \"8080\" is not a port, 1 to 65535; read as 8080");
    let shouting = program(r#"echo '{"machines": [{"id": 7, "state": "RUNNING"}]}'"#);
    let machines = run(shouting.machines()).unwrap();
    assert_eq!((&machines[0].id, machines[0].state), (&id("7"), MachineState::Running));
}

#[test]
fn a_field_that_cannot_be_understood_is_left_out_and_told_once() {
    for (field, expected) in [
        ("\"created\": \"yesterday\"", "whole seconds since 1970"),
        ("\"created\": -5", "whole seconds since 1970"),
        ("\"created\": true", "whole seconds since 1970"),
        ("\"port\": 0", "a port"),
        ("\"address\": \"web.example\"", "an IP address"),
        ("\"token\": \"No Token\"", "a token"),
        ("\"zone\": [1]", "a text"),
        ("\"tags\": [1]", "an object of texts"),
    ] {
        let provider = list_with(field);
        let machines = run(provider.machines()).unwrap();
        let machine = &machines[0];
        assert_eq!(
            (machines.len(), machine.created_s, machine.port, machine.ip),
            (2, None, None, None),
            "{field}"
        );
        let remarks = provider.remarks();
        assert!(
            remarks.len() == 1 && remarks[0].contains(expected) && remarks[0].ends_with("; left out"),
            "{remarks:?}"
        );
    }
    // An unknown state does not affect the other machines.
    let provider = program(
        r#"echo '{"machines": [{"id": "a", "state": "lovely"}, {"id": "b", "state": "lovely"}, {"id": "c", "state": "running"}]}'"#,
    );
    let machines = run(provider.machines()).unwrap();
    let states: Vec<MachineState> = machines.iter().map(|machine| machine.state).collect();
    assert_eq!(states, [MachineState::Unknown, MachineState::Unknown, MachineState::Running]);
    let remarks = provider.remarks();
    assert!(
        remarks.len() == 1 && remarks[0].starts_with("machines[0].state: \"lovely\" is not one of building"),
        "{remarks:?}"
    );
}

#[test]
fn a_check_is_strict_and_names_each_field_and_its_place() {
    let failure = run(list_with("\"created\": 1795334400.75, \"port\": \"http\"").proofread()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Permanent);
    assert_eq!(
        failure.message,
        "sh: machines[0].port: \"http\" is not a port, 1 to 65535; left out; \
         machines[0].created: 1795334400.75 is not whole seconds since 1970; read as 1795334400"
    );
    run(list_with("\"created\": 1795334400, \"port\": 8080").proofread()).unwrap();
    let room = program(r#"[ "$1" != room ] || echo '{"room": "5"}'"#);
    assert!(
        run(room.proofread()).unwrap_err().message.contains("room: \"5\" is not a whole number; read as 5")
    );
    assert_eq!(run(room.room()).unwrap(), Some(5));
    let broken = program(r#"[ "$1" != list ] || echo '{"machines": [{"state": "running"}]}'"#);
    assert!(run(broken.proofread()).unwrap_err().message.contains("machines[0].id is missing"));
}

#[test]
fn a_refusal_in_other_words_is_told_all_the_same() {
    for (error, said) in [
        (
            r#"{"kind": "rate-limit", "message": "slow down", "retry_after": "2.5"}"#,
            "sh start: slow down (kind \"rate-limit\", which is none of the contract's)",
        ),
        (r#""no such image""#, "sh start: no such image"),
    ] {
        let failure = run(program(&format!("echo '{{\"error\": {error}}}'")).start(&id("i-1"))).unwrap_err();
        assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Uncertain, said));
        assert_eq!(failure.retry_after, error.contains("2.5").then_some(Duration::from_secs(2)));
    }
}

#[test]
fn complaints_are_kept_in_part() {
    let provider = program("i=0; while [ $i -lt 20000 ]; do echo complaint $i >&2; i=$((i+1)); done; exit 1");
    let failure = run(provider.start(&id("i-1"))).unwrap_err();
    assert!(failure.message.len() < 2048);
    assert!(failure.message.ends_with("complaint 19999"), "{failure}");
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_what_it_has_started() {
    let directory = TempDir::new().unwrap();
    let pids = directory.path().join("pids");
    let script = format!("sleep 600 & echo $$ $! > {}; wait", pids.display());
    let mut settings = ExecSettings {
        fleet: "web".to_owned(),
        command: ["sh", "-c", &script, "cloud"].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        working_directory: None,
        timeout: PATIENCE,
        settling: Duration::ZERO,
    };
    // Long enough for the shell to start on any machine; the test waits for the whole time.
    settings.timeout = Duration::from_secs(2);
    let failure = run(ExecProvider::new(settings).start(&id("i-1"))).unwrap_err();
    assert_eq!(
        (failure.kind, failure.message.as_str()),
        (FailureKind::Uncertain, "sh start: no answer within 2000 ms")
    );
    for pid in std::fs::read_to_string(pids).unwrap().split_whitespace() {
        wait_until("it is gone", PATIENCE, || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            !stat.is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
        });
    }
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let mut settings = ExecSettings {
        fleet: "web".to_owned(),
        command: vec!["/no/such/program".to_owned()],
        environment: Vec::new(),
        working_directory: None,
        timeout: PATIENCE,
        settling: Duration::ZERO,
    };
    let failure = run(ExecProvider::new(settings.clone()).verify()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Permanent);
    assert!(failure.message.starts_with("/no/such/program verify: "), "{failure}");
    settings.command.clear();
    assert_eq!(run(ExecProvider::new(settings).verify()).unwrap_err().kind, FailureKind::Permanent);
}
