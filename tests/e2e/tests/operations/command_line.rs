//! Tests of `weir ctl` and `weir origin`, as an operator or a script uses them.

use std::process::Command;

use weir_e2e::{Weir, get, web};
use weir_testkit::{Child, PATIENCE, RawClient, RawServer, Signal, wait_until};

fn two_servers() -> (Weir, [RawServer; 2]) {
    let servers = ["a", "b"].map(RawServer::answering);
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"round-robin\"\nservers = [\
         {{ name = \"a\", address = \"{}\" }}, {{ name = \"b\", address = \"{}\" }}]\n",
        servers[0].addr(),
        servers[1].addr()
    );
    (Weir::start(&config), servers)
}

fn answers(weir: &Weir) -> String {
    weir.client().exchange(get("/")).text()
}

#[test]
fn ctl_takes_servers_out_and_in_and_tells_by_its_exit_what_came_of_it() {
    let (weir, _servers) = two_servers();
    let ctl = |arguments: &[&str]| weir.ctl(arguments).status.code();
    assert_eq!(ctl(&["drain", "web/a"]), Some(0));
    assert!((0..6).all(|_| answers(&weir) == "b"));
    assert_eq!(ctl(&["ready", "web/a"]), Some(0));
    wait_until("a serves again", PATIENCE, || answers(&weir) == "a");
    assert_eq!(ctl(&["maintenance", "web/b"]), Some(0));
    assert!((0..6).all(|_| answers(&weir) == "a"));
    assert_eq!(ctl(&["reset", "web"]), Some(0));
    wait_until("b serves again", PATIENCE, || answers(&weir) == "b");
    assert_eq!(ctl(&["drain", "web/nobody"]), Some(1));
    assert_eq!(ctl(&["drain", "nonsense"]), Some(2));
}

#[test]
fn ctl_adds_moves_and_removes_servers() {
    let (weir, _servers) = two_servers();
    let third = RawServer::answering("third");
    let moved = RawServer::answering("moved");
    let ctl = |arguments: &[&str]| {
        let output = weir.ctl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    ctl(&["add", "web", "c", &third.addr().to_string()]);
    wait_until("the new server serves", PATIENCE, || answers(&weir) == "third");
    ctl(&["address", "web/c", &moved.addr().to_string()]);
    wait_until("it has moved", PATIENCE, || answers(&weir) == "moved");
    ctl(&["weight", "web/c", "0"]);
    assert!((0..6).all(|_| answers(&weir) != "moved"));
    let shown = ctl(&["show", "pools"]);
    assert!(shown.contains("web") && shown.contains(&moved.addr().to_string()), "{shown}");
    let json: serde_json::Value = serde_json::from_str(&ctl(&["show", "--json"])).unwrap();
    assert!(json.to_string().contains(&moved.addr().to_string()), "{json}");
    ctl(&["drain", "web/c"]);
    ctl(&["remove", "web/c"]);
    assert!(!ctl(&["show", "pools"]).contains(&moved.addr().to_string()));
}

#[test]
fn ctl_says_that_nobody_is_there() {
    let (mut weir, _servers) = two_servers();
    assert_eq!(weir.stop().code(), Some(0));
    let output = weir.ctl(&["show"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("control.sock"));
}

#[test]
fn the_test_server_says_where_it_listens_and_ends_on_sigterm() {
    let mut command = Command::new(weir_e2e::program());
    command.args(["origin", "--name", "o1", "--service-ms", "1", "--concurrency", "4"]);
    let mut origin = Child::spawn(command);
    let line = origin.wait_for_line(PATIENCE, |line| line.starts_with("listening on "));
    let addr = line.strip_prefix("listening on ").unwrap().parse().unwrap();
    let mut client = RawClient::connect(addr);
    assert_eq!(client.exchange(get("/bytes/10")).header("x-origin"), Some("o1"));
    let mut busy = RawClient::connect(addr);
    busy.send(get("/slow?bytes=20&rate=100"));
    assert_eq!(busy.response_head().status, 200);
    origin.signal(Signal::TERM);
    assert_eq!(busy.read_exact(20).len(), 20);
    assert_eq!(origin.wait(PATIENCE).code(), Some(0));
    let mut command = Command::new(weir_e2e::program());
    command.args(["origin", "--bind", "192.0.2.1:80"]);
    let mut origin = Child::spawn(command);
    assert_eq!(origin.wait(PATIENCE).code(), Some(2));
    assert!(origin.output().join("\n").contains("192.0.2.1:80"));
}

#[test]
fn the_next_config_of_a_weir_that_runs_is_checked_beside_it_and_one_of_another_is_told_whose_ports_it_wants()
{
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let check = |control: &std::path::Path| {
        let config = weir.directory().join("next.toml");
        let text = format!(
            "[weir]\ncontrol = {control:?}\nstate = false\n[admin]\nbind = \"{}\"\n{}",
            weir.admin_addr(),
            web(&[server.addr()]).replace("127.0.0.1:0", &weir.addr("web").to_string())
        );
        std::fs::write(&config, text).unwrap();
        Command::new(weir_e2e::program()).arg("check").arg(&config).output().unwrap()
    };
    let own = check(&weir.control());
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&own.stderr));
    let others = check(&weir.directory().join("other.sock"));
    let told = String::from_utf8_lossy(&others.stderr);
    assert_eq!(others.status.code(), Some(1), "{told}");
    for (what, address) in [("admin", weir.admin_addr()), ("listener web", weir.addr("web"))] {
        let holder = format!("{what}: {address}: in use by weir (process {})", weir.pid());
        assert!(told.contains(&holder), "{told}");
    }
}

#[test]
fn the_config_of_a_weir_without_a_control_socket_is_checked_beside_it() {
    let server = RawServer::answering("hi");
    let keys = "[weir]\ncontrol = false\nstate = false\n";
    let weir = Weir::start(&format!("{}{keys}", web(&[server.addr()])));
    let next = web(&[server.addr()]).replace("127.0.0.1:0", &weir.addr("web").to_string());
    weir.write_config(&format!("{next}{keys}"));
    let check = |config: &std::path::Path| {
        Command::new(weir_e2e::program())
            .arg("check")
            .arg(config)
            .current_dir(weir.directory())
            .output()
            .unwrap()
    };
    let own = check(std::path::Path::new("weir.toml"));
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&own.stderr));
    let copy = weir.directory().join("copy.toml");
    std::fs::copy(weir.config(), &copy).unwrap();
    let others = check(&copy);
    let told = String::from_utf8_lossy(&others.stderr);
    assert_eq!(others.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("in use by weir (process {})", weir.pid())), "{told}");
}
