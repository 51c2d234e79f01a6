//! Tests of copies to other servers.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_testkit::RawServer;

use crate::{Site, last_line, method, ok, pattern};

#[test]
fn a_file_goes_to_another_server_whole() {
    let (site, other) = (Site::new(), Site::new());
    let content = pattern(5_000_000);
    site.write("f", &content);
    let to = other.url("/g");
    site.copies("/f", &[("Destination", &to), ("RequireChecksumVerification", "true")]);
    assert!(other.read("g").unwrap() == content);
    site.write("empty", "");
    site.copies("/empty", &[("Destination", &other.url("/e"))]);
    assert_eq!(other.read("e").unwrap(), b"");
    other.settles(&["e", "g"]);
    let pushed = site.weir.metrics().get("weir_transfer_bytes_total", &["direction=\"push\""]);
    assert_eq!(pushed, 5_000_000.0);
}

#[test]
fn overwrite_f_leaves_what_is_there() {
    let (site, other) = (Site::new(), Site::new());
    site.write("f", "new");
    other.write("g", "old");
    let line = site.fails("/f", &[("Destination", &other.url("/g")), ("Overwrite", "F")]);
    assert!(line.contains("there is a file at the destination"), "{line}");
    assert_eq!(other.read("g").unwrap(), b"old");
    site.copies("/f", &[("Destination", &other.url("/h")), ("Overwrite", "F")]);
    site.copies("/f", &[("Destination", &other.url("/g"))]);
    assert_eq!((other.read("g").unwrap(), other.read("h").unwrap()), (b"new".to_vec(), b"new".to_vec()));
}

#[test]
fn a_redirected_put_stays_a_put_and_sends_a_large_body_once() {
    let content = pattern(3_000_000);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let second = RawServer::start(move |peer| {
        let head = peer.head()?;
        peer.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        *keep.lock().unwrap() = peer.body_of(&head)?;
        peer.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
    });
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let leads_to = format!("http://{}/there", second.addr());
        let first = RawServer::start(move |peer| {
            let head = String::from_utf8_lossy(&peer.head()?).into_owned();
            assert!(head.starts_with("PUT /f ") && head.contains("Expect: 100-continue"), "{head}");
            peer.send(format!("HTTP/1.1 {status}\r\nLocation: {leads_to}\r\nContent-Length: 0\r\n\r\n"))
        });
        let site = Site::new();
        site.write("f", &content);
        site.copies("/f", &[("Destination", &format!("http://{}/f", first.addr()))]);
        assert!(*kept.lock().unwrap() == content, "{status}");
        // No byte of the body went to the first server.
        let received = first.received(0);
        assert!(received.ends_with(b"\r\n\r\n") && received.len() < 1000, "{status}");
        kept.lock().unwrap().clear();
    }
}

#[test]
fn a_server_that_wants_no_more_is_heard() {
    for size in [10, 30_000_000] {
        let destination = RawServer::start(|peer| {
            peer.head()?;
            peer.send("HTTP/1.1 507 Insufficient Storage\r\nContent-Length: 0\r\n\r\n")?;
            peer.hold();
            Ok(())
        });
        let site = Site::new();
        std::fs::File::create(site.root.path().join("f")).unwrap().set_len(size).unwrap();
        let line = site.fails("/f", &[("Destination", &format!("http://{}/f", destination.addr()))]);
        assert!(line.contains("PUT was answered with status 507"), "{line}");
    }
}

