//! Tests log lines and metrics of connections without a request: those that fail at their beginning, and
//! those of TCP mode.

use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{FullListener, PATIENCE, RawClient, RawServer, RefusingPort, wait_until};

use crate::access_log::Logged;

/// Returns the config of a TCP listener `db` with these keys, and of a pool `db` with this server and these
/// keys.
fn tcp(server: impl std::fmt::Display, listener: &str, pool: &str) -> String {
    format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\n{listener}\n\n[pool.db]\nservers = \"{server}\"\n{pool}\n"
    )
}

fn of_listener(weir: &Weir, name: &str, labels: &[&str]) -> f64 {
    weir.metrics().get(&format!("weir_listener_{name}"), labels)
}

#[test]
fn a_connection_without_the_proxy_header_that_it_must_begin_with_has_a_line_and_a_reason() {
    let server = RawServer::answering("hello");
    let config = format!(
        "{}[weir]\nworkers = 1\n[listener.web.proxy-protocol]\nfrom = \"127.0.0.1/32\"\n\n\
         [listener.web.timeouts]\nhead = \"500ms\"\n",
        web(&[server.addr()])
    );
    let mut logged = Logged::start(&config, "json");
    let (refused, late) = (Some("proxy-header"), Some("head-timeout"));
    let cases: [(&[u8], bool, Option<&str>, &str); 5] = [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", false, refused, "PR--"),
        (b"PROXY TCP4 999.0.2.7 192.0.2.1 4711 80\r\n", false, refused, "PR--"),
        (b"\r\n\r\n\0\r\nQUIT\n\x37", false, refused, "PR--"),
        (b"PROXY TCP4 192.", false, late, "cR--"),
        // The connection ends within its header.
        (b"PROXY TCP4 192.", true, None, "CR--"),
    ];
    for (at, (bytes, ends, rule, termination)) in cases.into_iter().enumerate() {
        let mut client = logged.weir.client();
        client.send(bytes);
        if ends {
            client.half_close();
        }
        assert_eq!(client.read_to_end().0, b"", "{}", bytes.escape_ascii());
        let line = logged.json(at + 1).remove(at);
        assert_eq!((&line["kind"], &line["listener"]), (&"bad-request".into(), &"web".into()), "{line}");
        assert_eq!(
            (&line["client"], &line["bytes_in"]),
            (&"127.0.0.1".into(), &bytes.len().into()),
            "{line}"
        );
        assert_eq!(line.get("refused_by").and_then(|rule| rule.as_str()), rule, "{line}");
        assert_eq!(line["termination"], termination, "{line}");
        assert!(line.get("status").is_none() && line["bytes_out"] == 0, "{line}");
    }
    // A connection that is closed without a byte, such as a port probe, has no line and is not an error.
    assert_eq!(logged.weir.client().half_close().read_to_end().0, b"");
    let mut client = logged.weir.client();
    client.send("PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n");
    assert_eq!(client.exchange(get("/")).status, 200);
    let lines = logged.json(cases.len() + 1);
    assert_eq!((lines.len(), &lines[cases.len()]["client"]), (cases.len() + 1, &"192.0.2.7".into()));
    for (rule, count) in [("proxy-header", 3.0), ("head-timeout", 1.0)] {
        let rule = format!("rule=\"{rule}\"");
        assert_eq!(of_listener(&logged.weir, "refused_total", &[&rule]), count, "{rule}");
    }
    assert_eq!(of_listener(&logged.weir, "request_errors_total", &[]), 5.0);
    assert_eq!(of_listener(&logged.weir, "client_aborts_total", &[]), 1.0);
    let told = logged.weir.wait_for_log("PROXY header: the connection does not begin with one");
    assert!(told.contains("listener web, client 127.0.0.1:"), "{told}");
}

