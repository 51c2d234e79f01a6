//! The machines of a fleet in OpenStack. The control plane only registers them, so a real server listens at
//! the address of each machine and ends with it.

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

/// Maximum wait. Nova builds one machine after the other, each in about a second, and more slowly while other
/// tests build machines.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// The machines of a fleet, with servers in place of their guests. Dropping it deletes all of them; stop Weir
/// before that.
pub(crate) struct Machines {
    /// Name of the fleet, unique among the tests.
    name: &'static str,
    /// Project of the fleet.
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

    /// Returns the path of a file of this test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns a config with a listener and a pool, both `web`, and the fleet with these rules and these
    /// further machine keys. The pool does not retry.
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

    /// Starts Weir and waits for the first machine.
    pub(crate) fn weir(&self, cloud: &str, rules: &str, machines: &str) -> Weir {
        let weir = self.start(cloud, rules, machines);
        self.settle(&weir, 1);
        weir
    }

    /// Does the same with a gate in front of Nova, and with this Keystone.
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

    /// Returns the fleet's machines in Nova.
    #[track_caller]
    pub(crate) fn listed(&self) -> Vec<Value> {
        let mut machines = Err(String::new());
        wait_until("Nova lists them", PATIENCE, || {
            machines = self.cloud.machines(self.name);
            machines.is_ok()
        });
        machines.unwrap()
    }

    /// Returns the number of machines with this status in Nova.
    pub(crate) fn count(&self, status: &str) -> usize {
        self.listed().iter().filter(|machine| machine["status"] == status).count()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        // A machine that is held cannot be deleted.
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
                    // If the deletion fails now, the next pass repeats it.
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

/// Interval between two requests for the machines.
const GLANCE: Duration = Duration::from_millis(300);

/// Plays the part of the hosts: runs a server for each active machine, and kills it at once when Nova begins
/// to switch the machine off.
fn stand_in(cloud: &Cloud, fleet: &str, over: &AtomicBool) {
    let mut servers: BTreeMap<String, Child> = BTreeMap::new();
    while !over.load(Ordering::SeqCst) {
        // If Nova does not respond, no machine has been switched off.
        if let Ok(machines) = cloud.machines(fleet) {
            let is_on = |machine: &&Value| {
                machine["status"] == "ACTIVE" && machine["OS-EXT-STS:task_state"].is_null()
            };
            let on: Vec<&Value> = machines.iter().filter(is_on).collect();
            // A server that has ended found its address still in use by the previous one, so it starts again.
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

/// Returns the TOML for a simulated fault: metadata that tells `tests/openstack/plugins/booked.py` what
/// happens to the machine.
pub(crate) fn fault(name: &str, file: &Path) -> String {
    format!("metadata = {{ {name} = {file:?} }}")
}
