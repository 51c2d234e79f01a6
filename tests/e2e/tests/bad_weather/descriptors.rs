//! Tests of a process without free descriptors: connected clients are served, new clients wait or get 503,
//! and nothing crashes.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, RefusingPort, ResponseError, wait_until};

/// Descriptor limit of the process under test.
const DESCRIPTORS: usize = 60;

/// Starts Weir with one worker and few descriptors. `more` has keys of `[weir]` and further tables.
fn with_few_descriptors(server: &RawServer, more: &str) -> Weir {
    let config = format!("{}[weir]\nworkers = 1\n{more}", web(&[server.addr()]));
    Weir::launcher(&config).descriptors_max(DESCRIPTORS as u32).start()
}

/// Returns the number of open descriptors below the limit. Descriptors inherited from the test runner have
/// higher numbers and do not count.
fn open(weir: &Weir) -> usize {
    let all = std::fs::read_dir(format!("/proc/{}/fd", weir.pid())).unwrap();
    let numbers = all.map(|entry| entry.unwrap().file_name().to_string_lossy().parse::<usize>().unwrap());
    numbers.filter(|number| *number < DESCRIPTORS).count()
}

/// Opens idle clients until only one descriptor is free.
fn take_all_but_one(weir: &Weir) -> Vec<RawClient> {
    let mut idle = Vec::new();
    while open(weir) < DESCRIPTORS - 1 {
        let before = open(weir);
        let mut client = weir.client();
        client.send("GET / HT");
        wait_until("it is let in", PATIENCE, || open(weir) > before);
        idle.push(client);
    }
    idle
}

/// Reads a metric over an open connection to the admin listener, which needs no further descriptor.
fn metric(admin: &mut RawClient, series: &str) -> f64 {
    let page = admin.exchange("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").text();
    let value = page.lines().find_map(|line| line.strip_prefix(series));
    value.unwrap_or_else(|| panic!("no {series} in:\n{page}")).trim().parse().unwrap()
}

/// Counter of hedged requests in the pool `web`.
const HEDGES: &str = "weir_pool_hedges_total{pool=\"web\"}";

/// Starts Weir with one worker and few descriptors. The pool `web` sends a hedge to the second server soon
/// after the first one is silent. `more` has keys of the pool and further tables.
fn hedging(servers: [&RawServer; 2], more: &str) -> Weir {
    let [first, second] = servers.map(RawServer::addr);
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\ntimeouts = {{ head = \"10m\" }}\n\n\
         [pool.web]\nservers = [\"{first}\", \"{second}\"]\nbalance = \"first\"\nhedge = {{ delay = \"50ms\" }}\n\
         retry = {{ min-per-second = 100 }}\n{more}\n\n[weir]\nworkers = 1\n{NO_LIMIT}"
    );
    Weir::launcher(&config).descriptors_max(DESCRIPTORS as u32).start()
}

/// Sends a request whose first attempt takes the last descriptor, so that its hedge to the second server gets
/// none. Returns its client and the idle clients. `admin` is already connected.
fn ask_with_one_descriptor(
    weir: &Weir,
    first: &RawServer,
    admin: &mut RawClient,
) -> (RawClient, Vec<RawClient>) {
    assert_eq!(metric(admin, HEDGES), 0.0);
    // Begin the request first, so that the last descriptor is for the first attempt.
    let before = open(weir);
    let mut client = weir.client();
    client.send("GET / HT");
    wait_until("it is let in", PATIENCE, || open(weir) > before);
    let idle = take_all_but_one(weir);
    client.send("TP/1.1\r\nHost: a\r\n\r\n");
    first.wait_for_bytes(0, 10);
    wait_until("the second try has been made", PATIENCE, || metric(admin, HEDGES) == 1.0);
    (client, idle)
}

/// Starts Weir with few descriptors and more servers than descriptors. The servers get requests in turn, and
/// Weir would keep an idle connection to each. `more` has further tables.
fn with_many_servers(server: &RawServer, workers: usize, more: &str) -> Weir {
    let addr = server.addr();
    let servers: Vec<String> = (0..2 * DESCRIPTORS)
        .map(|index| format!("{{ name = \"s{index}\", address = \"{addr}\" }}"))
        .collect();
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
         [pool.web]\nservers = [{}]\nbalance = \"round-robin\"\n\n[weir]\nworkers = {workers}\n{NO_LIMIT}{more}",
        servers.join(", ")
    );
    Weir::launcher(&config).descriptors_max(DESCRIPTORS as u32).start()
}

