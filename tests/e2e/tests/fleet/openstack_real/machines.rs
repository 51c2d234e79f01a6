//! Machines of a fleet. The control plane only books them, so a real server stands at the address of each, and ends with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_e2e::{Weir, program};
use weir_testkit::{Child, TempDir, wait_until};

use super::cloud::Cloud;
use super::gate::Gate;
use crate::place::has_settled_at;

/// A machine is built in about a second, one after the other, and more slowly where others are built as well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A fleet's machines, with servers in place of their guests. All are gone at its end; Weir has to be gone before.
pub(crate) struct Machines {
    /// The fleet's name: no other test has it.
    name: &'static str,
    /// The project that it is in.
    pub(crate) cloud: Cloud,
    directory: TempDir,
    over: Arc<AtomicBool>,
    stand_in: Option<JoinHandle<()>>,
}

impl Machines {
    pub(crate) fn new(name: &'static str, user: &'static str) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let stand_in = thread::spawn({
            let over = Arc::clone(&over);
            move || stand_in(&Cloud::of(user), name, &over)
        });
        Self {
            name,
            cloud: Cloud::of(user),
            directory: TempDir::new().unwrap(),
            over,
            stand_in: Some(stand_in),
        }
    }

    /// A file of this test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A pool behind a listener, both `web`, and its fleet with these rules, of machines with these further keys. Nothing is tried again.
    pub(crate) fn config(&self, cloud: &str, rules: &str, machines: &str) -> String {
        let name = self.name;
        format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
             [pool.web]\nretry = false\ncheck = {{ http = \"GET /health\", interval = \"100ms\", rise = 1, fall = 3 }}\n\n\
             [fleet.{name}]\npool = \"web\"\nport = 8080\ndirectory = {:?}\ninterval = \"500ms\"\ncapacity = 1000\n{rules}\n\n\
             [fleet.{name}.openstack]\ncloud = \"{cloud}\"\nimage = \"img\"\nflavor = \"small\"\nnetworks = \"net\"\n\
             {machines}\n",
            self.path("fleet"),
        )
    }

    pub(crate) fn start(&self, cloud: &str, rules: &str, machines: &str) -> Weir {
        Weir::start(&self.config(cloud, rules, machines))
    }

    /// One that has got its first machine.
    pub(crate) fn weir(&self, cloud: &str, rules: &str, machines: &str) -> Weir {
        let weir = self.start(cloud, rules, machines);
        self.settle(&weir, 1);
        weir
    }

    /// The same, with a gate before Nova, and this Keystone.
    pub(crate) fn weir_behind(&self, gate: &Gate, auth_url: &str, rules: &str) -> Weir {
        let clouds = gate.clouds(self.directory.path(), auth_url);
        let launcher = Weir::launcher(&self.config("gated", rules, ""));
        let weir = launcher.env("OS_CLIENT_CONFIG_FILE", clouds).start();
        self.settle(&weir, 1);
        weir
    }

    pub(crate) fn order(&self, weir: &Weir, servers: u64) {
        weir.obey(&json!({"fleet-scale": {"fleet": self.name, "servers": servers}}));
    }

    #[track_caller]
    pub(crate) fn settle(&self, weir: &Weir, servers: u64) {
        wait_until("as many as were asked for", PATIENCE, || has_settled_at(weir, servers));
    }

    #[track_caller]
    pub(crate) fn scale(&self, weir: &Weir, servers: u64) {
        self.order(weir, servers);
        self.settle(weir, servers);
    }

    /// What Nova has of the fleet.
    #[track_caller]
    pub(crate) fn listed(&self) -> Vec<Value> {
        let mut machines = Err(String::new());
        wait_until("Nova lists them", PATIENCE, || {
            machines = self.cloud.machines(self.name);
            machines.is_ok()
        });
        machines.unwrap()
    }

    /// How many of them Nova has in this state.
    pub(crate) fn count(&self, status: &str) -> usize {
        self.listed().iter().filter(|machine| machine["status"] == status).count()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        // One that is held cannot be deleted.
        for fault in ["holds", "fails"] {
            let _ = fs::remove_file(self.path(fault));
        }
        let end = Instant::now() + PATIENCE;
        let left = loop {
            let machines = self.cloud.machines(self.name);
            if machines.as_ref().is_ok_and(Vec::is_empty) || Instant::now() > end {
                break machines;
            }
            for machine in machines.unwrap_or_default() {
                let path = format!("/servers/{}", machine["id"].as_str().unwrap_or_default());
                if machine["OS-EXT-STS:task_state"] != "deleting" {
                    // One that cannot be deleted now is met again.
                    let _ = self.cloud.ask("compute", "DELETE", &path, None);
                }
            }
            thread::sleep(GLANCE);
        };
        self.over.store(true, Ordering::SeqCst);
        let ended = self.stand_in.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
        let are_gone = left.as_ref().is_ok_and(Vec::is_empty);
        assert!(are_gone || thread::panicking(), "machines that nobody deletes any more: {left:?}");
    }
}

/// Between two looks at what Nova has.
const GLANCE: Duration = Duration::from_millis(300);

/// What runs on hosts that are there: a server for each machine that is on, killed at once when Nova begins to switch it off.
fn stand_in(cloud: &Cloud, fleet: &str, over: &AtomicBool) {
    let mut servers: BTreeMap<String, Child> = BTreeMap::new();
    while !over.load(Ordering::SeqCst) {
        // Who cannot be asked has switched nothing off.
        if let Ok(machines) = cloud.machines(fleet) {
            let is_on = |machine: &&Value| {
                machine["status"] == "ACTIVE" && machine["OS-EXT-STS:task_state"].is_null()
            };
            let on: Vec<&Value> = machines.iter().filter(is_on).collect();
            // One that has ended found its address taken by whoever had it before, and begins again.
            servers.retain(|id, server| {
                !server.is_over() && on.iter().any(|machine| machine["id"] == id.as_str())
            });
            for machine in on {
                let address = machine["addresses"]["net"][0]["addr"].as_str();
                if let (Some(id), Some(address)) = (machine["id"].as_str(), address) {
                    servers.entry(id.to_owned()).or_insert_with(|| start(address));
                }
            }
        }
        thread::sleep(GLANCE);
    }
}

fn start(address: &str) -> Child {
    let mut command = Command::new(program());
    command.args(["origin", "--bind", &format!("{address}:8080"), "--name", address]);
    Child::spawn(command)
}

/// As it is written in TOML: metadata by which `tests/openstack/plugins/booked.py` knows what is to happen to a machine.
pub(crate) fn fault(name: &str, file: &Path) -> String {
    format!("metadata = {{ {name} = {file:?} }}")
}
