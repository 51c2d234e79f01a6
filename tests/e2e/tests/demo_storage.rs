//! Tests that `weir demo` loses no file when one of its storage nodes dies during uploads and downloads
//! through the balancer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use weir_e2e::Demo;
use weir_testkit::{PATIENCE, RawClient, Response, SetOnDrop, wait_until};

/// Size of a file, large enough that the kill interrupts some transfers.
const FILE_BYTES: usize = 1_000_000;
const CLIENTS: usize = 3;
/// Minimum number of uploads, and of downloads, both before and after the kill.
const TRANSFERS: usize = 30;

/// Returns the content of a file: its name, repeated.
fn content(name: &str) -> Vec<u8> {
    let line = format!("{name}\n");
    line.repeat(FILE_BYTES / line.len()).into_bytes()
}

/// Sends a request on its own connection and returns the response; `None` = it was cut off, or there was
/// none.
fn ask(to: SocketAddr, method: &str, name: &str, body: &[u8]) -> Option<Response> {
    let length = body.len();
    let head = format!(
        "{method} /data/{name} HTTP/1.1\r\nHost: {to}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let mut client = RawClient::try_connect(to).ok()?;
    client.try_send([head.as_bytes(), body].concat()).ok()?;
    client.try_response().ok()
}

/// Transfers as seen by the clients of the balancer.
#[derive(Default)]
struct Seen {
    uploads: AtomicUsize,
    downloads: AtomicUsize,
    is_over: AtomicBool,
}

impl Seen {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    /// Uploads files with different names and returns the names that were confirmed.
    fn upload(&self, site: SocketAddr, client: usize) -> Vec<String> {
        let mut confirmed = Vec::new();
        let mut number = 0;
        while self.goes_on() {
            let name = format!("up-{client}-{number}");
            number += 1;
            if ask(site, "PUT", &name, &content(&name)).is_some_and(|answer| answer.status == 201) {
                self.uploads.fetch_add(1, Ordering::Relaxed);
                confirmed.push(name);
            }
        }
        confirmed
    }

    /// Downloads a file repeatedly and checks that every complete response has the right content.
    fn download(&self, site: SocketAddr, name: &str) {
        let expected = content(name);
        while self.goes_on() {
            if let Some(answer) = ask(site, "GET", name, b"").filter(|answer| answer.status == 200) {
                assert!(answer.body == expected, "{} bytes", answer.body.len());
                self.downloads.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn wait_for_more(&self, what: &str) {
        let counts = [&self.uploads, &self.downloads];
        let wanted = counts.map(|count| count.load(Ordering::Relaxed) + TRANSFERS);
        wait_until(what, PATIENCE, || {
            counts.iter().zip(wanted).all(|(count, wanted)| count.load(Ordering::Relaxed) >= wanted)
        });
    }
}

#[test]
fn a_storage_node_that_is_killed_amid_transfers_costs_no_confirmed_file_and_the_other_one_goes_on() {
    let demo = Demo::start();
    let site = demo.site();
    let (killed, other) = (demo.node("store-1"), demo.node("store-2"));
    assert_eq!(ask(site, "PUT", "fixed", &content("fixed")).unwrap().status, 201);
    for node in [killed, other] {
        assert!(ask(node, "GET", "fixed", b"").unwrap().body == content("fixed"));
    }
    let seen = Seen::default();
    let confirmed: Vec<_> = thread::scope(|scope| {
        let ends = SetOnDrop(&seen.is_over);
        let seen = &seen;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn(move || seen.download(site, "fixed"));
                scope.spawn(move || seen.upload(site, client))
            })
            .collect();
        seen.wait_for_more("transfers");
        demo.kill_node("store-1");
        seen.wait_for_more("transfers by the other node");
        drop(ends);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    assert!(ask(killed, "GET", "fixed", b"").is_none(), "it is dead");
    // The interrupted transfers have failed by now. From here on every transfer must succeed.
    for number in 0..10 {
        let name = format!("later-{number}");
        assert_eq!(ask(site, "PUT", &name, &content(&name)).map(|answer| answer.status), Some(201));
        assert!(ask(site, "GET", &name, b"").unwrap().body == content(&name), "{name}");
    }
    assert!(confirmed.len() >= 2 * TRANSFERS);
    for name in &confirmed {
        let answer = ask(site, "GET", name, b"").unwrap();
        assert!(answer.status == 200 && answer.body == content(name), "{name}: {}", answer.status);
    }
    // A file that was not confirmed is either complete or absent.
    for entry in fs::read_dir(demo.data()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("up-") {
            assert!(fs::read(demo.data().join(&name)).unwrap() == content(&name), "{name}");
        }
    }
    assert!(demo.end().is_some(), "by itself");
}
