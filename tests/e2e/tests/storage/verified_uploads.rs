//! Tests of `weir load --verify` for uploads: the area's checksum must match the sent data.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use serde_json::Value;

use super::Site;

const BODY_BYTES: usize = 1_500_001;

/// Sends 12 PUTs with a generated body to four files.
fn upload(to: SocketAddr, arguments: &[&str]) -> Output {
    let mut command = Command::new(weir_e2e::program());
    command.args(["load", "--quiet", "-n", "12", "-c", "2", "-m", "PUT", "--verify", "announced"]);
    command.args(["--body-size", &format!("{BODY_BYTES}B")]).args(arguments);
    command.arg(format!("http://{to}/f-{{i%4}}")).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|cause| panic!("{cause}: {output:?}"))
}

fn counts(summary: &Value) -> (u64, u64) {
    let of = |key: &str| summary["uploads"][key].as_u64().unwrap_or_else(|| panic!("{summary}"));
    (of("verified"), of("unverified"))
}

#[test]
fn what_an_area_got_is_what_was_sent() {
    for area in ["", "checksums = [\"sha-256\", \"md5\"]"] {
        let site = Site::open(area);
        // The first PUTs create the files, later ones replace them.
        let summary = json(&upload(site.weir.addr("web"), &["--json"]));
        assert_eq!(counts(&summary), (12, 0), "{summary}");
        assert_eq!(summary["requests"]["succeeded"], 12, "{summary}");
        assert_eq!(site.read("f-3").unwrap().len(), BODY_BYTES);
    }
}

#[test]
fn checksums_that_are_computed_are_those_that_are_asked_for() {
    let site = Site::open("checksums = \"md5\"");
    let output = upload(site.weir.addr("web"), &[]);
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(report.contains("\nUploads      0 verified, 12 not verified ("), "{report}");
    let summary = json(&upload(site.weir.addr("web"), &["--json", "-H", "Want-Digest: md5"]));
    assert_eq!(counts(&summary), (12, 0), "{summary}");
}

#[test]
fn a_byte_that_changes_on_the_way_makes_a_run_invalid() {
    let site = Site::open("");
    let output = upload(changing_a_byte(site.weir.addr("web")), &["--json", "--no-keep-alive"]);
    let summary = json(&output);
    assert_eq!(output.status.code(), Some(1), "{summary}");
    let expected = serde_json::json!([["the server's checksum of what was sent to it is wrong", 12]]);
    assert_eq!(summary["faults"], expected, "{summary}");
    assert!(summary["flaws"].to_string().contains("bytes are not what they should be"), "{summary}");
    assert_eq!(site.read("f-0").unwrap().len(), BODY_BYTES);
}

/// Starts a proxy that changes one byte of each client's upload, far from its start.
fn changing_a_byte(server: SocketAddr) -> SocketAddr {
    const AT: usize = 1_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // The thread waits in accept and ends with the test program.
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(server) else { return };
            let (back, forth) =
                ((server.try_clone().unwrap(), client.try_clone().unwrap()), (client, server));
            thread::spawn(move || copy(back.0, back.1, None));
            thread::spawn(move || copy(forth.0, forth.1, Some(AT)));
        }
    });
    address
}

/// Copies bytes until one side closes.
fn copy(mut from: TcpStream, mut to: TcpStream, changed: Option<usize>) {
    let (mut piece, mut at) = (vec![0; 64 << 10], 0);
    while let Ok(bytes @ 1..) = from.read(&mut piece) {
        if let Some(here) = changed.and_then(|changed| changed.checked_sub(at))
            && let Some(byte) = piece[..bytes].get_mut(here)
        {
            *byte ^= 1;
        }
        at += bytes;
        if to.write_all(&piece[..bytes]).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}
