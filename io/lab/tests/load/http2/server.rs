//! HTTP/2 server for tests.

use std::future::poll_fn;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use tokio::sync::Barrier;
use weir_dav::digest::{Algorithm, Hasher, write_repr_digest};

/// HTTP/2 server without TLS, whose behavior the path of a request selects.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Seen>,
}

/// Further behavior of the server.
#[derive(Default, Clone, Copy)]
pub(crate) struct Rules {
    /// Maximum number of concurrent requests per connection.
    pub(crate) streams: Option<u32>,
    /// Number of requests after which a connection is closed gracefully.
    pub(crate) requests: Option<u64>,
    /// Number of waiting requests at which `/together` responds.
    pub(crate) together: usize,
}

struct Seen {
    connections: AtomicU64,
    requests: AtomicU64,
    cancelled: AtomicU64,
    together: Barrier,
}

impl Server {
    pub(crate) fn start(rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let seen = Arc::new(Seen {
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            together: Barrier::new(rules.together.max(1)),
        });
        let notes = Arc::clone(&seen);
        // The thread waits in accept and ends with the test program.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((socket, _)) = listener.accept().await {
                    notes.connections.fetch_add(1, SeqCst);
                    tokio::spawn(serve(socket, rules, Arc::clone(&notes)));
                }
            });
        });
        Self { address, seen }
    }

    pub(crate) fn connections(&self) -> u64 {
        self.seen.connections.load(SeqCst)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.seen.requests.load(SeqCst)
    }

    /// Returns the number of requests that the client cancelled.
    pub(crate) fn cancelled(&self) -> u64 {
        self.seen.cancelled.load(SeqCst)
    }
}

async fn serve(socket: tokio::net::TcpStream, rules: Rules, seen: Arc<Seen>) {
    let mut builder = h2::server::Builder::new();
    if let Some(streams) = rules.streams {
        builder.max_concurrent_streams(streams);
    }
    let Ok(mut connection) = builder.handshake::<_, Bytes>(socket).await else { return };
    let mut requests = 0;
    while let Some(Ok((request, respond))) = connection.accept().await {
        seen.requests.fetch_add(1, SeqCst);
        requests += 1;
        if request.uri().path() == "/abrupt" {
            connection.abrupt_shutdown(Reason::INTERNAL_ERROR);
            continue;
        }
        tokio::spawn(answer(request, respond, Arc::clone(&seen)));
        if rules.requests == Some(requests) {
            connection.graceful_shutdown();
        }
    }
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, seen: Arc<Seen>) {
    let (head, mut body) = request.into_parts();
    let mut received = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        let _ = body.flow_control().release_capacity(piece.len());
        received.extend_from_slice(&piece);
    }
    let path = head.uri.path();
    let mut response = Response::builder().header("X-Origin", "h2");
    let content = match path {
        "/refused" => return respond.send_reset(Reason::REFUSED_STREAM),
        "/reset" => return respond.send_reset(Reason::INTERNAL_ERROR),
        "/silent" => {
            let _ = poll_fn(|cx| respond.poll_reset(cx)).await;
            seen.cancelled.fetch_add(1, SeqCst);
            return;
        }
        "/together" => {
            seen.together.wait().await;
            Bytes::new()
        }
        "/echo" => Bytes::from(received),
        "/stored" | "/stored-otherwise" => {
            let mut hasher = Hasher::new(Algorithm::Crc32c);
            hasher.update(if path == "/stored" { &received } else { b"other" });
            response = response.status(201).header("Repr-Digest", write_repr_digest(&[hasher.finish()]));
            Bytes::new()
        }
        "/announced" => {
            // Adler-32 of "hello".
            response = response.header("Digest", "adler32=062c0215");
            Bytes::from_static(b"hello")
        }
        "/overlong" => {
            response = response.header("Content-Length", "4");
            Bytes::from_static(b"hello")
        }
        _ => {
            let bytes = path.rsplit('/').next().and_then(|text| text.parse().ok()).unwrap_or(0);
            Bytes::from(vec![b'x'; bytes])
        }
    };
    let response = response.body(()).unwrap();
    if let Ok(stream) = respond.send_response(response, content.is_empty()) {
        send(stream, content).await;
    }
}

async fn send(mut stream: SendStream<Bytes>, mut content: Bytes) {
    while !content.is_empty() {
        stream.reserve_capacity(content.len());
        let Some(Ok(room)) = poll_fn(|cx| stream.poll_capacity(cx)).await else { return };
        let piece = content.split_to(room.min(content.len()));
        if stream.send_data(piece, content.is_empty()).is_err() {
            return;
        }
    }
}
