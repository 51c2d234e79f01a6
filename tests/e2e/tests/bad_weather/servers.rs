//! Tests of servers that fail one request, without another server to retry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, FullListener, RawServer, RefusingPort, Response, ResponseError, Step};

const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";

fn answer_to(request: &str, server: &RawServer, pool: &str) -> Response {
    let weir = Weir::start(&format!("{}{pool}", web(&[server.addr()])));
    weir.client().exchange(request)
}

#[test]
fn a_server_that_accepts_and_never_answers_gives_504() {
    let server = RawServer::silent();
    let timeouts = "timeouts = { response = \"300ms\" }\n";
    assert_eq!(answer_to(&get("/"), &server, timeouts).status, 504);
    // The request was sent once: a retry would take as long again.
    assert_eq!(server.connections(), 1);
    server.wait_for_end(0);
}

#[test]
fn the_time_to_answer_counts_from_the_end_of_the_request() {
    let server = RawServer::start(|peer| {
        peer.request()?;
        peer.respond("hi")
    });
    let weir = Weir::start(&format!("{}timeouts = {{ response = \"400ms\" }}\n", web(&[server.addr()])));
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n");
    client.send_slowly("12345678901234567890", Duration::from_millis(50));
    assert_eq!(client.response().status, 200);
}

#[test]
fn a_server_that_stops_reading_a_body_gives_504_or_is_cut() {
    let (over, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = RawServer::start(move |peer| {
        peer.head()?;
        // The socket buffers fill, and then no data moves any more.
        let _ = wait.lock().unwrap().recv();
        Ok(())
    });
    let config = format!(
        "{}timeouts = {{ idle = \"300ms\", response = \"300ms\" }}\n[listener.web.timeouts]\nbody = \"1h\"\n",
        web(&[server.addr()])
    );
    let weir = Weir::start(&config);
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
    while client.try_send(vec![b'x'; 1 << 20]).is_ok() {}
    // The client is not at fault, so its timeout must not apply, and 408 would be wrong.
    match client.try_response() {
        Ok(response) => assert_eq!(response.status, 504),
        Err(ResponseError::Nothing(_)) => {}
        Err(other) => panic!("{other}"),
    }
    drop(over);
}

#[test]
fn a_large_response_head_within_reason_is_passed_on() {
    let value = "v".repeat(60_000);
    let head = format!("HTTP/1.1 200 OK\r\nX-Large: {value}\r\nContent-Length: 2\r\n\r\nhi");
    let server = RawServer::script([Step::ReadRequest, Step::Send(head.into()), Step::Hold]);
    let response = answer_to(&get("/"), &server, "");
    assert_eq!((response.header("x-large"), response.text().as_str()), (Some(value.as_str()), "hi"));
}

#[test]
fn a_server_that_closes_or_resets_without_an_answer_gives_502() {
    for step in [None, Some(Step::Reset)] {
        let mut steps = vec![Step::ReadRequest];
        steps.extend(step);
        let server = RawServer::script(steps);
        assert_eq!(answer_to(POST, &server, "").status, 502);
        // The server may have processed the POST, so it is not sent twice.
        assert_eq!(server.connections(), 1);
    }
}

#[test]
fn a_server_that_closes_before_it_reads_gives_502() {
    let server = RawServer::script([]);
    assert_eq!(answer_to(POST, &server, "").status, 502);
    assert_eq!(answer_to(&get("/"), &server, "").status, 502);
}

#[test]
fn garbage_gives_502_and_reaches_nobody() {
    let garbage: [&[u8]; 10] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 TLS\r\n\r\n",
        b"220 smtp.example ESMTP\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 20x OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
    ];
    for bytes in garbage {
        let server = RawServer::script([Step::ReadRequest, Step::Send(bytes.into()), Step::Hold]);
        let response = answer_to(POST, &server, "");
        assert_eq!(response.status, 502, "{}", bytes.escape_ascii());
        server.wait_for_end(0);
    }
}

