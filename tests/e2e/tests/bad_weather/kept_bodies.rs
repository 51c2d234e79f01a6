//! Tests of retried requests whose body comes behind the head, when the first server fails.

use weir_e2e::{Weir, web};
use weir_testkit::{RawServer, Step};

/// Maximum size of a kept body, including framing.
const KEPT_BYTES: usize = 16 * 1024;

/// Starts a server that responds with the received body.
fn echoing() -> RawServer {
    RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            peer.respond(request.body)?;
        }
        Ok(())
    })
}

/// Starts Weir with a pool in which every request goes to `broken` first.
fn weir(broken: &RawServer, good: &RawServer) -> Weir {
    let servers = web(&[broken.addr(), good.addr()]);
    let rest = "balance = \"first\"\neject = false\nretry = { attempts = 1, min-per-second = 1000 }\n";
    Weir::start(&format!("{servers}{rest}"))
}

fn head(method: &str, framing: &str) -> String {
    format!("{method} / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n")
}

/// Encodes a body as one chunk.
fn chunked(payload: &[u8]) -> Vec<u8> {
    let size = format!("{:x}\r\n", payload.len());
    [size.as_bytes(), payload, b"\r\n0\r\n\r\n"].concat()
}

#[test]
fn a_small_body_that_comes_behind_its_head_is_taken_along_to_another_server() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = echoing();
    let weir = weir(&broken, &good);
    let mut tries = 0;
    for method in ["PROPFIND", "REPORT", "GET"] {
        for size in [1, 5, 4_096, KEPT_BYTES - 20, KEPT_BYTES] {
            let payload: Vec<u8> = (0..size).map(|at| b'a' + (at % 26) as u8).collect();
            let mut bodies = vec![(format!("Content-Length: {size}"), payload.clone())];
            if size + 20 <= KEPT_BYTES {
                bodies.push(("Transfer-Encoding: chunked".to_owned(), chunked(&payload)));
            }
            for (framing, body) in bodies {
                let mut client = weir.client();
                client.send(head(method, &framing));
                // The head has arrived without any part of the body.
                broken.wait_for_bytes(tries, 20);
                tries += 1;
                let (first, rest) = body.split_at(body.len() / 2);
                client.send(first).send(rest);
                let response = client.response();
                assert_eq!(response.status, 200, "{method}, {size} bytes, {framing}");
                assert!(response.body == payload, "{method}, {size} bytes, {framing}: another body");
            }
        }
    }
    assert_eq!(broken.connections(), tries);
}

#[test]
fn what_has_come_of_a_body_goes_to_another_server_and_the_rest_follows_it() {
    let broken = RawServer::script([Step::ReadHead, Step::Read(3)]);
    let good = echoing();
    let weir = weir(&broken, &good);
    let mut client = weir.client();
    client.send(head("PROPFIND", "Content-Length: 5"));
    broken.wait_for_bytes(0, 20);
    client.send("hel");
    let end_of_head = b"\r\n\r\nhel";
    weir_testkit::wait_until("the other server has as much", weir_testkit::PATIENCE, || {
        good.received_in_all().ends_with(end_of_head)
    });
    let response = client.exchange("lo");
    assert_eq!((response.status, response.text().as_str()), (200, "hello"));
}

#[test]
fn a_large_body_of_which_nothing_has_come_follows_its_head_to_another_server() {
    let broken = RawServer::script([Step::ReadHead]);
    let good = echoing();
    let weir = weir(&broken, &good);
    let mut client = weir.client();
    client.send(head("GET", "Content-Length: 1000000"));
    good.wait_for_connections(1);
    good.wait_for_bytes(0, 20);
    let response = client.exchange(vec![b'x'; 1_000_000]);
    assert_eq!((response.status, response.body.len()), (200, 1_000_000));
}

#[test]
fn a_body_that_is_longer_than_what_is_kept_is_not_sent_twice() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = echoing();
    let weir = weir(&broken, &good);
    let payload = vec![b'x'; KEPT_BYTES + 1];
    let bodies = [
        (format!("Content-Length: {}", payload.len()), payload.clone()),
        ("Transfer-Encoding: chunked".to_owned(), chunked(&payload)),
    ];
    for (number, (framing, body)) in bodies.into_iter().enumerate() {
        let mut client = weir.client();
        client.send(head("PROPFIND", &framing));
        broken.wait_for_bytes(number, 20);
        assert_eq!(client.exchange(body).status, 502, "{framing}");
    }
    assert_eq!(good.connections(), 0);
}

#[test]
fn a_request_that_changes_something_is_not_sent_twice_though_its_body_is_small() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = echoing();
    let weir = weir(&broken, &good);
    for (number, method) in ["POST", "PUT", "PROPPATCH"].into_iter().enumerate() {
        let mut client = weir.client();
        client.send(head(method, "Content-Length: 5"));
        broken.wait_for_bytes(number, 20);
        assert_eq!(client.exchange("hello").status, 502, "{method}");
    }
    assert_eq!(good.connections(), 0);
}

#[test]
fn a_kept_body_with_bad_framing_is_refused_as_any_other() {
    let good = echoing();
    let weir = Weir::start(&web(&[good.addr()]));
    let mut client = weir.client();
    client.send(head("PROPFIND", "Transfer-Encoding: chunked"));
    good.wait_for_connections(1);
    good.wait_for_bytes(0, 20);
    assert_eq!(client.exchange("5\r\nhello!").status, 400);
}

#[test]
fn what_follows_a_kept_body_is_the_next_request() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = echoing();
    let weir = weir(&broken, &good);
    let mut client = weir.client();
    client.send(head("PROPFIND", "Content-Length: 5"));
    broken.wait_for_bytes(0, 20);
    client.send(format!("hello{}again", head("PROPFIND", "Content-Length: 5")));
    assert_eq!(client.response().text(), "hello");
    assert_eq!(client.response().text(), "again");
}
