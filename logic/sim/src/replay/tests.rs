//! Tests of replays: formats, order and errors.

use std::net::IpAddr;

use weir_balance::RequestClass;
use weir_config::simulation::{LogFormat, LoggedTimes};

use super::*;
use crate::rng::{Stream, hash};

fn replay(text: &str, format: LogFormat, speed: f64) -> Result<Vec<(u64, Entry)>, LogError> {
    played(text, &Replay { file: "log".into(), format, speed, times: LoggedTimes::Logged })
}

fn played(text: &str, plan: &Replay) -> Result<Vec<(u64, Entry)>, LogError> {
    classified(text, plan, &[])
}

fn classified(
    text: &str,
    plan: &Replay,
    static_paths: &[PathPattern],
) -> Result<Vec<(u64, Entry)>, LogError> {
    let mut bytes = text.as_bytes();
    let mut replayed = Replayed::new(plan, static_paths, &mut bytes, Rng::new(1, Stream::Arrivals));
    std::iter::from_fn(|| replayed.next().transpose()).collect()
}

fn auto(text: &str) -> Vec<(u64, Entry)> {
    replay(text, LogFormat::Auto, 1.0).unwrap()
}

fn complaint(text: &str) -> String {
    replay(text, LogFormat::Auto, 1.0).unwrap_err().to_string()
}

fn ip(text: &str) -> Option<IpAddr> {
    Some(text.parse().unwrap())
}

#[test]
fn json_lines_come_in_the_order_of_their_times_with_what_the_server_took() {
    let log = r#"
{"time":"2026-11-21T08:48:22.000000Z","client":"192.0.2.8","kind":"request","target":"/b","server":"w1","body_bytes_out":7,"head_us":0,"queue_us":0,"connect_us":0,"first_byte_us":4,"total_us":5}
{"time":"2026-11-21T08:48:21.838042Z","client":"192.0.2.7","client_port":33317,"kind":"request","method":"GET","target":"/a\"b","server":"w1","body_bytes_out":2326,"head_us":10213,"queue_us":2050,"connect_us":30999,"first_byte_us":69034,"total_us":114480}
{"time":"2026-11-21T08:48:22.500000Z","client":"192.0.2.7","kind":"bad-request","total_us":5}
"#;
    let entries = auto(log);
    assert_eq!(entries.len(), 2, "a request that asked no server is none of theirs");
    assert_eq!(entries[0].0, 0);
    assert_eq!(entries[0].1.service_ns, Some((114_480 - 10_213 - 2_050 - 30_999) * 1000));
    assert_eq!(entries[0].1.client, ip("192.0.2.7"));
    assert_eq!(entries[0].1.uri, Some(hash(b"/a\"b")));
    assert_eq!(entries[1].0, 161_958_000);
    assert_eq!(entries[1].1.bytes, Some(7));
}

#[test]
fn common_and_combined_lines_are_spread_over_their_second() {
    let log = r#"
192.0.2.7 - - [21/Nov/2026:08:48:21 +0000] "GET /index.html?q=1 HTTP/1.1" 200 2326
2001:db8::1 - - [21/Nov/2026:08:48:23 +0000] "GET /x\"y HTTP/1.1" 200 10 "https://www.example.org/" "curl/8.0"
192.0.2.9 - - [21/Nov/2026:08:48:23 +0000] "-" 400 0
"#;
    let entries = auto(log);
    assert_eq!(entries.len(), 2);
    let gap_s = entries[1].0 as f64 / 1e9;
    assert!((1.0..3.0).contains(&gap_s), "{gap_s}");
    assert_eq!(entries[0].1.uri, Some(hash(b"/index.html?q=1")));
    assert_eq!(entries[1].1.client, ip("2001:db8::1"));
    assert_eq!(entries[1].1.bytes, Some(10));
}