#[test]
fn an_endless_response_head_gives_502_and_costs_no_memory() {
    let server = RawServer::start(|peer| {
        peer.request()?;
        peer.send("HTTP/1.1 200 OK\r\n")?;
        // Ends when Weir stops reading.
        for number in 0..1_000_000 {
            peer.send(format!("X-Filler-{number}: {}\r\n", "v".repeat(1000)))?;
        }
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let before = weir_testkit::rss_bytes(weir.pid());
    assert_eq!(weir.client().exchange(POST).status, 502);
    server.wait_for_end(0);
    assert!(weir_testkit::rss_bytes(weir.pid()).saturating_sub(before) < 4 << 20);
}

#[test]
fn an_endless_row_of_interim_responses_to_a_client_that_does_not_read_costs_no_memory() {
    const INTERIM: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let sent = Arc::new(AtomicUsize::new(0));
    let progress = Arc::clone(&sent);
    let server = RawServer::start(move |peer| {
        peer.request()?;
        // Ends when Weir stops reading or gives up; 100 MB would be too many.
        for _ in 0..20_000 {
            peer.send(INTERIM.repeat(100))?;
            progress.fetch_add(INTERIM.len() * 100, Ordering::SeqCst);
        }
        Ok(())
    });
    let config = format!("{}[listener.web.timeouts]\nbody = \"2s\"\n", web(&[server.addr()]));
    let weir = Weir::start(&config);
    let before = weir_testkit::rss_bytes(weir.pid());
    let mut client = weir.client().receive_buffer(32 * 1024);
    client.send(get("/"));
    server.wait_for_connections(1);
    server.wait_for_end(0);
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < 40 << 20, "{sent} bytes were taken for a client that takes none");
    let grown = weir_testkit::rss_bytes(weir.pid()).saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes more memory");
}

#[test]
fn bad_chunks_cut_the_response() {
    for chunk in ["zz\r\n", "5\r\nhelloX\r\n", "5;\x00\r\nhello\r\n", "-1\r\n", "100000000000000000\r\n"] {
        let wire = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n{chunk}");
        let server = RawServer::start(move |peer| {
            peer.request()?;
            let (first, rest) = wire.split_at(wire.len() - chunk_bytes(&wire));
            peer.send(first)?;
            peer.send(rest)?;
            peer.hold();
            Ok(())
        });
        let weir = Weir::start(&web(&[server.addr()]));
        let mut client = weir.client();
        match client.send(get("/")).try_response() {
            // The bad chunk was seen before anything was sent on.
            Ok(response) => assert_eq!(response.status, 502, "{chunk:?}"),
            Err(ResponseError::InBody(Ending::Reset, response)) => {
                assert_eq!(response.status, 200, "{chunk:?}")
            }
            Err(other) => panic!("{chunk:?}: {other}"),
        }
        server.wait_for_end(0);
    }
}

fn chunk_bytes(wire: &str) -> usize {
    wire.len() - wire.find("hi\r\n").unwrap() - 4
}

#[test]
fn a_body_that_stops_coming_is_cut_by_a_reset() {
    let server = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".into()),
        Step::Hold,
    ]);
    let weir = Weir::start(&format!("{}timeouts = {{ idle = \"300ms\" }}\n", web(&[server.addr()])));
    match weir.client().send(get("/")).try_response() {
        Err(ResponseError::InBody(Ending::Reset, response)) => assert_eq!(response.text(), "half"),
        other => panic!("{other:?}"),
    }
    server.wait_for_end(0);
}

#[test]
fn a_head_reaches_the_client_while_its_large_body_is_still_to_come() {
    const BODY: usize = 1_000_000;
    let (head_came, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let server = RawServer::start(move |peer| {
        peer.head()?;
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\nfirst"))?;
        wait.lock().unwrap().recv_timeout(weir_testkit::PATIENCE).unwrap();
        peer.send(vec![b'x'; BODY - 5])
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send(get("/"));
    assert_eq!(client.response_head().status, 200);
    assert_eq!(client.read_exact(5), b"first");
    head_came.send(()).unwrap();
    assert!(client.read_exact(BODY - 5).iter().all(|byte| *byte == b'x'));
}

#[test]
fn a_server_that_sends_more_than_it_said_gives_what_it_said() {
    let server = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood and more".into()),
        Step::Hold,
    ]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/")).text(), "good");
    assert!(client.is_quiet(Duration::from_millis(100)));
    server.wait_for_end(0);
}

#[test]
fn a_server_that_sends_more_than_it_said_of_a_large_body_gives_what_it_said() {
    let mut wire = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_vec();
    wire.extend_from_slice(&[b'x'; 100_000]);
    wire.extend_from_slice(&[b'!'; 50_000]);
    let server = RawServer::script([Step::ReadHead, Step::Send(wire), Step::Hold]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for number in 0..3 {
        let response = client.exchange(get("/"));
        assert!(response.body == [b'x'; 100_000]);
        server.wait_for_end(number);
    }
}

#[test]
fn a_port_where_nobody_listens_gives_502_or_503_at_once() {
    let port = RefusingPort::new();
    let weir = Weir::start(&web(&[port.addr()]));
    let response = weir.client().exchange(get("/"));
    assert!(matches!(response.status, 502 | 503), "{}", response.status);
}

#[test]
fn a_full_listen_queue_gives_504_after_the_connect_timeout() {
    let full = FullListener::new();
    let config = format!("{}timeouts = {{ connect = \"300ms\" }}\nretry = false\n", web(&[full.addr()]));
    let weir = Weir::start(&config);
    assert_eq!(weir.client().exchange(get("/")).status, 504);
}

#[test]
fn a_server_that_speaks_before_it_is_asked_answers_one_request_and_gets_no_other() {
    // The early data is indistinguishable from a response. The real response must not become the response to
    // the next request.
    let (answered, wait) = std::sync::mpsc::channel::<()>();
    let server = RawServer::start(move |peer| {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")?;
        while let Ok(request) = peer.request() {
            let sent = peer.respond(request.request_line());
            let _ = answered.send(());
            sent?;
        }
        Ok(())
    });
    let weir = Weir::start(&format!("{}[weir]\nworkers = 1\n", web(&[server.addr()])));
    let mut client = weir.client();
    for number in 0..10 {
        let response = client.exchange(get(&format!("/{number}")));
        assert_eq!((response.status, response.text().as_str()), (200, "forged"), "request {number}");
        // The real response is on its way, but to no client.
        wait.recv_timeout(weir_testkit::PATIENCE).unwrap();
    }
    assert_eq!(server.connections(), 10);
    for number in 0..10 {
        let received = String::from_utf8(server.received(number)).unwrap();
        assert!(received.starts_with(&format!("GET /{number} HTTP/1.1\r\n")), "{received}");
        assert_eq!(received.matches(" HTTP/1.1\r\n").count(), 1, "{received}");
    }
}
