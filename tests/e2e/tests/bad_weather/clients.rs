//! Tests of clients that are slow, idle, or disconnect.

use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{Ending, PATIENCE, RawClient, RawServer, rss_bytes, wait_until};

const BYTE_A_WHILE: Duration = Duration::from_millis(50);

fn with_timeouts(server: &RawServer, timeouts: &str) -> Weir {
    Weir::start(&format!("{}[listener.web.timeouts]\n{timeouts}\n", web(&[server.addr()])))
}

#[test]
fn a_head_that_comes_byte_by_byte_for_too_long_is_answered_408() {
    let server = RawServer::answering("hi");
    let weir = with_timeouts(&server, "head = \"400ms\"");
    let mut client = weir.client();
    client.send_slowly(get("/"), BYTE_A_WHILE);
    assert_eq!(client.response().status, 408);
    let mut client = weir.client();
    client.send("GET / HT");
    let response = client.response();
    assert_eq!(response.status, 408);
    assert!(response.says_close());
    assert_eq!(client.ending(), Ending::Fin);
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_connection_on_which_nothing_ever_comes_is_closed_without_a_word() {
    let server = RawServer::answering("hi");
    let weir = with_timeouts(&server, "head = \"200ms\"");
    assert_eq!(weir.client().ending(), Ending::Fin);
}

#[test]
fn the_time_of_a_head_counts_from_its_first_byte_on_a_kept_connection() {
    let server = RawServer::answering("hi");
    let weir = with_timeouts(&server, "head = \"300ms\"\nidle = \"20s\"");
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/")).status, 200);
    // The pause is longer than the time for a head.
    assert!(client.is_quiet(Duration::from_millis(500)));
    assert_eq!(client.exchange(get("/")).status, 200);
    client.send("GET / HT");
    assert_eq!(client.response().status, 408);
}

#[test]
fn a_proxy_header_takes_its_time_from_that_of_the_head() {
    let server = RawServer::answering("hi");
    let weir = with_timeouts(&server, "head = \"2s\"\n[listener.web.proxy-protocol]\nfrom = \"127.0.0.0/8\"");
    let header = "PROXY TCP4 192.0.2.1 192.0.2.2 4000 80\r\n";
    let mut client = weir.client();
    assert_eq!(client.send(header).exchange(get("/")).status, 200);
    // Each part fits within two seconds, both together do not.
    let pause = Duration::from_millis(1_400);
    let mut client = weir.client();
    client.send(&header[..20]);
    assert!(client.is_quiet(pause));
    client.send(&header[20..]).send("GET / HT");
    // Waits until the response comes, or as long as before.
    client.is_quiet(pause);
    let _ = client.try_send("TP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().status, 408);
}

#[test]
fn a_slow_head_within_its_time_is_served() {
    let server = RawServer::answering("hi");
    let weir = with_timeouts(&server, "head = \"20s\"");
    let mut client = weir.client();
    assert_eq!(client.send_slowly(get("/"), Duration::from_millis(10)), get("/").len());
    assert_eq!(client.response().status, 200);
}

#[test]
fn a_body_that_stops_coming_is_answered_408_and_never_looks_whole_to_the_server() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.take_to_end().map(drop)
    });
    let weir = with_timeouts(&server, "body = \"300ms\"");
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    let response = client.response();
    assert_eq!(response.status, 408);
    assert!(response.says_close());
    server.wait_for_end(0);
}

#[test]
fn a_slow_body_that_keeps_coming_is_served_however_long_it_takes() {
    let server = RawServer::start(|peer| {
        let request = peer.request()?;
        peer.respond(request.body)
    });
    let weir = with_timeouts(&server, "body = \"400ms\"\nmin-body-rate = \"0B/s\"");
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n");
    // One second in total.
    assert_eq!(client.send_slowly("12345678901234567890", BYTE_A_WHILE), 20);
    assert_eq!(client.response().text(), "12345678901234567890");
}

#[test]
fn a_body_below_the_minimum_rate_is_ended() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.take_to_end().map(drop)
    });
    let weir = with_timeouts(&server, "body = \"400ms\"\nmin-body-rate = \"70B/s\"");
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n");
    let sent = client.send_slowly(vec![b'x'; 300], Duration::from_millis(20));
    assert!(sent < 300, "a body of at most 50 bytes a second was taken whole");
    server.wait_for_end(0);
}

