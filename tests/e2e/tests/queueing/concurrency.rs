//! Tests concurrency limits that follow latency.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawClient, RawServer, SetOnDrop, wait_until};

#[test]
fn a_server_that_gets_slow_under_load_gets_less_of_it() {
    // The server works on one request at a time, so its latency is proportional to the number of requests.
    let one = Arc::new(Mutex::new(()));
    let server = RawServer::start(move |peer| {
        while peer.request().is_ok() {
            let _turn = one.lock().unwrap();
            thread::sleep(Duration::from_millis(10));
            peer.respond("done")?;
        }
        Ok(())
    });
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = \"{}\"\n\
         timeouts = {{ queue = \"20s\" }}\n\
         concurrency = {{ algorithm = \"aimd\", max-latency = \"50ms\", max = 100 }}\n",
        server.addr()
    ));
    let limit = || weir.metrics().get("weir_server_active_requests_limit", &["pool=\"web\""]);
    assert_eq!(limit(), 20.0);
    let (address, over) = (weir.addr("web"), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| {
                let mut client = RawClient::connect(address);
                while !over.load(Ordering::SeqCst) {
                    assert_eq!(client.exchange(get("/")).status, 200);
                }
            });
        }
        let _end = SetOnDrop(&over);
        wait_until("the limit falls", PATIENCE, || limit() <= 10.0);
    });
}

/// Limits the requests that are worked on at once, for 20 ms each. The others wait.
struct Desk {
    free: Mutex<i32>,
    changed: Condvar,
}

impl Desk {
    fn work(&self) {
        let mut free = self.changed.wait_while(self.free.lock().unwrap(), |free| *free <= 0).unwrap();
        *free -= 1;
        drop(free);
        thread::sleep(Duration::from_millis(20));
        self.add(1);
    }

    fn add(&self, places: i32) {
        *self.free.lock().unwrap() += places;
        self.changed.notify_all();
    }
}

#[test]
fn a_gradient_gives_a_server_more_while_it_keeps_up_and_less_when_it_does_not() {
    const CLIENTS: i32 = 60;
    let desk = Arc::new(Desk { free: Mutex::new(CLIENTS), changed: Condvar::new() });
    let at_desk = Arc::clone(&desk);
    let server = RawServer::start(move |peer| {
        while peer.request().is_ok() {
            at_desk.work();
            peer.respond("done")?;
        }
        Ok(())
    });
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = \"{}\"\n\
         timeouts = {{ queue = \"20s\" }}\nconcurrency = {{ algorithm = \"gradient\", max = 200 }}\n",
        server.addr()
    ));
    let limit = || weir.metrics().get("weir_server_active_requests_limit", &["pool=\"web\""]);
    let (address, over) = (weir.addr("web"), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = RawClient::connect(address);
                while !over.load(Ordering::SeqCst) {
                    assert_eq!(client.exchange(get("/")).status, 200);
                }
            });
        }
        let _end = SetOnDrop(&over);
        wait_until("the limit rises", PATIENCE, || limit() >= 36.0);
        desk.add(8 - CLIENTS);
        // To measure, the limit falls briefly to half of 36, which is more than 16.
        wait_until("the limit falls", PATIENCE, || limit() <= 16.0);
        desk.add(CLIENTS - 8);
        wait_until("the limit rises again", PATIENCE, || limit() >= 24.0);
    });
}
