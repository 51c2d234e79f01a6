//! Tests that the metrics add up.

use weir_e2e::{Metrics, Weir, get, web};
use weir_testkit::{PATIENCE, RawServer, Step, wait_until};

/// Waits until the listener has counted so many responses and returns the metrics. Weir counts a response
/// after it was sent.
fn counted(weir: &Weir, responses: f64) -> Metrics {
    let mut metrics = weir.metrics();
    wait_until(&format!("{responses} responses are counted"), PATIENCE, || {
        metrics = weir.metrics();
        metrics.get("weir_listener_responses_total", &["listener=\"web\""]) >= responses
    });
    metrics
}

#[test]
fn requests_responses_and_bytes_are_counted() {
    let server = RawServer::responding(|request| {
        let status = if request.request_line().contains("/missing") { "404 Not Found" } else { "200 OK" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 1000\r\n\r\n{}", "x".repeat(1000)).into_bytes()
    });
    let weir = Weir::start(&web(&[server.addr()]));
    let mut client = weir.client();
    for _ in 0..7 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    for _ in 0..3 {
        assert_eq!(client.exchange(get("/missing")).status, 404);
    }
    let upload = format!("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n{}", "x".repeat(5000));
    assert_eq!(client.exchange(upload).status, 200);
    let metrics = counted(&weir, 11.0);
    assert_eq!(metrics.get("weir_listener_requests_total", &["listener=\"web\""]), 11.0);
    assert_eq!(metrics.get("weir_listener_connections_accepted_total", &["listener=\"web\""]), 1.0);
    assert_eq!(metrics.get("weir_listener_responses_total", &["code=\"2xx\""]), 8.0);
    assert_eq!(metrics.get("weir_listener_responses_total", &["code=\"4xx\""]), 3.0);
    assert_eq!(metrics.get("weir_server_requests_total", &["pool=\"web\""]), 11.0);
    assert_eq!(metrics.get("weir_server_connections_opened_total", &["pool=\"web\""]), 1.0);
    let down = metrics.get("weir_listener_response_bytes_total", &["listener=\"web\""]);
    assert!((11_000.0..15_000.0).contains(&down), "{down} bytes to clients");
    let up = metrics.get("weir_listener_request_bytes_total", &["listener=\"web\""]);
    assert!((5_000.0..7_000.0).contains(&up), "{up} bytes from clients");
    assert_eq!(metrics.get("weir_listener_request_duration_seconds_count", &["listener=\"web\""]), 11.0);
}

#[test]
fn what_is_going_on_now_is_a_gauge_and_returns_to_zero() {
    let server = RawServer::silent();
    let weir = Weir::start(&web(&[server.addr()]));
    let mut clients: Vec<_> = (0..5).map(|_| weir.client()).collect();
    for client in &mut clients {
        client.send(get("/"));
    }
    wait_until("five requests in flight", PATIENCE, || {
        weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]) == 5.0
    });
    assert_eq!(weir.metrics().get("weir_listener_connections", &["listener=\"web\""]), 5.0);
    clients.into_iter().for_each(|client| client.reset());
    wait_until("none in flight", PATIENCE, || {
        let metrics = weir.metrics();
        metrics.get("weir_pool_active_requests", &["pool=\"web\""]) == 0.0
            && metrics.get("weir_listener_connections", &["listener=\"web\""]) == 0.0
    });
}

#[test]
fn failures_are_counted_where_they_belong() {
    let broken = RawServer::script([Step::ReadRequest]);
    let weir = Weir::start(&format!("{}retry = false\neject = false\n", web(&[broken.addr()])));
    for _ in 0..4 {
        assert_eq!(weir.client().exchange(get("/")).status, 502);
    }
    assert_eq!(weir.client().exchange("nonsense\r\n\r\n").status, 400);
    let metrics = counted(&weir, 5.0);
    assert_eq!(metrics.get("weir_server_response_errors_total", &["pool=\"web\""]), 4.0);
    assert_eq!(metrics.get("weir_listener_responses_total", &["code=\"5xx\""]), 4.0);
    assert_eq!(metrics.get("weir_listener_request_errors_total", &["listener=\"web\""]), 1.0);
    assert_eq!(metrics.get("weir_listener_responses_total", &["code=\"4xx\""]), 1.0);
}

#[test]
fn retries_and_refusals_are_counted() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = RawServer::answering("hi");
    let weir = Weir::start(&format!(
        "{}balance = \"round-robin\"\neject = false\n[weir]\nworkers = 1\n",
        web(&[broken.addr(), good.addr()])
    ));
    for _ in 0..6 {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
    let metrics = counted(&weir, 6.0);
    let retries = metrics.get("weir_pool_retries_total", &["pool=\"web\""]);
    assert!((3.0..=6.0).contains(&retries), "{retries} retries");
    assert_eq!(metrics.get("weir_server_response_errors_total", &["pool=\"web\""]), retries);
    for series in ["weir_pool_redispatches_total", "weir_server_redispatches_total"] {
        assert_eq!(metrics.get(series, &["pool=\"web\""]), retries, "{series}");
    }
    assert_eq!(metrics.get("weir_listener_responses_total", &["code=\"2xx\""]), 6.0);
    assert_eq!(metrics.get("weir_listener_requests_total", &["listener=\"web\""]), 6.0);
}

#[test]
fn a_retry_on_the_only_server_is_no_redispatch() {
    let broken = RawServer::script([Step::ReadRequest]);
    let weir = Weir::start(&format!("{}retry = {{ attempts = 2 }}\neject = false\n", web(&[broken.addr()])));
    assert_eq!(weir.client().exchange(get("/")).status, 502);
    let metrics = counted(&weir, 1.0);
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"web\""]), 2.0);
    for series in ["weir_pool_redispatches_total", "weir_server_redispatches_total"] {
        assert_eq!(metrics.get(series, &["pool=\"web\""]), 0.0, "{series}");
    }
}

#[test]
fn a_reload_keeps_the_counts_of_what_stays() {
    let server = RawServer::answering("hi");
    let config = web(&[server.addr()]);
    let mut weir = Weir::start(&config);
    let config = config.replace("127.0.0.1:0", &weir.addr("web").to_string());
    for _ in 0..5 {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
    weir.reload(&config);
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    let metrics = counted(&weir, 6.0);
    assert_eq!(metrics.get("weir_server_requests_total", &["pool=\"web\""]), 6.0);
    assert_eq!(metrics.get("weir_listener_requests_total", &["listener=\"web\""]), 6.0);
    assert_eq!(metrics.get("weir_config_reloads_total", &["result=\"done\""]), 1.0);
}

#[test]
fn the_status_page_and_its_data_show_the_pool() {
    let server = RawServer::answering("hi");
    let weir = Weir::start(&web(&[server.addr()]));
    assert_eq!(weir.client().exchange(get("/")).status, 200);
    let page = weir.admin("/");
    assert!(page.contains("web") && page.contains(&server.addr().to_string()), "{page}");
}