#[test]
fn the_minimum_rate_of_bodies_is_not_that_of_thinking() {
    // The response takes longer than the window of the rate, and longer than the interval of the client
    // watch.
    let server = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            std::thread::sleep(Duration::from_millis(1_500));
            peer.respond(request.body)?;
        }
        Ok(())
    });
    let weir = with_timeouts(&server, "body = \"200ms\"\nmin-body-rate = \"1KiB/s\"");
    for request in [get("/"), "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi".to_owned()] {
        assert_eq!(weir.client().exchange(request).status, 200);
    }
    assert_eq!(weir.metrics().get("weir_server_response_errors_total", &[]), 0.0);
}

#[test]
fn a_client_that_stops_sending_under_a_response_that_has_begun_is_the_one_to_blame() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")?;
        peer.hold();
        Ok(())
    });
    let weir = Weir::start(&format!(
        "{}timeouts = {{ idle = \"10m\" }}\n[listener.web.timeouts]\nbody = \"300ms\"\n",
        web(&[server.addr()])
    ));
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
    assert_eq!(client.read_to_end().1, Ending::Reset);
    wait_until("it is counted", PATIENCE, || {
        weir.metrics().get("weir_listener_client_aborts_total", &["listener=\"web\""]) == 1.0
    });
    assert_eq!(weir.metrics().get("weir_server_server_aborts_total", &[]), 0.0);
}

#[test]
fn a_client_that_stops_reading_is_reset_and_its_server_freed() {
    let server = RawServer::start(|peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")?;
        // Ends when Weir stops reading.
        for _ in 0..1000 {
            peer.send(vec![b'x'; 100_000])?;
        }
        Ok(())
    });
    let weir = with_timeouts(&server, "body = \"400ms\"");
    let mut client = weir.client().receive_buffer(32 * 1024);
    client.send(get("/"));
    server.wait_for_connections(1);
    server.wait_for_end(0);
    assert_eq!(client.read_to_end().1, Ending::Reset);
}

#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let body = vec![b'x'; 3_000_000];
    let server = RawServer::answering(body.clone());
    let weir = with_timeouts(&server, "body = \"500ms\"");
    let mut client = weir.client().receive_buffer(16 * 1024);
    client.send(get("/"));
    let head = client.response_head();
    let mut left: usize = head.header("content-length").unwrap().parse().unwrap();
    while left > 0 {
        let piece = left.min(150_000);
        assert!(client.read_exact(piece).iter().all(|byte| *byte == b'x'));
        left -= piece;
        std::thread::sleep(BYTE_A_WHILE);
    }
    assert_eq!(client.exchange(get("/")).body.len(), body.len());
}

#[test]
fn slow_clients_do_not_slow_others_down() {
    let server = RawServer::answering("hi");
    let weir = with_timeouts(&server, "head = \"30s\"");
    let mut slow: Vec<RawClient> = (0..200).map(|_| weir.client()).collect();
    for client in &mut slow {
        client.send("GET / HTTP/1.1\r\nHo");
    }
    let mut quick = weir.client();
    for _ in 0..200 {
        assert_eq!(quick.exchange(get("/")).status, 200);
    }
    for client in &mut slow {
        assert_eq!(client.exchange("st: a\r\n\r\n").status, 200);
    }
}

#[test]
fn ten_thousand_idle_connections_cost_little_memory_and_no_service() {
    const CONNECTIONS: usize = 10_000;
    raise_descriptor_limit(CONNECTIONS as u64 + 1_000);
    let server = RawServer::answering("hi");
    let config = format!(
        "{}[listener.web.timeouts]\nidle = \"10m\"\nhead = \"10m\"\n[weir]\nmax-connections = 11000\n",
        web(&[server.addr()])
    );
    let weir = Weir::start(&config);
    let mut warm = weir.client();
    for _ in 0..100 {
        assert_eq!(warm.exchange(get("/")).status, 200);
    }
    let before = rss_bytes(weir.pid());
    let mut idle: Vec<RawClient> = (0..CONNECTIONS).map(|_| weir.client()).collect();
    for client in &mut idle {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    let each = rss_bytes(weir.pid()).saturating_sub(before) / CONNECTIONS as u64;
    // Without optimisation, futures are several times as large as in a release build. This check detects
    // buffers.
    assert!(each < 8 * 1024, "{each} bytes for each idle connection");
    assert_eq!(warm.exchange(get("/")).status, 200);
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    for client in idle.iter_mut().step_by(97) {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    drop(idle);
    wait_until("connections are given back", PATIENCE, || weir_testkit::descriptor_count(weir.pid()) < 500);
}

/// Raises the descriptor limit of this process, which the program under test inherits.
fn raise_descriptor_limit(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let maximum = limit.maximum;
        assert!(maximum.is_none_or(|maximum| maximum >= wanted), "ulimit -Hn must be at least {wanted}");
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).unwrap();
    }
}
