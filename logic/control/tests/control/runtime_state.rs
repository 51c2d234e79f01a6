//! Tests of runtime changes: they survive reloads and restarts, until the config makes them obsolete.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_balance::KnownSpeeds;
use weir_control::{AdminState, Command, EffectiveServer, Origin, RuntimeState, ServerSpec};
use weir_model::{Name, Weight};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn spec(server: &str, address: &str) -> ServerSpec {
    ServerSpec::new(name(server), address.parse().unwrap())
}

fn configured() -> Vec<ServerSpec> {
    vec![spec("w2", "10.0.0.2:80"), spec("w1", "10.0.0.1:80"), spec("w3", "10.0.0.3:80")]
}

fn of(commands: &[Command]) -> RuntimeState {
    let mut state = RuntimeState::default();
    for command in commands {
        record(&mut state, command);
    }
    state
}

fn record(state: &mut RuntimeState, command: &Command) {
    let named = match command {
        Command::RemoveServer { server, .. } => Some(server),
        _ => None,
    };
    let is_configured = named.is_some_and(|named| configured().iter().any(|spec| spec.name == *named));
    state.record(command, is_configured);
}

fn drain(server: &str) -> Command {
    Command::ServerState { pool: name("web"), server: name(server), state: AdminState::Drain }
}

fn ready(server: &str) -> Command {
    Command::ServerState { pool: name("web"), server: name(server), state: AdminState::Ready }
}

fn weight(server: &str, weight: u32) -> Command {
    Command::ServerWeight { pool: name("web"), server: name(server), weight: Weight::new(weight).unwrap() }
}

fn address(server: &str, address: &str) -> Command {
    Command::ServerAddress { pool: name("web"), server: name(server), address: address.parse().unwrap() }
}

fn add(spec: ServerSpec) -> Command {
    Command::AddServer { pool: name("web"), server: spec }
}

fn remove(server: &str) -> Command {
    Command::RemoveServer { pool: name("web"), server: name(server), force: false }
}

fn reset(server: Option<&str>) -> Command {
    Command::Reset { pool: name("web"), server: server.map(name) }
}

/// Formats servers as lines of `name address weight state origin [overridden]`.
fn shown(servers: &[EffectiveServer]) -> String {
    let line = |server: &EffectiveServer| {
        let EffectiveServer { spec, state, origin, overridden, at: _ } = server;
        format!("{} {} {} {state} {origin:?} {overridden:?}\n", spec.name, spec.address, spec.weight)
    };
    servers.iter().map(line).collect()
}

