//! Prepares an accepted connection: PROXY header and TLS handshake, then HTTP or TCP mode.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_net::tls::{HandshakeFault, ServerTls, TlsFailure};
use weir_net::{Deadline, Peer, Socket, Stream};
use weir_wire::proxy::{self, Command, Endpoints, Parsed};

use crate::early::{self, Early, EarlyEnd};
use crate::http::{self, ClientTlsFacts, Connection};
use crate::report::Seldom;
use crate::state::{CountedClient, ListenerState, TooMany};
use crate::tcp;
use crate::worker::{LocalListener, LocalLive, Worker};

/// A client connection before the first byte of its protocol.
pub(crate) struct Arrival {
    pub(crate) stream: Stream,
    pub(crate) deadline: Deadline,
    /// Address of the client, from a PROXY header or the socket.
    pub(crate) client: Option<SocketAddr>,
    /// Address that the client connected to, if a PROXY header named it.
    pub(crate) destination: Option<SocketAddr>,
    pub(crate) tls: Option<Box<ClientTlsFacts>>,
    /// Time at which the connection was accepted.
    pub(crate) started: Instant,
    /// Number of the connection in the worker's table.
    pub(crate) number: u32,
}

impl Arrival {
    /// Creates the arrival for a newly accepted socket.
    fn new(worker: &Worker, socket: Socket, peer: Peer, number: u32) -> Self {
        let (stream, deadline) = (Stream::Plain(socket), worker.timers.deadline());
        worker.table.woken_by(number, deadline.key());
        let started = worker.look_at_clock();
        Self { stream, deadline, client: address_of(peer), destination: None, tls: None, started, number }
    }

    /// Returns true if the time limit for the first head is running already, because a handshake or a PROXY
    /// header with addresses came before it.
    pub(crate) fn head_runs(&self) -> bool {
        self.tls.is_some() || self.destination.is_some()
    }
}

pub(crate) fn address_of(peer: Peer) -> Option<SocketAddr> {
    match peer {
        Peer::Inet(address) => Some(address),
        Peer::Local => None,
    }
}

/// Number of bytes read at once when a PROXY header is expected; a longer header takes several reads.
const PEEK_BYTES: usize = 1024;

/// Serves one accepted connection to its end, in its own task. The connection counts from this call and not
/// from the task's first poll, because a stopping worker might end before. However the task ends, the count
/// is decremented.
pub(crate) fn begin(
    worker: &Rc<Worker>,
    live: Rc<LocalLive>,
    listener: LocalListener,
    (socket, peer): (Socket, Peer),
    client: Option<CountedClient>,
) {
    let state = listener.shared();
    let is_plain = state.plan.proxy_protocol.is_none() && state.tls.is_none();
    let counted = Counted::new(worker, state, peer, client);
    match listener {
        LocalListener::Http(listener) if is_plain => {
            let arrival = Arrival::new(worker, socket, peer, counted.number);
            let connection = Connection::new(Rc::clone(worker), live, listener, arrival);
            tokio::task::spawn_local(serve_http(worker.connections.put(connection), counted));
        }
        listener => {
            tokio::task::spawn_local(serve(counted, live, listener, socket, peer));
        }
    }
}

/// Serves HTTP over a plain socket. One such task exists for each idle connection, so it must hold nothing
/// that is no longer needed; an async function keeps space for all its arguments.
async fn serve_http(connection: Box<Connection>, counted: Counted) {
    http::serve(connection).await;
    drop(counted);
}

/// Serves all other connections.
async fn serve(
    mut counted: Counted,
    live: Rc<LocalLive>,
    listener: LocalListener,
    socket: Socket,
    peer: Peer,
) {
    let worker = Rc::clone(&counted.worker);
    let plain = Arrival::new(&worker, socket, peer, counted.number);
    let state = listener.shared();
    // Boxed, so that the task of an idle connection needs no space for the preparation.
    let arrival = if state.plan.proxy_protocol.is_none() && state.tls.is_none() {
        plain
    } else {
        match Box::pin(prepare(&worker, &live, state, plain, &mut counted.counted)).await {
            Some(arrival) => arrival,
            None => return,
        }
    };
    match listener {
        LocalListener::Http(listener) => {
            let boxed = worker.connections.put(Connection::new(Rc::clone(&worker), live, listener, arrival));
            http::serve(boxed).await;
        }
        LocalListener::Tcp(listener) => {
            Box::pin(tcp::serve(Rc::clone(&worker), live, listener, arrival)).await
        }
    }
    drop(counted);
}

