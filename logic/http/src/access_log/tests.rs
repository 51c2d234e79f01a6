//! Tests of the access log formats.

use proptest::prelude::*;

use super::*;

const START_UNIX_US: u64 = 1_795_250_901_838_042;

fn record<'a>() -> AccessRecord<'a> {
    let request = RequestFields {
        method: b"GET",
        target: b"/index.html?q=1",
        path: None,
        version: b"HTTP/1.1",
        host: Some(b"www.example"),
        referer: Some(b"http://www.example/"),
        user_agent: Some(b"curl/8.0"),
        request_id: Some(b"0f3a"),
    };
    AccessRecord {
        start_unix_us: START_UNIX_US,
        client: Client::Inet("10.0.1.2:33317".parse().unwrap()),
        peer: None,
        subject: Subject::Request(request),
        status: Some(200),
        bytes_in: 120,
        bytes_out: 2_750,
        body_bytes_out: 2_326,
        listener: "http-in",
        route: Some("static"),
        pool: Some("static"),
        server: Some("srv1"),
        server_address: Some("10.0.0.1:80"),
        tls: None,
        timings: Timings {
            head_us: Some(10_000),
            queue_us: Some(0),
            connect_us: Some(30_999),
            first_byte_us: Some(69_000),
            total_us: 109_000,
        },
        retries: 0,
        redispatched: false,
        hedge_won: None,
        offloaded: false,
        termination: Termination::NORMAL,
        refused_by: None,
        active: ActiveCounts { process: 1, listener: 1, pool: 1, server: 1, ..ActiveCounts::default() },
    }
}

fn line(format: LineFormat, record: &AccessRecord<'_>) -> String {
    let mut out = Vec::new();
    LineWriter::new(format).append(&mut out, record);
    String::from_utf8(out).unwrap()
}

