//! Tests of logs, metrics and checks for offloaded files.

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, TempDir, wait_until};

use crate::{REDIRECT, Site, answering, config, request};

#[test]
fn the_log_and_the_metrics_tell_what_was_sent_in_place_of_a_body() {
    let (root, logs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::write(root.path().join("f"), "12345").unwrap();
    let server = answering(REDIRECT);
    let log = logs.path().join("access.log");
    let config = format!(
        "{}\n[access-log]\nformat = \"json\"\nto = \"{}\"\n",
        config(&server, root.path(), "", ""),
        log.display()
    );
    let mut weir = Weir::start(&config);
    let mut client = weir.client();
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), "12345");
    assert_eq!(client.exchange(request("GET", "/none", "")).status, 404);
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until("both lines", PATIENCE, || read().lines().count() >= 2);
    let text = read();
    let lines: Vec<&str> = text.lines().collect();
    for part in [
        "\"offloaded\":true",
        "\"status\":200",
        "\"pool\":\"web\"",
        "\"server\":\"127.0.0.1:",
        "\"body_bytes_out\":5",
        "\"target\":\"/f\"",
        "\"termination\":\"LR--\"",
        "\"connect_us\":",
    ] {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    assert!(lines[1].contains("\"status\":404") && lines[1].contains("\"offloaded\":true"), "{}", lines[1]);
    let complaint = weir.wait_for_log("X-Accel-Redirect to /internal/none");
    assert!(
        complaint.contains("pool web, server 127.0.0.1:") && complaint.contains("no such resource"),
        "{complaint}"
    );
    let metrics = weir.metrics();
    let total = |name| metrics.get(name, &["pool=\"web\""]);
    assert_eq!(total("weir_pool_offloads_total"), 1.0);
    assert_eq!(total("weir_pool_offloads_failed_total"), 1.0);
    // The server has responded both times.
    assert_eq!(metrics.get("weir_server_responses_total", &["pool=\"web\"", "2xx"]), 2.0);
}

#[test]
fn a_server_is_free_while_its_file_is_sent() {
    let root = TempDir::new().unwrap();
    // Sparse, so that it uses no space.
    std::fs::File::create(root.path().join("f")).unwrap().set_len(64_000_000).unwrap();
    let server = answering(REDIRECT);
    let weir = Weir::start(
        &config(&server, root.path(), "", "")
            .replace("[pool.web]", "[pool.web]\nmax-connections = 1\ntimeouts = { queue = \"0s\" }"),
    );
    let mut slow = weir.client().receive_buffer(4096);
    slow.send(request("GET", "/f", ""));
    slow.read_exact(1);
    // The pool permits one request at a time. The first is over for the server.
    let mut other = weir.client();
    other.send(request("HEAD", "/f", ""));
    assert_eq!(other.response_to_head().status, 200);
}

#[test]
fn a_location_that_is_not_there_is_found_by_weir_check() {
    let directory = TempDir::new().unwrap();
    let server = answering(REDIRECT);
    let file = directory.path().join("weir.toml");
    std::fs::write(&file, config(&server, &directory.path().join("none"), "", "")).unwrap();
    let check =
        std::process::Command::new(weir_e2e::program()).args(["check", "--no-ports"]).arg(&file).output();
    let check = check.unwrap();
    let said = String::from_utf8_lossy(&[check.stdout, check.stderr].concat()).into_owned();
    assert_eq!(check.status.code(), Some(1), "{said}");
    assert!(said.contains("pool web, location 1: root: ") && said.contains("none: No such file"), "{said}");
}

#[test]
fn a_reload_follows_the_locations() {
    let mut site = Site::new(REDIRECT);
    site.write("f", "old");
    let other = TempDir::new().unwrap();
    std::fs::write(other.path().join("f"), "new").unwrap();
    let mut client = site.weir.client();
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), "old");
    site.weir.reload(&config(&site.server, other.path(), "", ""));
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), "new");
    site.weir.reload(&weir_e2e::web(&[site.server.addr()]));
    assert_eq!(client.exchange(request("GET", "/f", "")).text(), crate::BODY);
}
