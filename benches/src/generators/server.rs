//! A minimal web server that records when requests arrive.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

use crate::error::{Context, Result};
use crate::priority::{First, this_thread};
use crate::stalls::now_ns;

/// A web server that does as little as possible, so that the generators are the limit. It records when
/// requests arrive, because a generator's own figures are not trusted. Its thread runs on the load's core.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    seen: Arc<Seen>,
    /// Kernel id of its thread.
    id: u32,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Seen {
    requests: AtomicU64,
    /// Arrival times of requests, if they are recorded.
    arrivals: Mutex<Vec<u64>>,
    is_noting: AtomicBool,
    is_over: AtomicBool,
}

const BODY_BYTES: usize = 1024;
const LISTENER: u64 = u64::MAX;

impl Server {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("a port to listen on")?;
        listener.set_nonblocking(true).context("a listener that does not block")?;
        let address = listener.local_addr().context("the listener's address")?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("epoll")?;
        let data = epoll::EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, epoll::EventFlags::IN).context("epoll")?;
        let seen = Arc::new(Seen::default());
        let notes = Arc::clone(&seen);
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            // The receiver waits for this message.
            let _ = tell.send(this_thread());
            serve(&epoll, &listener, &notes);
        });
        let id = told.recv().context("a thread")?;
        Ok(Self { address, seen, id, thread: Some(thread) })
    }

    /// Returns the number of requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.seen.requests.load(Relaxed)
    }

    /// Begins to record arrival times. While the returned value lives, the server's thread runs before all
    /// others, even kernel threads, so that it sees requests at once.
    pub(super) fn note_arrivals(&self) -> Result<First> {
        // Discards arrivals of a failed turn.
        self.arrivals();
        self.seen.is_noting.store(true, Relaxed);
        First::of(self.id)
    }

    /// Returns the arrival times in nanoseconds of CLOCK_MONOTONIC, and stops the recording.
    pub(super) fn arrivals(&self) -> Vec<u64> {
        self.seen.is_noting.store(false, Relaxed);
        std::mem::take(&mut *self.seen.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.seen.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already printed.
            let _ = thread.join();
        }
    }
}

/// A client, and how many bytes of an empty line it has sent last.
struct Client {
    stream: TcpStream,
    matched: usize,
}

fn serve(epoll: &OwnedFd, listener: &TcpListener, seen: &Seen) {
    const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let answer = format!("{}{}", head(), "x".repeat(BODY_BYTES));
    let mut clients: HashMap<u64, Client> = HashMap::new();
    let mut next = 0;
    let mut events = Vec::with_capacity(256);
    let mut buffer = vec![0; 64 << 10];
    while !seen.is_over.load(Relaxed) {
        // An error means an interruption by a signal, for example from a debugger.
        let _ = epoll::wait(epoll, spare_capacity(&mut events), Some(&TICK));
        for event in events.drain(..) {
            let id = event.data.u64();
            if id == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    let data = epoll::EventData::new_u64(next);
                    let is_ready = stream.set_nonblocking(true).is_ok() && stream.set_nodelay(true).is_ok();
                    if is_ready && epoll::add(epoll, &stream, data, epoll::EventFlags::IN).is_ok() {
                        clients.insert(next, Client { stream, matched: 0 });
                        next += 1;
                    }
                }
                continue;
            }
            let Some(client) = clients.get_mut(&id) else { continue };
            let requests = match client.stream.read(&mut buffer) {
                Ok(bytes) if bytes > 0 => requests_in(&buffer[..bytes], &mut client.matched),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    continue;
                }
                _ => {
                    clients.remove(&id);
                    continue;
                }
            };
            if requests == 0 {
                continue;
            }
            if seen.is_noting.load(Relaxed) {
                let mut arrivals = seen.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
                arrivals.extend(std::iter::repeat_n(now_ns(), requests));
            }
            seen.requests.fetch_add(requests as u64, Relaxed);
            // Generators send one request at a time. A client that does not read its responses is dropped.
            if client.stream.write_all(answer.repeat(requests).as_bytes()).is_err() {
                clients.remove(&id);
            }
        }
    }
}

/// Returns the response head. ab uses HTTP/1.0 and keeps a connection only if the response says so.
fn head() -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\nConnection: keep-alive\r\n\r\n")
}

/// Returns the number of request heads that end in these bytes. `matched` keeps the matched part of an empty
/// line between calls. Requests have no bodies.
fn requests_in(bytes: &[u8], matched: &mut usize) -> usize {
    const END: &[u8; 4] = b"\r\n\r\n";
    let mut requests = 0;
    for byte in bytes {
        *matched = if *byte == END[*matched] { *matched + 1 } else { usize::from(*byte == END[0]) };
        if *matched == END.len() {
            requests += 1;
            *matched = 0;
        }
    }
    requests
}

/// Time for the server to see the last requests of a generator that has ended.
pub(super) const SETTLING: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_counted_whatever_the_pieces_they_come_in() {
        let text = b"GET / HTTP/1.1\r\nA: b\r\n\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r";
        for piece in 1..text.len() {
            let mut matched = 0;
            let count: usize = text.chunks(piece).map(|piece| requests_in(piece, &mut matched)).sum();
            assert_eq!((count, matched), (2, 3), "pieces of {piece}");
        }
    }

    #[test]
    fn requests_are_answered_counted_and_noted() {
        let server = Server::start().unwrap();
        let mut stream = TcpStream::connect(server.address).unwrap();
        let mut answer = vec![0; head().len() + BODY_BYTES];
        for is_noted in [false, true] {
            // Real-time priority may not be permitted; arrivals are recorded all the same.
            let _first = is_noted.then(|| server.note_arrivals());
            stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            stream.read_exact(&mut answer).unwrap();
        }
        assert!(answer.starts_with(head().as_bytes()));
        assert_eq!((server.requests(), server.arrivals().len()), (2, 1));
    }
}
