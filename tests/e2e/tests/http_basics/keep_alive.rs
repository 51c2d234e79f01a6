//! Tests of persistent connections on both sides: kept and closed ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, PATIENCE, RawServer, ResponseError, Step, wait_until};

#[test]
fn many_requests_of_one_client_use_one_connection_to_the_server() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for _ in 0..20 {
        assert_eq!(client.exchange(get("/")).body, b"hi");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn one_server_connection_serves_one_client_after_the_other() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!("{}[weir]\nworkers = 1\n", web(&[server.addr()])));
    for _ in 0..5 {
        assert_eq!(weir.client().exchange(get("/")).body, b"hi");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn without_reuse_each_request_gets_a_connection_of_its_own() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!("{}reuse = false\n", web(&[server.addr()])));
    let mut client = weir.client();
    for _ in 0..3 {
        assert_eq!(client.exchange(get("/")).body, b"hi");
    }
    assert_eq!(server.connections(), 3);
}

/// Returns a body with a pattern that occurs nowhere else in the stream.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

#[test]
fn responses_of_any_length_that_follow_long_ones_arrive_whole_over_the_same_connection() {
    // The path is "/BODY/FILLER": the lengths of the body and of a header line.
    let server = RawServer::responding(|request| {
        let line = request.request_line();
        let lengths: Vec<usize> = line.split(['/', ' ']).filter_map(|part| part.parse().ok()).collect();
        let (body, filler) = (pattern(lengths[0]), "x".repeat(lengths[1]));
        let head = format!("HTTP/1.1 200 OK\r\nX-Filler: {filler}\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat()
    });
    let weir = Weir::start(&format!("{}[weir]\nworkers = 1\n", web(&[server.addr()])));
    let mut client = weir.client();
    for (length, filler) in
        [(0, 0), (1, 0), (900, 0), (1_500, 0), (9_000, 0), (200_000, 0), (40_000, 3_000), (10, 6_000)]
    {
        for _ in 0..6 {
            assert_eq!(client.exchange(get("/40000/0")).body, pattern(40_000));
        }
        let response = client.exchange(get(&format!("/{length}/{filler}")));
        assert_eq!(response.header("X-Filler").map(str::len), Some(filler), "{length}");
        assert_eq!(response.body, pattern(length), "{length}");
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let server = RawServer::responding(|request| {
        let line = request.request_line();
        let path = line.split(' ').nth(1).unwrap_or_default();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len()).into_bytes()
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let paths: Vec<String> = (0..50).map(|number| format!("/{number}")).collect();
    client.send(paths.iter().map(|path| get(path)).collect::<String>());
    for path in &paths {
        assert_eq!(client.response().text(), *path);
    }
}

#[test]
fn a_response_that_is_cut_takes_nothing_from_the_complete_one_before_it() {
    // The proxy's kernel accepts this much at once, the client's kernel does not.
    const COMPLETE: usize = 100_000;
    let server = RawServer::start(|peer| {
        let first = peer.head()?;
        if first.starts_with(b"GET /complete") {
            peer.respond(vec![b'x'; COMPLETE])?;
            peer.head()?;
        }
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ncut")?;
        peer.reset();
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client().receive_buffer(4096);
    client.send([get("/complete"), get("/cut")].concat());
    server.wait_for_end(0);
    assert_eq!(client.response().body.len(), COMPLETE);
    match client.try_response() {
        Err(ResponseError::InBody(Ending::Reset, response)) => assert_eq!(response.text(), "cut"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pipelined_request_behind_a_body_is_the_next_request() {
    let server = RawServer::responding(|request| {
        let body = [request.request_line().as_bytes(), b" | ", &request.body].concat();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat()
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send(
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
         POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n\
         GET /c HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.response().text(), "POST /a HTTP/1.1 | abc");
    assert_eq!(client.response().text(), "POST /b HTTP/1.1 | de");
    assert_eq!(client.response().text(), "GET /c HTTP/1.1 | ");
}

#[test]
fn a_client_that_says_close_gets_its_answer_and_a_fin() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    let response = client.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(response.says_close(), "{:?}", response.headers);
    assert_eq!(client.ending(), Ending::Fin);
    assert!(!server_saw(&server, "connection: close"), "close is between the client and Weir");
}

#[test]
fn a_server_that_says_close_loses_its_connection_but_not_the_client_its_own() {
    let server = RawServer::responding(|_| {
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi".to_vec()
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for _ in 0..3 {
        let response = client.exchange(get("/"));
        assert!(!response.says_close(), "{:?}", response.headers);
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_server_of_http_1_0_is_not_sent_a_second_request() {
    let server = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi".into()),
        Step::Hold,
    ]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for _ in 0..3 {
        let response = client.exchange(get("/"));
        assert_eq!((response.version.as_str(), response.text().as_str()), ("HTTP/1.1", "hi"));
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn bytes_that_a_server_sends_behind_its_response_reach_nobody_and_end_its_connection() {
    let surplus = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood{surplus}");
    let server = RawServer::script([Step::ReadHead, Step::Send(response.into()), Step::Hold]);
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for number in 0..3 {
        assert_eq!(client.exchange(get("/")).body, b"good");
        server.wait_for_end(number);
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn bytes_behind_a_long_response_reach_nobody_however_many_were_clean_before_it() {
    let server = RawServer::start(|peer| {
        for _ in 0..8 {
            peer.head()?;
            peer.respond(pattern(40_000))?;
        }
        peer.head()?;
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n";
        let surplus = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
        peer.send([head.as_bytes(), &pattern(40_000), surplus.as_bytes()].concat())?;
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&format!("{}[weir]\nworkers = 1\n", web(&[server.addr()])));
    let mut client = weir.client();
    for _ in 0..3 * 9 {
        assert_eq!(client.exchange(get("/")).body, pattern(40_000));
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_body_where_none_may_be_reaches_nobody_and_ends_the_servers_connection() {
    let heads = [
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\nforged"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nforged"),
    ];
    for (method, wire) in heads {
        let server = RawServer::script([Step::ReadHead, Step::Send(wire.into()), Step::Hold]);
        let weir = Weir::start(&web(&[server.addr()]));
        let mut client = weir.client();
        for number in 0..3 {
            client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
            let response = if method == "HEAD" { client.response_to_head() } else { client.response() };
            assert_eq!(response.body, b"", "{wire:?}");
            server.wait_for_end(number);
        }
    }
}

#[test]
fn bytes_that_a_server_sends_while_its_connection_is_idle_reach_nobody() {
    let forged = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&forged);
    let server = RawServer::start(move |peer| {
        peer.head()?;
        peer.respond("good")?;
        // The client has its response now. These bytes belong to no request.
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")?;
        count.fetch_add(1, Ordering::SeqCst);
        peer.hold();
        Ok(())
    });
    let config = format!(
        "{}[[route]]\npath = \"/turn\"\nrespond = 200\n\n[weir]\nworkers = 1\n",
        web(&[server.addr()])
    );
    let weir = Weir::start(&config);
    for number in 0..20 {
        let mut client = weir.client();
        for turn in 1..=2 {
            assert_eq!(client.exchange(get("/")).body, b"good");
            // If they came later, they would be indistinguishable from a response to the next request.
            wait_until("it is sent", PATIENCE, || forged.load(Ordering::SeqCst) >= number * 2 + turn);
            // Weir has seen a connection that came later, so it has also seen these bytes.
            assert_eq!(weir.client().exchange(get("/turn")).status, 200);
        }
    }
}

#[test]
fn a_kept_connection_that_the_server_has_closed_costs_no_request() {
    let server = RawServer::start(|peer| {
        peer.request()?;
        peer.respond("hi")
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for number in 0..10 {
        let response = client.exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
        assert_eq!(response.status, 200);
        // Wait until the FIN has reached Weir before the next request.
        server.wait_for_end(number);
    }
    assert_eq!(server.connections(), 10);
}

#[test]
fn a_safe_request_survives_a_server_that_closes_the_kept_connection_at_that_moment() {
    let requests = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&requests);
    let server = RawServer::start(move |peer| {
        peer.request()?;
        peer.respond("hi")?;
        // Read the second request and close without a response, like an idle timeout that ends at this
        // moment.
        peer.request()?;
        seen.fetch_add(1, Ordering::SeqCst);
        Ok(())
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for _ in 0..6 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    assert!(requests.load(Ordering::SeqCst) >= 2, "the race was never run");
}

#[test]
fn an_idle_connection_to_a_server_is_closed_after_its_time() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!("{}reuse = {{ idle-timeout = \"100ms\" }}\n", web(&[server.addr()])));
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    server.wait_for_end(0);
}

#[test]
fn a_connection_to_a_server_serves_no_more_requests_than_permitted() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&format!("{}reuse = {{ max-requests = 2 }}\n", web(&[server.addr()])));
    let mut client = weir.client();
    for _ in 0..6 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_connection_to_a_server_that_is_too_old_serves_no_more_requests() {
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let weir = Weir::start(&format!("{config}reuse = {{ max-age = \"200ms\" }}\n[weir]\nworkers = 1\n"));
    let mut client = weir.client();
    // The connection is never idle for long.
    wait_until("another connection serves", PATIENCE, || {
        assert_eq!(client.exchange(get("/")).status, 200);
        server.connections() >= 2
    });
    server.wait_for_end(0);
}

/// Starts a server that holds the first request of each connection until three of them have come. It responds
/// to all others at once.
fn answering_three_at_first() -> RawServer {
    let came = AtomicUsize::new(0);
    RawServer::start(move |peer| {
        let mut is_first = true;
        while peer.request().is_ok() {
            // The first request of each of three connections, all at the same time.
            if std::mem::replace(&mut is_first, false) {
                came.fetch_add(1, Ordering::SeqCst);
                wait_until("three requests", PATIENCE, || came.load(Ordering::SeqCst) >= 3);
            }
            peer.respond("hi")?;
        }
        Ok(())
    })
}

#[test]
fn no_more_connections_to_a_server_are_kept_than_permitted() {
    let server = answering_three_at_first();
    let config = web(&[server.addr()]);
    let weir = Weir::start(&format!("{config}reuse = {{ idle = 1 }}\n[weir]\nworkers = 1\n"));
    let mut clients = [weir.client(), weir.client(), weir.client()];
    for client in &mut clients {
        client.send(get("/"));
    }
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    wait_until("two of three are closed", PATIENCE, || server.connections_open() == 1);
    assert_eq!(clients[0].exchange(get("/")).status, 200);
    assert_eq!(server.connections(), 3);
}

#[test]
fn a_request_takes_one_idle_connection_to_a_server_and_leaves_the_others() {
    let server = answering_three_at_first();
    let weir = Weir::start(&format!("{}[weir]\nworkers = 1\n", web(&[server.addr()])));
    let mut clients = [weir.client(), weir.client(), weir.client()];
    for client in &mut clients {
        client.send(get("/"));
    }
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    for _ in 0..6 {
        assert_eq!(clients[0].exchange(get("/")).status, 200);
    }
    assert_eq!((server.connections(), server.connections_open()), (3, 3));
}

#[test]
fn an_idle_client_is_closed_after_its_time_without_a_word() {
    let server = RawServer::answering("hi");
    let config = format!("{}[listener.web.timeouts]\nidle = \"150ms\"\n", web(&[server.addr()]));
    let weir = Weir::start(&config);
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/")).status, 200);
    assert_eq!(client.ending(), Ending::Fin);
}

#[test]
fn a_client_connection_serves_no_more_requests_than_permitted_and_the_last_says_so() {
    let server = RawServer::answering("hi");
    let config = format!("{}[listener.web.limits]\nrequests-per-connection = 3\n", web(&[server.addr()]));
    let weir = Weir::start(&config);
    let mut client = weir.client();
    let said: Vec<bool> = (0..3).map(|_| client.exchange(get("/")).says_close()).collect();
    assert_eq!(said, [false, false, true]);
    assert_eq!(client.ending(), Ending::Fin);
}

#[test]
fn a_client_that_goes_away_ends_its_request_at_the_server() {
    let server = RawServer::silent();
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    client.send(get("/"));
    server.wait_for_bytes(0, 10);
    client.reset();
    server.wait_for_end(0);
}

#[test]
fn empty_lines_before_a_request_are_skipped() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    assert_eq!(client.exchange(format!("\r\n{}", get("/"))).status, 200);
    assert_eq!(client.exchange(format!("\r\n{}", get("/"))).status, 200);
}

#[test]
fn connections_of_many_clients_are_all_given_back() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    // A worker may still be creating its event loop.
    let before = weir_testkit::descriptor_count(weir.pid()) + 10;
    for _ in 0..10 {
        let mut clients: Vec<_> = (0..20).map(|_| weir.client()).collect();
        for client in &mut clients {
            assert_eq!(client.exchange(get("/")).status, 200);
        }
    }
    drop(server);
    wait_until("descriptors are given back", PATIENCE, || {
        weir_testkit::descriptor_count(weir.pid()) <= before
    });
}

fn server_saw(server: &RawServer, text: &str) -> bool {
    String::from_utf8_lossy(&server.received_in_all()).to_lowercase().contains(text)
}

#[test]
fn an_answer_of_weirs_own_keeps_the_connection_if_the_body_has_come() {
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let weir = Weir::start(&format!("{}[[route]]\npath = \"/denied\"\nrespond = 403\n", web(&[dead])));
    let mut client = weir.client();
    // Longer than one read with the head, and with pipelined requests behind it.
    let body = "x".repeat(20_000);
    for (target, status) in [("/", 502), ("/denied", 403)] {
        let post =
            format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let chunked = format!(
            "POST {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4e20\r\n{body}\r\n0\r\n\r\n"
        );
        for request in [post.clone(), chunked, format!("{post}{post}")] {
            let answers = request.matches("POST").count();
            client.send(request);
            for _ in 0..answers {
                let answer = client.response();
                assert!([status, 503].contains(&answer.status), "{target}: {}", answer.status);
                assert!(!answer.says_close(), "{target}");
            }
        }
        assert!([status, 503].contains(&client.exchange(get(target)).status));
    }
    // The rest of this body may never come.
    client.send("POST /denied HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nx");
    assert!(client.response().says_close());
}
