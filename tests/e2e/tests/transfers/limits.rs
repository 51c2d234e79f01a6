//! Tests of limits on concurrent transfers, and of transfers at shutdown.

use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, RawServer, Signal, TempDir, wait_until};

use crate::{HERE, Site, config, last_line, message, pattern};

/// Starts a source that sends its file when the returned sender sends or is dropped.
fn holding() -> (RawServer, mpsc::Sender<()>) {
    let (go, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let source = RawServer::start(move |peer| {
        peer.request()?;
        let _ = waits.lock().unwrap().recv();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncontent")
    });
    (source, go)
}

fn states(weir: &Weir) -> Vec<String> {
    let told = weir.obey(&serde_json::json!({ "show": { "what": "transfers" } }));
    let live = told["snapshot"]["transfers"]["live"].as_array().cloned().unwrap_or_default();
    live.iter().map(|transfer| transfer["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn transfers_past_the_limit_wait_and_those_past_the_queue_are_refused() {
    let (source, go) = holding();
    let site = Site::with("max-transfers = 1\nqueue = 1\n");
    let from = format!("http://{}/f", source.addr());
    let mut first = site.begin("/a", &[("Source", &from)]);
    assert_eq!(first.response_head().status, 202);
    source.wait_for_connections(1);
    let mut second = site.begin("/b", &[("Source", &from)]);
    assert_eq!(second.response_head().status, 202);
    wait_until("one waits", PATIENCE, || states(&site.weir) == ["waiting", "queued"]);
    let third = site.copy("/c", &[("Source", &from)]);
    assert_eq!((third.status, third.header("Retry-After")), (503, Some("1")));
    assert_eq!(source.connections(), 1);
    go.send(()).unwrap();
    source.wait_for_connections(2);
    drop(go);
    wait_until("both are there", PATIENCE, || site.names() == ["a", "b"]);
    wait_until("none is left", PATIENCE, || states(&site.weir).is_empty());
}

#[test]
fn transfers_with_another_peer_pass_those_that_wait_for_theirs() {
    let (slow, go) = holding();
    let (quick, quick_go) = holding();
    drop(quick_go);
    let site = Site::with("max-transfers = 2\nmax-per-peer = 1\n");
    let of = |source: &RawServer| format!("http://{}/f", source.addr());
    let mut first = site.begin("/a", &[("Source", &of(&slow))]);
    assert_eq!(first.response_head().status, 202);
    let mut second = site.begin("/b", &[("Source", &of(&slow))]);
    assert_eq!(second.response_head().status, 202);
    site.copies("/c", &[("Source", &of(&quick))]);
    assert_eq!(slow.connections(), 1);
    drop(go);
    wait_until("all are there", PATIENCE, || site.names() == ["a", "b", "c"]);
}

#[test]
fn a_transfer_may_end_while_the_process_drains() {
    let (source, go) = holding();
    let mut site = Site::new();
    let mut client = site.begin("/f", &[("Source", &format!("http://{}/f", source.addr()))]);
    source.wait_for_connections(1);
    site.weir.signal(Signal::TERM);
    site.weir.wait_for_log("weir: stopping");
    drop(go);
    assert_eq!(last_line(&client.final_response()), "success: Created");
    assert!(site.weir.wait().success());
    assert_eq!(site.read("f").unwrap(), b"content");
}

#[test]
fn a_transfer_that_takes_longer_than_the_drain_ends_with_a_line_that_says_so() {
    let (source, _go) = holding();
    let root = TempDir::new().unwrap();
    let config = format!("[weir]\ndrain-timeout = \"2s\"\n{}", config(root.path(), HERE));
    let mut weir = Weir::start(&config);
    let mut client = weir.client();
    client.send(message("COPY", "/f", &[("Source", &format!("http://{}/f", source.addr()))]));
    source.wait_for_connections(1);
    weir.signal(Signal::TERM);
    let line = last_line(&client.final_response());
    assert!(line.starts_with("failure: the server is stopping"), "{line}");
    assert!(weir.wait().success());
}

#[test]
fn all_copies_of_an_area_together_keep_its_rate() {
    let content = pattern(100 << 10);
    for way in ["Source", "Destination"] {
        let other = Site::new();
        let root = TempDir::new().unwrap();
        let limited = "third-party-copy = true\nthird-party-copy-rate = \"200KiB/s\"\n";
        let config = config(root.path(), HERE).replace("third-party-copy = true\n", limited);
        let site = Site { weir: Weir::start(&config), root };
        site.write("f", &content);
        other.write("f", &content);
        let begun = Instant::now();
        let clients = ["a", "b"].map(|name| {
            let (here, there) = if way == "Source" { (name, "f") } else { ("f", name) };
            site.begin(&format!("/{here}"), &[(way, &other.url(&format!("/{there}")))])
        });
        for mut client in clients {
            assert_eq!(last_line(&client.final_response()), "success: Created", "{way}");
        }
        // Two transfers, each of which takes half a second at this rate.
        assert!(begun.elapsed() >= Duration::from_secs(1), "{way}: {:?}", begun.elapsed());
        let filled = if way == "Source" { &site } else { &other };
        assert!(["a", "b"].iter().all(|name| filled.read(name).unwrap() == content), "{way}");
    }
}
