//! Tests of a server that returns from ejection while it still has earlier requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawClient, RawServer, wait_until};

const UPGRADE: &str = "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

/// A server that fails while `is_bad` is set. It holds some requests until their latch opens.
struct Fickle {
    server: RawServer,
    is_bad: Arc<AtomicBool>,
    breaks: Arc<Latch>,
    answers: Arc<Latch>,
}

/// A latch that is opened once for all waiting threads.
#[derive(Default)]
struct Latch {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let is_open = self.is_open.lock().unwrap();
        let _ = self.changed.wait_timeout_while(is_open, PATIENCE, |is_open| !*is_open).unwrap();
    }
}

impl Fickle {
    fn start() -> Self {
        let (is_bad, breaks, answers) =
            (Arc::new(AtomicBool::new(false)), Arc::new(Latch::default()), Arc::new(Latch::default()));
        let (bad, breaking, answering) = (Arc::clone(&is_bad), Arc::clone(&breaks), Arc::clone(&answers));
        let server = RawServer::start(move |peer| {
            while let Ok(request) = peer.request() {
                match request.request_line().split(' ').nth(1) {
                    Some("/tunnel") => {
                        peer.send(SWITCH)?;
                        peer.hold();
                    }
                    Some("/hangs") => peer.hold(),
                    Some("/breaks") => {
                        breaking.pass();
                        peer.reset();
                        return Ok(());
                    }
                    Some("/waits") => {
                        answering.pass();
                        peer.respond("fickle")?;
                    }
                    _ if bad.load(Ordering::SeqCst) => {
                        peer.send("HTTP/1.1 503 Bad Mood\r\nContent-Length: 0\r\n\r\n")?;
                    }
                    _ => peer.respond("fickle")?,
                }
            }
            Ok(())
        });
        Self { server, is_bad, breaks, answers }
    }

    /// Makes Weir eject the server, and waits until it is half open. The server is healthy by then.
    fn fall_and_return(&self, weir: &mut Weir) {
        self.is_bad.store(true, Ordering::SeqCst);
        wait_until("it is ejected", PATIENCE, || {
            weir.client().exchange(get("/"));
            has_said(weir, "ejected for") > 0
        });
        self.is_bad.store(false, Ordering::SeqCst);
        weir.wait_for_log("half open after its ejection");
    }
}

fn start(fickle: &Fickle, good: &RawServer) -> Weir {
    Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"first\"\nretry = false\n\
         servers = [\"{}\", \"{}\"]\neject = {{ failures = 2, time = \"200ms\", half-open-requests = 3 }}\n",
        fickle.server.addr(),
        good.addr()
    ))
}

fn has_said(weir: &Weir, what: &str) -> usize {
    weir.log().iter().filter(|line| line.contains(what)).count()
}

fn sent(weir: &Weir, request: impl AsRef<[u8]>) -> RawClient {
    let mut client = weir.client();
    client.send(request);
    client
}

fn active(weir: &Weir, server: &RawServer) -> f64 {
    weir.metrics().get("weir_server_active_requests", &[&format!("server=\"{}\"", server.addr())])
}

#[test]
fn tunnels_and_requests_that_hang_do_not_keep_it_from_being_tried() {
    let (fickle, good) = (Fickle::start(), RawServer::answering("good"));
    let mut weir = start(&fickle, &good);
    let mut tunnels: Vec<RawClient> = (0..3).map(|_| sent(&weir, UPGRADE)).collect();
    tunnels.iter_mut().for_each(|tunnel| assert_eq!(tunnel.response_head().status, 101));
    let hung: Vec<RawClient> = (0..2).map(|_| sent(&weir, get("/hangs"))).collect();
    wait_until("it has all of them", PATIENCE, || active(&weir, &fickle.server) == 5.0);
    fickle.fall_and_return(&mut weir);
    wait_until("it is trusted again", PATIENCE, || {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
        has_said(&weir, "back from ejection") == 1
    });
    // The client may get its response a moment before the server's active count decreases.
    wait_until("it still has all of them", PATIENCE, || active(&weir, &fickle.server) == 5.0);
    assert_eq!(has_said(&weir, "ejected for"), 1);
    drop((tunnels, hung));
}

#[test]
fn what_becomes_of_requests_from_before_says_nothing_of_how_it_is_now() {
    let (fickle, good) = (Fickle::start(), RawServer::answering("good"));
    let mut weir = start(&fickle, &good);
    let mut old = sent(&weir, get("/breaks"));
    wait_until("it has come", PATIENCE, || active(&weir, &fickle.server) == 1.0);
    fickle.fall_and_return(&mut weir);
    // The server gets three requests besides the one that it has.
    let mut tried: Vec<RawClient> = (0..3).map(|_| sent(&weir, get("/waits"))).collect();
    wait_until("it is being tried", PATIENCE, || active(&weir, &fickle.server) == 4.0);
    assert_eq!(weir.client().exchange(get("/")).text(), "good");
    fickle.breaks.open();
    assert_eq!(old.response().status, 502);
    fickle.answers.open();
    tried.iter_mut().for_each(|client| assert_eq!(client.response().text(), "fickle"));
    weir.wait_for_log("back from ejection");
    assert_eq!(has_said(&weir, "ejected for"), 1);
}