#[test]
fn without_changes_the_config_holds() {
    insta::assert_snapshot!(shown(&RuntimeState::default().apply(&name("web"), &configured())), @r"
    w2 10.0.0.2:80 1 ready Config []
    w1 10.0.0.1:80 1 ready Config []
    w3 10.0.0.3:80 1 ready Config []
    ");
}

#[test]
fn changes_win_over_the_config_and_are_shown_as_such() {
    let state = of(&[
        drain("w1"),
        weight("w1", 0),
        address("w2", "10.9.9.9:80"),
        remove("w3"),
        add(spec("a9", "10.0.0.9:80")),
    ]);
    insta::assert_snapshot!(shown(&state.apply(&name("web"), &configured())), @r#"
    w2 10.9.9.9:80 1 ready Config ["address"]
    w1 10.0.0.1:80 0 drain Config ["state", "weight"]
    a9 10.0.0.9:80 1 ready Runtime []
    "#);
    assert_eq!(shown(&state.apply(&name("other"), &[])), "", "another pool is not touched");
}

#[test]
fn the_document_is_for_people_too() {
    let state = of(&[drain("w1"), weight("w1", 3), remove("w3"), add(spec("a9", "10.0.0.9:80"))]);
    insta::assert_snapshot!(state.to_text(), @r#"
    # What was changed at runtime, kept by Weir over reloads and restarts. `weir ctl show runtime` shows it,
    # `weir ctl reset POOL[/SERVER]` takes it back. Edit it only while Weir is not running.

    [pool.web.a9.added]
    address = "10.0.0.9:80"
    weight = 1
    backup = false

    [pool.web.w1]
    state = "drain"
    weight = 3

    [pool.web.w3]
    removed = true
    "#);
    assert_eq!(RuntimeState::from_text(&state.to_text()), Ok(state));
    assert_eq!(RuntimeState::from_text(""), Ok(RuntimeState::default()));
}

#[test]
fn a_broken_document_is_refused_with_its_place() {
    let broken = |text: &str| RuntimeState::from_text(text).unwrap_err().to_string();
    insta::assert_snapshot!(broken("[pool.web.w1]\nweight = 300\n"), @r"
    not a runtime state: TOML parse error at line 2, column 10
      |
    2 | weight = 300
      |          ^^^
    weight 300 is out of range: 0 to 256
    ");
    assert!(broken("[pool.web.w1]\nwieght = 3\n").contains("unknown field `wieght`"));
    assert!(broken("[pool.'w b'.w1]\nweight = 3\n").contains("cannot stand in a name"));
    assert!(broken("\u{0}").contains("not a runtime state"));
}

#[test]
fn a_server_that_is_ready_again_with_nothing_else_changed_leaves_no_trace() {
    assert!(of(&[drain("w1"), ready("w1")]).is_empty());
    assert_eq!(of(&[drain("w1"), weight("w1", 2), ready("w1")]).len(), 1);
}

#[test]
fn a_change_to_an_added_server_changes_what_was_added() {
    let state =
        of(&[add(spec("a9", "10.0.0.9:80")), weight("a9", 7), address("a9", "10.0.0.10:80"), drain("a9")]);
    insta::assert_snapshot!(shown(&state.apply(&name("web"), &[])), @r#"a9 10.0.0.10:80 7 drain Runtime ["state"]"#);
}

#[test]
fn an_added_server_whose_weight_is_found_stays_so_until_it_is_given_one() {
    let found = ServerSpec { auto_weight: Some(KnownSpeeds::default()), ..spec("a9", "10.0.0.9:80") };
    let mut state = of(&[add(found.clone())]);
    let written = state.to_text();
    assert!(written.contains("auto_weight = true"), "{written}");
    assert_eq!(RuntimeState::from_text(&written), Ok(state.clone()));
    let is_found = |state: &RuntimeState| state.apply(&name("web"), &[])[0].spec.auto_weight.is_some();
    assert!(is_found(&state));
    // The config now has the same server as the one that was added.
    let config = ServerSpec { weight: Weight::new(16).unwrap(), ..found };
    let mut taken_over = state.clone();
    assert_eq!(taken_over.reconcile(|_| Some(std::slice::from_ref(&config))).len(), 1);
    assert!(taken_over.is_empty());
    record(&mut state, &weight("a9", 7));
    assert!(!is_found(&state));
    assert!(!state.to_text().contains("auto_weight"));
}

#[test]
fn an_added_server_that_is_removed_leaves_no_trace_and_a_configured_one_stays_removed() {
    assert!(of(&[add(spec("a9", "10.0.0.9:80")), drain("a9"), remove("a9")]).is_empty());
    let state = of(&[drain("w1"), remove("w1")]);
    assert!(!shown(&state.apply(&name("web"), &configured())).contains("w1"));
    let again = of(&[remove("w1"), add(spec("w1", "10.0.0.11:80"))]);
    assert!(
        shown(&again.apply(&name("web"), &configured())).contains("w1 10.0.0.11:80 1 ready Runtime []\n")
    );
}

#[test]
fn reset_brings_the_config_back() {
    let changes = [drain("w1"), weight("w2", 9), remove("w3"), add(spec("a9", "10.0.0.9:80"))];
    let mut state = of(&changes);
    record(&mut state, &reset(Some("w3")));
    assert_eq!((state.len(), state.get(&name("web"), &name("w3"))), (3, None));
    record(&mut state, &reset(None));
    assert!(state.is_empty());
}

#[test]
fn after_a_reload_only_changes_to_servers_that_are_there_or_were_added_remain() {
    let mut state = of(&[
        drain("w1"),
        weight("w2", 9),
        remove("w3"),
        add(spec("a8", "10.0.0.8:80")),
        add(spec("a9", "10.0.0.9:80")),
    ]);
    let elsewhere = Command::ServerState { pool: name("old"), server: name("o1"), state: AdminState::Drain };
    record(&mut state, &elsewhere);
    // The config no longer has w2 and w3. It now has a8 exactly as it was added, but not a9.
    let config = BTreeMap::from([(name("web"), vec![spec("w1", "10.0.0.1:80"), spec("a8", "10.0.0.8:80")])]);
    let notes = state.reconcile(|pool| config.get(pool).map(Vec::as_slice));
    insta::assert_snapshot!(notes.join("\n"), @r"
    pool old, server o1: the runtime change is dropped: the config has no such pool any more
    pool web, server a8: the runtime change is dropped: the config now has the server that was added
    pool web, server w2: the runtime change is dropped: the config has no such server any more
    pool web, server w3: the runtime change is dropped: the config has no such server any more
    ");
    insta::assert_snapshot!(shown(&state.apply(&name("web"), &config[&name("web")])), @r#"
    w1 10.0.0.1:80 1 drain Config ["state"]
    a8 10.0.0.8:80 1 ready Config []
    a9 10.0.0.9:80 1 ready Runtime []
    "#);
}

#[test]
fn an_added_server_that_the_config_has_otherwise_stays_as_it_was_added_until_reset() {
    let mut state = of(&[add(spec("a9", "10.0.0.9:80"))]);
    let config = [spec("a9", "10.7.7.7:80")];
    assert_eq!(state.reconcile(|_| Some(&config[..])), [""; 0]);
    let effective = state.apply(&name("web"), &config);
    assert_eq!(
        (effective[0].spec.address.to_string().as_str(), effective[0].origin),
        ("10.0.0.9:80", Origin::Runtime)
    );
}

fn any_command() -> impl Strategy<Value = Command> {
    let server = prop_oneof!["w[1-3]", "a[0-9]"];
    (server, 0..7_u8, 0..=256_u32).prop_map(|(server, kind, number)| match kind {
        0 => drain(&server),
        1 => ready(&server),
        2 => weight(&server, number),
        3 => address(&server, &format!("10.1.0.1:{}", number + 1)),
        4 => add(spec(&server, &format!("10.2.0.1:{}", number + 1))),
        5 => remove(&server),
        _ => reset(Some(&server)),
    })
}

proptest! {
    #[test]
    fn whatever_was_changed_reads_back_the_same(commands in prop::collection::vec(any_command(), 0..30)) {
        let state = of(&commands);
        prop_assert_eq!(RuntimeState::from_text(&state.to_text()), Ok(state));
    }

    #[test]
    fn effective_servers_have_unique_names_and_reconciling_with_the_same_config_changes_none_of_them(
        commands in prop::collection::vec(any_command(), 0..30),
    ) {
        let mut state = of(&commands);
        let config = configured();
        let before = state.apply(&name("web"), &config);
        let mut names: Vec<_> = before.iter().map(|server| server.spec.name.clone()).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), before.len());
        state.reconcile(|_| Some(&config[..]));
        let after = state.apply(&name("web"), &config);
        let specs = |servers: &[EffectiveServer]| -> Vec<_> {
            servers.iter().map(|server| (server.spec.clone(), server.state)).collect()
        };
        prop_assert_eq!(specs(&before), specs(&after));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = RuntimeState::from_text(&text);
    }
}

#[test]
fn what_was_changed_about_one_address_of_a_name_is_kept_as_long_as_the_name_is() {
    let mut state = of(&[drain("web_10.0.0.1"), drain("w1_10.0.0.1")]);
    let specs = [spec("web", "web.internal:80"), spec("w1", "10.0.0.9:80")];
    let notes = state.reconcile(|_| Some(&specs[..]));
    assert_eq!(
        notes,
        [
            "pool web, server w1_10.0.0.1: the runtime change is dropped: the config has no such server any more"
        ]
    );
    assert!(state.get(&name("web"), &name("web_10.0.0.1")).is_some());
    let whole = state.effective(&name("web"), &name("web"), Some(&specs[0])).unwrap();
    let of = |ip: &str| state.at_address(&name("web"), &whole, ip.parse().unwrap());
    assert_eq!((of("10.0.0.1").state, of("10.0.0.2").state), (AdminState::Drain, AdminState::Ready));
}

#[test]
fn a_state_belongs_to_one_config_and_keeps_what_others_have_changed() {
    let drained = |server: &str| Command::ServerState {
        pool: name("web"),
        server: name(server),
        state: AdminState::Drain,
    };
    // A file without an owner, from an older version, belongs to the first config that reads it.
    let mut state = RuntimeState::from_text("[pool.web.w1]\nstate = \"drain\"\n").unwrap();
    state.belong_to("/etc/a.toml");
    assert_eq!(state.len(), 1);
    let mut state = RuntimeState::from_text(&state.to_text()).unwrap();
    state.belong_to("/etc/b.toml");
    assert!(state.is_empty());
    assert_eq!(state.others().collect::<Vec<_>>(), [("/etc/a.toml", 1)]);
    state.record(&drained("w2"), true);
    state.record(&drained("w3"), true);
    let mut state = RuntimeState::from_text(&state.to_text()).unwrap();
    state.belong_to("/etc/b.toml");
    assert_eq!(state.len(), 2);
    state.belong_to("/etc/a.toml");
    let named: Vec<String> = state.iter().map(|(_, server, change)| format!("{server}: {change}")).collect();
    assert_eq!(named, ["w1: drain"]);
    assert_eq!(state.others().collect::<Vec<_>>(), [("/etc/b.toml", 2)]);
}