#[test]
fn httplog_lines_are_read_with_their_timers_and_tcplog_lines_too() {
    let log = r#"
192.0.2.7:33317 [21/Nov/2026:08:48:21.838] https~ web/w1 10/2/30/69/114 200 2750 - - ---- 25/12/4/4/+1 0/0 "GET /index.html HTTP/1.1"
Nov 21 08:48:22 host weir[12]: 192.0.2.8:1 [21/Nov/2026:08:48:21.900] smtp mail/m1 2/30/114 2750 SD 25/12/4/4/0 0/0
192.0.2.7:33318 [21/Nov/2026:08:48:22.000] https~ web/<NOSRV> 10/-1/-1/-1/11 503 200 - - SC-- 25/12/4/4/0 0/0 "GET / HTTP/1.1"
192.0.2.7:33318 [21/Nov/2026:08:48:22.100] https~ web/w1 10/0/-1/-1/11 503 200 - - SC-- 25/12/4/4/0 0/0 "GET / HTTP/1.1"
"#;
    let entries = auto(log);
    let told: Vec<_> = entries.iter().map(|(at, entry)| (*at, entry.service_ns)).collect();
    assert_eq!(told, [(0, Some(72_000_000)), (62_000_000, Some(82_000_000)), (262_000_000, None)]);
    assert_eq!(entries[0].1.client, ip("192.0.2.7"));
    assert_eq!((entries[0].1.bytes, entries[0].1.uri), (Some(2750), Some(hash(b"/index.html"))));
    assert_eq!((entries[1].1.client, entries[1].1.bytes), (ip("192.0.2.8"), Some(2750)));
}

#[test]
fn what_slow_clients_take_to_read_counts_up_to_the_first_byte_only_if_that_is_said() {
    let times = |log: &str, times| {
        let plan = Replay { file: "log".into(), format: LogFormat::Auto, speed: 1.0, times };
        played(log, &plan).unwrap().into_iter().map(|(_, entry)| entry.service_ns).collect::<Vec<_>>()
    };
    let json = r#"{"time":"2026-11-21T08:48:22.000000Z","server":"w1","head_us":1,"queue_us":2,"connect_us":3,"first_byte_us":400,"total_us":9000006}
{"time":"2026-11-21T08:48:23.000000Z","server":"w1","head_us":1,"queue_us":2,"connect_us":3,"total_us":9}"#;
    assert_eq!(times(json, LoggedTimes::Logged), [Some(9_000_000_000), Some(3_000)]);
    assert_eq!(times(json, LoggedTimes::FirstByte), [Some(400_000), None]);
    let httplog = r#"192.0.2.7:1 [21/Nov/2026:08:48:21.838] https web/w1 10/2/30/69/9111 200 2750 - - ---- 25/12/4/4/+1 0/0 "GET / HTTP/1.1"
192.0.2.7:1 [21/Nov/2026:08:48:21.838] https web/w1 10/2/30/-1/50 502 200 - - SH-- 25/12/4/4/+1 0/0 "GET / HTTP/1.1"
192.0.2.8:1 [21/Nov/2026:08:48:21.900] smtp mail/m1 2/30/114 2750 SD 25/12/4/4/0 0/0"#;
    assert_eq!(times(httplog, LoggedTimes::Logged), [Some(9_069_000_000), Some(8_000_000), Some(82_000_000)]);
    assert_eq!(times(httplog, LoggedTimes::FirstByte), [Some(69_000_000), None, None]);
    let table = "arrival_s,service_ms\n1,5\n";
    assert_eq!(times(table, LoggedTimes::FirstByte), [Some(5_000_000)]);
}

#[test]
fn a_table_says_what_it_knows() {
    let entries = auto("arrival_s,uri,service_ms\n100.5,\"/a,\"\"b\"\"\",2.25\n100.25,/c,\n");
    assert_eq!(entries[0].0, 0);
    assert_eq!((entries[0].1.uri, entries[0].1.service_ns), (Some(hash(b"/c")), None));
    assert_eq!(entries[1].0, 250_000_000);
    assert_eq!((entries[1].1.uri, entries[1].1.service_ns), (Some(hash(b"/a,\"b\"")), Some(2_250_000)));
}

#[test]
fn a_log_can_be_replayed_faster() {
    let entries = replay("arrival_s\n0\n10\n30\n", LogFormat::Csv, 4.0).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.0).collect::<Vec<_>>(), [0, 2_500_000_000, 7_500_000_000]);
}

