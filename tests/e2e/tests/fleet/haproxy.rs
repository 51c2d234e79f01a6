//! Tests of a fleet behind a running HAProxy, whose servers Weir manages. Uses Debian's HAProxy (2.6), which
//! `scripts/setup test` installs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use weir_e2e::{Weir, get, program};
use weir_testkit::{Child, PATIENCE, RawClient, SetOnDrop, Signal, wait_until};

use crate::place::{Place, fleet, has_settled_at};
use crate::slow::looks_go_on;

struct Haproxy {
    child: Child,
    address: SocketAddr,
    socket: PathBuf,
}

impl Haproxy {
    /// Sends a command and returns the reply.
    fn ask(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(format!("{command}\n").as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    /// Returns a column of `show stat` for each row of the backend, with the row's name.
    fn stat(&self, column: &str) -> Vec<(String, String)> {
        let text = self.ask("show stat");
        let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let heading = rows.next().unwrap();
        let at = heading.iter().position(|name| name == column).unwrap();
        let of_backend = rows.filter(|row| row[0] == "web");
        of_backend.map(|row| (row[1].clone(), row[at].clone())).collect()
    }
}

fn start(place: &Place) -> Haproxy {
    let program = Path::new("/usr/sbin/haproxy");
    assert!(program.exists(), "haproxy is not installed: run `scripts/setup test`");
    // Another process may take the port before HAProxy binds it; the test then fails with that error.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (config, socket) = (place.path("haproxy.cfg"), place.path("haproxy.sock"));
    let text = format!(
        "global\n  stats socket {} mode 600 level admin\n\
         defaults\n  mode http\n  retries 0\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n\
         frontend front\n  bind {address}\n  default_backend web\n\
         backend web\n  balance leastconn\n",
        socket.display()
    );
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new(program);
    command.arg("-db").arg("-f").arg(&config);
    let child = Child::spawn(command);
    wait_until("HAProxy accepts", PATIENCE, || RawClient::try_connect(address).is_ok() && socket.exists());
    Haproxy { child, address, socket }
}

fn config(place: &Place, haproxy: &Haproxy) -> String {
    format!(
        "[fleet.web]\nmin = 1\nmax = 6\ncapacity = 10\nstandby = 0\ninterval = \"200ms\"\nstart-up = \"1s\"\ndirectory = {:?}\n\
         haproxy = {{ socket = {:?}, backend = \"web\", server = \"check inter 100ms rise 2 fall 3\" }}\n\
         process = {{ command = [{:?}, \"origin\", \"--bind\", \"{{address}}:{{port}}\"], stop-grace = \"20s\" }}\n",
        place.path("fleet"),
        haproxy.socket,
        program(),
    )
}

#[test]
fn servers_are_added_to_and_drained_from_a_haproxy_without_a_request_lost() {
    let place = Place::new();
    let haproxy = start(&place);
    let config = config(&place, &haproxy);
    let checked = {
        let path = place.path("weir.toml");
        std::fs::write(&path, &config).unwrap();
        Command::new(program()).args(["check", "--online"]).arg(path).output().unwrap()
    };
    assert!(checked.status.success(), "{checked:?}");
    let weir = Weir::start(&config);
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    let (over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut client = RawClient::connect(haproxy.address);
                while !over.load(Ordering::SeqCst) {
                    let response = client.exchange(get("/bytes/1000"));
                    assert_eq!((response.status, response.body.len()), (200, 1_000), "{response:?}");
                    answered.fetch_add(1, Ordering::SeqCst);
                    // Limits the rate: the test is no load test.
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let _over = SetOnDrop(&over);
        for servers in [4, 1, 5, 2, 1] {
            weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": servers}}));
            wait_until("as many as were asked for", Duration::from_secs(60), || {
                has_settled_at(&weir, servers)
            });
            let before = answered.load(Ordering::SeqCst);
            wait_until("traffic goes on", PATIENCE, || answered.load(Ordering::SeqCst) > before + 50);
        }
    });
    assert_eq!(place.processes().len(), 1);
    let shown = fleet(&weir);
    assert_eq!((&shown["pool"], &shown["done"]["cut"]), (&json!("haproxy:web"), &json!(0)));
    assert_eq!(shown["done"]["drained"], 7, "{shown}");
}

#[test]
fn a_haproxy_that_is_not_there_or_lacks_the_backend_is_told() {
    let place = Place::new();
    let haproxy = start(&place);
    let check = |config: &str| {
        let path = place.path("weir.toml");
        std::fs::write(&path, config).unwrap();
        let output = Command::new(program()).args(["check", "--online"]).arg(path).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let good = config(&place, &haproxy);
    assert!(
        check(&good.replace("backend = \"web\"", "backend = \"wep\"")).contains("there is no backend wep")
    );
    assert!(check(&good.replace("haproxy.sock", "nowhere.sock")).contains("nowhere.sock: No such file"));
}

#[test]
fn a_server_gets_nothing_before_its_check_has_passed_once() {
    let place = Place::new();
    let haproxy = start(&place);
    let (begun, go) = (place.path("begun"), place.path("go"));
    // Starts to listen after the file `go` exists.
    let script =
        format!("touch {}; until [ -e {} ]; do sleep 0.05; done; exec \"$@\"", begun.display(), go.display());
    let config = config(&place, &haproxy)
        .replace("command = [", &format!("command = [\"/bin/sh\", \"-c\", {script:?}, \"sh\", "))
        .replace("inter 100ms", "inter 1s");
    let weir = Weir::start(&config);
    wait_until("HAProxy has the server", PATIENCE, || haproxy.stat("status").len() == 2 && begun.exists());
    let mut client = RawClient::connect(haproxy.address);
    for _ in 0..50 {
        assert_eq!(client.exchange(get("/")).status, 503);
        client = RawClient::connect(haproxy.address);
    }
    // No request was sent to the server before it listened.
    assert_eq!(haproxy.stat("econ")[0].1, "0", "{:?}", haproxy.stat("econ"));
    std::fs::write(go, "").unwrap();
    wait_until("it serves", PATIENCE, || has_settled_at(&weir, 1));
    assert_eq!(RawClient::connect(haproxy.address).exchange(get("/")).status, 200);
}

#[test]
fn a_server_that_was_left_half_added_is_checked_when_it_serves() {
    let place = Place::new();
    let haproxy = start(&place);
    let config = config(&place, &haproxy);
    let mut weir = Weir::start(&config);
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, 1));
    weir.signal(Signal::KILL);
    weir.wait();
    // Simulates a kill right after the first command.
    let address = haproxy.stat("addr")[0].1.clone();
    let server = format!("web/{}", haproxy.stat("addr")[0].0);
    haproxy.ask(&format!("set server {server} state maint"));
    haproxy.ask(&format!("del server {server}"));
    haproxy.ask(&format!("add server {server} {address} check inter 100ms rise 2 fall 3"));
    assert_eq!(haproxy.stat("status")[0].1, "MAINT");
    let weir = Weir::start(&config);
    wait_until("it serves", PATIENCE, || has_settled_at(&weir, 1));
    assert_eq!(haproxy.stat("status")[0].1, "UP");
    assert_eq!(haproxy.stat("check_status")[0].1, "L4OK");
}

#[test]
fn a_haproxy_that_hangs_is_told_by_name_and_delays_no_look_but_its_own() {
    let place = Place::new();
    let haproxy = start(&place);
    let mut weir = Weir::start(&config(&place, &haproxy).replace("min = 1", "min = 2"));
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    let before = place.processes();
    haproxy.child.signal(Signal::STOP);
    weir.wait_for_log("haproxy.sock: HAProxy does not answer");
    looks_go_on(&weir, 20);
    assert_eq!(place.processes(), before);
    haproxy.child.signal(Signal::CONT);
    wait_until("it is looked at again", PATIENCE, || {
        fleet(&weir)["troubles"] == json!([]) && has_settled_at(&weir, 2)
    });
    assert_eq!(place.processes(), before);
}

#[test]
fn a_haproxy_that_is_gone_is_an_alarm_and_no_reason_to_change_anything() {
    let place = Place::new();
    let haproxy = start(&place);
    let config = config(&place, &haproxy).replace("min = 1", "min = 2\nstale-after = \"1s\"");
    let weir = Weir::start(&config);
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    let before = place.processes();
    // On a busy machine, a round may be late.
    wait_until("demand is known", PATIENCE, || fleet(&weir)["demand"] != json!(null));
    haproxy.child.signal(Signal::KILL);
    wait_until("it is an alarm", PATIENCE, || {
        fleet(&weir)["alarms"].to_string().contains("nothing is known for")
    });
    assert_eq!((&fleet(&weir)["demand"], place.processes()), (&json!(null), before.clone()));
    let alarms = || weir.metrics().get("weir_fleet_alarms", &["fleet=\"web\""]);
    assert_eq!(alarms(), 1.0);
    // A new HAProxy knows none of the servers.
    let _haproxy = start(&place);
    wait_until("two servers again", PATIENCE, || has_settled_at(&weir, 2) && alarms() == 0.0);
    assert_eq!(place.processes(), before);
}
