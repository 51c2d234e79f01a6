//! Tests `weir ctl` against a control socket with a fake handler.

use std::path::Path;
use std::sync::{Arc, Mutex};

use clap::Parser;
use weir_admin::{ControlSocket, Handler, Replying};
use weir_control::{Code, Command, Right, RuntimeState, Snapshot, What};

use super::*;

#[derive(Debug, clap::Parser)]
struct Cli {
    #[command(flatten)]
    args: CtlArgs,
}

/// Handler that obeys every command, except those for the server `busy`.
#[derive(Debug, Default)]
struct Fake {
    commands: Mutex<Vec<Command>>,
    runtime: Mutex<RuntimeState>,
}

impl Handler for Fake {
    fn snapshot(&self) -> Snapshot {
        fixture::snapshot()
    }

    fn handle(&self, command: Command) -> Replying<'_> {
        Box::pin(async move {
            let reply = match &command {
                Command::Show { what: What::Runtime, .. } => {
                    Reply::Ok(Answer::Runtime(self.runtime.lock().unwrap().clone()))
                }
                Command::RemoveServer { server, force: false, .. } if server.as_str() == "busy" => {
                    Reply::error(Code::InUse, "pool web, server busy: 3 requests are in flight")
                }
                Command::ServerState { server, .. } if server.as_str() == "w1" => {
                    let notes = vec!["no server of the pool is left in rotation".to_owned()];
                    Reply::Ok(Answer::Done { changed: true, notes })
                }
                Command::ServerWeight { .. } => Reply::unchanged(),
                _ => Reply::done(),
            };
            self.runtime.lock().unwrap().record(&command, false);
            self.commands.lock().unwrap().push(command);
            reply
        })
    }
}

/// Control socket with the fake handler, in a directory that is removed with it.
struct Server {
    socket: PathBuf,
    handler: Arc<Fake>,
}

impl Server {
    fn start(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("weir-ctl-{}-{name}", std::process::id()));
        let socket = directory.join("control.sock");
        let bound = ControlSocket::bind(&socket, 0o600).unwrap();
        let handler = Arc::new(Fake::default());
        let served = Arc::clone(&handler);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(bound.serve(served, Right::Admin)).unwrap();
        });
        Self { socket, handler }
    }

    fn ctl(&self, arguments: &[&str]) -> Output {
        ctl(&self.socket, arguments)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.socket.parent().unwrap());
    }
}

fn ctl(socket: &Path, arguments: &[&str]) -> Output {
    let fixed = ["ctl", "--socket", socket.to_str().unwrap()];
    let cli = Cli::try_parse_from(fixed.iter().chain(arguments)).unwrap_or_else(|error| panic!("{error}"));
    execute(&cli.args, Style::Plain)
}

#[test]
fn show_prints_everything() {
    insta::assert_snapshot!(Server::start("all").ctl(&["show"]).out);
}

#[test]
fn show_prints_the_part_that_was_asked_for() {
    let server = Server::start("part");
    let first_words = |arguments: &[&str]| -> Vec<String> {
        let output = server.ctl(arguments);
        assert_eq!(output.code, 0, "{output:?}");
        output.out.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    };
    assert_eq!(first_words(&["show", "listeners"]), ["LISTENER", "http"]);
    assert_eq!(first_words(&["show", "process"]), ["weir", "connections", "config"]);
    assert_eq!(first_words(&["show", "pools", "--pool", "mail"]), ["pool", "SERVER", "m1", "all"]);
}

