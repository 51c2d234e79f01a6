//! Tests hedging: a second try in parallel with a slow first one.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, Peer, RawServer, wait_until};

fn config(servers: &[&RawServer], keys: &str) -> String {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{}\"", server.addr())).collect();
    format!(
        "[access-log]\nformat = \"json\"\nto = \"stdout\"\n\n[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
         [pool.web]\nbalance = \"first\"\nservers = [{}]\nretry = {{ min-per-second = 100 }}\n{keys}\n",
        servers.join(", ")
    )
}

fn total(weir: &Weir, name: &str) -> f64 {
    weir.metrics().get(name, &["pool=\"web\""])
}

#[test]
fn a_second_server_answers_for_one_that_stalls_and_the_first_one_is_let_go() {
    let (stalled, quick) = (RawServer::silent(), RawServer::answering("quick"));
    let mut weir = Weir::start(&config(&[&stalled, &quick], "hedge = { delay = \"50ms\" }"));
    let mut client = weir.client();
    for round in 1..=3 {
        assert_eq!(client.exchange(get("/")).text(), "quick");
        wait_until("the first one's connection is closed", PATIENCE, || stalled.connections_open() == 0);
        assert_eq!(stalled.connections(), round);
    }
    assert_eq!(
        (total(&weir, "weir_pool_hedges_total"), total(&weir, "weir_pool_hedges_won_total")),
        (3.0, 3.0)
    );
    wait_until("nothing is left behind", PATIENCE, || total(&weir, "weir_pool_active_requests") == 0.0);
    let line = weir.wait_for_log("\"target\":\"/\"");
    assert!(line.contains("\"hedge\":\"won\"") && line.contains(&quick.addr().to_string()), "{line}");
}

#[test]
fn the_first_servers_response_wins_if_it_comes_first() {
    let (slow, silent) = (
        RawServer::start(|peer| {
            peer.request()?;
            // Long enough that the second try starts first.
            std::thread::sleep(std::time::Duration::from_millis(300));
            peer.respond("slow")
        }),
        RawServer::silent(),
    );
    let mut weir = Weir::start(&config(&[&slow, &silent], "hedge = { delay = \"20ms\" }"));
    assert_eq!(weir.client().exchange(get("/")).text(), "slow");
    wait_until("the second one's connection is closed", PATIENCE, || silent.connections_open() == 0);
    let line = weir.wait_for_log("\"target\":\"/\"");
    let lost = line.contains("\"hedge\":\"lost\"");
    assert_eq!(lost, silent.connections() == 1, "{line}");
    assert_eq!(total(&weir, "weir_pool_hedges_won_total"), 0.0);
}

#[test]
fn what_is_not_safe_or_has_a_body_is_sent_once() {
    let (slow, other) = (
        // The server keeps its connections open. Weir could otherwise reuse one for the next request at the
        // moment when it closes.
        RawServer::start(|peer| {
            while peer.request().is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(200));
                peer.respond("slow")?;
            }
            Ok(())
        }),
        RawServer::answering("quick"),
    );
    let weir = Weir::start(&config(&[&slow, &other], "hedge = { delay = \"10ms\" }"));
    for request in [
        "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
    ] {
        assert_eq!(weir.client().exchange(request).text(), "slow", "{request}");
    }
    assert_eq!(other.connections(), 0);
    assert_eq!(total(&weir, "weir_pool_hedges_total"), 0.0);
}

#[test]
fn the_retry_budget_holds_for_second_tries() {
    let (stalled, quick) = (RawServer::silent(), RawServer::answering("quick"));
    let keys = "hedge = { delay = \"20ms\" }\ntimeouts = { response = \"300ms\" }";
    let config = config(&[&stalled, &quick], keys)
        .replace("min-per-second = 100", "min-per-second = 0, budget = \"0%\", attempts = 1");
    let weir = Weir::start(&config);
    assert_eq!(weir.client().exchange(get("/")).status, 504);
    assert_eq!(quick.connections(), 0);
    assert_eq!(total(&weir, "weir_pool_hedges_total"), 0.0);
}

