use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection as H2, SendRequest};
use rustix::event::epoll::EventFlags;

use super::super::connection::Connection;
use super::channel::{Channel, Traffic};
use super::stream::Stream;
use super::wakes::Wakes;
use crate::record::Fault;

/// A connection that streams share.
#[derive(Debug)]
pub(in crate::engine) struct Link {
    state: State,
    /// The places of its streams' lanes.
    pub(in crate::engine) lanes: Vec<usize>,
    /// So many of them have a request.
    pub(in crate::engine) busy: usize,
    /// Requests that are to be sent on it, by lane and number.
    pub(in crate::engine) asked: Vec<(usize, u64)>,
    /// It waits for its turn to be polled.
    pub(in crate::engine) is_due: bool,
    /// It takes no new requests: those that it has are its last.
    pub(in crate::engine) is_retired: bool,
    /// When bytes came last.
    pub(in crate::engine) heard_ns: u64,
    bytes_seen: u64,
    /// What the server allows at a time; 0 = it has not said yet.
    streams_allowed: usize,
    traffic: Rc<Traffic>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

/// How far it has come.
enum State {
    /// The socket, and TLS on it.
    Opening(Connection),
    /// The preface leaves.
    Greeting(Greeting),
    Open {
        requests: SendRequest<Bytes>,
        connection: Box<H2<Channel, Bytes>>,
    },
    Over,
}

type Greeting = Pin<Box<dyn Future<Output = Result<(SendRequest<Bytes>, H2<Channel, Bytes>), h2::Error>>>>;

/// What a server may send of one body before we have read it.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// The same of all bodies on a connection.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Requests that timed out are remembered for a while, so that what still comes for them is no error.
const RESETS_REMEMBERED: usize = 1_000;

impl Link {
    /// On a connection that has just been begun.
    pub(in crate::engine) fn new(connection: Connection) -> Self {
        let wakes = Arc::new(Wakes::default());
        Self {
            state: State::Opening(connection),
            lanes: Vec::new(),
            busy: 0,
            asked: Vec::new(),
            is_due: false,
            is_retired: false,
            heard_ns: 0,
            bytes_seen: 0,
            streams_allowed: 0,
            traffic: Rc::new(Traffic::default()),
            waker: wakes.waker(),
            wakes,
        }
    }

    /// A stream for a lane; `at` is this connection's place.
    pub(in crate::engine) fn stream(&self, at: usize, lane: usize) -> Stream {
        Stream::new(at, lane, &self.wakes, Rc::clone(&self.traffic))
    }

    /// Events of its socket.
    pub(in crate::engine) fn note(&self, flags: EventFlags) {
        self.traffic.note(flags);
    }

    /// The server has said how many requests it takes at a time: now it gets them, and no earlier, for it would refuse those that
    /// are too many.
    pub(in crate::engine) fn is_ready(&self) -> bool {
        self.streams_allowed > 0
    }

    pub(in crate::engine) fn streams_allowed(&self) -> usize {
        self.streams_allowed
    }

    /// Where requests are sent, once it is open.
    pub(in crate::engine) fn requests(&self) -> Option<&SendRequest<Bytes>> {
        match &self.state {
            State::Open { requests, .. } => Some(requests),
            _ => None,
        }
    }

    /// Whether bytes have come since this was asked last.
    pub(in crate::engine) fn has_heard(&mut self, now: u64) -> bool {
        let bytes = self.traffic.bytes_in();
        let has_heard = bytes != self.bytes_seen;
        if has_heard {
            (self.bytes_seen, self.heard_ns) = (bytes, now);
        }
        has_heard
    }

    /// Whether it must be polled again without an event.
    pub(in crate::engine) fn take_woken(&self) -> bool {
        self.wakes.take_connection()
    }

    /// Puts the lanes of streams that must be polled into `out`, which is empty.
    pub(in crate::engine) fn take_woken_streams(&self, out: &mut Vec<usize>) {
        self.wakes.take_streams(out);
    }

    /// Connects, sends and receives as far as the socket lets it. Ready when it is over, with the reason.
    pub(in crate::engine) fn poll(&mut self) -> Poll<Fault> {
        let mut cx = Context::from_waker(&self.waker);
        loop {
            match &mut self.state {
                State::Opening(connection) => match connection.poll_ready() {
                    Ok(false) => return Poll::Pending,
                    Err(fault) => return Poll::Ready(fault),
                    Ok(true) => {}
                },
                State::Greeting(greeting) => match greeting.as_mut().poll(&mut cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(self.traffic.fault(&error)),
                    Poll::Ready(Ok((requests, connection))) => {
                        self.state = State::Open { requests, connection: Box::new(connection) };
                        continue;
                    }
                },
                State::Open { connection, .. } => {
                    let polled = Pin::new(&mut **connection).poll(&mut cx);
                    let before = self.streams_allowed;
                    self.streams_allowed = connection.max_concurrent_send_streams().max(before.min(1));
                    return polled.map(|ended| {
                        let fault = match ended {
                            Ok(()) => self.traffic.end(),
                            Err(error) if before == 0 && error.is_library() => Fault::NoHttp2,
                            Err(error) => self.traffic.fault(&error),
                        };
                        self.traffic.note_end(fault);
                        fault
                    });
                }
                State::Over => return Poll::Ready(self.traffic.end()),
            }
            let opened = std::mem::replace(&mut self.state, State::Over);
            let State::Opening(connection) = opened else { return Poll::Ready(Fault::Closed) };
            let (socket, tls) = connection.into_parts();
            if tls.as_ref().is_some_and(|tls| tls.alpn_protocol() != Some(&b"h2"[..])) {
                return Poll::Ready(Fault::NoHttp2);
            }
            let channel = Channel::new(socket, tls, Rc::clone(&self.traffic));
            self.state = State::Greeting(greet(channel));
        }
    }
}

fn greet(channel: Channel) -> Greeting {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_max_send_streams(0)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_reset_streams(RESETS_REMEMBERED)
        // Small frames are the server's affair: we measure it, and read what it sends at once.
        .data_frame_budget(usize::MAX)
        .max_local_error_reset_streams(None);
    Box::pin(builder.handshake::<_, Bytes>(channel))
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opening(_) => "Opening",
            Self::Greeting(_) => "Greeting",
            Self::Open { .. } => "Open",
            Self::Over => "Over",
        })
    }
}
