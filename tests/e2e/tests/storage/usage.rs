//! Tests of usage counts and quotas of an area.

use std::time::Duration;

use weir_testkit::wait_until;

use super::{Site, config, message, pattern};

const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a site and waits until its files are counted.
fn counted(more: &str) -> Site {
    let root = weir_testkit::TempDir::new().unwrap();
    std::fs::create_dir(root.path().join("old")).unwrap();
    std::fs::write(root.path().join("old/file"), pattern(300_000)).unwrap();
    let weir = weir_e2e::Weir::start(&config(root.path(), "", &format!("{more}\n{}", super::OPEN)));
    let site = Site { weir, root };
    wait_until("the files are counted", PATIENCE, || used(&site).is_some());
    site
}

fn quota(site: &Site) -> String {
    let body = b"<propfind xmlns='DAV:'><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>";
    site.request("PROPFIND", "/", &[("Depth", "0")], body).text()
}

fn metric(site: &Site, name: &str) -> Option<u64> {
    let metrics = site.weir.metrics();
    let line = metrics.text().lines().find(|line| line.starts_with(name))?.to_owned();
    line.rsplit_once(' ')?.1.parse::<f64>().ok().map(|value| value as u64)
}

fn used(site: &Site) -> Option<u64> {
    metric(site, "weir_storage_used_bytes{area=\"data\"}")
}

#[test]
fn a_quota_is_kept_by_every_way_in_and_told_to_clients() {
    let site = counted("quota = \"1MB\"");
    assert_eq!(used(&site), Some(300_000));
    assert!(quota(&site).contains("<D:quota-used-bytes>300000</D:quota-used-bytes>"), "{}", quota(&site));
    assert!(quota(&site).contains("<D:quota-available-bytes>700000</D:quota-available-bytes>"));

    // With a known length, the upload is refused before the body.
    let mut client = site.weir.client();
    client.send("PUT /big HTTP/1.1\r\nHost: a\r\nContent-Length: 700001\r\nExpect: 100-continue\r\n\r\n");
    let refused = client.final_response();
    assert_eq!(refused.status, 507);
    assert!(refused.text().contains("quota-not-exceeded"), "{}", refused.text());
    // With an unknown length, it is refused when it is too long.
    let chunk = pattern(100_000);
    let mut body = b"PUT /big HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..8 {
        body.extend_from_slice(b"186A0\r\n");
        body.extend_from_slice(&chunk);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    let mut client = site.weir.client();
    client.send(body);
    assert_eq!(client.final_response().status, 507);
    // A part that extends a file.
    let range = [("Content-Range", "bytes 300000-1000000/*")];
    assert_eq!(site.put("/old/file", &range, &pattern(700_001)).status, 507);
    // Copies.
    assert_eq!(site.request("COPY", "/old", &[("Destination", "/a")], b"").status, 201);
    assert_eq!(site.request("COPY", "/old", &[("Destination", "/b")], b"").status, 201);
    assert_eq!(site.request("COPY", "/old/file", &[("Destination", "/c")], b"").status, 507);
    let refused = site.request("COPY", "/old", &[("Destination", "/d")], b"");
    assert!(refused.status == 207 && refused.text().contains("507"), "{}", refused.text());
    assert_eq!((site.get("/c").status, site.get("/d/").status), (404, 404));
    assert_eq!((site.get("/big").status, used(&site)), (404, Some(900_000)));

    // Uploads that fit are accepted, and deleting frees space.
    assert_eq!(site.put("/small", &[], &pattern(100_000)).status, 201);
    assert_eq!(site.put("/more", &[], b"x").status, 507);
    assert_eq!(site.put("/small", &[], &pattern(99_999)).status, 204);
    assert_eq!(site.put("/more", &[], b"x").status, 201);
    assert_eq!(site.request("MOVE", "/more", &[("Destination", "/moved")], b"").status, 201);
    assert_eq!(site.request("DELETE", "/a", &[], b"").status, 204);
    assert_eq!(site.put("/big", &[], &pattern(300_000)).status, 201);
    assert_eq!(used(&site), Some(1_000_000));
    assert_eq!(metric(&site, "weir_storage_available_bytes"), Some(0));
    assert_eq!(metric(&site, "weir_storage_quota_bytes"), Some(1_000_000));
}

#[test]
fn nodes_that_share_a_root_keep_its_quota_together() {
    let area = "quota = \"1MB\"\nusage-interval = \"1s\"";
    let site = counted(area);
    let other = config(site.root.path(), "", &format!("{area}\n{}", super::OPEN));
    let other = weir_e2e::Weir::start(&other);
    let put_there = |bytes| {
        let mut client = other.client();
        client.send(message("PUT", "/there", &[], &pattern(bytes)));
        client.final_response().status
    };
    assert_eq!(site.put("/here", &[], &pattern(600_000)).status, 201);
    assert_eq!(put_there(400_000), 507);
    assert_eq!(site.request("DELETE", "/here", &[], b"").status, 204);
    wait_until("the other node knows", PATIENCE, || put_there(400_000) == 201);
    assert_eq!(site.put("/here", &[], &pattern(600_000)).status, 507);
}

#[test]
fn what_others_change_is_found_by_the_next_count() {
    let site = counted("usage-interval = \"1s\"");
    site.write("from/elsewhere", pattern(5_000));
    wait_until("it is found", PATIENCE, || used(&site) == Some(305_000));
    assert_eq!(metric(&site, "weir_storage_files{area=\"data\"}"), Some(2));
    // Without a quota, the available bytes are those of the file system.
    assert!(metric(&site, "weir_storage_available_bytes").is_some_and(|bytes| bytes > 1_000_000));
}

#[test]
fn requests_are_counted_by_what_they_are_for() {
    let site = counted("usage-interval = \"1h\"");
    site.put("/a", &[], b"12345");
    site.get("/a");
    assert_eq!(site.get("/nothing").status, 404);
    let mut client = site.weir.client();
    client.send(message("HEAD", "/a", &[], b""));
    client.response_to_head();
    let of = |name: &str, methods: &str, code: &str| {
        let code = if code.is_empty() { String::new() } else { format!(",code=\"{code}\"") };
        metric(&site, &format!("{name}_total{{area=\"data\",methods=\"{methods}\"{code}}}"))
    };
    // A request is counted after its last byte is sent, which the client may receive earlier.
    wait_until("all are counted", PATIENCE, || of("weir_storage_responses", "read", "2xx") == Some(2));
    assert_eq!(of("weir_storage_responses", "read", "4xx"), Some(1));
    assert_eq!(of("weir_storage_responses", "write", "2xx"), Some(1));
    assert_eq!(of("weir_storage_request_bytes", "write", ""), Some(5));
    assert!(of("weir_storage_response_bytes", "read", "") >= Some(5));
    // The JSON has the same values.
    let status: serde_json::Value = serde_json::from_str(&site.weir.admin("/status.json")).unwrap();
    assert_eq!(status["storage"][0]["name"], "data");
    assert_eq!(status["storage"][0]["used"], 300_005);
    let asked = std::process::Command::new(weir_e2e::program())
        .args(["storage", "usage", "--socket"])
        .arg(site.weir.control())
        .output()
        .unwrap();
    let shown = String::from_utf8(asked.stdout).unwrap();
    assert!(asked.status.success() && shown.contains("293 KiB"), "{shown}");
}