#[test]
fn a_first_try_that_breaks_leaves_the_request_to_the_second() {
    // The first server closes once the second one has the request. The second one answers after that.
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let told = std::sync::Mutex::new(told);
    let breaking = RawServer::start(move |peer| {
        peer.request()?;
        let _ = told.lock().unwrap().recv_timeout(PATIENCE);
        peer.reset();
        Ok(())
    });
    let answering = RawServer::start(move |peer| {
        peer.request()?;
        let _ = tell.send(());
        std::thread::sleep(std::time::Duration::from_millis(100));
        peer.respond("second")
    });
    let weir = Weir::start(&config(&[&breaking, &answering], "hedge = { delay = \"20ms\" }\neject = false"));
    assert_eq!(weir.client().exchange(get("/")).text(), "second");
    assert_eq!(answering.connections(), 1);
    assert_eq!(total(&weir, "weir_pool_retries_total"), 0.0);
}

/// Starts a server that handles its request when the test, or another server, tells it to.
fn told(
    told: Receiver<()>,
    then: impl Fn(&mut Peer) -> std::io::Result<()> + Send + Sync + 'static,
) -> RawServer {
    let told = Mutex::new(told);
    RawServer::start(move |peer| {
        peer.request()?;
        let _ = told.lock().unwrap().recv_timeout(PATIENCE);
        then(peer)
    })
}

/// Starts a server that reports when it gets a request.
fn telling(
    tell: Sender<()>,
    then: impl Fn(&mut Peer) -> std::io::Result<()> + Send + Sync + 'static,
) -> RawServer {
    RawServer::start(move |peer| {
        peer.request()?;
        let _ = tell.send(());
        then(peer)
    })
}

fn reset(peer: &mut Peer) -> std::io::Result<()> {
    peer.reset();
    Ok(())
}

fn hold(peer: &mut Peer) -> std::io::Result<()> {
    peer.hold();
    Ok(())
}

#[test]
fn a_second_try_ends_when_the_head_of_the_first_response_comes_not_when_its_body_does() {
    let ((asked, is_asked), (closed, is_closed)) = (channel(), channel());
    let is_closed = Mutex::new(is_closed);
    let first = told(is_asked, move |peer| {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")?;
        let _ = is_closed.lock().unwrap().recv_timeout(PATIENCE);
        peer.send("-half")
    });
    let second = telling(asked, hold);
    let weir = Weir::start(&config(&[&first, &second], "hedge = { delay = \"20ms\" }"));
    let mut client = weir.client();
    client.send(get("/"));
    second.wait_for_end(0);
    closed.send(()).unwrap();
    assert_eq!(client.response().text(), "first-half");
    assert_eq!(total(&weir, "weir_pool_hedges_won_total"), 0.0);
}

#[test]
fn a_second_try_that_is_left_alone_has_only_what_is_left_of_the_time_and_has_not_won_before_it_answers() {
    let (asked, is_asked) = channel();
    let first = told(is_asked, |peer| {
        // Most of the time limit is over then. The second server would answer well within a full time limit
        // of its own.
        thread::sleep(Duration::from_millis(2_000));
        reset(peer)
    });
    let second = telling(asked, |peer| {
        thread::sleep(Duration::from_millis(4_000));
        // Weir has closed the connection.
        let _ = peer.respond("late");
        Ok(())
    });
    let keys = "eject = false\nhedge = { delay = \"20ms\" }\ntimeouts = { response = \"3s\" }";
    let config = config(&[&first, &second], keys).replace("min-per-second = 100", "attempts = 0");
    let mut weir = Weir::start(&config);
    assert_eq!(weir.client().exchange(get("/")).status, 504);
    assert_eq!(second.connections(), 1);
    assert_eq!(
        (total(&weir, "weir_pool_hedges_total"), total(&weir, "weir_pool_hedges_won_total")),
        (1.0, 0.0)
    );
    let line = weir.wait_for_log("\"target\":\"/\"");
    assert!(line.contains("\"hedge\":\"lost\""), "{line}");
}

