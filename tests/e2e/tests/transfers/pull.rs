//! Tests of copies from other servers.

use std::io::ErrorKind;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use weir_testkit::{Message, PATIENCE, RawServer, wait_until};

use crate::{Site, method, ok, pattern};

#[test]
fn a_file_of_another_server_comes_whole_and_with_its_checksum() {
    let (source, site) = (Site::new(), Site::new());
    let content = pattern(5_000_000);
    source.write("f", &content);
    let done = site.copies("/g", &[("Source", &source.url("/f")), ("RequireChecksumVerification", "true")]);
    assert!(site.read("g").unwrap() == content);
    site.settles(&["g"]);
    assert_eq!(done.header("Content-Type"), Some("text/perf-marker-stream"));
    let told = |site: &Site, path: &str| {
        let head = site.request("HEAD", path, &[("Want-Digest", "adler32")]);
        head.header("Digest").unwrap().to_owned()
    };
    assert_eq!(told(&site, "/g"), told(&source, "/f"));
    // The same with an empty file.
    source.write("empty", "");
    site.copies("/e", &[("Source", &source.url("/empty"))]);
    assert_eq!(site.read("e").unwrap(), b"");
    let metrics = site.weir.metrics();
    let labels = ["area=\"data\"", "direction=\"pull\"", "result=\"succeeded\""];
    assert_eq!(metrics.get("weir_transfer_ended_total", &labels), 2.0);
    assert_eq!(metrics.get("weir_transfer_bytes_total", &["direction=\"pull\""]), 5_000_000.0);
}

#[test]
fn a_file_is_replaced_by_all_of_the_new_one_or_stays() {
    let (source, site) = (Site::new(), Site::new());
    source.write("f", "new content");
    site.write("g", "old");
    let from = source.url("/f");
    let refused = site.copy("/g", &[("Source", &from), ("Overwrite", "F")]);
    assert_eq!(refused.status, 412);
    assert_eq!(site.read("g").unwrap(), b"old");
    assert!(site.fails("/g", &[("Source", &source.url("/missing"))]).contains("status 404"));
    assert_eq!(site.read("g").unwrap(), b"old");
    site.copies("/g", &[("Source", &from), ("Overwrite", "T")]);
    assert_eq!(site.read("g").unwrap(), b"new content");
    site.copies("/h", &[("Source", &from), ("Overwrite", "F")]);
    assert_eq!(site.read("h").unwrap(), b"new content");
}

#[test]
fn markers_tell_how_far_a_transfer_is() {
    let (go, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let source = RawServer::start(move |peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")?;
        let _ = waits.lock().unwrap().recv();
        peer.send("67890")
    });
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    let mut client = site.begin("/f", &[("Source", &from), ("SciTag", "66")]);
    assert_eq!(client.response_head().status, 202);
    let wanted = format!(
        "Stripe Index: 0\nStripe Bytes Transferred: 5\nTotal Stripe Count: 1\nRemoteConnections: tcp:{}\nEnd\n",
        source.addr()
    );
    let mut read = String::new();
    while !read.contains(&wanted) {
        read.push_str(&String::from_utf8(client.read_exact(1)).unwrap());
    }
    let first = read.split_once("\r\n").unwrap().1;
    assert!(first.starts_with("Perf Marker\nTimestamp: 1"), "{read}");
    // Operators see the progress, too.
    let program = || {
        let mut command = std::process::Command::new(weir_e2e::program());
        command.args(["storage", "transfers", "--socket"]).arg(site.weir.control());
        command
    };
    let told = String::from_utf8(program().output().unwrap().stdout).unwrap();
    assert!(told.contains("moving") && told.contains("5 B of 10 B") && told.contains("pull"), "{told}");
    let told = program().arg("--json").output().unwrap().stdout;
    let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["live"][0]["peer"], source.addr().to_string());
    assert_eq!(told["live"][0]["sci_tag"], 66);
    let peer = format!("peer=\"{}\"", source.addr());
    assert_eq!(site.weir.metrics().get("weir_transfer_live_bytes", &[&peer, "state=\"moving\""]), 5.0);
    go.send(()).unwrap();
    while !read.contains("success: Created\n") {
        read.push_str(&String::from_utf8(client.read_exact(1)).unwrap());
    }
    assert_eq!(site.read("f").unwrap(), b"1234567890");
}

