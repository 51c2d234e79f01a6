//! Tests of every route, byte by byte, with a client that does not share hyper's framing.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weir_origin::{Origin, OriginHandle, ServiceTime, Spread};
use weir_testkit::{BodyFraming, Ending, PATIENCE, RawClient, Response, ResponseError, chunked, wait_until};

fn origin() -> OriginHandle {
    Origin::builder().name("a").start().unwrap()
}

fn get(origin: &OriginHandle, target: &str) -> Response {
    RawClient::connect(origin.addr()).exchange(format!("GET {target} HTTP/1.1\r\nHost: o\r\n\r\n"))
}

#[test]
fn the_page_shows_the_name_and_every_response_carries_it() {
    let origin = Origin::builder().name("<b> & co").start().unwrap();
    let page = get(&origin, "/");
    assert_eq!((page.status, page.header("x-origin")), (200, Some("<b> & co")));
    assert!(page.text().contains("<h1>&lt;b&gt; &amp; co</h1>"), "{}", page.text());
    assert_eq!(get(&origin, "/nowhere").status, 404);
}

#[test]
fn bytes_are_the_pattern_with_a_length_or_chunked() {
    let origin = origin();
    for count in [0usize, 1, 64, 65_536, 200_001] {
        let sized = get(&origin, &format!("/bytes/{count}"));
        assert_eq!(sized.framing, BodyFraming::Length(count as u64));
        let in_chunks = get(&origin, &format!("/bytes/{count}?chunked"));
        assert_eq!(in_chunks.framing, BodyFraming::Chunked);
        assert_eq!(sized.body.len(), count);
        assert!(sized.body == in_chunks.body);
    }
    assert!(get(&origin, "/bytes/70").body.ends_with(b"YZ.\n012345"));
    assert_eq!(get(&origin, "/bytes/many").status, 400);
}

#[test]
fn head_tells_the_length_and_sends_no_body() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    let head = client.send("HEAD /bytes/1000 HTTP/1.1\r\nHost: o\r\n\r\n").response_to_head();
    assert_eq!((head.status, head.header("content-length")), (200, Some("1000")));
    let next = client.exchange("GET /bytes/1 HTTP/1.1\r\nHost: o\r\n\r\n");
    assert_eq!(next.body, b"0");
}

#[test]
fn echo_gives_back_the_request_line_headers_and_body() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    let request =
        "PURGE /echo?x=1 HTTP/1.1\r\nHost: o\r\nX-Twice: 1\r\nX-Twice: 2\r\nContent-Length: 5\r\n\r\nhello";
    let echo = client.exchange(request);
    assert_eq!(
        echo.text(),
        "PURGE /echo?x=1 HTTP/1.1\r\nhost: o\r\nx-twice: 1\r\nx-twice: 2\r\ncontent-length: 5\r\n\r\nhello"
    );
    client.send("POST /echo HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(chunked(&["some ", "chunks"]));
    assert!(client.response().text().ends_with("\r\n\r\nsome chunks"));
}

#[test]
fn echo_as_json_has_the_trailers_too() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    client.send("POST /echo?json HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n");
    let json = client.send("2\r\nhi\r\n0\r\nX-Sum: 9\r\n\r\n").response().text();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["method"], "POST");
    assert_eq!(json["target"], "/echo?json");
    assert_eq!(json["body"], "hi");
    assert_eq!(json["trailers"], serde_json::json!([["x-sum", "9"]]));
    assert_eq!(json["headers"][0], serde_json::json!(["host", "o"]));
}

#[test]
fn upload_counts_and_hashes() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    let request = "PUT /upload HTTP/1.1\r\nHost: o\r\nContent-Length: 9\r\n\r\n123456789";
    let result: serde_json::Value = serde_json::from_str(&client.exchange(request).text()).unwrap();
    assert_eq!(result["bytes"], 9);
    assert_eq!(result["crc32"], "cbf43926");
    // SHA-256 of "123456789".
    assert_eq!(result["sha256"], "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225");
}

