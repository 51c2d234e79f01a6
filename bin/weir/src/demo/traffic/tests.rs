//! Tests the traffic of the demo against test servers.

use weir_testkit::{PATIENCE, RawServer, RefusingPort, Step};

use super::*;

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

async fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let poll = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, poll).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}

/// Sends requests until `enough` were sent, and waits until all of them have ended.
fn tally_of(site: SocketAddr, enough: u64) -> Tally {
    run(async {
        let mut traffic = Traffic::start(site, Pace::Steady(500));
        wait_until("requests", || traffic.tally().requests() >= enough).await;
        traffic.finish().await;
        traffic.client.tally.take()
    })
}

fn raw(response: &'static str) -> RawServer {
    RawServer::responding(move |_| response.as_bytes().to_vec())
}

#[test]
fn requests_share_connections_and_are_counted_by_status() {
    let server = RawServer::answering("hi");
    let tally = tally_of(server.addr(), 60);
    assert_eq!((tally.answered(), tally.not_served()), (tally.requests(), 0), "{}", tally.describe());
    assert_eq!(tally.latency().count(), tally.requests());
    let (connections, requests) = (server.connections() as u64, tally.requests());
    assert!(connections < requests, "{connections} connections for {requests} requests");
}

#[test]
fn an_answer_that_is_an_error_is_not_served() {
    let server = raw("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
    let tally = tally_of(server.addr(), 10);
    assert_eq!((tally.answered(), tally.failed()), (tally.requests(), 0), "{}", tally.describe());
    assert_eq!(tally.not_served(), tally.requests());
}

#[test]
fn chunks_interim_responses_and_bodies_until_the_end_are_understood() {
    let server = raw(
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    );
    let tally = tally_of(server.addr(), 10);
    assert_eq!(tally.not_served(), 0, "{}", tally.describe());

    let server = RawServer::script([Step::ReadHead, Step::Send(b"HTTP/1.1 200 OK\r\n\r\nhi".to_vec())]);
    let tally = tally_of(server.addr(), 10);
    assert_eq!(tally.not_served(), 0, "{}", tally.describe());
}

#[test]
fn answers_that_are_cut_or_too_long_have_failed() {
    let cut = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi".to_vec()),
    ]);
    let long = raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhi");
    let nonsense = raw("nonsense\r\n\r\n");
    for server in [&cut, &long, &nonsense] {
        let tally = tally_of(server.addr(), 5);
        assert_eq!((tally.answered(), tally.failed()), (0, tally.requests()), "{}", tally.describe());
        assert!(tally.describe().contains("with a broken answer"), "{}", tally.describe());
    }
}

#[test]
fn nobody_there_and_nobody_answering_have_failed() {
    let tally = tally_of(RefusingPort::new().addr(), 5);
    assert_eq!(tally.failed(), tally.requests());
    assert!(tally.describe().contains("without a connection"), "{}", tally.describe());

    let closing = RawServer::script([Step::ReadHead]);
    let tally = tally_of(closing.addr(), 5);
    assert_eq!(tally.failed(), tally.requests());
    assert!(tally.describe().contains("without an answer"), "{}", tally.describe());
}

#[test]
fn a_rate_that_cannot_be_kept_is_noticed() {
    let silent = RawServer::silent();
    run(async {
        let traffic = Traffic::start(silent.addr(), Pace::Steady(2_000));
        wait_until("fewer are sent than due", || !traffic.has_kept_its_rate()).await;
        assert!(traffic.tally().requests() <= 1 + IN_FLIGHT_MAX as u64, "{}", traffic.tally().describe());
    });
}
