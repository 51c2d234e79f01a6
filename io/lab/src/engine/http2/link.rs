//! HTTP/2 connections.

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

/// HTTP/2 connection that several streams share.
#[derive(Debug)]
pub(in crate::engine) struct Link {
    state: State,
    /// Indices of the lanes of its streams.
    pub(in crate::engine) lanes: Vec<usize>,
    /// Number of lanes with a request.
    pub(in crate::engine) busy: usize,
    /// Requests to send, by lane and exchange id.
    pub(in crate::engine) asked: Vec<(usize, u64)>,
    /// Set while the connection is queued to be polled.
    pub(in crate::engine) is_due: bool,
    /// Set when the connection takes no new requests and ends with its current ones.
    pub(in crate::engine) is_retired: bool,
    /// Time at which bytes last arrived.
    pub(in crate::engine) heard_ns: u64,
    bytes_seen: u64,
    /// Concurrent requests that the server allows; 0 = not announced yet.
    streams_allowed: usize,
    traffic: Rc<Traffic>,
    wakes: Arc<Wakes>,
    waker: Waker,
}

/// Progress of the connection.
enum State {
    /// Socket and TLS are connecting.
    Opening(Connection),
    /// The HTTP/2 handshake is in progress.
    Greeting(Greeting),
    Open {
        requests: SendRequest<Bytes>,
        connection: Box<H2<Channel, Bytes>>,
    },
    Over,
}

type Greeting = Pin<Box<dyn Future<Output = Result<(SendRequest<Bytes>, H2<Channel, Bytes>), h2::Error>>>>;

/// Flow-control window of one stream: bytes that the server may send before they are read.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// Flow-control window of the whole connection.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Number of timed-out requests that are remembered for a while, so that late frames for them are not an
/// error.
const RESETS_REMEMBERED: usize = 1_000;

impl Link {
    /// Creates the link on a connection that has begun to connect.
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

    /// Creates a stream for a lane; `at` is the index of this connection.
    pub(in crate::engine) fn stream(&self, at: usize, lane: usize) -> Stream {
        Stream::new(at, lane, &self.wakes, Rc::clone(&self.traffic))
    }

    /// Records events of the socket.
    pub(in crate::engine) fn note(&self, flags: EventFlags) {
        self.traffic.note(flags);
    }

    /// Returns true if the server has announced its limit of concurrent requests. Earlier requests could
    /// exceed the limit, and the server would refuse them.
    pub(in crate::engine) fn is_ready(&self) -> bool {
        self.streams_allowed > 0
    }

    pub(in crate::engine) fn streams_allowed(&self) -> usize {
        self.streams_allowed
    }

    /// Returns the sender of requests, if the connection is open.
    pub(in crate::engine) fn requests(&self) -> Option<&SendRequest<Bytes>> {
        match &self.state {
            State::Open { requests, .. } => Some(requests),
            _ => None,
        }
    }

    /// Returns true if bytes have arrived since the last call.
    pub(in crate::engine) fn has_heard(&mut self, now: u64) -> bool {
        let bytes = self.traffic.bytes_in();
        let has_heard = bytes != self.bytes_seen;
        if has_heard {
            (self.bytes_seen, self.heard_ns) = (bytes, now);
        }
        has_heard
    }

    /// Returns true if the connection must be polled again without an event.
    pub(in crate::engine) fn take_woken(&self) -> bool {
        self.wakes.take_connection()
    }

    /// Moves the lanes of streams that must be polled into `out`, which must be empty.
    pub(in crate::engine) fn take_woken_streams(&self, out: &mut Vec<usize>) {
        self.wakes.take_streams(out);
    }

    /// Connects, sends and receives as far as the socket permits. Returns the reason when the connection is
    /// over.
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
        // No limit for small frames: the generator measures the server and reads its frames at once.
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