#[test]
fn a_client_that_expects_100_is_told_to_go_on_only_where_its_body_is_wanted() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    let head = "Host: o\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(client.send(format!("PUT /upload HTTP/1.1\r\n{head}")).response().status, 100);
    assert_eq!(client.send("hi").response().status, 200);
    assert_eq!(client.send(format!("PUT /early?status=403 HTTP/1.1\r\n{head}")).response().status, 403);
}

#[test]
fn health_fails_when_told_to() {
    let origin = origin();
    let post = |target: &str| {
        let request = format!("POST {target} HTTP/1.1\r\nHost: o\r\nContent-Length: 0\r\n\r\n");
        RawClient::connect(origin.addr()).exchange(request).status
    };
    assert_eq!(get(&origin, "/health").status, 200);
    assert_eq!(post("/health?fail=1"), 200);
    assert_eq!(get(&origin, "/health").status, 503);
    assert_eq!(post("/health?fail=0"), 200);
    assert_eq!(get(&origin, "/health").status, 200);
    origin.set_healthy(false);
    assert_eq!(get(&origin, "/health").status, 503);
    assert_eq!((origin.checks(), origin.requests()), (6, 0));
}

#[test]
fn statuses_delays_streams_and_headers_are_as_asked_for() {
    let origin = origin();
    assert_eq!(get(&origin, "/status/418").status, 418);
    assert_eq!(get(&origin, "/status/204").framing, BodyFraming::None);
    assert_eq!(get(&origin, "/status/100").status, 400);
    assert_eq!(get(&origin, "/delay/1").status, 200);
    let stream = get(&origin, "/stream?chunks=3&size=10&interval=1");
    assert_eq!((stream.framing, stream.body.len()), (BodyFraming::Chunked, 30));
    let slow = get(&origin, "/slow?bytes=50&rate=5000");
    assert_eq!((slow.framing, slow.body.len()), (BodyFraming::Length(50), 50));
    let paced = get(&origin, "/slow?bytes=150&rate=2000");
    assert_eq!(paced.body, get(&origin, "/bytes/150").body, "in two pieces");
    let events = get(&origin, "/sse?count=2&interval=0");
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert_eq!(events.text(), "id: 0\nevent: tick\ndata: 0\n\nid: 1\nevent: tick\ndata: 1\n\n");
    let headers = get(&origin, "/headers?count=20&size=30");
    assert_eq!(headers.header("x-filler-19").map(str::len), Some(30));
    assert_eq!(get(&origin, "/stream?chunks=x").status, 400);
}

#[test]
fn faults_end_the_connection_in_their_own_way() {
    let origin = origin();
    let ask = |target: &str| {
        let mut client = RawClient::connect(origin.addr());
        client.send(format!("GET {target} HTTP/1.1\r\nHost: o\r\n\r\n")).try_response().unwrap_err()
    };
    assert!(matches!(ask("/close"), ResponseError::Nothing(Ending::Fin)));
    assert!(matches!(ask("/reset"), ResponseError::Nothing(Ending::Reset)));
    assert!(matches!(ask("/garbage"), ResponseError::Malformed(..)));
    for (target, expected) in [("/close-mid-body", Ending::Fin), ("/reset-mid-body", Ending::Reset)] {
        match ask(&format!("{target}?bytes=1000&sent=300")) {
            ResponseError::InBody(ending, response) => {
                assert_eq!((ending, response.status, response.body.len()), (expected, 200, 300));
            }
            other => panic!("{target}: {other}"),
        }
    }
}

#[test]
fn hanging_routes_say_nothing_and_end_with_their_client() {
    let origin = origin();
    let leave: [fn(RawClient); 2] = [RawClient::reset, drop];
    for leave in leave {
        let mut client = RawClient::connect(origin.addr());
        client.send("GET /hang HTTP/1.1\r\nHost: o\r\n\r\n");
        wait_until("the request arrives", PATIENCE, || origin.active() == 1);
        assert!(client.is_quiet(Duration::from_millis(50)));
        leave(client);
        wait_until("the request is given up", PATIENCE, || origin.active() == 0);
        let mut client = RawClient::connect(origin.addr());
        client.send("GET /hang-mid-body?bytes=100&sent=10 HTTP/1.1\r\nHost: o\r\n\r\n");
        assert_eq!(client.response_head().header("content-length"), Some("100"));
        assert_eq!(client.read_exact(10), b"0123456789");
        assert!(client.is_quiet(Duration::from_millis(50)));
        leave(client);
        wait_until("its connection is given up", PATIENCE, || origin.connections_open() == 0);
    }
}

