//! A process that runs out of descriptors: who is in is served, who comes waits or is told, and nothing dies.

use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, ResponseError, wait_until};

/// So many may be open at a time.
const DESCRIPTORS: usize = 60;

/// Weir with one worker and few descriptors. `more`: keys of `[weir]`, and further tables.
fn with_few_descriptors(server: &RawServer, more: &str) -> Weir {
    let config = format!("{}[weir]\nworkers = 1\n{more}", web(&[server.addr()]));
    Weir::launcher(&config).descriptors_max(DESCRIPTORS as u32).start()
}

/// Of these, how many are taken. Whoever runs the tests may leave others behind, with higher numbers.
fn open(weir: &Weir) -> usize {
    let all = std::fs::read_dir(format!("/proc/{}/fd", weir.pid())).unwrap();
    let numbers = all.map(|entry| entry.unwrap().file_name().to_string_lossy().parse::<usize>().unwrap());
    numbers.filter(|number| *number < DESCRIPTORS).count()
}

/// More connections than there are descriptors for: a mistake in the config, or descriptors that went elsewhere.
const NO_LIMIT: &str = "max-connections = 100000\n";

#[test]
fn by_default_no_more_clients_are_let_in_than_there_are_descriptors_for_and_all_others_are_told_503() {
    let server = RawServer::answering("hi");
    let weir = with_few_descriptors(&server, "");
    // Of 60 nearly all are kept back for other things: one client at a time.
    let mut inside = weir.client();
    assert_eq!(inside.exchange(get("/")).status, 200);
    let mut others: Vec<RawClient> = (0..90).map(|_| weir.client()).collect();
    for client in &mut others {
        // It may be told before it has asked: its request may then meet a closed connection.
        let _ = client.try_send(get("/"));
        let told = client.response();
        assert_eq!((told.status, told.header("retry-after")), (503, Some("1")));
        assert!(told.says_close());
    }
    assert_eq!(inside.exchange(get("/")).status, 200);
    drop(inside);
    wait_until("a place is free again", PATIENCE, || {
        let mut client = weir.client();
        let _ = client.try_send(get("/"));
        client.try_response().is_ok_and(|response| response.status == 200)
    });
}

#[test]
fn a_client_for_whom_there_is_no_descriptor_waits_until_another_leaves_and_is_served() {
    let server = RawServer::answering("hi");
    let weir = with_few_descriptors(&server, NO_LIMIT);
    let mut inside = Vec::new();
    // One after the other: all of them share one connection to the server.
    while open(&weir) < DESCRIPTORS {
        let mut client = weir.client();
        assert_eq!(client.exchange(get("/")).status, 200);
        inside.push(client);
    }
    assert!(inside.len() > 5, "{} clients are in", inside.len());
    let mut waiting: Vec<RawClient> = (0..3)
        .map(|_| {
            let mut client = weir.client();
            client.send(get("/"));
            client
        })
        .collect();
    for client in &mut waiting {
        assert!(client.is_quiet(Duration::from_millis(100)), "there is no descriptor for it");
    }
    for client in &mut inside {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    for client in &mut waiting {
        drop(inside.pop());
        assert_eq!(client.response().status, 200);
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_request_for_which_no_connection_can_be_opened_is_told_503_and_its_server_is_not_blamed() {
    let server = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            if request.request_line().contains("/held") {
                peer.hold();
                return Ok(());
            }
            peer.respond("hi")?;
        }
        Ok(())
    });
    let weir = with_few_descriptors(&server, &format!("{NO_LIMIT}[listener.web.timeouts]\nhead = \"10m\"\n"));
    // As long as it waits, its connection to the server is nobody else's.
    let mut held = weir.client();
    held.send(get("/held"));
    server.wait_for_bytes(0, 10);
    // All descriptors but one go to clients that ask for nothing yet.
    let mut idle = Vec::new();
    while open(&weir) < DESCRIPTORS - 1 {
        let before = open(&weir);
        let mut client = weir.client();
        client.send("GET / HT");
        wait_until("it is let in", PATIENCE, || open(&weir) > before);
        idle.push(client);
    }
    let mut client = weir.client();
    for _ in 0..10 {
        let told = client.exchange(get("/"));
        assert_eq!(told.status, 503, "{}", told.text());
        assert!(told.header("retry-after").is_some(), "{:?}", told.headers);
    }
    drop(idle.pop());
    wait_until("a descriptor is free", PATIENCE, || open(&weir) < DESCRIPTORS);
    assert_eq!(client.exchange(get("/")).status, 200);
    drop(idle);
    wait_until("there is one for the metrics, too", PATIENCE, || open(&weir) < DESCRIPTORS - 5);
    let metrics = weir.metrics();
    for name in ["connect_errors", "response_errors", "ejections"] {
        assert_eq!(metrics.get(&format!("weir_server_{name}_total"), &[]), 0.0, "{name}");
    }
}

#[test]
fn in_a_crowd_each_gets_its_own_answer_or_503_and_nothing_dies() {
    let server = RawServer::responding(|request| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", request.head.len());
        [head.as_bytes(), &request.head].concat()
    });
    let weir = with_few_descriptors(&server, NO_LIMIT);
    let addr = weir.addr("web");
    let mut clients: Vec<(usize, RawClient)> =
        (0..90).map(|index| (index, RawClient::connect(addr).timeout(Duration::from_millis(100)))).collect();
    for (index, client) in &mut clients {
        client.send(get(&format!("/of-{index}-alone")));
    }
    let check = |index: usize, response: weir_testkit::Response| match response.status {
        200 => assert!(response.text().contains(&format!("GET /of-{index}-alone ")), "{}", response.text()),
        status => assert_eq!(status, 503, "{response:?}"),
    };
    let mut waiting = Vec::new();
    for (index, mut client) in clients {
        match client.try_response() {
            Ok(response) => check(index, response),
            Err(ResponseError::Timeout(came)) if came.is_empty() => waiting.push((index, client)),
            Err(error) => panic!("client {index}: {error}"),
        }
    }
    // The others have left: whoever still waits has its turn now.
    for (index, client) in waiting {
        check(index, client.timeout(PATIENCE).response());
    }
    wait_until("service as before", PATIENCE, || weir.client().exchange(get("/")).status == 200);
}