/// Counts a connection until it is dropped.
struct Counted {
    worker: Rc<Worker>,
    listener: Arc<ListenerState>,
    /// Number of the connection in the worker's table.
    number: u32,
    /// The client's connection count, if each client's connections are limited.
    counted: Option<CountedClient>,
}

impl Counted {
    fn new(
        worker: &Rc<Worker>,
        listener: &Arc<ListenerState>,
        peer: Peer,
        counted: Option<CountedClient>,
    ) -> Self {
        let listener = Arc::clone(listener);
        let counters = listener.counters.of(worker.thread);
        counters.connections.one();
        counters.connections_open.one();
        worker.open.set(worker.open.get() + 1);
        let address = address_of(peer);
        // Behind a PROXY header, the client is not known yet.
        let client = if listener.takes_proxy_header(address) { None } else { address };
        let source = worker.table.source_of(client.map(|address| address.ip()));
        let number = worker.table.enter(source, listener.number(), worker.now_ms());
        Self { worker: Rc::clone(worker), listener, number, counted }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.worker.table.leave(self.number);
        self.listener.counters.of(self.worker.thread).connections_open.subtract(1);
        self.listener.open.leave();
        self.worker.shared.open.leave();
        self.worker.open.set(self.worker.open.get() - 1);
        self.worker.connection_ended();
    }
}

/// Reads the PROXY header and completes the TLS handshake, within the listener's time limit for heads.
/// Returns `None` if the connection has ended.
async fn prepare(
    worker: &Rc<Worker>,
    live: &LocalLive,
    listener: &ListenerState,
    mut arrival: Arrival,
    counted: &mut Option<CountedClient>,
) -> Option<Arrival> {
    arrival.deadline.arm(Instant::now(), listener.head_timeout());
    let (number, started) = (arrival.number, arrival.started);
    let gives_way = |client, bytes_in| {
        let gives_way = worker.table.gives_way(number);
        if gives_way {
            let early = Early { client, tls: None, started, bytes_in, why: EarlyEnd::GivesWay };
            early::ended(worker, live, listener, &early);
        }
        gives_way
    };
    if gives_way(arrival.client, 0) {
        return None;
    }
    if listener.takes_proxy_header(arrival.client) {
        if let Err((why, bytes_in)) = read_proxy_header(&mut arrival).await {
            let client = arrival.client;
            if !gives_way(client, bytes_in) {
                early::ended(worker, live, listener, &Early { client, tls: None, started, bytes_in, why });
            }
            return None;
        }
        let source = worker.table.source_of(arrival.client.map(|address| address.ip()));
        worker.table.belongs_to(arrival.number, source);
        match listener.count_client(arrival.client) {
            Ok(client) => *counted = client,
            Err(TooMany) => {
                listener.counters.of(worker.thread).connections_denied.one();
                return None;
            }
        }
    }
    let Some(tls) = &listener.tls else { return Some(arrival) };
    let counters = listener.counters.of(worker.thread);
    let client = arrival.client;
    match accept_tls(tls, arrival).await {
        Ok(arrival) => {
            counters.tls_handshakes.one();
            if let Stream::Tls(tls) = &arrival.stream {
                if tls.is_resumed() {
                    counters.tls_resumed.one();
                }
                if let Some(why) = tls.rejected_certificate() {
                    tell_handshake(listener, client, &format!("counts as one without a certificate: {why}"));
                }
            }
            Some(arrival)
        }
        Err(_) if gives_way(client, 0) => None,
        Err(error) => {
            counters.tls_failures.one();
            if let Some(fault) = TlsFailure::of(&error).and_then(TlsFailure::handshake_fault) {
                use HandshakeFault::{Alert, Certificate, NothingInCommon};
                if matches!(fault, Alert | Certificate | NothingInCommon) {
                    tell_handshake(listener, client, &error.to_string());
                }
                let why = EarlyEnd::Tls(fault);
                early::ended(worker, live, listener, &Early { client, tls: None, started, bytes_in: 0, why });
            }
            None
        }
    }
}

/// Reports why a client's handshake or certificate failed; the access log has only the kind of failure.
fn tell_handshake(listener: &ListenerState, client: Option<SocketAddr>, why: &str) {
    static EVERY_FEW_SECONDS: Seldom = Seldom::every(Duration::from_secs(5));
    EVERY_FEW_SECONDS.line(|| format!("listener {}, {}: {why}", listener.plan.name, early::named(client)));
}