#[test]
fn a_client_that_leaves_takes_its_transfer_along() {
    let source = RawServer::start(|peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n12345")?;
        peer.hold();
        Ok(())
    });
    let site = Site::new();
    site.write("f", "old");
    let from = format!("http://{}/f", source.addr());
    let mut client = site.begin("/f", &[("Source", &from)]);
    assert_eq!(client.response_head().status, 202);
    wait_until("the upload has begun", PATIENCE, || site.names().len() == 2);
    client.reset();
    wait_until("nothing is left of it", PATIENCE, || site.names() == ["f"]);
    source.wait_for_end(0);
    assert_eq!(site.read("f").unwrap(), b"old");
    wait_until("it is counted", PATIENCE, || {
        site.weir.metrics().get("weir_transfer_ended_total", &["result=\"cancelled\""]) == 1.0
    });
}

#[test]
fn credentials_go_to_the_server_they_are_for_and_to_no_other() {
    let other = RawServer::responding(|request| ok(request, "", b"content"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (see, leads_to) = (Arc::clone(&seen), format!("http://{}/there", other.addr()));
    let source = RawServer::responding(move |request| {
        see.lock().unwrap().push(request.header("Authorization"));
        let location = if request.request_line().contains("/first") { "/second" } else { leads_to.as_str() };
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
            .into_bytes()
    });
    let site = Site::new();
    let from = format!("http://{}/first", source.addr());
    let headers = [
        ("Source", &*from),
        ("TransferHeaderAuthorization", "Bearer secret"),
        ("TransferHeaderX-Key", "secret"),
        ("Authorization", "Other mine"),
    ];
    site.copies("/f", &headers);
    assert_eq!(site.read("f").unwrap(), b"content");
    let secret = Some("Bearer secret".to_owned());
    assert_eq!(*seen.lock().unwrap(), [secret.clone(), secret]);
    let received = String::from_utf8(other.received_in_all()).unwrap();
    assert!(received.starts_with("GET /there ") && !received.contains("secret"), "{received}");
    assert!(!String::from_utf8(source.received_in_all()).unwrap().contains("mine"));
}

#[test]
fn several_connections_fetch_one_file() {
    let (source, site) = (Site::new(), Site::new());
    let content = pattern(9_000_001);
    source.write("f", &content);
    let requests = || source.weir.metrics().get("weir_listener_requests_total", &["listener=\"web\""]);
    let before = requests();
    let headers = [
        ("Source", &*source.url("/f")),
        ("X-Number-Of-Streams", "3"),
        ("RequireChecksumVerification", "true"),
    ];
    site.copies("/f", &headers);
    assert!(site.read("f").unwrap() == content);
    // One HEAD, and a GET for each part.
    assert_eq!(requests() - before, 4.0);
    let want = [("Want-Digest", "adler32")];
    let told = |site: &Site| site.request("HEAD", "/f", &want).header("Digest").unwrap().to_owned();
    assert_eq!(told(&site), told(&source));
    // The client wants more streams than the config permits.
    let many = [("Source", &*source.url("/f")), ("X-Number-Of-Streams", "100")];
    let before = requests();
    site.copies("/g", &many);
    assert_eq!(requests() - before, 5.0);
    assert!(site.read("g").unwrap() == content);
}

#[test]
fn a_source_that_sends_no_parts_is_read_by_one_connection() {
    let content = pattern(3_000_000);
    let whole = content.clone();
    let source = RawServer::responding(move |request| ok(request, "ETag: \"a\"\r\n", &whole));
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    site.copies("/f", &[("Source", &from), ("X-Number-Of-Streams", "2")]);
    assert!(site.read("f").unwrap() == content);
    site.settles(&["f"]);
}

/// Returns the first and last byte position of a request's Range.
fn range(request: &Message) -> Option<(usize, usize)> {
    let range = request.header("Range")?;
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// Builds a 206 with these bytes of a file.
fn part((first, last): (usize, usize), headers: &str, whole: &[u8]) -> Vec<u8> {
    let bytes = &whole[first..=last];
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {first}-{last}/{}\r\nContent-Length: {}\r\n{headers}\r\n",
        whole.len(),
        bytes.len()
    );
    [head.as_bytes(), bytes].concat()
}

#[test]
fn a_source_that_refuses_a_second_connection_is_read_by_one() {
    for refusal in ["429 Too Many Requests", "503 Service Unavailable", "403 Forbidden"] {
        let content = pattern(3_000_000);
        let whole = content.clone();
        let source = RawServer::responding(move |request| match range(request) {
            None => ok(request, "ETag: \"a\"\r\n", &whole),
            Some((0, last)) => part((0, last), "ETag: \"a\"\r\n", &whole),
            Some(_) => format!("HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n").into_bytes(),
        });
        let site = Site::with("retries = 0\n");
        let from = format!("http://{}/f", source.addr());
        site.copies("/f", &[("Source", &from), ("X-Number-Of-Streams", "2")]);
        assert!(site.read("f").unwrap() == content, "{refusal}");
        site.settles(&["f"]);
    }
}

#[test]
fn a_source_that_closes_or_resets_a_second_connection_is_read_by_one() {
    for resets in [false, true] {
        let content = pattern(3_000_000);
        let whole = content.clone();
        let source = RawServer::start(move |peer| {
            loop {
                let request = match peer.request() {
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                    request => request?,
                };
                match range(&request) {
                    None => peer.send(ok(&request, "ETag: \"a\"\r\n", &whole))?,
                    Some((0, last)) => peer.send(part((0, last), "ETag: \"a\"\r\n", &whole))?,
                    Some(_) => {
                        if resets {
                            peer.reset();
                        }
                        return Ok(());
                    }
                }
            }
        });
        let site = Site::with("retries = 0\n");
        let from = format!("http://{}/f", source.addr());
        site.copies("/f", &[("Source", &from), ("X-Number-Of-Streams", "2")]);
        assert!(site.read("f").unwrap() == content, "resets: {resets}");
        site.settles(&["f"]);
    }
}

#[test]
fn a_file_that_changes_while_its_parts_are_fetched_is_fetched_anew() {
    let (old, new) = (pattern(3_000_000), vec![b'n'; 2_500_000]);
    let now = new.clone();
    let source = RawServer::responding(move |request| match range(request) {
        None if method(request) == "HEAD" => ok(request, "ETag: \"old\"\r\n", &old),
        None => ok(request, "ETag: \"new\"\r\n", &now),
        // The first part is sent before the file changes.
        Some((0, last)) => part((0, last), "ETag: \"old\"\r\n", &old),
        Some(_) => b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n".to_vec(),
    });
    let site = Site::with("retries = 0\n");
    let from = format!("http://{}/f", source.addr());
    site.copies("/f", &[("Source", &from), ("X-Number-Of-Streams", "2")]);
    assert!(site.read("f").unwrap() == new);
    site.settles(&["f"]);
}

#[test]
fn parts_without_an_entity_tag_belong_to_no_file() {
    let content = pattern(3_000_000);
    let whole = content.clone();
    let source = RawServer::responding(move |request| match range(request) {
        None => ok(request, "ETag: \"a\"\r\n", &whole),
        // Parts of another file.
        Some(range) => part(range, "", &vec![0; whole.len()]),
    });
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    site.copies("/f", &[("Source", &from), ("X-Number-Of-Streams", "2")]);
    assert!(site.read("f").unwrap() == content);
}

#[test]
fn a_client_that_leaves_at_the_very_end_gets_nothing_published() {
    let (go, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let source = RawServer::start(move |peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")?;
        let _ = waits.lock().unwrap().recv();
        peer.send("67890")
    });
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    let mut client = site.begin("/f", &[("Source", &from)]);
    assert_eq!(client.response_head().status, 202);
    wait_until("the upload has begun", PATIENCE, || site.names().len() == 1);
    // Hold the guard, as another node does while it changes locks. No file is published meanwhile.
    let store = site.root.path().join(".weir-store");
    std::fs::create_dir_all(&store).unwrap();
    let guard = std::fs::File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(store.join("locks.guard"))
        .unwrap();
    guard.lock().unwrap();
    go.send(()).unwrap();
    wait_until("all has come", PATIENCE, || site.weir.metrics().text().contains("state=\"verifying\""));
    client.reset();
    wait_until("it is counted", PATIENCE, || {
        site.weir.metrics().get("weir_transfer_ended_total", &["result=\"cancelled\""]) == 1.0
    });
    drop(guard);
    site.settles(&[]);
}