#[test]
fn what_comes_too_late_to_be_put_in_order_comes_when_the_others_did() {
    let mut log = String::from("arrival_s\n");
    (0..WINDOW_LINES + 2).for_each(|at| log.push_str(&format!("{}\n", at + 100)));
    log.push_str("5\n");
    let times: Vec<u64> = auto(&log).into_iter().map(|entry| entry.0).collect();
    assert_eq!(times.len(), WINDOW_LINES + 3);
    assert!(times.is_sorted());
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_cause() {
    assert_eq!(
        complaint("hello\n"),
        "line 1: looks like none of the formats common, combined, httplog, json, csv"
    );
    assert_eq!(complaint("arrival_s\n\nsoon\n"), "line 3: \"soon\" is no number");
    assert_eq!(complaint("arrival_s,uri\n1\n"), "line 2: has 1 fields, the heading has 2");
    assert_eq!(complaint("arrival_s\n-1\n"), "line 2: -1 is out of range");
    assert_eq!(complaint("arrival_s\n\"1\n"), "line 2: has a field without its closing \"");
    assert_eq!(
        replay("arrival_s,servicems\n", LogFormat::Csv, 1.0).unwrap_err().to_string(),
        "line 1: \"servicems\" is no column: one of arrival_s, service_ms, bytes, client, uri; did you mean \"service_ms\"?"
    );
    let json = complaint("{\"time\":\"2026-11-21T08:48:21Z\",\"server\":\"a\"}\n{\"time\":\"yesterday\"}\n");
    assert_eq!(json, "line 2: \"yesterday\" is no time");
    let common =
        "1.2.3.4 - - [21/Nov/2026:08:48:21 +0000] \"GET / HTTP/1.1\" 200 1\n1.2.3.4 - - [x] \"\" 200 1\n";
    assert_eq!(complaint(common), "line 2: \"x\" is no date");
    assert!(complaint(&format!("{}\n", "x".repeat(300_000))).contains("longer than"));
}

#[test]
fn bytes_that_are_no_text_are_told_too() {
    let plan = Replay { file: "log".into(), format: LogFormat::Auto, speed: 1.0, times: LoggedTimes::Logged };
    let mut bytes: &[u8] = b"arrival_s,client\n1,\xff\xfe\n";
    let mut replayed = Replayed::new(&plan, &[], &mut bytes, Rng::new(1, Stream::Arrivals));
    assert_eq!(replayed.next().unwrap_err().to_string(), "line 2: is not UTF-8");
}

#[test]
fn what_a_line_asks_for_says_what_it_made_its_server_do() {
    let paths = [PathPattern::Glob("**.css".to_owned()), PathPattern::Prefix("/files".to_owned())];
    let classes = |log: &str, paths: &[PathPattern]| -> Vec<Option<RequestClass>> {
        let plan =
            Replay { file: "log".into(), format: LogFormat::Auto, speed: 1.0, times: LoggedTimes::Logged };
        classified(log, &plan, paths).unwrap().into_iter().map(|(_, entry)| entry.class).collect()
    };
    let (fetch, compute) = (Some(RequestClass::Static), Some(RequestClass::Dynamic));
    let csv = "arrival_s,uri\n0,/a.css?v=2\n1,/a\n2,\n3,/files/x\n";
    assert_eq!(classes(csv, &paths), [fetch, compute, None, fetch]);
    assert_eq!(classes(csv, &[]), [None; 4], "nobody asks");
    let json = r#"
{"time":"2026-11-21T08:48:21.000000Z","method":"GET","target":"/a.css","server":"w1","total_us":5}
{"time":"2026-11-21T08:48:22.000000Z","method":"POST","target":"/a.css","server":"w1","total_us":5}
"#;
    assert_eq!(classes(json, &paths), [fetch, compute]);
    let common = r#"192.0.2.7 - - [21/Nov/2026:08:48:21 +0000] "HEAD /files HTTP/1.1" 200 2326"#;
    assert_eq!(classes(common, &paths), [fetch]);
    let httplog = r#"192.0.2.7:33317 [21/Nov/2026:08:48:21.838] https~ web/w1 10/2/30/69/114 200 2750 - - ---- 25/12/4/4/+1 0/0 "GET /b.css HTTP/1.1""#;
    assert_eq!(classes(httplog, &paths), [fetch]);
}