async fn accept_tls(tls: &ServerTls, arrival: Arrival) -> io::Result<Arrival> {
    let Arrival { stream, deadline, client, destination, started, number, .. } = arrival;
    let Stream::Plain(socket) = stream else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut stream = tls.accept(socket).map_err(io::Error::other)?;
    poll_fn(|cx| match stream.poll_handshake(cx) {
        Poll::Pending if deadline.poll_expired(cx) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        done => done,
    })
    .await?;
    let facts = Box::new(ClientTlsFacts::of(&stream));
    let stream = Stream::Tls(Box::new(stream));
    Ok(Arrival { stream, deadline, client, destination, tls: Some(facts), started, number })
}

/// Reads exactly the header, so that the bytes after it stay in the socket for TLS or splice. The error is
/// the reason why there is no header, and the number of bytes received instead.
async fn read_proxy_header(arrival: &mut Arrival) -> Result<(), (EarlyEnd, usize)> {
    let Arrival { stream: Stream::Plain(socket), deadline, .. } = arrival else { return Ok(()) };
    let mut header: Vec<u8> = Vec::new();
    let command = loop {
        let mut window = [0; PEEK_BYTES];
        let peeked = poll_fn(|cx| {
            let peeked = socket.poll_peek(cx, &mut window);
            or_late(cx, deadline, peeked)
        })
        .await
        .map_err(|error| (EarlyEnd::of(&error), header.len()))?;
        let kept = header.len();
        header.extend_from_slice(&window[..peeked]);
        let parsed = proxy::parse(&header).map_err(|error| (EarlyEnd::ProxyHeader(error), header.len()))?;
        let take = match &parsed {
            Parsed::Incomplete => peeked,
            Parsed::Complete { consumed, .. } => consumed.saturating_sub(kept),
        };
        if peeked == 0 {
            return Err((EarlyEnd::Left, header.len()));
        }
        let taken = poll_fn(|cx| {
            let taken = socket.poll_read(cx, &mut window[..take]);
            or_late(cx, deadline, taken)
        })
        .await
        .map_err(|error| (EarlyEnd::of(&error), header.len()))?;
        if taken < take {
            return Err((EarlyEnd::Left, header.len()));
        }
        if let Parsed::Complete { command, .. } = parsed {
            break command;
        }
    };
    if let Command::Proxy(Endpoints::Inet { source, destination }) = command {
        arrival.client = Some(source);
        arrival.destination = Some(destination);
    }
    Ok(())
}

