//! Tests that docs/reference/control-socket.md matches the declarations of commands and replies, and the
//! replies of a running Weir. After a change: `WEIR_UPDATE_DOCS=1 cargo test -p weir-e2e --test seeing
//! control_reference`

mod page;
mod source;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, TempDir, wait_until};

use source::Declared;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

fn declarations() -> Vec<Declared> {
    source::read(&root().join("logic/control/src"))
}

fn find<'a>(all: &'a [Declared], name: &str) -> &'a Declared {
    all.iter().find(|declared| declared.name == name).unwrap_or_else(|| panic!("{name} is not declared"))
}

/// Returns the names between backticks.
fn quoted(message: &str) -> BTreeSet<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

fn refusal(weir: &Weir, command: &Value) -> String {
    let reply = weir.command(command);
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{command}: {reply}")).to_owned()
}

#[test]
fn the_reference_of_the_control_socket_is_up_to_date() {
    let written = page::write(&declarations());
    let file = root().join("docs/reference/control-socket.md");
    if std::env::var_os("WEIR_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &written).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == written, "{} is out of date: WEIR_UPDATE_DOCS=1 brings it up", file.display());
}

#[test]
fn the_reference_has_every_command_and_every_field_that_a_running_weir_takes() {
    let all = declarations();
    let weir = page::start();
    let commands = find(&all, "Command");
    let documented: BTreeSet<&str> = commands.members.iter().map(|command| command.name.as_str()).collect();
    let message = refusal(&weir, &json!("x"));
    let taken: BTreeSet<&str> = quoted(&message).into_iter().filter(|name| *name != "x").collect();
    assert_eq!(documented, taken);
    for command in commands.members.iter().filter(|command| !command.fields.is_empty()) {
        let fields: BTreeSet<&str> = command.fields.iter().map(|field| field.name.as_str()).collect();
        let message = refusal(&weir, &json!({ &command.name: { "x": 1 } }));
        let taken: BTreeSet<&str> = quoted(&message).into_iter().filter(|name| *name != "x").collect();
        assert_eq!(fields, taken, "{}", command.name);
        let required: Vec<_> = command.fields.iter().filter(|field| !field.is_optional).collect();
        if let Some(first) = required.first() {
            let message = refusal(&weir, &json!({ &command.name: {} }));
            assert!(
                message.contains(&format!("missing field `{}`", first.name)),
                "{}: {message}",
                command.name
            );
        }
    }
}

#[test]
fn the_reference_has_every_field_of_a_running_weirs_snapshot() {
    let all = declarations();
    let server = RawServer::answering("hi");
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "content").unwrap();
    let weir = Weir::start(&format!(
        "{}check = \"tcp\"\n[listener.files]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
         [storage-area.data]\nroot = {:?}\nthird-party-copy = true\n\
         [storage-area.data.access]\nanonymous-read = true\n\
         [third-party-copy]\nhttp = true\nprivate = \"127.0.0.0/8\"\n\
         [fleet.web]\npool = \"web\"\nmax = 2\ncapacity = 1\nact = false\nprocess = {{ command = \"true\" }}\ndirectory = {:?}\n",
        web(&[server.addr()]),
        root.path(),
        root.path().join("fleet"),
    ));
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    // A copy that is in progress.
    let silent = RawServer::silent();
    let mut copy = RawClient::connect(weir.addr("files"));
    let destination = format!("http://{}/", silent.addr());
    copy.send(format!("COPY /f HTTP/1.1\r\nHost: a\r\nDestination: {destination}\r\n\r\n"));
    assert_eq!(copy.response_head().status, 202);
    let mut snapshot = Value::Null;
    // The health check has run by then, too.
    wait_until("a check", PATIENCE, || {
        snapshot = weir.obey(&json!({"show": {}}))["snapshot"].take();
        snapshot["pools"][0]["servers"][0]["check"]["code"] == "L4OK"
    });
    let mut seen = BTreeSet::new();
    compare(&all, "Snapshot", &snapshot, &mut seen);
    for name in
        ["ProcessSnapshot", "ListenerSnapshot", "PoolSnapshot", "ServerSnapshot", "CheckSnapshot", "Traffic"]
    {
        assert!(seen.contains(name), "{name} was not in {snapshot}");
    }
    for name in seen {
        assert!(page::SNAPSHOT.contains(&name.as_str()), "{name} has no section");
    }
}

/// Compares a value with its declaration, recursively.
fn compare(all: &[Declared], of: &str, value: &Value, seen: &mut BTreeSet<String>) {
    let (of, values) = match (page::inner(of), value) {
        (_, Value::Null) => return,
        (Some(of), Value::Array(values)) => (of, values.iter().collect()),
        (Some(of), value) => (of, vec![value]),
        (None, value) => (of, vec![value]),
    };
    let Some(declared) = all.iter().find(|declared| declared.name == page::shown_as(of)) else { return };
    for value in values {
        seen.insert(of.to_owned());
        if declared.is_enum {
            let word =
                value.as_str().or_else(|| value.as_object()?.keys().next().map(String::as_str)).unwrap();
            assert!(declared.members.iter().any(|member| member.name == word), "{of} has no {word}");
            continue;
        }
        let keys: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let fields: BTreeSet<&str> = declared.members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(keys, fields, "{of}");
        for member in &declared.members {
            compare(all, &member.of, &value[&member.name], seen);
        }
    }
}