#[test]
fn every_verb_sends_its_command_and_says_what_it_did() {
    let server = Server::start("verbs");
    let mut said = String::new();
    for line in [
        "drain web/w2",
        "drain web/w1",
        "ready web/w2",
        "maintenance web/w2",
        "weight web/w2 7",
        "address web/w2 [::1]:81",
        "add web w9 10.0.0.9:80 --weight 3 --backup --connections-max 10",
        "add web w8 10.0.0.8:80 --weight auto",
        "remove web/w9",
        "remove web/busy --force",
        "reset web",
        "reset web/w2",
        "reload",
    ] {
        let output = server.ctl(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{line}");
        said.push_str(&output.out);
    }
    insta::assert_snapshot!(said, @r"
    web/w2 drains: it gets nothing new
    web/w1 drains: it gets nothing new
    note: no server of the pool is left in rotation
    web/w2 is ready
    web/w2 is in maintenance
    web/w2 has weight 7: it was so already
    web/w2 is at [::1]:81
    web/w9 at 10.0.0.9:80 is added
    web/w8 at 10.0.0.8:80 is added
    web/w9 is removed
    web/busy is removed
    web is as the config has it
    web/w2 is as the config has it
    the config was read again
    ");
    let commands = server.handler.commands.lock().unwrap();
    let sent: Vec<_> = commands.iter().map(|command| serde_json::to_string(command).unwrap()).collect();
    insta::assert_snapshot!(sent.join("\n"), @r#"
    {"server-state":{"pool":"web","server":"w2","state":"drain"}}
    {"server-state":{"pool":"web","server":"w1","state":"drain"}}
    {"server-state":{"pool":"web","server":"w2","state":"ready"}}
    {"server-state":{"pool":"web","server":"w2","state":"maintenance"}}
    {"server-weight":{"pool":"web","server":"w2","weight":7}}
    {"server-address":{"pool":"web","server":"w2","address":"[::1]:81"}}
    {"add-server":{"pool":"web","server":{"name":"w9","address":"10.0.0.9:80","weight":3,"backup":true,"connections_max":10}}}
    {"add-server":{"pool":"web","server":{"name":"w8","address":"10.0.0.8:80","weight":1,"auto_weight":true,"backup":false}}}
    {"remove-server":{"pool":"web","server":"w9","force":false}}
    {"remove-server":{"pool":"web","server":"busy","force":true}}
    {"reset":{"pool":"web"}}
    {"reset":{"pool":"web","server":"w2"}}
    "reload"
    "#);
}

#[test]
fn runtime_changes_are_listed() {
    let server = Server::start("runtime");
    assert_eq!(server.ctl(&["show", "runtime"]).out, "nothing was changed at runtime\n");
    for line in ["drain web/w2", "address web/w2 10.9.9.9:80", "add web w9 10.0.0.9:80 --backup"] {
        server.ctl(&line.split(' ').collect::<Vec<_>>());
    }
    insta::assert_snapshot!(server.ctl(&["show", "runtime"]).out, @r"
    POOL  SERVER  CHANGE
    web   w2      drain, at 10.9.9.9:80
    web   w9      added at 10.0.0.9:80, weight 1, backup
    ");
}

#[test]
fn transfers_are_listed() {
    insta::assert_snapshot!(Server::start("transfers").ctl(&["show", "transfers"]).out, @r"
    ID  AREA  WAY   PEER                 STATE                  BYTES       RATE  AGE  PATH
     7  data  pull  dav.example.org:443  moving  3.00 GiB of 10.0 GiB  250 MiB/s  12s  /data/run42
    ");
}

#[test]
fn a_refusal_exits_with_1_and_says_why() {
    let server = Server::start("refusal");
    let output = server.ctl(&["remove", "web/busy"]);
    let err = "weir ctl: pool web, server busy: 3 requests are in flight\n".to_owned();
    assert_eq!(output, Output { code: 1, out: String::new(), err });
    let output = server.ctl(&["remove", "web/busy", "--json"]);
    let message =
        r#"{"error":{"code":"in-use","message":"pool web, server busy: 3 requests are in flight"}}"#;
    assert_eq!((output.code, output.out.trim()), (1, message));
    assert_eq!(server.ctl(&["show", "pools", "--pool", "nope"]).err, "weir ctl: there is no pool nope\n");
}

#[test]
fn nobody_there_exits_with_2() {
    let output = ctl(Path::new("/nonexistent/control.sock"), &["reload"]);
    let err = "weir ctl: control socket /nonexistent/control.sock: No such file or directory (os error 2) (is Weir running?)\n";
    assert_eq!(output, Output { code: 2, out: String::new(), err: err.to_owned() });
}

#[test]
fn json_is_what_the_status_page_has() {
    let server = Server::start("json");
    let shown: Snapshot = serde_json::from_str(&server.ctl(&["show", "--json"]).out).unwrap();
    assert_eq!(serde_json::to_value(&shown).unwrap(), serde_json::to_value(fixture::snapshot()).unwrap());
    assert_eq!(server.ctl(&["reload", "--json"]).out, "{\"changed\":true}\n");
    assert_eq!(server.ctl(&["show", "runtime", "--json"]).out, "{}\n");
}

#[test]
fn a_mistyped_argument_is_explained() {
    let wrong = |arguments: &[&str]| -> String {
        let error = Cli::try_parse_from(["ctl"].iter().chain(arguments)).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string().lines().next().unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(wrong(&["drain", "w1"]), @"error: invalid value 'w1' for '<POOL/SERVER>': write POOL/SERVER");
    insta::assert_snapshot!(wrong(&["drain", "web/a b"]), @"error: invalid value 'web/a b' for '<POOL/SERVER>': ' ' cannot stand in a name (letters, digits and _ - . : can)");
    insta::assert_snapshot!(wrong(&["weight", "web/w1", "300"]), @"error: invalid value '300' for '<WEIGHT>': weight 300 is out of range: 0 to 256");
    insta::assert_snapshot!(wrong(&["add", "web", "w9", "10.0.0.9"]), @"error: invalid value '10.0.0.9' for '<ADDRESS>': the port is missing: write address:port");
    insta::assert_snapshot!(wrong(&["show", "everything"]), @r#"error: invalid value 'everything' for '[WHAT]': "everything" cannot be shown: one of all, process, listeners, pools, sticky, fleets, transfers, runtime"#);
}
