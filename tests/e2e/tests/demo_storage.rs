//! `weir demo`: one of its storage nodes dies while files go up and down through the balancer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use weir_e2e::Demo;
use weir_testkit::{PATIENCE, RawClient, Response, SetOnDrop, wait_until};

/// Large enough that a kill meets some on their way.
const FILE_BYTES: usize = 1_000_000;
const CLIENTS: usize = 3;
/// So many files go up, and as many down, before the kill, and again after it.
const TRANSFERS: usize = 30;

/// What is in a file: its name, over and over.
fn content(name: &str) -> Vec<u8> {
    let line = format!("{name}\n");
    line.repeat(FILE_BYTES / line.len()).into_bytes()
}

/// An answer, on a connection of its own; `None` = it was broken off, or there was none.
fn ask(to: SocketAddr, method: &str, name: &str, body: &[u8]) -> Option<Response> {
    let length = body.len();
    let head = format!(
        "{method} /data/{name} HTTP/1.1\r\nHost: {to}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let mut client = RawClient::try_connect(to).ok()?;
    client.try_send([head.as_bytes(), body].concat()).ok()?;
    client.try_response().ok()
}

/// What the client of the balancer has of a transfer.
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

    /// Uploads files, each by another name, and returns those that were confirmed.
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

    /// Downloads one file over and over: what looks whole is whole.
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
    // Who was in the middle of something has been told. From now on nobody notices.
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
    // What was not confirmed is whole, or nobody sees it.
    for entry in fs::read_dir(demo.data()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("up-") {
            assert!(fs::read(demo.data().join(&name)).unwrap() == content(&name), "{name}");
        }
    }
    assert!(demo.end().is_some(), "by itself");
}