/// Sends requests to every server, from one client.
fn ask_every_server(client: &mut RawClient) {
    for request in 0..2 * DESCRIPTORS {
        let response = client.exchange(get("/"));
        assert_eq!(response.status, 200, "request {request}: {}", response.text());
    }
}

/// Permits more connections than there are descriptors, as a wrong config would.
const NO_LIMIT: &str = "max-connections = 100000\n";

#[test]
fn by_default_no_more_clients_are_let_in_than_there_are_descriptors_for_and_all_others_are_told_503() {
    let server = RawServer::answering("hi");
    let weir = with_few_descriptors(&server, "");
    // Of 60 descriptors, nearly all are reserved: one client at a time is admitted.
    let mut inside = weir.client();
    assert_eq!(inside.exchange(get("/")).status, 200);
    let mut others: Vec<RawClient> = (0..90).map(|_| weir.client()).collect();
    for client in &mut others {
        // Weir may respond and close before the request is sent, so sending may fail.
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
    // Sequential requests, which share one connection to the server.
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
    // While this request waits, its connection to the server is in use.
    let mut held = weir.client();
    held.send(get("/held"));
    server.wait_for_bytes(0, 10);
    let mut idle = take_all_but_one(&weir);
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
fn idle_connections_to_servers_make_room_for_one_to_another_server() {
    let server = RawServer::answering("hi");
    let weir = with_many_servers(&server, 1, "");
    let mut client = weir.client();
    ask_every_server(&mut client);
    ask_every_server(&mut client);
    // Descriptors are reserved for operators, so this new connection works.
    let metrics = weir.metrics();
    let closed = metrics.get("weir_idle_connections_closed_total", &[]);
    assert!(closed >= DESCRIPTORS as f64, "{closed} closed");
    let idle: f64 = metrics.get("weir_server_connections", &["state=\"idle\""]);
    assert!(idle > 10.0 && idle < DESCRIPTORS as f64, "{idle} idle connections");
    for name in ["connect_errors", "retries", "ejections"] {
        assert_eq!(metrics.get(&format!("weir_server_{name}_total"), &[]), 0.0, "{name}");
    }
}

#[test]
fn idle_connections_to_servers_make_room_for_clients() {
    let server = RawServer::answering("hi");
    let weir = with_many_servers(&server, 1, "");
    ask_every_server(&mut weir.client());
    let mut clients = Vec::new();
    for index in 0..DESCRIPTORS / 2 {
        let mut client = weir.client();
        assert_eq!(client.exchange(get("/")).status, 200, "client {index}");
        clients.push(client);
    }
    for client in &mut clients {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
}

#[test]
fn the_last_idle_connection_makes_room_for_one_to_another_server() {
    let server = RawServer::answering("hi");
    let weir = with_many_servers(&server, 1, "[listener.web.timeouts]\nhead = \"10m\"\n");
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/")).status, 200);
    let mut idle = take_all_but_one(&weir);
    idle.push(weir.client());
    wait_until("no descriptor is left", PATIENCE, || open(&weir) == DESCRIPTORS);
    // Each request goes to the next server, to which no connection is kept.
    for _ in 0..10 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    drop(idle);
    wait_until("there is one for the metrics, too", PATIENCE, || open(&weir) < DESCRIPTORS - 5);
    let closed = weir.metrics().get("weir_idle_connections_closed_total", &[]);
    assert!(closed >= 10.0, "{closed}");
}

#[test]
fn idle_connections_of_one_worker_make_room_for_another_ones() {
    let server = RawServer::answering("hi");
    let weir = with_many_servers(&server, 2, "");
    let mut first = weir.client();
    ask_every_server(&mut first);
    // About half of the clients come to the other worker, which has no idle connections at first.
    let mut clients: Vec<RawClient> = (0..DESCRIPTORS / 4).map(|_| weir.client()).collect();
    for client in &mut clients {
        for _ in 0..5 {
            assert_eq!(client.exchange(get("/")).status, 200);
        }
    }
    assert_eq!(first.exchange(get("/")).status, 200);
}

#[test]
fn a_second_try_for_which_no_connection_can_be_opened_blames_nobody_and_leaves_the_first_one_alone() {
    let (tell, told) = channel::<()>();
    let told = Mutex::new(told);
    let slow = RawServer::start(move |peer| {
        peer.request()?;
        let _ = told.lock().unwrap().recv_timeout(PATIENCE);
        peer.respond("slow")
    });
    let (other, refusing) = (RawServer::answering("other"), [RefusingPort::new(), RefusingPort::new()]);
    let eject = "eject = { failures = 1, max-share = \"100%\" }";
    let more = format!(
        "{eject}\n\n[pool.refusing]\nservers = [\"{}\", \"{}\"]\nretry = false\n{eject}\n\n\
         [[route]]\npath = \"/refused\"\npool = \"refusing\"",
        refusing[0].addr(),
        refusing[1].addr()
    );
    let weir = hedging([&slow, &other], &more);
    let mut admin = RawClient::connect(weir.admin_addr());
    let (mut client, idle) = ask_with_one_descriptor(&weir, &slow, &mut admin);
    tell.send(()).unwrap();
    assert_eq!(client.response().text(), "slow");
    assert_eq!(metric(&mut admin, "weir_pool_hedges_won_total{pool=\"web\"}"), 0.0);
    assert_eq!(other.connections(), 0);
    drop(idle);
    wait_until("descriptors are free", PATIENCE, || open(&weir) < DESCRIPTORS - 5);
    // Once this failure has had its effect, an earlier one would have had it too.
    assert_eq!(weir.client().exchange(get("/refused")).status, 502);
    wait_until("it is ejected", PATIENCE, || {
        weir.metrics().get("weir_server_ejections_total", &["pool=\"refusing\""]) == 1.0
    });
    for name in ["connect_errors", "response_errors", "ejections"] {
        let name = format!("weir_server_{name}_total");
        assert_eq!(weir.metrics().get(&name, &["pool=\"web\""]), 0.0, "{name}");
    }
}

#[test]
fn a_second_try_without_a_descriptor_leaves_its_request_all_further_tries() {
    let (tell, told) = channel::<()>();
    let told = Mutex::new(told);
    let breaking = RawServer::start(move |peer| {
        peer.request()?;
        let _ = told.lock().unwrap().recv_timeout(PATIENCE);
        peer.reset();
        Ok(())
    });
    let other = RawServer::answering("other");
    let weir = hedging([&breaking, &other], "eject = false");
    let mut admin = RawClient::connect(weir.admin_addr());
    let (mut client, idle) = ask_with_one_descriptor(&weir, &breaking, &mut admin);
    tell.send(()).unwrap();
    assert_eq!(client.response().text(), "other");
    for (name, count) in [("hedges", 1.0), ("hedges_won", 0.0), ("retries", 1.0)] {
        let series = format!("weir_pool_{name}_total{{pool=\"web\"}}");
        assert_eq!(metric(&mut admin, &series), count, "{name}");
    }
    assert_eq!(other.connections(), 1);
    drop(idle);
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
    // The other clients have left, so each waiting client now has its turn.
    for (index, client) in waiting {
        check(index, client.timeout(PATIENCE).response());
    }
    wait_until("service as before", PATIENCE, || weir.client().exchange(get("/")).status == 200);
}
