//! Tests the attribution of failed requests to the client, the server or Weir, in the log and the metrics.

use weir_e2e::{Metrics, Weir, get, web};
use weir_testkit::{PATIENCE, RawClient, RawServer, RefusingPort, Step, wait_until};

/// Waits until this metric has this value and returns all metrics.
fn when(weir: &Weir, name: &str, labels: &[&str], value: f64) -> Metrics {
    let mut metrics = weir.metrics();
    wait_until(&format!("{name} {labels:?} is {value}"), PATIENCE, || {
        metrics = weir.metrics();
        metrics.get(name, labels) == value
    });
    metrics
}

/// Returns one column of the CSV page, from the line of this proxy and service.
fn csv(weir: &Weir, pxname: &str, svname: &str, column: &str) -> String {
    let page = weir.admin("/status.csv");
    let mut lines = page.lines();
    let place = lines.next().unwrap().trim_start_matches("# ").split(',').position(|name| name == column);
    let line = lines.find(|line| line.starts_with(&format!("{pxname},{svname},"))).unwrap();
    line.split(',').nth(place.unwrap()).unwrap().to_owned()
}

fn half() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".to_vec()
}

#[test]
fn a_response_that_its_server_breaks_off_is_the_servers_abort() {
    for end in [vec![], vec![Step::Hold]] {
        let steps: Vec<Step> = [Step::ReadHead, Step::Send(half())].into_iter().chain(end).collect();
        let server = RawServer::script(steps);
        let config = format!("{}eject = false\ntimeouts = {{ idle = \"200ms\" }}\n", web(&[server.addr()]));
        let weir = Weir::start(&config);
        weir.client().send(get("/")).response_head();
        let metrics = when(&weir, "weir_server_server_aborts_total", &[], 1.0);
        assert_eq!(metrics.get("weir_pool_server_aborts_total", &["pool=\"web\""]), 1.0);
        assert_eq!(metrics.get("weir_server_response_errors_total", &[]), 1.0);
        assert_eq!(metrics.get("weir_server_client_aborts_total", &[]), 0.0);
        assert_eq!(csv(&weir, "web", "BACKEND", "srv_abrt"), "1");
    }
}

#[test]
fn a_server_that_breaks_off_every_response_fails_in_a_row() {
    for end in [vec![], vec![Step::Reset], vec![Step::Hold]] {
        let steps: Vec<Step> = [Step::ReadHead, Step::Send(half())].into_iter().chain(end).collect();
        let (bad, good) = (RawServer::script(steps), RawServer::answering("hi"));
        let config = format!(
            "{}balance = \"round-robin\"\ntimeouts = {{ idle = \"100ms\" }}\neject = {{ failures = 3, time = \"5m\" }}\n",
            web(&[bad.addr(), good.addr()])
        );
        let mut weir = Weir::start(&config);
        for _ in 0..10 {
            // The response may or may not be complete.
            let _ = weir.client().send(get("/")).try_response();
        }
        weir.wait_for_log("ejected for");
    }
}

#[test]
fn a_server_that_never_began_to_answer_aborted_nothing() {
    let server = RawServer::script([Step::ReadRequest]);
    let weir = Weir::start(&format!("{}retry = false\neject = false\n", web(&[server.addr()])));
    assert_eq!(weir.client().exchange(get("/")).status, 502);
    let metrics = when(&weir, "weir_server_response_errors_total", &[], 1.0);
    assert_eq!(metrics.get("weir_server_server_aborts_total", &[]), 0.0);
}

#[test]
fn who_breaks_a_tunnel_or_a_tcp_connection_is_told_apart() {
    let upgrade = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    let switching = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    let by_server = || vec![Step::ReadHead, Step::Send(switching.to_vec()), Step::Read(1), Step::Reset];
    let by_client = || vec![Step::ReadHead, Step::Send(switching.to_vec()), Step::Hold];
    for tcp in [false, true] {
        let start = |steps: Vec<Step>| {
            let server = RawServer::script(steps);
            let config = web(&[server.addr()]);
            let tcp_mode = "[listener.web]\nmode = \"tcp\"";
            let weir = Weir::start(&if tcp { config.replace("[listener.web]", tcp_mode) } else { config });
            let mut client = weir.client();
            client.exchange(upgrade);
            (weir, server, client)
        };
        let (weir, _server, mut client) = start(by_server());
        client.send("x");
        let metrics = when(&weir, "weir_server_server_aborts_total", &[], 1.0);
        assert_eq!(metrics.get("weir_server_client_aborts_total", &[]), 0.0);
        let (weir, _server, client) = start(by_client());
        client.reset();
        let metrics = when(&weir, "weir_server_client_aborts_total", &[], 1.0);
        assert_eq!(metrics.get("weir_server_server_aborts_total", &[]), 0.0);
        assert_eq!(metrics.get("weir_listener_client_aborts_total", &["listener=\"web\""]), 1.0);
    }
}

