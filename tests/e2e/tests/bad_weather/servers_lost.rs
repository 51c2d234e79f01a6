//! Tests of servers that fail while others can take over: retried requests, and requests that must not be
//! retried.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use weir_e2e::{Weir, get, web};
use weir_origin::Origin;
use weir_testkit::{FullListener, PATIENCE, RawServer, RefusingPort, Step, wait_until};

const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
/// A retry limit that no test reaches, without ejection.
const EAGER: &str =
    "balance = \"round-robin\"\nretry = { attempts = 3, min-per-second = 1000 }\neject = false\n";

#[test]
fn safe_requests_go_to_another_server_when_theirs_closes_or_resets() {
    for ending in [None, Some(Step::Reset)] {
        let mut steps = vec![Step::ReadRequest];
        steps.extend(ending);
        let broken = RawServer::script(steps);
        let good = RawServer::answering("good");
        let weir = Weir::start(&format!("{}{EAGER}", web(&[broken.addr(), good.addr()])));
        for method in ["GET", "HEAD", "OPTIONS", "PROPFIND", "TRACE"] {
            let mut client = weir.client();
            for _ in 0..4 {
                let request = format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n");
                client.send(request);
                let response = if method == "HEAD" { client.response_to_head() } else { client.response() };
                assert_eq!(response.status, 200, "{method}");
            }
        }
        assert!(broken.connections() > 0, "the broken server was never tried");
    }
}

#[test]
fn a_safe_request_with_a_body_takes_it_along_to_another_server() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            peer.respond(request.body)?;
        }
        Ok(())
    });
    let weir = Weir::start(&format!("{}{EAGER}", web(&[broken.addr(), good.addr()])));
    for _ in 0..6 {
        let request = "PROPFIND / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
        let response = weir.client().exchange(request);
        assert_eq!((response.status, response.text().as_str()), (200, "hello"));
    }
    assert!(broken.connections() > 0);
}

#[test]
fn requests_that_change_something_are_not_sent_twice_once_a_server_has_them() {
    let broken = RawServer::script([Step::ReadRequest]);
    let good = RawServer::answering("good");
    let weir = Weir::start(&format!("{}{EAGER}[weir]\nworkers = 1\n", web(&[broken.addr(), good.addr()])));
    let mut statuses = [0; 2];
    for method in ["POST", "PUT", "DELETE", "PATCH", "MOVE", "COPY", "MKCOL", "PROPPATCH", "LOCK", "X-OWN"] {
        for _ in 0..2 {
            let request = format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
            match weir.client().exchange(request).status {
                200 => statuses[0] += 1,
                502 => statuses[1] += 1,
                other => panic!("{method}: {other}"),
            }
        }
    }
    assert_eq!(statuses, [10, 10]);
    let at_good = String::from_utf8(good.received_in_all()).unwrap();
    assert_eq!(at_good.matches(" / HTTP/1.1\r\n").count(), 10);
}

#[test]
fn requests_of_any_method_go_to_another_server_when_theirs_cannot_be_connected_to() {
    let refusing = RefusingPort::new();
    let good = RawServer::answering("good");
    let weir = Weir::start(&format!("{}{EAGER}", web(&[refusing.addr(), good.addr()])));
    for _ in 0..6 {
        assert_eq!(weir.client().exchange(POST).status, 200);
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
}

#[test]
fn a_request_whose_body_is_still_coming_goes_to_another_server_when_theirs_cannot_be_connected_to() {
    let refusing = RefusingPort::new();
    let good = RawServer::start(|peer| {
        while let Ok(request) = peer.request() {
            peer.respond(request.body.len().to_string())?;
        }
        Ok(())
    });
    let weir = Weir::start(&format!("{}{EAGER}", web(&[refusing.addr(), good.addr()])));
    for _ in 0..4 {
        let mut client = weir.client();
        client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n");
        let response = client.exchange(vec![b'x'; 3_000_000]);
        assert_eq!((response.status, response.text().as_str()), (200, "3000000"));
    }
}

#[test]
fn a_full_listen_queue_costs_the_connect_timeout_and_no_request() {
    let full = FullListener::new();
    let good = RawServer::answering("good");
    let config = format!("{}{EAGER}timeouts = {{ connect = \"200ms\" }}\n", web(&[full.addr(), good.addr()]));
    let weir = Weir::start(&config);
    for _ in 0..4 {
        assert_eq!(weir.client().exchange(POST).status, 200);
    }
}

#[test]
fn no_safe_request_is_lost_when_a_server_is_killed_before_it_answered() {
    const IN_FLIGHT: usize = 40;
    let doomed = RawServer::silent();
    let good = RawServer::answering("good");
    let weir = Weir::start(&format!(
        "{}balance = \"round-robin\"\nretry = {{ min-per-second = 1000 }}\n",
        web(&[doomed.addr(), good.addr()])
    ));
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..IN_FLIGHT {
            scope.spawn(|| {
                let response = weir.client().exchange(get("/"));
                assert_eq!((response.status, response.text().as_str()), (200, "good"));
                answered.fetch_add(1, Ordering::SeqCst);
            });
        }
        wait_until("every request hangs or was answered", PATIENCE, || {
            doomed.connections() + answered.load(Ordering::SeqCst) == IN_FLIGHT
        });
        assert!(doomed.connections() >= IN_FLIGHT / 4, "{} hang", doomed.connections());
        doomed.kill();
    });
    assert_eq!(answered.load(Ordering::SeqCst), IN_FLIGHT);
}