#[test]
fn a_second_try_that_is_left_alone_is_timed_from_when_it_was_asked() {
    const LATER: Duration = Duration::from_millis(700);
    let ((asked, is_asked), (gone, is_gone)) = (channel(), channel());
    let first = told(is_asked, move |peer| {
        reset(peer)?;
        let _ = gone.send(());
        Ok(())
    });
    let is_gone = Mutex::new(is_gone);
    let second = RawServer::start(move |peer| {
        peer.request()?;
        // The second server has worked on the request for this long when the first one fails.
        thread::sleep(LATER);
        let _ = asked.send(());
        let _ = is_gone.lock().unwrap().recv_timeout(PATIENCE);
        thread::sleep(Duration::from_millis(50));
        peer.respond("second")
    });
    let weir = Weir::start(&config(&[&first, &second], "eject = false\nhedge = { delay = \"20ms\" }"));
    assert_eq!(weir.client().exchange(get("/")).text(), "second");
    let label = format!("server=\"{}\"", second.addr());
    let name = "weir_server_first_byte_seconds_sum";
    let is_counted = |line: &str| line.starts_with(name) && line.contains(&label);
    // The metric exists only once the response has been counted.
    wait_until("it is counted", PATIENCE, || weir.metrics().text().lines().any(is_counted));
    let timed = weir.metrics().get(name, &["pool=\"web\"", &label]);
    assert!(timed >= LATER.as_secs_f64(), "{timed}");
}

#[test]
fn a_second_try_whose_kept_connection_has_ended_goes_on_over_a_fresh_one() {
    let stalled = RawServer::silent();
    let second = RawServer::start(|peer| {
        let mut requests = 0;
        while peer.request().is_ok() {
            requests += 1;
            // The first connection closes when it is reused, like one that a server closes as idle at that
            // moment.
            if peer.number() == 0 && requests == 2 {
                break;
            }
            peer.respond("second")?;
        }
        Ok(())
    });
    let keys = "hedge = { delay = \"20ms\" }\n[weir]\nworkers = 1";
    let mut weir = Weir::start(&config(&[&stalled, &second], keys));
    let mut client = weir.client();
    for _ in 0..2 {
        assert_eq!(client.exchange(get("/")).text(), "second");
    }
    assert_eq!(second.connections(), 2);
    let counted = |name: &str| total(&weir, &format!("weir_pool_{name}_total"));
    // Weir forwards a response before it counts it.
    wait_until("both are counted", PATIENCE, || counted("hedges_won") == 2.0);
    assert_eq!((counted("hedges"), counted("retries")), (2.0, 1.0));
    assert_eq!(counted("tries"), 5.0, "two requests, two second tries, one of them twice");
    let line = weir.wait_for_log("\"retries\":1");
    assert!(line.contains("\"hedge\":\"won\""), "{line}");
}

#[test]
fn a_request_whose_kept_connection_has_ended_gets_its_second_try_over_a_fresh_one() {
    let first = RawServer::start(|peer| {
        let mut is_used = false;
        while let Ok(request) = peer.request() {
            if request.request_line().contains("/held") {
                // A reused connection closes at this moment, as if it had been idle too long. On a new
                // connection no response comes.
                if !is_used {
                    peer.hold();
                }
                break;
            }
            is_used = true;
            peer.respond("first")?;
        }
        Ok(())
    });
    let second = RawServer::start(|peer| {
        while peer.request().is_ok() {
            peer.respond("second")?;
        }
        Ok(())
    });
    let keys = "hedge = { delay = \"500ms\" }\n[weir]\nworkers = 1";
    let weir = Weir::start(&config(&[&first, &second], keys));
    let mut client = weir.client();
    // From here on Weir keeps one connection to each server.
    assert_eq!(client.exchange(get("/held")).text(), "second");
    wait_until("the first one answers", PATIENCE, || client.exchange(get("/")).text() == "first");
    let counted = |name: &str| total(&weir, &format!("weir_pool_{name}_total"));
    let before = (second.connections(), counted("hedges"), counted("retries"));
    assert_eq!(client.exchange(get("/held")).text(), "second");
    let after = (second.connections(), counted("hedges"), counted("retries"));
    assert_eq!(after, (before.0 + 1, before.1 + 1.0, before.2 + 1.0));
}