#[test]
fn a_server_name_that_nobody_takes_or_that_does_not_come_has_a_line_and_a_reason() {
    let server = RawServer::silent();
    let keys = "sni = [{ host = \"a.example\", pool = \"db\" }]\ntimeouts = { head = \"500ms\" }";
    let logged = Logged::start(&format!("{}[weir]\nworkers = 1\n", tcp(server.addr(), keys, "")), "json");
    // The second is the beginning of a ClientHello.
    let cases: [(&[u8], &str, &str); 2] = [
        (b"this is no TLS", "server-name", "PR--"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "head-timeout", "cR--"),
    ];
    for (at, (bytes, rule, termination)) in cases.into_iter().enumerate() {
        let mut client = RawClient::connect(logged.weir.addr("db"));
        client.send(bytes);
        assert_eq!(client.read_to_end().0, b"");
        let line = logged.json(at + 1).remove(at);
        assert_eq!((&line["kind"], &line["bytes_in"]), (&"connection".into(), &bytes.len().into()), "{line}");
        assert_eq!(
            (&line["refused_by"], &line["termination"]),
            (&rule.into(), &termination.into()),
            "{line}"
        );
        assert!(line.get("pool").is_none(), "{line}");
        let rule = format!("rule=\"{rule}\"");
        assert_eq!(of_listener(&logged.weir, "refused_total", &[&rule]), 1.0, "{rule}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn what_a_tcp_client_was_waited_for_is_no_time_of_connecting() {
    let echo = RawServer::start(|peer| {
        let bytes = peer.take(3)?;
        peer.send(bytes)
    });
    // A connection without TLS goes to the listener's own pool as soon as Weir detects it.
    let keys = "pool = \"db\"\nsni = [{ host = \"a.example\", pool = \"db\" }]";
    let logged = Logged::start(&tcp(echo.addr(), keys, ""), "json");
    let mut client = RawClient::connect(logged.weir.addr("db"));
    wait_until("it is let in", PATIENCE, || {
        of_listener(&logged.weir, "connections", &["listener=\"db\""]) == 1.0
    });
    let pause = Duration::from_millis(200);
    assert!(client.is_quiet(pause));
    client.send("abc").half_close();
    assert_eq!(client.read_to_end().0, b"abc");
    let line = logged.json(1).remove(0);
    let us = |key: &str| line[key].as_u64().unwrap();
    assert!(us("total_us") - us("connect_us") - us("queue_us") >= pause.as_micros() as u64, "{line}");
}

#[test]
fn a_tcp_connection_that_is_tried_again_at_its_only_server_has_not_moved() {
    let refusing = RefusingPort::new();
    let pool = "eject = false\nretry = { attempts = 1 }";
    let logged = Logged::start(&tcp(refusing.addr(), "pool = \"db\"", pool), "json");
    // The reset may arrive even before the connect has finished.
    if let Ok(mut client) = RawClient::try_connect(logged.weir.addr("db")) {
        assert_eq!(client.read_to_end().0, b"");
    }
    let line = logged.json(1).remove(0);
    assert_eq!((&line["retries"], &line["redispatched"]), (&1.into(), &false.into()), "{line}");
    let metrics = logged.weir.metrics();
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"db\""]), 1.0);
    assert_eq!(metrics.get("weir_pool_redispatches_total", &["pool=\"db\""]), 0.0);
}

#[test]
fn a_tcp_client_that_leaves_while_its_server_is_connected_to_is_noticed() {
    let full = FullListener::new();
    let logged =
        Logged::start(&tcp(full.addr(), "pool = \"db\"", "timeouts = { connect = \"1h\" }"), "httplog");
    let client = RawClient::connect(logged.weir.addr("db"));
    wait_until("it is being connected to", PATIENCE, || {
        logged.weir.metrics().get("weir_pool_active_requests", &["pool=\"db\""]) == 1.0
    });
    client.reset();
    let line = logged.lines(1).remove(0);
    assert!(line.contains(" CC "), "{line}");
    assert_eq!(of_listener(&logged.weir, "client_aborts_total", &["listener=\"db\""]), 1.0);
}