#[test]
fn a_websocket_echoes_messages_pings_and_the_close() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    client.send(
        "GET /ws HTTP/1.1\r\nHost: o\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let switched = client.response();
    assert_eq!(switched.status, 101);
    assert_eq!(switched.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    // Text "Hi", masked with 1 2 3 4.
    client.send([0x81, 0x82, 1, 2, 3, 4, b'H' ^ 1, b'i' ^ 2]);
    assert_eq!(client.read_exact(4), [0x81, 2, b'H', b'i']);
    client.send([0x89, 0x80, 0, 0, 0, 0]);
    assert_eq!(client.read_exact(2), [0x8a, 0]);
    client.send([0x82, 0xfe, 0x01, 0x00, 0, 0, 0, 0]).send([7; 256]);
    assert_eq!(client.read_exact(4), [0x82, 126, 1, 0]);
    assert_eq!(client.read_exact(256), [7; 256]);
    client.send([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
    assert_eq!(client.read_to_end(), (vec![0x88, 2, 0x03, 0xe8], Ending::Fin));
}

#[test]
fn a_websocket_frame_without_a_mask_is_a_protocol_error() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    client.send(
        "GET /ws HTTP/1.1\r\nHost: o\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n",
    );
    assert_eq!(client.response().status, 101);
    assert_eq!(client.send([0x81, 0x00]).read_exact(4), [0x88, 2, 0x03, 0xea]);
}

#[test]
fn stopping_finishes_what_was_begun_and_accepts_nothing_new() {
    let origin = Origin::builder().start().unwrap();
    let addr = origin.addr();
    let mut busy = RawClient::connect(addr);
    busy.send("GET /delay/150 HTTP/1.1\r\nHost: o\r\n\r\n");
    let mut websocket = RawClient::connect(addr);
    websocket.send(
        "GET /ws HTTP/1.1\r\nHost: o\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n",
    );
    assert_eq!(websocket.response().status, 101);
    wait_until("the request arrives", PATIENCE, || origin.active() == 1);
    origin.stop();
    let response = busy.response();
    assert!(response.status == 200 && response.says_close(), "{response:?}");
    assert_eq!(busy.ending(), Ending::Fin);
    // 1001: going away.
    assert_eq!(websocket.read_to_end().0, [0x88, 2, 0x03, 0xe9]);
    assert!(RawClient::try_connect(addr).is_err());
}

#[test]
fn killing_resets_what_is_open() {
    let origin = origin();
    let mut client = RawClient::connect(origin.addr());
    client.send("GET /hang HTTP/1.1\r\nHost: o\r\n\r\n");
    wait_until("the request arrives", PATIENCE, || origin.active() == 1);
    origin.kill();
    assert_eq!(client.ending(), Ending::Reset);
}

#[test]
fn a_server_with_a_service_time_takes_no_more_at_once_than_it_has_places() {
    let mean = Duration::from_millis(40);
    let service = ServiceTime { concurrency: 1, mean, spread: Spread::Fixed };
    let origin = Origin::builder().service(service).start().unwrap();
    let start = std::time::Instant::now();
    let mut clients: Vec<_> = (0..3).map(|_| RawClient::connect(origin.addr())).collect();
    for client in &mut clients {
        client.send("GET / HTTP/1.1\r\nHost: o\r\n\r\n");
    }
    assert!(clients.iter_mut().all(|client| client.response().status == 200));
    assert!(start.elapsed() >= mean * 3, "three in a row in {:?}", start.elapsed());
    assert_eq!((origin.requests(), origin.connections()), (3, 3));
}
