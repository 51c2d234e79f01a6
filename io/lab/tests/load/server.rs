//! Slow HTTP/1 server for tests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Server that delays each response by a given time, and records the real time of each request.
pub(crate) struct SlowServer {
    pub(crate) address: SocketAddr,
    took: Arc<Mutex<Vec<Duration>>>,
}

impl SlowServer {
    /// Starts the server. `until` returns the time at which the response to request `number`, which came at
    /// the given `Instant`, is sent.
    pub(crate) fn start(until: impl Fn(u64, Instant) -> Instant + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (took, until) = (Arc::new(Mutex::new(Vec::new())), Arc::new(until));
        let numbers = Arc::new(AtomicU64::new(0));
        let notes = Arc::clone(&took);
        // The thread waits in accept and ends with the test program.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), until, numbers, notes) =
                    (stream, Arc::clone(&until), Arc::clone(&numbers), Arc::clone(&notes))
                else {
                    return;
                };
                thread::spawn(move || serve(stream, &*until, &numbers, &notes));
            }
        });
        Self { address, took }
    }

    /// Returns the times of requests, shortest first.
    pub(crate) fn took(&self) -> Vec<Duration> {
        let mut took = self.took.lock().unwrap().clone();
        took.sort();
        took
    }
}

fn serve(
    mut stream: TcpStream,
    until: &dyn Fn(u64, Instant) -> Instant,
    numbers: &AtomicU64,
    notes: &Mutex<Vec<Duration>>,
) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
        let came = Instant::now();
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        thread::sleep(until(number, came).saturating_duration_since(Instant::now()));
        notes.lock().unwrap().push(came.elapsed());
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}
