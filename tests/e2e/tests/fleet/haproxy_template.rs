//! Tests of a HAProxy whose servers cannot be added at runtime: it is reloaded with a configuration from a
//! template. Debian's HAProxy (2.6) supports both ways; `scripts/setup test` installs it.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use weir_e2e::{Weir, get, program};
use weir_testkit::{Child, PATIENCE, RawClient, SetOnDrop, Signal, wait_until};

use crate::place::{Place, fleet, has_settled_at};

const HAPROXY: &str = "/usr/sbin/haproxy";
/// Maximum wait for reloads, which are slow and run one after the other.
const LONG: Duration = Duration::from_secs(60);

/// A HAProxy with a template that has not been rendered yet.
struct Haproxy {
    child: Child,
    address: SocketAddr,
    socket: PathBuf,
}

impl Haproxy {
    /// Starts HAProxy with these arguments, followed by the configuration.
    fn start(place: &Place, arguments: &[&str]) -> Self {
        assert!(Path::new(HAPROXY).exists(), "haproxy is not installed: run `scripts/setup test`");
        // Another process may take the port before HAProxy binds it; the test then fails with that error.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let socket = place.path("haproxy.sock");
        let template = format!(
            "global\n  stats socket {} mode 600 level admin expose-fd listeners\n\
             defaults\n  mode http\n  retries 0\n  option idle-close-on-response\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
             frontend front\n  bind {address}\n  default_backend web\n\
             backend web\n  balance leastconn\n  {{{{#servers}}}}\n  {{{{server}}}}\n  {{{{/servers}}}}\n",
            socket.display()
        );
        fs::write(place.path("haproxy.cfg.in"), &template).unwrap();
        let bare: String =
            template.lines().filter(|line| !line.contains("{{")).map(|line| format!("{line}\n")).collect();
        fs::write(place.path("haproxy.cfg"), bare).unwrap();
        let mut command = Command::new(HAPROXY);
        command.args(arguments).arg("-f").arg(place.path("haproxy.cfg"));
        let child = Child::spawn(command);
        wait_until("HAProxy accepts", PATIENCE, || {
            RawClient::try_connect(address).is_ok() && socket.exists()
        });
        Self { child, address, socket }
    }

    /// Starts a master process with workers. Returns it with the command that reloads it by a signal.
    fn master(place: &Place) -> (Self, Vec<String>) {
        let haproxy = Self::start(place, &["-W"]);
        let reload = vec!["kill".to_owned(), "-USR2".to_owned(), haproxy.child.pid().to_string()];
        (haproxy, reload)
    }

    /// Returns the id of the process that responds on the socket.
    fn pid(&self) -> String {
        let mut pid = None;
        wait_until("a process answers", PATIENCE, || {
            pid = pid_at(&self.socket);
            pid.is_some()
        });
        pid.unwrap()
    }

    /// Returns the number of servers that are up.
    fn up(&self) -> usize {
        let stat = ask(&self.socket, "show stat").unwrap_or_default();
        stat.lines().filter(|line| line.starts_with("web,web-") && line.contains(",UP,")).count()
    }
}

/// Sends a command and returns the reply. Fails while one process takes over from another.
fn ask(socket: &Path, command: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

fn pid_at(socket: &Path) -> Option<String> {
    let info = ask(socket, "show info").ok()?;
    info.lines().find_map(|line| line.strip_prefix("Pid: ")).map(str::to_owned)
}

fn config(place: &Place, haproxy: &Haproxy, reload: &[String]) -> String {
    format!(
        "[fleet.web]\nmin = 1\nmax = 6\ncapacity = 10\nstandby = 0\ninterval = \"200ms\"\nstart-up = \"1s\"\ndirectory = {:?}\n\
         process = {{ command = [{:?}, \"origin\", \"--bind\", \"{{address}}:{{port}}\"], stop-grace = \"100ms\" }}\n\
         [fleet.web.haproxy]\nsocket = {:?}\nbackend = \"web\"\nserver = \"check inter 100ms rise 2 fall 3\"\n\
         template = {{ file = {:?}, config = {:?}, validate = [{HAPROXY:?}, \"-c\", \"-f\", \"{{file}}\"], reload = {reload:?}, timeout = \"20s\" }}\n",
        place.path("fleet"),
        program(),
        haproxy.socket,
        place.path("haproxy.cfg.in"),
        place.path("haproxy.cfg"),
    )
}

fn scale(weir: &Weir, servers: u64) {
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": servers}}));
}

/// Sends requests like a browser: opens a new connection after one that was closed, and loses no request.
fn browse(address: SocketAddr, over: &AtomicBool, answered: &AtomicU64) {
    let mut client = RawClient::connect(address);
    while !over.load(Ordering::SeqCst) {
        let response = client.exchange(get("/bytes/1000"));
        assert_eq!((response.status, response.body.len()), (200, 1_000), "{response:?}");
        if response.says_close() {
            client = RawClient::connect(address);
        }
        answered.fetch_add(1, Ordering::SeqCst);
        // Limits the rate: the test is no load test.
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn servers_come_and_go_by_reloads_without_a_request_lost() {
    let place = Place::new();
    let (haproxy, reload) = Haproxy::master(&place);
    let first = haproxy.pid();
    let weir = Weir::start(&config(&place, &haproxy, &reload));
    wait_until("the first server", LONG, || has_settled_at(&weir, 1));
    assert_ne!(haproxy.pid(), first);
    let (over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| browse(haproxy.address, &over, &answered));
        }
        let _over = SetOnDrop(&over);
        for servers in [4, 1, 3, 1] {
            scale(&weir, servers);
            wait_until("as many as were asked for", LONG, || has_settled_at(&weir, servers));
            let before = answered.load(Ordering::SeqCst);
            wait_until("traffic goes on", PATIENCE, || answered.load(Ordering::SeqCst) > before + 50);
        }
    });
    assert_eq!((place.processes().len(), haproxy.up()), (1, 1));
    let shown = fleet(&weir);
    assert_eq!((&shown["done"]["cut"], &shown["done"]["drained"]), (&json!(0), &json!(5)), "{shown}");
    // Removed servers leave the file with the next reload; there is at most one reload per second.
    wait_until("the file has one server", PATIENCE, || {
        let written = fs::read_to_string(place.path("haproxy.cfg")).unwrap();
        written.matches("  server web-").count() == 1
    });
}

#[test]
fn a_request_that_a_reloaded_process_still_works_on_keeps_its_server() {
    let place = Place::new();
    let (haproxy, reload) = Haproxy::master(&place);
    let weir = Weir::start(&config(&place, &haproxy, &reload));
    scale(&weir, 2);
    wait_until("two servers", LONG, || has_settled_at(&weir, 2));
    let before = haproxy.pid();
    // One request on each server.
    let mut clients = [RawClient::connect(haproxy.address), RawClient::connect(haproxy.address)];
    for client in &mut clients {
        client.send(get("/delay/12000"));
    }
    scale(&weir, 3);
    wait_until("a third server", LONG, || has_settled_at(&weir, 3));
    assert_ne!(haproxy.pid(), before);
    // Two of the three servers drain, so at least one of them still serves a request of the old process,
    // which the new process does not know.
    scale(&weir, 1);
    wait_until("two drain", PATIENCE, || fleet(&weir)["draining"].as_u64() > Some(0));
    for client in clients {
        let response = client.timeout(LONG).final_response();
        assert_eq!(response.status, 200, "{response:?}");
    }
    wait_until("one server", LONG, || has_settled_at(&weir, 1));
    assert_eq!(fleet(&weir)["done"]["cut"], 0);
}

#[test]
fn a_template_that_haproxy_finds_invalid_changes_nothing_until_it_is_mended() {
    let place = Place::new();
    let (haproxy, reload) = Haproxy::master(&place);
    let config = config(&place, &haproxy, &reload);
    let check = |online: &[&str]| {
        let path = place.path("weir.toml");
        fs::write(&path, &config).unwrap();
        let output = Command::new(program()).arg("check").args(online).arg(path).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert!(check(&["--online"]).0, "{:?}", check(&["--online"]));
    let weir = Weir::start(&config);
    wait_until("the first server", LONG, || has_settled_at(&weir, 1));
    let template = place.path("haproxy.cfg.in");
    let (good, pid) = (fs::read_to_string(&template).unwrap(), haproxy.pid());
    let written = fs::read_to_string(place.path("haproxy.cfg")).unwrap();

    fs::write(&template, good.replace("balance leastconn", "nonsense")).unwrap();
    let troubles = || fleet(&weir)["troubles"].to_string();
    wait_until("it is told", LONG, || troubles().contains("is not valid") && troubles().contains("nonsense"));
    assert!(check(&["--online"]).1.contains("is not valid"), "{:?}", check(&["--online"]));
    scale(&weir, 2);
    wait_until("there is a second server", PATIENCE, || place.processes().len() == 2);
    assert_eq!((haproxy.pid(), haproxy.up()), (pid, 1));
    assert_eq!(fs::read_to_string(place.path("haproxy.cfg")).unwrap(), written);
    assert_eq!(RawClient::connect(haproxy.address).exchange(get("/")).status, 200);

    fs::write(&template, good.replace("{{server}}", "{{sever}}")).unwrap();
    let (is_good, why) = check(&[]);
    assert!(!is_good && why.contains("there is no variable {{sever}}"), "{why}");
    fs::write(&template, &good).unwrap();
    wait_until("it is mended", LONG, || has_settled_at(&weir, 2) && haproxy.up() == 2);
    assert_eq!(fleet(&weir)["troubles"], json!([]));
    let left: Vec<String> = fs::read_dir(place.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!left.iter().any(|name| name.contains("weir-new") || name.contains("weir-check")), "{left:?}");

    // A valid template, but without a server line.
    fs::write(&template, good.replace("{{server}}", "# {{name}}")).unwrap();
    wait_until("it is told", LONG, || troubles().contains("has not the servers that it should have"));
}

#[test]
fn what_haproxy_reads_without_weir_has_the_servers_and_weir_goes_on_with_them() {
    let place = Place::new();
    let (haproxy, reload) = Haproxy::master(&place);
    let config = config(&place, &haproxy, &reload).replace("min = 1", "min = 2");
    let mut weir = Weir::start(&config);
    wait_until("two servers", LONG, || has_settled_at(&weir, 2));
    wait_until("they are in the file as they are", PATIENCE, || {
        !fs::read_to_string(place.path("haproxy.cfg")).unwrap().contains("disabled")
    });
    let before = place.processes();
    weir.signal(Signal::KILL);
    weir.wait();
    let pid = haproxy.pid();
    haproxy.child.signal(Signal::USR2);
    wait_until("another process", PATIENCE, || haproxy.pid() != pid && haproxy.up() == 2);
    assert_eq!(RawClient::connect(haproxy.address).exchange(get("/")).status, 200);
    let pid = haproxy.pid();
    let weir = Weir::start(&config);
    wait_until("it is led again", LONG, || has_settled_at(&weir, 2));
    let looks = fleet(&weir)["looks"].as_u64().unwrap();
    wait_until("it goes on", PATIENCE, || fleet(&weir)["looks"].as_u64().unwrap() > looks + 3);
    assert_eq!((place.processes(), haproxy.pid(), haproxy.up()), (before, pid, 2));
}

/// The last process that responds at a socket. It is not a child of the test.
struct Daemon(PathBuf);

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(pid) = pid_at(&self.0) {
            // Ignores the error if the process has already ended.
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
        }
    }
}

#[test]
fn a_haproxy_without_master_is_replaced_by_a_new_process() {
    let place = Place::new();
    let mut haproxy = Haproxy::start(&place, &["-db"]);
    let _daemon = Daemon(haproxy.socket.clone());
    let socket = haproxy.socket.display().to_string();
    let reload = [HAPROXY, "-D", "-f", "{config}", "-x", &socket, "-sf", "{pid}"].map(str::to_owned);
    let weir = Weir::start(&config(&place, &haproxy, &reload));
    wait_until("the first server", LONG, || has_settled_at(&weir, 1));
    wait_until("the first process has ended", PATIENCE, || haproxy.child.is_over());
    scale(&weir, 2);
    wait_until("two servers", LONG, || has_settled_at(&weir, 2));
    assert_eq!(RawClient::connect(haproxy.address).exchange(get("/")).status, 200);
    let shown: Value = fleet(&weir);
    assert_eq!((&shown["pool"], haproxy.up()), (&json!("haproxy:web"), 2), "{shown}");
}
