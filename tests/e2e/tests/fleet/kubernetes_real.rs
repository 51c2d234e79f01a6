//! Tests of fleets of pods with a real Kubernetes control plane. Its pods run nothing, so a real server
//! listens at the address of each pod and ends with it. `make test-kubernetes` starts the control plane and
//! runs these tests with WEIR_KUBERNETES set; other test runs skip them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};
use weir_e2e::{Weir, get, program};
use weir_testkit::{Signal, TempDir, wait_until};

use crate::clients::Seen;
use crate::place::{fleet, has_settled_at, told};

const PATIENCE: Duration = Duration::from_secs(120);

fn place(name: &str) -> PathBuf {
    let directory = std::env::var_os("WEIR_KUBERNETES").expect("make test-kubernetes sets WEIR_KUBERNETES");
    Path::new(&directory).join(name)
}

/// Runs kubectl as an administrator.
fn kubectl(arguments: &[&str]) -> Output {
    Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(place("admin.kubeconfig"))
        .args(arguments)
        .output()
        .unwrap()
}

/// A workload with its service, and servers in place of its containers. All of them end when it is dropped.
struct Pods {
    name: &'static str,
    kind: &'static str,
    directory: TempDir,
    over: Arc<AtomicBool>,
    kubelet: Option<JoinHandle<()>>,
}