#[test]
fn common_and_combined_are_what_apache_writes() {
    insta::assert_snapshot!(line(LineFormat::Common, &record()), @r#"10.0.1.2 - - [21/Nov/2026:08:48:21 +0000] "GET /index.html?q=1 HTTP/1.1" 200 2326"#);
    insta::assert_snapshot!(line(LineFormat::Combined, &record()), @r#"10.0.1.2 - - [21/Nov/2026:08:48:21 +0000] "GET /index.html?q=1 HTTP/1.1" 200 2326 "http://www.example/" "curl/8.0""#);
}

#[test]
fn httplog_is_what_haproxy_writes() {
    insta::assert_snapshot!(line(LineFormat::Httplog, &record()), @r#"10.0.1.2:33317 [21/Nov/2026:08:48:21.838] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /index.html?q=1 HTTP/1.1""#);
}

#[test]
fn httplog_of_a_tls_request_that_was_redispatched_marks_both() {
    let tls = Some(TlsSession { version: "TLSv1.3", cipher: "TLS13_AES_128_GCM_SHA256" });
    let record = AccessRecord { tls, retries: 2, redispatched: true, ..record() };
    insta::assert_snapshot!(line(LineFormat::Httplog, &record), @r#"10.0.1.2:33317 [21/Nov/2026:08:48:21.838] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/+2 0/0 "GET /index.html?q=1 HTTP/1.1""#);
}

#[test]
fn httplog_of_a_bad_request_has_no_server_and_minus_one_for_what_was_not_reached() {
    let record = AccessRecord {
        subject: Subject::BadRequest { request_id: None },
        status: Some(400),
        bytes_out: 0,
        pool: None,
        server: None,
        timings: Timings::default(),
        termination: Termination::BAD_REQUEST,
        active: ActiveCounts { process: 1, listener: 1, ..ActiveCounts::default() },
        ..record()
    };
    insta::assert_snapshot!(line(LineFormat::Httplog, &record), @r#"10.0.1.2:33317 [21/Nov/2026:08:48:21.838] http-in http-in/<NOSRV> -1/-1/-1/-1/0 400 0 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>""#);
    let unanswered = AccessRecord { status: None, ..record };
    assert!(line(LineFormat::Httplog, &unanswered).contains("/0 -1 0 - - PR-- "));
}

#[test]
fn a_tcp_connection_is_a_tcplog_line() {
    let record =
        AccessRecord { subject: Subject::Connection, status: None, client: Client::Unix, ..record() };
    insta::assert_snapshot!(line(LineFormat::Httplog, &record), @"unix:1 [21/Nov/2026:08:48:21.838] http-in static/srv1 0/30/109 2750 -- 1/1/1/1/0 0/0");
    insta::assert_snapshot!(line(LineFormat::Common, &record), @r#"unix: - - [21/Nov/2026:08:48:21 +0000] "-" 000 2326"#);
}

#[test]
fn json_has_everything() {
    let tls = Some(TlsSession { version: "TLSv1.3", cipher: "TLS13_AES_128_GCM_SHA256" });
    let record = AccessRecord { tls, termination: Termination::RESPONSE_TIMEOUT, ..record() };
    insta::assert_snapshot!(line(LineFormat::Json, &record), @r#"{"time":"2026-11-21T08:48:21.838042Z","client":"10.0.1.2","client_port":33317,"kind":"request","method":"GET","target":"/index.html?q=1","version":"HTTP/1.1","host":"www.example","referer":"http://www.example/","user_agent":"curl/8.0","request_id":"0f3a","status":200,"bytes_in":120,"bytes_out":2750,"body_bytes_out":2326,"listener":"http-in","route":"static","pool":"static","server":"srv1","server_address":"10.0.0.1:80","tls_version":"TLSv1.3","tls_cipher":"TLS13_AES_128_GCM_SHA256","head_us":10000,"queue_us":0,"connect_us":30999,"first_byte_us":69000,"total_us":109000,"retries":0,"redispatched":false,"termination":"sH--","active_process":1,"active_listener":1,"active_pool":1,"active_server":1,"queue_ahead":0}"#);
}

#[test]
fn json_says_what_was_wrong_with_a_request_that_was_refused() {
    let record = AccessRecord {
        subject: Subject::BadRequest { request_id: Some(b"0f3a") },
        status: Some(400),
        refused_by: Some(crate::RefusalRule::SecondContentLength),
        termination: Termination::BAD_REQUEST,
        ..record()
    };
    let value: serde_json::Value = serde_json::from_str(&line(LineFormat::Json, &record)).unwrap();
    assert_eq!(value["refused_by"], "second-content-length");
    assert_eq!((&value["kind"], &value["request_id"]), (&"bad-request".into(), &"0f3a".into()));
}

#[test]
fn the_client_that_a_trusted_peer_names_stands_first_in_every_format_and_the_peer_in_json() {
    let client = Client::Inet("198.51.100.9:0".parse().unwrap());
    let peer = Some("10.0.1.2:33317".parse().unwrap());
    let record = AccessRecord { client, peer, ..record() };
    assert!(line(LineFormat::Common, &record).starts_with("198.51.100.9 - - "));
    assert!(line(LineFormat::Combined, &record).starts_with("198.51.100.9 - - "));
    assert!(line(LineFormat::Httplog, &record).starts_with("198.51.100.9:0 ["));
    let json = line(LineFormat::Json, &record);
    let expected = r#""client":"198.51.100.9","peer":"10.0.1.2","peer_port":33317,"kind""#;
    assert!(json.contains(expected), "{json}");
}

#[test]
fn a_forged_line_stays_within_its_field() {
    let request = RequestFields {
        method: b"GET",
        target: b"/\" 200 1\r\n10.0.0.9 - - \x1b[31m\xe9#",
        version: b"HTTP/1.1",
        user_agent: Some(b"a\\\"b\xc2\x9b\xe2\x80\xa8\xff"),
        ..RequestFields::default()
    };
    let record = AccessRecord { subject: Subject::Request(request), ..record() };
    insta::assert_snapshot!(line(LineFormat::Combined, &record), @r#"10.0.1.2 - - [21/Nov/2026:08:48:21 +0000] "GET /\x22 200 1\x0D\x0A10.0.0.9 - - \x1B[31m\xE9# HTTP/1.1" 200 2326 "-" "a\x5C\x22b\xC2\x9B\xE2\x80\xA8\xFF""#);
    let httplog = line(LineFormat::Httplog, &record);
    assert!(httplog.ends_with("\"GET /#22 200 1#0D#0A10.0.0.9 - - #1B[31m#E9#23 HTTP/1.1\"\n"), "{httplog}");
    let json = line(LineFormat::Json, &record);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["target"], "/\" 200 1\r\n10.0.0.9 - - \u{1b}[31m\u{fffd}#");
    assert_eq!(value["user_agent"], "a\\\"b\u{9b}\u{2028}\u{fffd}");
    assert!(!json.contains('\u{9b}') && !json.contains('\u{2028}'), "{json}");
}

#[test]
fn an_ipv4_client_of_an_ipv6_socket_is_shown_as_ipv4() {
    let client = Client::Inet("[::ffff:192.0.2.7]:5".parse().unwrap());
    assert!(line(LineFormat::Common, &AccessRecord { client, ..record() }).starts_with("192.0.2.7 - - "));
    let client = Client::Inet("[2001:db8::7]:5".parse().unwrap());
    assert!(line(LineFormat::Httplog, &AccessRecord { client, ..record() }).starts_with("2001:db8::7:5 ["));
}

#[test]
fn a_field_without_end_is_cut() {
    let target = vec![b'\n'; 1 << 20];
    let request = RequestFields { target: &target, ..RequestFields::default() };
    for format in [LineFormat::Combined, LineFormat::Json, LineFormat::Httplog] {
        let record = AccessRecord { subject: Subject::Request(request), ..record() };
        assert!(line(format, &record).len() < 64 * 1024, "{format:?}");
    }
}

proptest! {
    #[test]
    fn whatever_is_sent_is_one_printable_line_with_its_fields_in_place(
        method: Vec<u8>, target: Vec<u8>, header: Option<Vec<u8>>, start in 0..1_u64 << 60, status: Option<u16>,
    ) {
        let request = RequestFields {
            method: &method,
            target: &target,
            path: None,
            version: b"HTTP/1.1",
            host: header.as_deref(),
            referer: header.as_deref(),
            user_agent: header.as_deref(),
            request_id: header.as_deref(),
        };
        let record = AccessRecord {
            start_unix_us: start, status, subject: Subject::Request(request), ..record()
        };
        for (format, quotes) in [(LineFormat::Common, 2), (LineFormat::Combined, 6), (LineFormat::Httplog, 2)] {
            let line = line(format, &record);
            let body = line.strip_suffix('\n').unwrap();
            prop_assert!(body.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{}", body);
            prop_assert_eq!(body.matches('"').count(), quotes, "{}", body);
        }
        let line = line(LineFormat::Json, &record);
        prop_assert!(!line.strip_suffix('\n').unwrap().contains(char::is_control));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(value["target"].as_str().unwrap(), String::from_utf8_lossy(&target));
        prop_assert_eq!(value["status"].as_u64(), status.map(u64::from));
    }
}
