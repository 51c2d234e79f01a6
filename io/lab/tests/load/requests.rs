//! Tests of requests: bodies, mixes, redirects, checksums and result files.

use std::io::BufReader;
use std::sync::{Arc, Mutex};

use weir_lab::{Body, FlawKind, Run, Verify, parse_mix, report};
use weir_origin::Origin;
use weir_testkit::{RawServer, TempDir};

use crate::{closed, kinds, load, rate, run, target};

#[test]
fn bodies_of_any_kind_arrive_whole() {
    let server = RawServer::responding(|request| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.body.len());
        [head.as_bytes(), &request.body].concat()
    });
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("body");
    std::fs::write(&path, vec![7; 300_000]).unwrap();
    for body in [
        Body::from(b"small".to_vec()),
        Body::file(&path).unwrap(),
        Body::Generated { bytes: 3_000_001 },
        Body::Empty,
    ] {
        let bytes = body.bytes();
        let mut load = load(server.addr(), "/", closed(3));
        load.targets = vec![target("POST", format!("http://{}/", server.addr()))];
        load.targets[0].body = body;
        load.requests_max = Some(9);
        let summary = run(load).summary();
        assert_eq!((summary.requests.succeeded, summary.bytes.bodies_in), (9, 9 * bytes));
        assert!(summary.bytes.out > 9 * bytes);
    }
}

#[test]
fn large_answers_are_counted_to_the_last_byte() {
    let origin = Origin::builder().start().unwrap();
    for path in ["/bytes/30000000", "/stream?chunks=100&size=40000&interval=0"] {
        let mut load = load(origin.addr(), path, closed(2));
        load.requests_max = Some(4);
        let summary = run(load).summary();
        assert_eq!(summary.requests.succeeded, 4, "{path}: {:?}", summary.faults);
        assert!(summary.bytes.bodies_in >= 4 * 3_000_000, "{path}: {}", summary.bytes.bodies_in);
    }
}

#[test]
fn a_mix_has_each_method_by_its_weight_and_numbers_in_its_targets() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let server = RawServer::responding(move |request| {
        let line = String::from_utf8_lossy(&request.head).lines().next().unwrap_or_default().to_owned();
        notes.lock().unwrap().push(line);
        b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_vec()
    });
    let mut load = load(server.addr(), "/", closed(2));
    let mut base = target("", format!("http://{}/data/f-{{i%10}}", server.addr()));
    base.body = Body::Generated { bytes: 100 };
    load.targets = parse_mix("GET=70,PUT=20,PROPFIND=10", &base).unwrap();
    load.requests_max = Some(500);
    let summary = run(load).summary();
    let shares: Vec<u64> = summary.targets.iter().map(|part| part.sent).collect();
    assert!((300..400).contains(&shares[0]) && (60..140).contains(&shares[1]), "{shares:?}");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 500);
    assert!((0..10).all(|i| seen.contains(&format!("GET /data/f-{i} HTTP/1.1"))), "{:?}", &seen[..20]);
}

#[test]
fn who_is_sent_on_goes_there_and_no_further_than_to_those_that_are_named() {
    let node = Origin::builder().name("node").start().unwrap();
    let to = node.addr();
    let balancer = RawServer::responding(move |request| {
        let line = String::from_utf8_lossy(&request.head).lines().next().unwrap_or_default().to_owned();
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{to}{path}?ticket\r\nContent-Length: 0\r\n\r\n")
            .into_bytes()
    });
    for (follow, server, bytes) in
        [(vec![format!("http://{to}")], 1, 20 * 100), (vec!["http://127.0.0.1:1".to_owned()], 0, 0)]
    {
        for mode in [closed(3), rate("200")] {
            let mut load = load(balancer.addr(), "/bytes/100", mode);
            load.requests_max = Some(20);
            load.server_header = "X-Origin".to_owned();
            load.follow = follow.clone();
            let summary = run(load).summary();
            assert_eq!((summary.requests.sent, summary.requests.succeeded), (20, 20), "{:?}", summary.faults);
            assert_eq!((summary.servers.len(), summary.bytes.bodies_in), (server, bytes));
        }
    }
}