impl Pods {
    fn new(kind: &'static str, name: &'static str, replicas: u32) -> Self {
        let more = if kind == "StatefulSet" { json!({ "serviceName": name }) } else { json!({}) };
        let labels = json!({ "app": name });
        let mut spec = json!({
            "replicas": replicas,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "web" }] } },
        });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let workload =
            json!({ "apiVersion": "apps/v1", "kind": kind, "metadata": { "name": name }, "spec": spec });
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
            "spec": { "clusterIP": "None", "selector": labels, "ports": [{ "name": "http", "port": 8080 }] },
        });
        let directory = TempDir::new().unwrap();
        for (file, object) in [("workload", workload), ("service", service)] {
            let path = directory.path().join(file);
            fs::write(&path, object.to_string()).unwrap();
            let applied = kubectl(&["apply", "-f", path.to_str().unwrap()]);
            assert!(applied.status.success(), "{applied:?}");
        }
        let over = Arc::new(AtomicBool::new(false));
        let kubelet = thread::spawn({
            let over = Arc::clone(&over);
            move || stand_in(name, &over)
        });
        Self { name, kind, directory, over, kubelet: Some(kubelet) }
    }

    /// Returns a config with a listener and a pool, both `web`, and the fleet. The pool does not retry.
    fn config(&self, kubeconfig: &Path, rules: &str) -> String {
        let (name, key) = (self.name, self.kind.to_lowercase());
        format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
             [pool.web]\nretry = false\ncheck = {{ http = \"GET /health\", interval = \"100ms\", rise = 1, fall = 3 }}\n\n\
             [fleet.web]\npool = \"web\"\ndirectory = {:?}\ninterval = \"200ms\"\nstart-up = \"2s\"\n\
             capacity = 1000\n{rules}\n\
             kubernetes = {{ {key} = \"{name}\", service = \"{name}\", kubeconfig = {kubeconfig:?}, timeout = \"5s\" }}\n",
            self.directory.path().join("fleet"),
        )
    }

    fn weir(&self, rules: &str) -> Weir {
        Weir::start(&self.config(&place("weir.kubeconfig"), rules))
    }

    /// Returns the number of replicas that the control plane wants.
    fn replicas(&self) -> u64 {
        let said = kubectl(&["get", self.kind, self.name, "-o", "jsonpath={.spec.replicas}"]);
        String::from_utf8(said.stdout).unwrap().parse().unwrap()
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        kubectl(&["delete", self.kind, self.name, "--wait=false"]);
        kubectl(&["delete", "service", self.name, "--wait=false"]);
        self.over.store(true, Ordering::SeqCst);
        let ended = self.kubelet.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

/// Plays the part of the nodes: runs a server for each pod at its address, and kills it at once when the pod
/// is deleted. If another pod has already received the address, the server keeps running. On real nodes an
/// address is free only after the network of the old pod is gone, so a check cannot confuse two pods.
fn stand_in(name: &str, over: &AtomicBool) {
    let mut servers: BTreeMap<String, (String, Child)> = BTreeMap::new();
    let path = format!("/api/v1/namespaces/default/pods?labelSelector=app%3D{name}");
    while !over.load(Ordering::SeqCst) {
        let listed: Value =
            serde_json::from_slice(&kubectl(&["get", "--raw", &path]).stdout).unwrap_or_default();
        let Some(pods) = listed["items"].as_array() else { continue };
        let live = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let live: BTreeMap<String, &str> = live
            .filter_map(|pod| {
                Some((pod["metadata"]["uid"].as_str()?.to_owned(), pod["status"]["podIP"].as_str()?))
            })
            .collect();
        let gone: Vec<String> = servers.keys().filter(|uid| !live.contains_key(*uid)).cloned().collect();
        for uid in gone {
            let (address, mut server) = servers.remove(&uid).unwrap();
            let heir = live.iter().find(|(uid, ip)| **ip == address.as_str() && !servers.contains_key(*uid));
            match heir {
                Some((uid, _)) => drop(servers.insert(uid.clone(), (address, server))),
                None => drop(server.kill().and_then(|()| server.wait()).unwrap()),
            }
        }
        for (uid, ip) in live {
            servers.entry(uid).or_insert_with(|| {
                let mut command = Command::new(program());
                command.args(["origin", "--bind", &format!("{ip}:8080"), "--name", ip]);
                (ip.to_owned(), command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
            });
        }
        // A node learns about its pods with a similar delay.
        thread::sleep(Duration::from_millis(50));
    }
    for (_, server) in servers.values_mut() {
        server.kill().and_then(|()| server.wait()).unwrap();
    }
}

fn scale(weir: &Weir, servers: u64) {
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": servers}}));
}

fn up_and_down_under_load(pods: &Pods, cycles: u32) {
    let weir = pods.weir("min = 1\nmax = 5");
    let address = weir.addr("web");
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    let seen = Seen::during(address, 6, 100, |_| {
        for _ in 0..cycles {
            for servers in [5, 2, 1] {
                scale(&weir, servers);
                wait_until("as many as were asked for", PATIENCE, || has_settled_at(&weir, servers));
                assert_eq!(pods.replicas(), servers);
            }
        }
    });
    let (answered, failed) = (seen.answered(), seen.failed());
    println!(
        "{} {}: {cycles} cycles, {answered} requests answered, {} failed",
        pods.kind,
        pods.name,
        failed.len()
    );
    assert!(failed.is_empty(), "{} of {answered}: {failed:#?}\n{:#?}", failed.len(), weir.log());
    assert_eq!(weir.metrics().get("weir_fleet_cut_requests_total", &[]), 0.0);
}

#[test]
#[ignore = "make test-kubernetes"]
fn pods_of_a_deployment_come_and_go_under_load_and_no_request_is_lost() {
    up_and_down_under_load(&Pods::new("Deployment", "cycles", 1), 10);
}

#[test]
#[ignore = "make test-kubernetes"]
fn pods_of_a_stateful_set_come_and_go_under_load_and_no_request_is_lost() {
    up_and_down_under_load(&Pods::new("StatefulSet", "counted", 1), 5);
}

/// A proxy between Weir and the API server that a test can shut.
struct Gate {
    address: SocketAddr,
    shut: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Gate {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let gate = Self { address, shut: Arc::default(), connections: Arc::default() };
        let (shut, connections) = (Arc::clone(&gate.shut), Arc::clone(&gate.connections));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut connections = connections.lock().unwrap();
                if shut.load(Ordering::SeqCst) {
                    continue;
                }
                connections.push(client.try_clone().unwrap());
                let server = TcpStream::connect("127.0.0.1:6443").unwrap();
                for (mut from, mut to) in
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
                {
                    thread::spawn(move || {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        gate
    }

    /// Closes the gate and its open connections.
    fn shut(&self) {
        let mut connections = self.connections.lock().unwrap();
        self.shut.store(true, Ordering::SeqCst);
        for connection in connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Writes Weir's kubeconfig with the address of the gate.
    fn kubeconfig(&self, directory: &Path) -> PathBuf {
        let text = fs::read_to_string(place("weir.kubeconfig")).unwrap();
        let path = directory.join("kubeconfig");
        fs::write(&path, text.replace("127.0.0.1:6443", &self.address.to_string())).unwrap();
        path
    }
}

#[test]
#[ignore = "make test-kubernetes"]
fn while_the_api_server_is_away_everything_stays_as_it_is_and_that_is_said() {
    let pods = Pods::new("Deployment", "away", 2);
    let gate = Gate::open();
    let config =
        pods.config(&gate.kubeconfig(pods.directory.path()), "min = 1\nmax = 5\nstale-after = \"1s\"");
    let weir = Weir::start(&config);
    scale(&weir, 2);
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    gate.shut();
    wait_until("it is said", PATIENCE, || {
        let fleet = fleet(&weir);
        fleet["troubles"].to_string().contains("get Deployment away in namespace default")
            && fleet["alarms"] != json!([])
    });
    scale(&weir, 4);
    let looks = fleet(&weir)["looks"].as_u64().unwrap();
    wait_until("it has looked again", PATIENCE, || fleet(&weir)["looks"].as_u64().unwrap() > looks + 3);
    for _ in 0..10 {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
    assert_eq!(pods.replicas(), 2);
    gate.shut.store(false, Ordering::SeqCst);
    wait_until("four servers", PATIENCE, || has_settled_at(&weir, 4));
    assert_eq!(fleet(&weir)["troubles"], json!([]));
}

#[test]
#[ignore = "make test-kubernetes"]
fn weir_killed_at_any_moment_comes_to_the_number_that_was_asked_for() {
    for (kind, name) in [("Deployment", "killed"), ("StatefulSet", "slain")] {
        let pods = Pods::new(kind, name, 1);
        for (step, servers) in [5, 1, 4, 2, 5, 1].into_iter().enumerate() {
            let mut weir = pods.weir("min = 1\nmax = 5");
            weir.wait_for_log("fleet web: led from here");
            scale(&weir, servers);
            weir.wait_for_log("wanted; ");
            // An arbitrary delay, so that the kill may hit any moment.
            thread::sleep(Duration::from_millis(30 * step as u64));
            weir.signal(Signal::KILL);
            weir.wait();
        }
        let weir = pods.weir("min = 1\nmax = 5");
        for servers in [3, 1] {
            scale(&weir, servers);
            wait_until("as many as were asked for", PATIENCE, || has_settled_at(&weir, servers));
            assert_eq!(pods.replicas(), servers);
            for _ in 0..servers * 2 {
                assert_eq!(weir.client().exchange(get("/")).status, 200);
            }
        }
    }
}

#[test]
#[ignore = "make test-kubernetes"]
fn a_fleet_that_may_not_scale_says_so() {
    let pods = Pods::new("Deployment", "mute", 1);
    let config = pods.config(&place("nobody.kubeconfig"), "min = 1\nmax = 5");
    let path = pods.directory.path().join("weir.toml");
    fs::write(&path, &config).unwrap();
    let checked = Command::new(program()).arg("check").arg(&path).arg("--online").output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(
        checked.status.code() == Some(1) && said.contains("User \"nobody\" cannot get resource"),
        "{said}"
    );
    let weir = Weir::start(&config);
    wait_until("it is said", PATIENCE, || told(&weir, &["status"]).contains("is forbidden"));
}