#[test]
fn a_passing_failure_is_tried_again_from_the_start() {
    let tries = Mutex::new(0);
    let destination = RawServer::responding(move |request| {
        let mut tries = tries.lock().unwrap();
        *tries += 1;
        assert_eq!((method(request).as_str(), request.body.as_slice()), ("PUT", &b"content"[..]));
        let status = if *tries == 1 { "503 Service Unavailable" } else { "201 Created" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    });
    let site = Site::new();
    site.write("f", "content");
    site.copies("/f", &[("Destination", &format!("http://{}/f", destination.addr()))]);
    assert_eq!(destination.connections(), 2);
}

#[test]
fn a_file_that_is_written_into_while_it_is_sent_is_not_sent_to_its_end() {
    const SIZE: u64 = 3_000_000;
    let site = Site::new();
    let source = site.root.path().join("f");
    std::fs::File::create(&source).unwrap().set_len(SIZE).unwrap();
    let destination = RawServer::start(move |peer| {
        peer.head()?;
        std::fs::OpenOptions::new().append(true).open(&source).unwrap().write_all(b"more").unwrap();
        // For a body of this length, the client sends `Expect: 100-continue`.
        peer.send("HTTP/1.1 100 Continue\r\n\r\n")?;
        peer.request().map(drop)
    });
    let line = site.fails("/f", &[("Destination", &format!("http://{}/f", destination.addr()))]);
    assert!(line.contains("the file was changed while it was sent"), "{line}");
    assert!((destination.received(0).len() as u64) < SIZE);
}

#[test]
fn a_server_that_takes_its_time_for_the_answer_gets_it() {
    let slowly = |peer: &mut weir_testkit::Peer| {
        peer.request()?;
        peer.send_slowly("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", Duration::from_millis(50))
    };
    let (patient, hurried) = (RawServer::start(slowly), RawServer::start(slowly));
    let push = |server: &RawServer, answer_timeout: &str| {
        let site = Site::with(&format!(
            "retries = 0\nidle-timeout = \"1s\"\nanswer-timeout = \"{answer_timeout}\"\n"
        ));
        site.write("f", "content");
        let done = site.copy("/f", &[("Destination", &format!("http://{}/f", server.addr()))]);
        crate::last_line(&done)
    };
    assert_eq!(push(&patient, "1m"), "success: Created");
    assert!(push(&hurried, "500ms").contains("no answer within 500 ms"));
}

/// Starts a server that ends the connection of the first PUT without a response (or with `answer`), and
/// responds to HEAD with `told`.
fn wordless(answer: &'static str, told: &'static str) -> RawServer {
    let puts = Mutex::new(0);
    RawServer::start(move |peer| {
        let request = peer.request()?;
        if method(&request) == "HEAD" {
            return peer.send(ok(&request, told, b"content"));
        }
        *puts.lock().unwrap() += 1;
        match *puts.lock().unwrap() {
            1 => peer.send(answer),
            _ => peer.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
        }
    })
}

#[test]
fn a_put_without_an_answer_is_asked_about_before_it_is_sent_again() {
    const LOST: &str = "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 0\r\n\r\n";
    let site = Site::new();
    site.write("f", "content");
    for (answer, told, puts) in [
        ("", "Digest: adler32=0bcb02fc\r\n", 1),
        (LOST, "Digest: adler32=0bcb02fc\r\n", 1),
        // The HEAD may show an older file of the same length.
        ("", "", 2),
        ("", "Digest: adler32=00000001\r\n", 2),
    ] {
        let server = wordless(answer, told);
        site.copies("/f", &[("Destination", &format!("http://{}/f", server.addr()))]);
        let received = String::from_utf8(server.received_in_all()).unwrap();
        assert_eq!(received.matches("PUT /f ").count(), puts, "{answer:?} {told:?}: {received}");
        assert!(received.contains("HEAD /f "), "{received}");
    }
}

#[test]
fn overwrite_f_ends_well_too_if_the_file_has_arrived_without_a_word() {
    for (told, last) in [("Digest: adler32=0bcb02fc\r\n", "success: Created"), ("", "failure: ")] {
        let asked = Mutex::new(0);
        let server = RawServer::start(move |peer| {
            let request = peer.request()?;
            match method(&request).as_str() {
                "PUT" => Ok(()),
                _ => {
                    *asked.lock().unwrap() += 1;
                    match *asked.lock().unwrap() {
                        1 => peer.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
                        _ => peer.send(ok(&request, told, b"content")),
                    }
                }
            }
        });
        let site = Site::new();
        site.write("f", "content");
        let done =
            site.copy("/f", &[("Destination", &format!("http://{}/f", server.addr())), ("Overwrite", "F")]);
        assert!(last_line(&done).starts_with(last), "{}", done.text());
        assert_eq!(String::from_utf8(server.received_in_all()).unwrap().matches("PUT ").count(), 1);
    }
}