/// Returns `step`, or a timeout error once the deadline has passed.
fn or_late<T>(cx: &Context<'_>, deadline: &Deadline, step: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    match step {
        Poll::Pending if deadline.poll_expired(cx) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
        step => step,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use tokio::runtime::{Builder, LocalOptions};
    use weir_model::ListenerName;

    use super::*;
    use crate::state::Full;
    use crate::testing::shared;
    use crate::worker::Source;

    #[test]
    fn a_connection_counts_from_when_it_is_accepted_and_no_longer_than_its_task_lives() {
        let config = "[weir]\ncontrol = false\nstate = false\n\n\
                      [listener.web]\nbind = \"127.0.0.1:8080\"\npool = \"web\"\n\n\
                      [listener.db]\nbind = \"127.0.0.1:8081\"\nmode = \"tcp\"\npool = \"db\"\n\n\
                      [pool.web]\nservers = [\"127.0.0.1:8082\"]\n\n\
                      [pool.db]\nservers = [\"127.0.0.1:8083\"]\n";
        for name in ["web", "db"] {
            let name = ListenerName::new(name).unwrap();
            let runtime =
                Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
            let (worker, state) = runtime.block_on(async {
                let worker = Worker::new(0, shared(config), 1);
                let live = worker.live();
                let listener = live.listener(&name).unwrap().clone();
                let state = Arc::clone(listener.shared());
                assert!(worker.shared.open.enter(None) && state.open.enter(None));
                let (socket, _) = UnixStream::pair().unwrap();
                let socket = Socket::from_unix(OwnedFd::from(socket));
                begin(&worker, live, listener, (socket, Peer::Local), None);
                (worker, state)
            });
            let open = || {
                let counted = state.counters.of(0).connections_open.get();
                (worker.open.get(), worker.shared.open.now(), state.open.now(), counted)
            };
            assert_eq!(open(), (1, 1, 1, 1), "{name}: its task has not run");
            drop(runtime);
            assert_eq!(open(), (0, 0, 0, 0), "{name}: its task never will");
        }
    }

    #[test]
    fn a_connection_that_gives_way_before_it_has_a_request_ends_and_counts_as_denied() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        server.set_nonblocking(true).unwrap();
        let at = server.local_addr().unwrap();
        let config = format!(
            "[weir]\ncontrol = false\nstate = false\n\n\
             [listener.bytes]\nbind = \"127.0.0.1:8080\"\nmode = \"tcp\"\npool = \"all\"\n\n\
             [listener.named]\nbind = \"127.0.0.1:8081\"\nmode = \"tcp\"\n\n\
             [[listener.named.sni]]\nhost = \"example.org\"\npool = \"all\"\n\n\
             [listener.behind]\nbind = \"127.0.0.1:8082\"\npool = \"all\"\nproxy-protocol = {{ from = \"127.0.0.0/8\" }}\n\n\
             [pool.all]\nservers = [\"{at}\"]\n"
        );
        // True if the task has run before the connection must close.
        for (name, has_run) in
            [("bytes", false), ("named", false), ("named", true), ("behind", false), ("behind", true)]
        {
            let runtime =
                Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
            runtime.block_on(async {
                let worker = Worker::new(0, shared(&config), 1);
                let live = worker.live();
                let listener = live.listener(&ListenerName::new(name).unwrap()).unwrap().clone();
                let state = Arc::clone(listener.shared());
                assert!(worker.shared.open.enter(None) && state.open.enter(None));
                let (socket, _client) = UnixStream::pair().unwrap();
                socket.set_nonblocking(true).unwrap();
                let socket = Socket::from_unix(OwnedFd::from(socket));
                let peer = Peer::Inet("127.0.0.1:4711".parse().unwrap());
                begin(&worker, live, listener, (socket, peer), None);
                let turns = async || {
                    for _ in 0..10 {
                        tokio::task::yield_now().await;
                    }
                };
                if has_run {
                    turns().await;
                }
                let later = worker.now_ms() + 60_000;
                assert!(worker.table.make_room(Full::Process, (Source::ALONE, 0), later, &worker.timers));
                turns().await;
                assert_eq!(worker.open.get(), 0, "{name}, {has_run}");
                let counters = state.counters.of(0);
                let counted = (counters.connections_denied.get(), counters.request_errors.get());
                assert_eq!(counted, (1, 0), "{name}, {has_run}");
            });
        }
        assert!(server.accept().is_err(), "no server is asked for them");
    }

    #[test]
    fn a_connection_whose_request_has_come_goes_on_and_another_one_of_its_client_gives_way() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let config = format!(
            "[weir]\ncontrol = false\nstate = false\n\n[listener.web]\nbind = \"127.0.0.1:8080\"\npool = \"web\"\n\n\
             [pool.web]\nservers = [\"{}\"]\n",
            server.local_addr().unwrap()
        );
        // True if the received text is a request. Half a head protects a connection only once.
        for (text, is_request) in [("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true), ("GET / HT", false)] {
            let runtime =
                Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
            runtime.block_on(async {
                let worker = Worker::new(0, shared(&config), 1);
                let live = worker.live();
                let listener = live.listener(&ListenerName::new("web").unwrap()).unwrap().clone();
                let state = Arc::clone(listener.shared());
                let open = || {
                    assert!(worker.shared.open.enter(None) && state.open.enter(None));
                    let (socket, client) = UnixStream::pair().unwrap();
                    socket.set_nonblocking(true).unwrap();
                    client.set_nonblocking(true).unwrap();
                    let socket = Socket::from_unix(OwnedFd::from(socket));
                    let peer = Peer::Inet("127.0.0.1:4711".parse().unwrap());
                    begin(&worker, Rc::clone(&live), listener.clone(), (socket, peer), None);
                    client
                };
                let turns = async || {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                };
                let mut clients = [open(), open()];
                turns().await;
                clients[0].write_all(text.as_bytes()).unwrap();
                let later = worker.now_ms() + 60_000;
                let makes_room =
                    |at| worker.table.make_room(Full::Process, (Source::ALONE, 0), at, &worker.timers);
                assert!(makes_room(later));
                turns().await;
                let has_ended = |client: &mut UnixStream| matches!(client.read(&mut [0]), Ok(0));
                assert_eq!(clients.each_mut().map(has_ended), [false, true], "{text:?}");
                assert_eq!(makes_room(later + 60_000), !is_request, "{text:?}");
                turns().await;
                assert_eq!(has_ended(&mut clients[0]), !is_request, "{text:?}");
            });
        }
    }

    /// Returns the size of the task that a function creates.
    fn task_bytes<A, B, F>(_: fn(A, B) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_task_of_a_plain_connection_needs_little_room_beside_the_connection() {
        // With the runtime's data before and after the task, that makes three times 128 bytes.
        let bytes = task_bytes(serve_http);
        assert!(bytes <= 288, "{bytes} bytes: something lives across a wait that should be boxed");
    }
}