#[test]
fn the_default_budget_bears_the_loss_of_a_server_with_hundreds_of_requests() {
    // More requests than ten seconds of the always-permitted retries, which are reserved for overload.
    const IN_FLIGHT: usize = 400;
    let (silent, hanging) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let doomed = {
        let (silent, hanging) = (Arc::clone(&silent), Arc::clone(&hanging));
        RawServer::start(move |peer| {
            loop {
                peer.request()?;
                if silent.load(Ordering::SeqCst) {
                    hanging.fetch_add(1, Ordering::SeqCst);
                    peer.hold();
                    return Ok(());
                }
                peer.respond("doomed")?;
            }
        })
    };
    let good = RawServer::answering("good");
    let weir = Weir::start(&format!("{}balance = \"round-robin\"\n", web(&[doomed.addr(), good.addr()])));
    let mut client = weir.client();
    // A quiet period: it permits retries for a fifth of these requests later.
    for _ in 0..500 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    silent.store(true, Ordering::SeqCst);
    let answered = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..IN_FLIGHT {
            scope.spawn(|| {
                let response = weir.client().exchange(get("/"));
                assert_eq!((response.status, response.text().as_str()), (200, "good"));
                answered.fetch_add(1, Ordering::SeqCst);
            });
        }
        wait_until("every request hangs or was answered", PATIENCE, || {
            hanging.load(Ordering::SeqCst) + answered.load(Ordering::SeqCst) == IN_FLIGHT
        });
        assert!(hanging.load(Ordering::SeqCst) >= IN_FLIGHT / 4);
        doomed.kill();
    });
    assert_eq!(answered.load(Ordering::SeqCst), IN_FLIGHT);
}

#[test]
fn no_safe_request_is_lost_when_servers_are_killed_and_come_back_under_load() {
    let start = |name: &str, addr| Origin::builder().name(name).bind(addr).start().unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let steady = start("steady", any);
    let first = start("fragile", any);
    let addr = first.addr();
    let mut fragile = Some(first);
    let weir = Weir::start(&format!(
        "{}retry = {{ attempts = 3, min-per-second = 1000 }}\n\
         check = {{ http = \"GET /health\", interval = \"50ms\", fast-interval = \"20ms\", rise = 1, fall = 1 }}\n\
         eject = {{ time = \"100ms\", max-time = \"100ms\" }}\n",
        web(&[steady.addr(), addr])
    ));
    let over = Arc::new(AtomicBool::new(false));
    let total = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut client = weir.client();
                while !over.load(Ordering::SeqCst) {
                    let response = client.exchange(get("/bytes/20000"));
                    assert_eq!((response.status, response.body.len()), (200, 20_000));
                    total.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // A panic in here must also end the load.
        let rounds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..5 {
                let server = fragile.take().unwrap();
                wait_until("the server has its share", PATIENCE, || server.requests() > 20);
                // The server responds to the requests it has read and resets the others. A truncated response
                // could not be retried.
                server.stop();
                fragile = Some(start("fragile", addr));
            }
        }));
        over.store(true, Ordering::SeqCst);
        rounds.unwrap();
    });
    assert!(total.load(Ordering::SeqCst) > 100);
}

#[test]
fn the_budget_limits_how_often_requests_are_tried_again() {
    let broken: Vec<RawServer> = (0..2).map(|_| RawServer::script([Step::ReadRequest])).collect();
    let addrs: Vec<_> = broken.iter().map(RawServer::addr).collect();
    let weir = Weir::start(&format!(
        "{}eject = false\nretry = {{ attempts = 3, budget = \"0%\", min-per-second = 0 }}\n",
        web(&addrs)
    ));
    for _ in 0..5 {
        assert_eq!(weir.client().exchange(get("/")).status, 502);
    }
    let tries: usize = broken.iter().map(RawServer::connections).sum();
    assert_eq!(tries, 5);
}
