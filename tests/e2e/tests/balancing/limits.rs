//! Tests of server limits and of the queue in front of the servers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawClient, wait_until};

use crate::{origin, pool, who};

#[test]
fn a_server_never_has_more_requests_at_once_than_its_limit_and_the_others_wait() {
    let a = origin("a");
    let config = pool(&[(&a, ", max-connections = 3")], "timeouts = { queue = \"20s\" }");
    let weir = Weir::start(&config);
    let most = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                assert_eq!(weir.client().exchange(get("/delay/50")).status, 200);
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
        wait_until("all are done", PATIENCE, || {
            most.fetch_max(a.active() as usize, Ordering::SeqCst);
            done.load(Ordering::SeqCst) == 20
        });
    });
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[test]
fn without_a_queue_overload_is_answered_at_once() {
    let a = origin("a");
    let weir = Weir::start(&pool(&[(&a, ", max-connections = 2")], "timeouts = { queue = \"0s\" }"));
    let mut hanging: Vec<RawClient> = Vec::new();
    for count in 1..=2 {
        let mut client = weir.client();
        client.send(get("/hang"));
        hanging.push(client);
        wait_until("the request arrives", PATIENCE, || a.active() == count);
    }
    let response = weir.client().exchange(get("/"));
    assert_eq!(response.status, 503);
    hanging.pop().unwrap().reset();
    wait_until("the place is free", PATIENCE, || who(&weir).is_some());
}

#[test]
fn a_queue_that_takes_too_long_is_answered_503() {
    let a = origin("a");
    let weir = Weir::start(&pool(&[(&a, ", max-connections = 1")], "timeouts = { queue = \"200ms\" }"));
    let mut hanging = weir.client();
    hanging.send(get("/hang"));
    wait_until("the request arrives", PATIENCE, || a.active() == 1);
    assert_eq!(weir.client().exchange(get("/")).status, 503);
}

#[test]
fn what_one_server_cannot_take_goes_to_the_others_without_waiting() {
    let (a, b) = (origin("a"), origin("b"));
    let weir =
        Weir::start(&pool(&[(&a, ", max-connections = 1"), (&b, "")], "timeouts = { queue = \"0s\" }"));
    let mut hanging = weir.client();
    loop {
        hanging.send(get("/hang"));
        wait_until("the request arrives", PATIENCE, || a.active() + b.active() == 1);
        if a.active() == 1 {
            break;
        }
        hanging = weir.client();
        wait_until("the request is given up", PATIENCE, || b.active() == 0);
    }
    for _ in 0..10 {
        assert_eq!(who(&weir).as_deref(), Some("b"));
    }
}

#[test]
fn a_client_that_leaves_the_queue_leaves_no_trace() {
    let a = origin("a");
    let weir = Weir::start(&pool(&[(&a, ", max-connections = 1")], "timeouts = { queue = \"20s\" }"));
    let mut hanging = weir.client();
    hanging.send(get("/hang"));
    wait_until("the request arrives", PATIENCE, || a.active() == 1);
    for _ in 0..10 {
        let mut client = weir.client();
        client.send(get("/queued"));
        client.reset();
    }
    let mut last = weir.client();
    last.send(get("/last"));
    hanging.reset();
    assert_eq!(last.response().status, 404);
    wait_until("the place is free", PATIENCE, || a.active() == 0);
    assert_eq!(who(&weir).as_deref(), Some("a"));
}
