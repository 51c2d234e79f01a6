//! A directory and helpers for tests of a fleet of processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};
use weir_e2e::{Weir, program};
use weir_testkit::TempDir;

/// Directory of a fleet, which exists longer than any single Weir. Dropping it kills the fleet's processes.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// Returns a config with a listener and a pool, both `web`, and a fleet of test web servers with these
    /// keys. The pool does not retry.
    pub(crate) fn config(&self, fleet: &str) -> String {
        format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
             [pool.web]\nretry = false\ncheck = {{ http = \"GET /health\", interval = \"100ms\", rise = 1, fall = 3 }}\n\n\
             [fleet.web]\npool = \"web\"\ndirectory = {:?}\ninterval = \"200ms\"\nstart-up = \"1s\"\nwake-up = \"500ms\"\n\
             history-interval = \"200ms\"\n\
             process = {{ command = [{:?}, \"origin\", \"--bind\", \"{{address}}:{{port}}\", \"--name\", \"{{machine}}\"], stop-grace = \"20s\" }}\n\
             {fleet}\n",
            self.path("fleet"),
            program(),
        )
    }

    /// Returns the living processes of the fleet by the name of their machine.
    pub(crate) fn processes(&self) -> BTreeMap<String, u32> {
        let mark = format!("WEIR_FLEET_MACHINE={}/", self.path("fleet/processes").display());
        let of = |pid: u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let variables = environment.split(|byte| *byte == 0);
            let found = variables
                .map(String::from_utf8_lossy)
                .find_map(|variable| variable.strip_prefix(&mark).map(str::to_owned));
            Some((found?, pid))
        };
        let all = fs::read_dir("/proc").unwrap();
        all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(of).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.processes().into_values() {
            // Ignores the error if the process has already ended.
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    }
}

/// Returns the fleet's snapshot.
pub(crate) fn fleet(weir: &Weir) -> Value {
    weir.obey(&json!({"show": {"what": "fleets"}}))["snapshot"]["fleets"][0].take()
}

/// Returns true if this number of servers takes requests and no action is pending.
pub(crate) fn has_settled_at(weir: &Weir, servers: u64) -> bool {
    let fleet = fleet(weir);
    fleet["active"] == servers
        && fleet["coming"] == 0
        && fleet["draining"] == 0
        && fleet["actions"] == json!([])
}

/// Returns the servers that finish requests and get no new ones.
pub(crate) fn busy_and_draining(weir: &Weir) -> Vec<String> {
    let fleet = fleet(weir);
    let servers = fleet["servers"].as_array().cloned().unwrap_or_default();
    let busy =
        servers.iter().filter(|server| server["state"] == "draining" && server["active"].as_u64() > Some(0));
    busy.map(|server| server["name"].as_str().unwrap().to_owned()).collect()
}

/// Runs `weir fleet` with these arguments.
pub(crate) fn ask(weir: &Weir, arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.arg("fleet").args(arguments).arg("--socket").arg(weir.control());
    command.output().unwrap()
}

/// Does the same as [`ask`] and returns standard output; the command must succeed.
#[track_caller]
pub(crate) fn told(weir: &Weir, arguments: &[&str]) -> String {
    let output = ask(weir, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
