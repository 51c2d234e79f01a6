//! Tests the limits of sizes: 413, 414, 431.

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, RawServer, Response, ResponseError};

fn with_limits(server: &RawServer, limits: &str) -> Weir {
    Weir::start(&format!("{}[listener.web.limits]\n{limits}\n", web(&[server.addr()])))
}

/// Sends a request, during which Weir may close the connection, and reads the response. Nothing may follow
/// it.
fn refused(weir: &Weir, request: &str) -> Response {
    let mut client = weir.client();
    let _ = client.try_send(request);
    let response = client.response();
    client.half_close();
    assert_eq!(client.read_to_end().0, b"");
    response
}

#[test]
fn a_long_target_is_answered_414() {
    let server = RawServer::answering("hi");
    let weir = with_limits(&server, "target = \"100B\"");
    assert_eq!(weir.client().exchange(get(&format!("/{}", "x".repeat(99)))).status, 200);
    assert_eq!(refused(&weir, &get(&format!("/{}", "x".repeat(100)))).status, 414);
    assert_eq!(refused(&weir, &get(&format!("/{}", "x".repeat(1_000_000)))).status, 414);
    // The request line is still incomplete.
    assert_eq!(refused(&weir, &format!("GET /{}", "x".repeat(200))).status, 414);
}

#[test]
fn too_many_header_lines_are_answered_431() {
    let server = RawServer::answering("hi");
    let weir = with_limits(&server, "headers = 10");
    let request = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(count - 1));
    assert_eq!(weir.client().exchange(request(10)).status, 200);
    assert_eq!(refused(&weir, &request(11)).status, 431);
    assert_eq!(refused(&weir, &request(100_000)).status, 431);
}

#[test]
fn a_large_head_is_answered_431() {
    let server = RawServer::answering("hi");
    let weir = with_limits(&server, "head = \"1KiB\"\ntarget = \"512B\"");
    let request = |bytes: usize| format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(bytes));
    assert_eq!(weir.client().exchange(request(900)).status, 200);
    assert_eq!(refused(&weir, &request(1024)).status, 431);
    assert_eq!(refused(&weir, &request(10_000_000)).status, 431);
    assert_eq!(refused(&weir, &format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "y".repeat(2000))).status, 431);
}

#[test]
fn a_long_method_or_version_is_refused_too() {
    let server = RawServer::answering("hi");
    let weir = with_limits(&server, "head = \"1KiB\"\ntarget = \"512B\"");
    for request in [
        format!("{} / HTTP/1.1\r\nHost: a\r\n\r\n", "M".repeat(5000)),
        format!("GET / HTTP/1.{}\r\nHost: a\r\n\r\n", "1".repeat(5000)),
        "\r\n".repeat(5000),
    ] {
        let mut client = weir.client();
        let _ = client.try_send(&request);
        client.half_close();
        match client.try_response() {
            Ok(response) => {
                assert!(matches!(response.status, 400 | 414 | 431 | 501 | 505), "{}", response.status)
            }
            Err(ResponseError::Nothing(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(server.connections(), 0);
}

fn with_body_limit(server: &RawServer) -> Weir {
    Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
         [[route]]\npath = \"/small\"\npool = \"web\"\nmax-body = \"1000B\"\n\n[pool.web]\nservers = \"{}\"\n",
        server.addr()
    ))
}

#[test]
fn a_body_over_its_routes_limit_is_answered_413_before_the_server_hears_of_it() {
    let server = RawServer::answering("hi");
    let weir = with_body_limit(&server);
    let request = |path: &str, bytes: usize| {
        format!("PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {bytes}\r\n\r\n{}", "x".repeat(bytes))
    };
    assert_eq!(weir.client().exchange(request("/small", 1000)).status, 200);
    assert_eq!(weir.client().exchange(request("/other", 5000)).status, 200);
    let before = server.received_in_all();
    assert_eq!(refused(&weir, &request("/small", 1001)).status, 413);
    assert_eq!(refused(&weir, &request("/small", 10_000_000)).status, 413);
    assert!(server.received_in_all() == before);
}

#[test]
fn a_chunked_body_over_its_routes_limit_is_answered_413_and_never_looks_whole() {
    let server = RawServer::start(|peer| {
        while peer.request().is_ok() {
            peer.respond("hi")?;
        }
        Ok(())
    });
    let weir = with_body_limit(&server);
    let request = |count: usize| {
        format!(
            "PUT /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
            format!("64\r\n{}\r\n", "x".repeat(100)).repeat(count)
        )
    };
    assert_eq!(weir.client().exchange(request(10)).status, 200);
    assert_eq!(refused(&weir, &request(11)).status, 413);
    assert_eq!(refused(&weir, &request(100_000)).status, 413);
    let whole = String::from_utf8_lossy(&server.received_in_all()).matches("0\r\n\r\n").count();
    assert_eq!(whole, 1, "a body over the limit reached the server whole");
}

#[test]
fn an_answer_to_a_client_that_goes_on_sending_is_not_lost() {
    let server = RawServer::answering("hi");
    let weir = with_body_limit(&server);
    for _ in 0..20 {
        let mut client = weir.client();
        client.send("PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
        // More than the kernel's buffers hold.
        let _ = client.try_send(vec![b'x'; 500_000]);
        assert_eq!(client.response().status, 413);
    }
    let mut client = weir.client();
    client.send("PUT /small HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
    assert_eq!(client.response().status, 413);
    client.half_close();
    assert_eq!(client.ending(), Ending::Fin);
}