#[test]
fn when_both_tries_fail_the_next_one_goes_to_a_third_server() {
    let ((asked, is_asked), (failed, has_failed)) = (channel(), channel());
    let first = told(is_asked, move |peer| {
        let _ = failed.send(());
        reset(peer)
    });
    let has_failed = Mutex::new(has_failed);
    let second = telling(asked, move |peer| {
        let _ = has_failed.lock().unwrap().recv_timeout(PATIENCE);
        thread::sleep(Duration::from_millis(50));
        reset(peer)
    });
    let third = RawServer::answering("third");
    let keys = "eject = false\nhedge = { delay = \"20ms\" }";
    let weir = Weir::start(&config(&[&first, &second, &third], keys));
    assert_eq!(weir.client().exchange(get("/")).text(), "third");
    assert_eq!((first.connections(), second.connections()), (1, 1));
    assert_eq!(total(&weir, "weir_pool_hedges_won_total"), 0.0);
}

#[test]
fn without_a_delay_of_its_own_a_second_try_waits_as_long_as_95_of_100_responses_take() {
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    let first = RawServer::start(move |peer| {
        while let Ok(request) = peer.request() {
            if request.request_line().contains("/held") {
                let _ = released.lock().unwrap().recv_timeout(PATIENCE * 2);
            }
            peer.respond("first")?;
        }
        Ok(())
    });
    // Dropped before `first`, whose drop waits for its handler, which waits for this. A failed test then ends
    // at once.
    let release = release;
    let second = RawServer::answering("second");
    let weir = Weir::start(&config(&[&first, &second], "hedge = {}"));
    let mut client = weir.client();
    let counted = || (total(&weir, "weir_pool_hedges_total"), total(&weir, "weir_pool_hedges_won_total"));
    let mut before = counted();
    // The delay is measured every ten seconds. Until then no request is hedged.
    wait_until("a response that is held back is not waited for", PATIENCE * 2, || {
        (0..50).for_each(|_| assert_eq!(client.exchange(get("/")).status, 200));
        before = counted();
        let mut held = weir.client().timeout(Duration::from_secs(2));
        held.send(get("/held"));
        held.try_response().is_ok_and(|response| response.text() == "second")
    });
    // Weir forwards a response before it counts it.
    wait_until("it is counted", PATIENCE, || counted().1 - before.1 == 1.0);
    assert_eq!(counted().0 - before.0, 1.0);
    drop(release);
}

#[test]
fn a_server_that_is_always_overtaken_is_known_to_be_slow() {
    for balance in ["{ algorithm = \"peak-ewma\", default-rtt = \"1ms\" }", "\"least-response-time\""] {
        let stalled = RawServer::silent();
        let steady = RawServer::start(|peer| {
            while peer.request().is_ok() {
                // Slower than the assumed latency of a server that has not answered yet, but faster than the
                // delay of the second try.
                thread::sleep(Duration::from_millis(10));
                peer.respond("steady")?;
            }
            Ok(())
        });
        let config = config(&[&stalled, &steady], "hedge = { delay = \"500ms\" }\n[weir]\nworkers = 1");
        let weir = Weir::start(&config.replace("\"first\"", balance));
        for _ in 0..20 {
            assert_eq!(weir.client().exchange(get("/")).text(), "steady", "{balance}");
        }
        let asked = stalled.connections();
        assert!(asked <= 3, "{balance}: the server that stalls was asked {asked} times of 20");
    }
}

#[test]
fn a_second_server_that_is_always_overtaken_is_known_to_be_slow() {
    let (steady, stalled) = (
        RawServer::start(|peer| {
            while peer.request().is_ok() {
                thread::sleep(Duration::from_millis(200));
                peer.respond("steady")?;
            }
            Ok(())
        }),
        RawServer::silent(),
    );
    let keys = "hedge = { delay = \"20ms\" }\nconcurrency = { algorithm = \"aimd\", max-latency = \"50ms\" }\n\
                [weir]\nworkers = 1";
    let weir = Weir::start(&config(&[&steady, &stalled], keys));
    let server = format!("server=\"{}\"", stalled.addr());
    let limit = || weir.metrics().get("weir_server_active_requests_limit", &["pool=\"web\"", &server]);
    let before = limit();
    let mut client = weir.client();
    wait_until("the limit of the second server falls", PATIENCE, || {
        assert_eq!(client.exchange(get("/")).text(), "steady");
        limit() < before
    });
    assert!(stalled.connections() > 0);
}
