//! Tests requests that are refused instead of queued.

use std::sync::Mutex;
use std::thread;

use weir_e2e::{Weir, get};
use weir_origin::Origin;
use weir_testkit::Response;

use crate::{Gate, Waiting, one_at_a_time};

fn total(weir: &Weir, name: &str) -> f64 {
    weir.metrics().get(name, &["pool=\"web\""])
}

#[test]
fn a_full_queue_turns_away_at_once() {
    let gate = Gate::new();
    let weir = Weir::start(&one_at_a_time(gate.addr(), "queue = { max-length = 2 }"));
    let mut waiting = Waiting::behind(&weir, &gate);
    waiting.get("/1");
    waiting.get("/2");
    // The queue timeout is as long as the patience of this test, so a response shows that Weir did not wait.
    let refused = weir.client().exchange(get("/3"));
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(total(&weir, "weir_pool_queue_full_total"), 1.0);
    assert_eq!(total(&weir, "weir_pool_queue_limit"), 2.0);
    assert_eq!(total(&weir, "weir_pool_queue_length_max"), 2.0);
    waiting.finish(&gate);
    assert_eq!(gate.came(), ["/first", "/1", "/2"]);
}

#[test]
fn who_would_wait_too_long_is_told_at_once_and_when_to_come_back() {
    let origin = Origin::builder().name("only").start().unwrap();
    let config = one_at_a_time(origin.addr(), "").replace("queue = \"20s\"", "queue = \"1s\"");
    let weir = Weir::start(&config);
    // Each request takes 100 ms, so no more than ten can be served within the queue timeout.
    let refused: Mutex<Vec<Response>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let response = weir.client().exchange(get("/delay/100"));
                    if response.status == 503 {
                        refused.lock().unwrap().push(response);
                    }
                    if total(&weir, "weir_pool_queue_hopeless_total") >= 1.0 {
                        return;
                    }
                }
            });
        }
    });
    assert!(total(&weir, "weir_pool_queue_hopeless_total") >= 1.0);
    let waits = refused.into_inner().unwrap();
    let waits: Vec<u32> =
        waits.iter().map(|response| response.header("retry-after").unwrap().parse().unwrap()).collect();
    // Requests whose queue timeout expired get the `Retry-After` of `when-empty`: ten seconds.
    assert!(waits.iter().any(|wait| (1..10).contains(wait)), "{waits:?}");
}