#[test]
fn what_a_rule_refuses_is_denied_and_nothing_else_is() {
    let server = RawServer::answering("hi");
    let route = |path: &str, action: &str| format!("[[route]]\npath = \"{path}\"\n{action}\n\n");
    let routes = [
        route("/secret", "respond = 403"),
        route("/fine", "respond = 200"),
        route("/closed", "respond = 503"),
        route("/moved", "redirect = \"/fine\""),
        route("/small", "pool = \"web\"\nmax-body = \"10B\""),
    ]
    .concat();
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\n\n{routes}[pool.web]\nservers = \"{}\"\n",
        server.addr()
    );
    let weir = Weir::start(&config);
    let ask = |request: &str| weir.client().exchange(request).status;
    for (path, status) in
        [("/secret", 403), ("/fine", 200), ("/closed", 503), ("/moved", 308), ("/none", 404)]
    {
        assert_eq!(ask(&get(path)), status, "{path}");
    }
    assert_eq!(ask("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"), 405);
    assert_eq!(ask("nonsense\r\n\r\n"), 400);
    // The first body is too large by its Content-Length, the second by its chunks.
    assert_eq!(ask("PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world"), 413);
    let chunks =
        "PUT /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n";
    assert_eq!(ask(chunks), 413);
    let metrics = when(&weir, "weir_listener_answered_total", &["listener=\"web\""], 9.0);
    assert_eq!(metrics.get("weir_listener_requests_denied_total", &["listener=\"web\""]), 3.0);
    assert_eq!(csv(&weir, "web", "FRONTEND", "dreq"), "3");
    assert_eq!(metrics.get("weir_listener_request_errors_total", &["listener=\"web\""]), 1.0);
}

#[test]
fn weirs_own_answers_are_counted_by_class_those_in_a_servers_place_included() {
    let refusing = RefusingPort::new();
    let silent = RawServer::silent();
    let good = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"good\"\n\n\
         [[route]]\npath = \"/refused\"\npool = \"refusing\"\n\n[[route]]\npath = \"/silent\"\npool = \"silent\"\n\n\
         [[route]]\npath = \"/moved\"\nredirect = \"/\"\n\n[[route]]\npath = \"/hello\"\nrespond = 200\n\n\
         [pool.good]\nservers = \"{}\"\n\n[pool.refusing]\nservers = \"{}\"\nretry = false\neject = false\n\n\
         [pool.silent]\nservers = \"{}\"\ntimeouts = {{ response = \"100ms\" }}\n",
        good.addr(),
        refusing.addr(),
        silent.addr()
    );
    let weir = Weir::start(&config);
    for (path, status) in [("/", 200), ("/hello", 200), ("/moved", 308), ("/refused", 502), ("/silent", 504)]
    {
        assert_eq!(weir.client().exchange(get(path)).status, status, "{path}");
    }
    let metrics = when(&weir, "weir_listener_answered_total", &["listener=\"web\""], 4.0);
    for (class, count) in [("2xx", 1.0), ("3xx", 1.0), ("4xx", 0.0), ("5xx", 2.0)] {
        let class = format!("code=\"{class}\"");
        assert_eq!(metrics.get("weir_listener_answered_total", &[&class]), count, "{class}");
    }
    assert_eq!(metrics.get("weir_listener_responses_total", &["code=\"2xx\""]), 2.0);
    assert_eq!(metrics.get("weir_listener_intercepted_total", &["listener=\"web\""]), 2.0);
    assert_eq!(csv(&weir, "web", "FRONTEND", "intercepted"), "2");
}

#[test]
fn a_pool_counts_a_request_once_and_each_of_its_tries() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = RawServer::answering("hi");
    let weir = Weir::start(&format!(
        "{}balance = \"round-robin\"\neject = false\n[weir]\nworkers = 1\n",
        web(&[broken.addr(), good.addr()])
    ));
    for _ in 0..6 {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
    let metrics = when(&weir, "weir_listener_responses_total", &["code=\"2xx\""], 6.0);
    let pool = |name| metrics.get(name, &["pool=\"web\""]);
    let retries = pool("weir_pool_retries_total");
    assert!(retries >= 3.0, "{retries} retries");
    assert_eq!(pool("weir_pool_requests_total"), 6.0);
    assert_eq!(pool("weir_pool_tries_total"), 6.0 + retries);
    assert_eq!(pool("weir_server_requests_total"), 6.0 + retries);
    assert_eq!(csv(&weir, "web", "BACKEND", "stot"), "6");
    assert_eq!(csv(&weir, "web", "BACKEND", "lbtot"), format!("{}", 6.0 + retries));
}

#[test]
fn a_tcp_connection_is_one_request_of_its_pool_whatever_was_tried() {
    let refusing = RefusingPort::new();
    let echo = RawServer::start(|peer| {
        let bytes = peer.take(3)?;
        peer.send(bytes)
    });
    let config = format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\n\n\
         [pool.db]\nservers = [\"{}\", \"{}\"]\nbalance = \"round-robin\"\neject = false\n[weir]\nworkers = 1\n",
        refusing.addr(),
        echo.addr()
    );
    let weir = Weir::start(&config);
    for _ in 0..4 {
        let mut client = RawClient::connect(weir.addr("db"));
        client.send("abc").half_close();
        assert_eq!(client.read_to_end().0, b"abc");
    }
    let metrics = weir.metrics();
    assert_eq!(metrics.get("weir_pool_requests_total", &["pool=\"db\""]), 4.0);
    let retries = metrics.get("weir_pool_retries_total", &["pool=\"db\""]);
    assert!(retries >= 2.0, "{retries} retries");
    assert_eq!(metrics.get("weir_pool_tries_total", &["pool=\"db\""]), 4.0 + retries);
}

#[test]
fn a_body_that_is_broken_or_stops_coming_is_a_request_error() {
    let server = RawServer::silent();
    let config = web(&[server.addr()]).replace("pool = ", "timeouts = { body = \"200ms\" }\npool = ");
    let weir = Weir::start(&config);
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(weir.client().exchange(format!("{chunked}zz\r\n")).status, 400);
    assert_eq!(weir.client().exchange(format!("{chunked}5\r\nhel")).status, 408);
    when(&weir, "weir_listener_request_errors_total", &["listener=\"web\""], 2.0);
}