#[test]
fn who_is_sent_round_and_round_gives_up() {
    let asked = Arc::new(Mutex::new(0));
    let notes = Arc::clone(&asked);
    let server = RawServer::responding(move |_| {
        *notes.lock().unwrap() += 1;
        b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n".to_vec()
    });
    let mut load = load(server.addr(), "/", closed(1));
    load.requests_max = Some(2);
    load.follow = vec![format!("http://{}", server.addr())];
    let summary = run(load).summary();
    assert_eq!((summary.requests.sent, *asked.lock().unwrap()), (2, 2 * 6));
}

#[test]
fn contents_are_checked_against_a_checksum() {
    let server = RawServer::answering("hello");
    for (checksum, is_right) in [("adler32=062c0215", true), ("adler32=1", false), ("announced", false)] {
        let mut load = load(server.addr(), "/", closed(1));
        load.requests_max = Some(5);
        load.verify = Some(checksum.parse::<Verify>().unwrap());
        let run = run(load);
        assert_eq!(run.summary().requests.succeeded, if is_right { 5 } else { 0 }, "{checksum}");
        assert_eq!(kinds(&run).contains(&FlawKind::Bytes), !is_right, "{checksum}: {:?}", run.flaws());
    }
}

#[test]
fn connections_come_from_the_addresses_that_were_given() {
    let peers = Arc::new(Mutex::new(Vec::new()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let notes = Arc::clone(&peers);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            notes.lock().unwrap().push(stream.unwrap().peer_addr().unwrap().ip());
        }
    });
    let mut load = load(address, "/", closed(1));
    load.requests_max = Some(4);
    load.sources = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
    run(load);
    let peers = peers.lock().unwrap();
    assert_eq!(
        peers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.3"]
    );
}

#[test]
fn a_result_file_gives_the_report_of_the_run() {
    let origin = Origin::builder().start().unwrap();
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("run.weir");
    let mut load = load(origin.addr(), "/bytes/100", rate("200@500ms"));
    load.output = Some(path.clone());
    load.threads = 2;
    load.server_header = "X-Origin".to_owned();
    let run = run(load);
    let again = Run::read(&mut BufReader::new(std::fs::File::open(&path).unwrap())).unwrap();
    assert_eq!(report::text(&again), report::text(&run));
    assert_eq!(report::vegeta_json(&again), report::vegeta_json(&run));
    assert_eq!(serde_json::to_value(again.summary()).unwrap(), serde_json::to_value(run.summary()).unwrap());
}

#[test]
fn a_run_that_was_stopped_says_so() {
    let origin = Origin::builder().start().unwrap();
    let mut running = weir_lab::Running::start(load(origin.addr(), "/bytes/1", rate("100@1h"))).unwrap();
    weir_testkit::wait_until("some requests", weir_testkit::PATIENCE, || running.progress().answered > 5);
    assert!(!running.is_finished());
    running.stop();
    let run = running.finish().unwrap();
    assert!(kinds(&run).contains(&FlawKind::CutOff), "{:?}", run.flaws());
}

#[test]
fn a_request_that_says_close_ends_its_connection() {
    // The server does not announce that it closes. A generator that reused the connection would cause
    // failures itself.
    let server = RawServer::start(|peer| {
        peer.request()?;
        peer.respond("bye")
    });
    let mut load = load(server.addr(), "/", closed(2));
    load.targets[0].headers.push(("Connection".to_owned(), "close".to_owned()));
    load.requests_max = Some(20);
    let run = run(load);
    assert_eq!(run.summary().requests.succeeded, 20, "{:?}", run.summary().faults);
    assert_eq!(server.connections(), 20);
    assert_eq!(run.server_failed(), None);
}

#[test]
fn what_the_server_did_not_do_is_a_verdict_of_its_own() {
    let server = RawServer::responding(|_| b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n".to_vec());
    let mut load = load(server.addr(), "/", closed(1));
    load.requests_max = Some(10);
    let run = run(load);
    let failed = "10 of 10 requests (100.00%) were not answered as expected: 10 times status 503";
    assert_eq!(run.server_failed().as_deref(), Some(failed));
    assert!(report::text(&run).contains(&format!("THE SERVER FAILED: {failed}\n")), "{}", report::text(&run));
}
