//! Tests of limits, aborts, logs and metrics of requests to storage areas.

use weir_testkit::{Ending, PATIENCE, RawClient, Signal, TempDir, wait_until};

use crate::{OPEN, Site, config, message, pattern};
use weir_e2e::Weir;

#[test]
fn a_stop_lets_a_download_and_an_upload_end() {
    let site = Site::open("");
    site.write("big", pattern(30_000_000));
    let mut download = RawClient::connect(site.weir.addr("web")).receive_buffer(256 * 1024);
    download.send(message("GET", "/big", &[], b""));
    let head = download.response_head();
    assert_eq!(head.status, 200);
    let mut upload = site.weir.client();
    upload.send("PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(upload.response_head().status, 100);
    let mut weir = site.weir;
    weir.signal(Signal::TERM);
    weir.wait_for_log("stopping");
    upload.send("0123456789");
    let made = upload.response();
    assert_eq!(made.status, 201);
    assert_eq!(download.read_exact(30_000_000), pattern(30_000_000));
    assert!(weir.wait().success());
    assert_eq!(std::fs::read(site.root.path().join("up")).unwrap(), b"0123456789");
}

#[test]
fn a_client_that_stops_sending_is_told_and_leaves_no_trace() {
    let root = TempDir::new().unwrap();
    let weir = Weir::start(&config(root.path(), "timeouts = { body = \"300ms\" }", OPEN));
    let mut client = weir.client();
    client.send("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
    let told = client.response();
    assert_eq!((told.status, told.says_close()), (408, true));
    let is_clean = || {
        let mut names = std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.all(|name| name == ".weir-store")
    };
    wait_until("its traces are gone", PATIENCE, is_clean);
}

#[test]
fn a_client_that_stops_reading_is_cut_off() {
    let root = TempDir::new().unwrap();
    std::fs::File::create(root.path().join("f")).unwrap().set_len(1 << 32).unwrap();
    let weir = Weir::start(&config(root.path(), "timeouts = { body = \"300ms\" }", OPEN));
    let mut client = RawClient::connect(weir.addr("web")).receive_buffer(4096);
    client.send(message("GET", "/f", &[], b""));
    client.response_head();
    wait_until("the connection is cut", PATIENCE, || {
        weir.metrics().get("weir_listener_connections", &["listener=\"web\""]) == 0.0
    });
    let (_, ending) = client.read_to_end();
    assert_eq!(ending, Ending::Reset);
}

#[test]
fn requests_are_counted_and_logged_like_others() {
    let area = format!("{OPEN}\n[access-log]\nformat = \"json\"\n");
    let mut site = Site::new(&area);
    site.write("a", "content");
    assert_eq!(site.get("/a").status, 200);
    let line = site.weir.wait_for_log("\"GET\"");
    let line: serde_json::Value = serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap();
    assert_eq!(line["status"], 200, "{line}");
    assert_eq!(line["route"], "web", "{line}");
    wait_until("it is counted", PATIENCE, || {
        let labels = ["listener=\"web\"", "code=\"2xx\""];
        site.weir.metrics().get("weir_listener_responses_total", &labels) == 1.0
    });
}

#[test]
fn a_root_that_is_not_there_is_found_before_it_is_needed() {
    let root = TempDir::new().unwrap();
    let file = root.path().join("weir.toml");
    let missing = root.path().join("missing");
    std::fs::write(&file, config(&missing, "", OPEN)).unwrap();
    let check = std::process::Command::new(weir_e2e::program())
        .args(["check", "--no-ports"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(check.status.code(), Some(1));
    let told = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(told.contains("storage area data: root: ") && told.contains("No such file"), "{told}");
    std::fs::write(&missing, "a file").unwrap();
    let check = std::process::Command::new(weir_e2e::program())
        .args(["check", "--no-ports"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&check.stderr).contains("is not a directory"));
}

#[test]
fn the_rules_of_a_route_hold_for_what_it_serves() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("a"), "x").unwrap();
    let text = format!(
        "{}[[route]]\npath = \"/\"\nstorage = \"data\"\nresponse-headers = {{ remove = \"ETag\", set = {{ X-Served = \"{{route}}\" }} }}\n",
        config(root.path(), "", OPEN)
    );
    let weir = Weir::start(&text);
    let mut client = weir.client();
    client.send(message("GET", "/a", &[], b""));
    let got = client.response();
    assert_eq!((got.header("etag"), got.header("x-served")), (None, Some("route-1")));
}

#[test]
fn a_root_that_was_replaced_is_served_after_a_reload() {
    let place = TempDir::new().unwrap();
    let root = place.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a"), "old").unwrap();
    let text = config(&root, "", OPEN);
    let mut weir = Weir::start(&text);
    let mut client = weir.client();
    client.send(message("GET", "/a", &[], b""));
    assert_eq!(client.response().text(), "old");
    std::fs::rename(&root, place.path().join("aside")).unwrap();
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a"), "new").unwrap();
    weir.reload(&text);
    client.send(message("GET", "/a", &[], b""));
    assert_eq!(client.response().text(), "new");
}
