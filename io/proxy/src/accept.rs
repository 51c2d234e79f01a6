//! Accepts connections on one listening socket of one worker, within the limits.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use weir_net::{ListenOptions, Listener, Peer, Socket};

use crate::report;
use crate::session::{self, address_of};
use crate::socket_name::SocketName;
use crate::state::{CountedClient, Full, Live};
use crate::worker::{Drain, LocalListener, LocalLive, Worker};

/// Order to a listening socket.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SocketOrder {
    /// Listen with these options, because the plan in force has a listener for the socket.
    Listen(ListenOptions),
    /// Close the socket, because it is no longer needed.
    Close,
}

/// Pause in accepting after the process has run out of descriptors or memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of these pauses before a socket is closed although clients are queued in it.
const EXHAUSTED_PAUSES_MAX: usize = 10;

/// Number of connections below which they cannot be the cause of a memory shortage; new ones are then still
/// accepted.
const FEW: u32 = 64;

/// Time for which a closing socket still accepts. A client that connected and stayed silent appears when the
/// kernel repeats its SYN-ACK: 1 s after the first one, plus a timer tick and a round trip.
const CLOSING: Duration = Duration::from_millis(1_500);
/// Last part of that time, in which no new handshake may begin. Handshakes in progress can complete, even
/// over long distances. Their clients still have time to send a request before a shutdown closes connections
/// without one.
const LAST: Duration = Duration::from_millis(500);

/// A listening socket and the listener for which it accepts.
pub(crate) struct Post {
    worker: Rc<Worker>,
    name: SocketName,
    /// Listener that the socket belongs to, with the last plan that had it.
    serving: Option<(Rc<LocalLive>, LocalListener)>,
}

impl Post {
    /// Creates the post; `plan` is the plan for which the socket was opened.
    pub(crate) fn new(worker: &Rc<Worker>, name: SocketName, plan: &Arc<Live>) -> Self {
        let mut post = Self { worker: Rc::clone(worker), name, serving: None };
        post.look_at_plan();
        if post.serving.is_none() {
            // The next plan is in force already and has no listener for the socket.
            post.follow(&worker.live_of(plan));
        }
        post
    }

    /// Accepts until the socket is ordered to close or the process stops. Then accepts the clients that have
    /// already connected, and closes the socket.
    pub(crate) async fn accept(
        mut self,
        socket: Listener,
        orders: watch::Receiver<SocketOrder>,
        stopping: watch::Receiver<Drain>,
    ) {
        let worker = Rc::clone(&self.worker);
        let (mut orders, mut stopping) = (orders, stopping);
        loop {
            let told = {
                // The futures are created again only after an order: registering and deregistering them takes
                // longer than an accept.
                let mut changed = pin!(orders.changed());
                let mut stops = pin!(stopping.wait_for(|drain| *drain != Drain::No));
                loop {
                    tokio::select! {
                        biased;
                        told = &mut changed => break Some(told),
                        _ = &mut stops => break None,
                        accepted = socket.accept() => self.take(accepted).await,
                    }
                }
            };
            let Some(told) = told else { break };
            let order = *orders.borrow_and_update();
            match (told, order) {
                (Ok(()), SocketOrder::Listen(options)) => {
                    self.look_at_plan();
                    self.changed(socket.adjust(options));
                }
                (Ok(()), SocketOrder::Close) | (Err(_), _) => break,
            }
        }
        self.close(&socket, stopping).await;
        worker.connection_ended();
    }

    /// Follows the plan in force. If that has no listener for this socket any more, its queued clients are
    /// served as before.
    fn look_at_plan(&mut self) {
        self.follow(&self.worker.live());
    }

    fn follow(&mut self, live: &Rc<LocalLive>) {
        if let Some(listener) = live.listener_of(&self.name) {
            self.serving = Some((Rc::clone(live), listener.clone()));
        }
    }

    fn label(&self) -> String {
        match &self.serving {
            Some((_, listener)) => format!("listener {}", listener.shared().plan.name),
            None => format!("listener {}", self.name.listener),
        }
    }

    /// Reports a failed change of the socket; its former options stay in force.
    fn changed(&self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            report::line(&format!("{}: change of a listening socket: {error}", self.label()));
        }
    }

    async fn take(&mut self, accepted: io::Result<(Socket, Peer)>) {
        match accepted {
            Ok((client, peer)) => self.admit(client, peer),
            Err(error) if is_clients_fault(&error) => {}
            Err(error) if self.worker.make_room_for_client(&error) => {}
            Err(error) => {
                // The connection stays in the kernel's queue. The next connection that ends, in any worker,
                // makes room for it.
                report::throttled(|| format!("{}: accept: {error}", self.label()));
                self.worker.wait_for_room(&error, EXHAUSTED_PAUSE).await;
            }
        }
    }

    /// Starts a session, or refuses the client at once if a limit is reached.
    fn admit(&mut self, socket: Socket, peer: Peer) {
        if self.serving.as_ref().is_none_or(|(live, _)| !self.worker.is_current(live)) {
            self.look_at_plan();
        }
        let Some((live, listener)) = &self.serving else { return };
        let worker = &self.worker;
        let state = listener.shared();
        let address = address_of(peer);
        // Behind a PROXY header, the client is not known yet.
        let client = if state.takes_proxy_header(address) { None } else { address };
        let Ok(counted) = state.count_client(client) else { return deny(worker, listener, &socket) };
        let newcomer = Newcomer {
            worker: Rc::clone(worker),
            live: Rc::clone(live),
            listener: listener.clone(),
            socket,
            peer,
            client,
            counted,
        };
        newcomer.arrive();
    }

    /// Accepts the clients that have connected or are about to. The kernel resets all connections still
    /// queued when the socket closes.
    async fn close(mut self, socket: &Listener, mut stopping: watch::Receiver<Drain>) {
        self.changed(socket.show_silent());
        let until = Instant::now() + CLOSING;
        let mut hears = true;
        while socket.has_handshakes() {
            tokio::select! {
                biased;
                _ = stopping.wait_for(|drain| *drain >= Drain::CloseIdle) => break,
                () = sleep_until(until) => break,
                () = sleep_until(until - LAST), if hears => {
                    hears = false;
                    self.changed(socket.hear_no_more());
                }
                accepted = socket.accept() => self.take(accepted).await,
            }
        }
        if hears {
            self.changed(socket.hear_no_more());
        }
        let mut pauses = 0;
        loop {
            match socket.accept_queued() {
                Ok(None) => return,
                Ok(Some((client, peer))) => self.admit(client, peer),
                Err(error) if is_clients_fault(&error) => {}
                Err(error) if self.worker.make_room_for_client(&error) => {}
                Err(error) if pauses < EXHAUSTED_PAUSES_MAX && *stopping.borrow() < Drain::Cut => {
                    pauses += 1;
                    self.worker.wait_for_room(&error, EXHAUSTED_PAUSE).await;
                }
                Err(error) => return report::line(&format!("{}: accept: {error}", self.label())),
            }
        }
    }
}

/// An accepted client for which there may be no room.
struct Newcomer {
    worker: Rc<Worker>,
    live: Rc<LocalLive>,
    listener: LocalListener,
    socket: Socket,
    peer: Peer,
    /// Address of the client, if known.
    client: Option<SocketAddr>,
    counted: Option<CountedClient>,
}

impl Newcomer {
    /// Starts the session if there is room, or if a connection of this worker can be closed. Otherwise asks
    /// other workers for room.
    fn arrive(self) {
        let (state, shared) = (self.listener.shared(), &self.worker.shared);
        if shared.memory.is_short() && shared.open.now() >= FEW && !self.has_made_room(Full::Process) {
            return deny(&self.worker, &self.listener, &self.socket);
        }
        // Checks the listener first: a client that the listener refuses must not cost another listener a
        // connection.
        let number = Full::Listener(state.number());
        let is_listener_full = !state.open.enter(state.plan.connections_max);
        if is_listener_full {
            if !self.has_made_room(number) {
                return self.seek_room(number);
            }
            // The connection that makes room ends within this turn of the event loop.
            state.open.enter(None);
        }
        if !shared.open.enter(Some(shared.connections_max)) {
            // A connection that makes room in the listener also leaves the process.
            if !is_listener_full && !self.has_made_room(Full::Process) {
                state.open.leave();
                return self.seek_room(Full::Process);
            }
            shared.open.enter(None);
        }
        self.begin();
    }

    /// Asks other workers for room, and refuses the client if none makes room.
    #[cold]
    fn seek_room(self, full: Full) {
        if !self.worker.may_seek_room() {
            return deny(&self.worker, &self.listener, &self.socket);
        }
        tokio::task::spawn_local(async move {
            let client = self.client.map(|address| address.ip());
            match self.worker.seek_room(full, client).await && self.enter_after_other(full) {
                true => self.begin(),
                false => deny(&self.worker, &self.listener, &self.socket),
            }
        });
    }

    /// Counts the new connection after another one made room at the limit `full`. Returns false if the other
    /// limit is reached.
    fn enter_after_other(&self, full: Full) -> bool {
        let (state, shared) = (self.listener.shared(), &self.worker.shared);
        let limit = if full == Full::Process { state.plan.connections_max } else { None };
        if !state.open.enter(limit) {
            return false;
        }
        shared.open.enter(None)
    }

    /// Returns true if another connection of this worker is being closed for this one.
    #[cold]
    fn has_made_room(&self, full: Full) -> bool {
        let worker = &self.worker;
        let source = worker.table.source_of(self.client.map(|address| address.ip()));
        worker.look_at_clock();
        worker.table.make_room(full, (source, 0), worker.now_ms(), &worker.timers)
    }

    fn begin(self) {
        let Self { worker, live, listener, socket, peer, counted, .. } = self;
        worker.opened(&socket);
        session::begin(&worker, live, listener, (socket, peer), counted);
    }
}

/// Returns true if the connection broke before it was accepted; the next one may work.
fn is_clients_fault(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, PermissionDenied,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted | PermissionDenied
    )
}

/// Refuses a client: with a constant 503 on plain HTTP listeners, with a reset on all others.
fn deny(worker: &Worker, listener: &LocalListener, socket: &Socket) {
    const OVERLOADED: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let state = listener.shared();
    state.counters.of(worker.thread).connections_denied.one();
    match listener {
        LocalListener::Http(_) if state.tls.is_none() && state.plan.proxy_protocol.is_none() => {
            socket.try_send_and_end(OVERLOADED);
        }
        _ => socket.reset_on_close(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, LocalOptions};
    use weir_model::{BindAddress, ListenerName};
    use weir_net::ListenSocket;
    use weir_testkit::{RawClient, RawServer};

    use super::*;
    use crate::state::Shared;
    use crate::testing::shared;

    /// A socket of a listener whose requests go to the given server, and a client that has connected to it.
    struct Rig {
        shared: Arc<Shared>,
        name: SocketName,
        socket: ListenSocket,
        client: RawClient,
    }

    impl Rig {
        fn new(server: &RawServer) -> Self {
            let config = format!(
                "[weir]\ncontrol = false\nstate = false\n\n[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
                 [pool.web]\nservers = [\"{}\"]\n",
                server.addr()
            );
            let configured: BindAddress = "127.0.0.1:0".parse().unwrap();
            let socket = ListenSocket::open(&configured, OPTIONS, None).unwrap();
            let actual = socket.address().clone();
            let BindAddress::Inet(address) = &actual else { panic!("{actual}") };
            let mut client = RawClient::connect(*address);
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            let name = SocketName { listener: ListenerName::new("web").unwrap(), configured, actual };
            Self { shared: shared(&config), name, socket, client }
        }

        /// Makes a worker accept the client under `plan`, after `meanwhile` has run. Returns the status that
        /// the client gets.
        fn status(self, plan: &Arc<Live>, meanwhile: impl FnOnce(&Worker)) -> u16 {
            let Self { shared, name, socket, mut client } = self;
            let (orders, received) = watch::channel(SocketOrder::Listen(OPTIONS));
            orders.send_replace(SocketOrder::Close);
            let runtime =
                Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
            runtime.block_on(async {
                let worker = Worker::new(0, shared, 1);
                tokio::task::spawn_local(Rc::clone(&worker.timers).drive());
                let (_stop, stopping) = watch::channel(Drain::No);
                let post = Post::new(&worker, name, plan);
                meanwhile(&worker);
                post.accept(socket.into_listener().unwrap(), received, stopping).await;
                tokio::task::spawn_blocking(move || client.response().status).await.unwrap()
            })
        }
    }

    const OPTIONS: ListenOptions = ListenOptions { backlog: 16, wait_for_data: false };

    #[test]
    fn clients_of_a_listener_that_goes_before_the_worker_has_looked_are_served() {
        let server = RawServer::answering("hi");
        let rig = Rig::new(&server);
        let plan = rig.shared.live();
        let without = Live {
            listeners: Vec::new(),
            pools: plan.pools.clone(),
            error_pages: plan.error_pages.clone(),
            access_log: None,
        };
        rig.shared.publish(without);
        assert_eq!(rig.status(&plan, |_| {}), 200);
    }

    #[test]
    fn where_memory_is_short_a_newcomer_comes_in_only_in_place_of_another_or_where_few_are_connected() {
        let server = RawServer::answering("hi");
        for (open, idle, status) in [(FEW - 1, 0, 200), (FEW, 0, 503), (FEW, 2, 200)] {
            let rig = Rig::new(&server);
            let plan = rig.shared.live();
            rig.shared.memory.set(true, Some(1));
            let got = rig.status(&plan, |worker| {
                for _ in 0..open {
                    worker.shared.open.enter(None);
                }
                let other = worker.table.source_of(Some([192, 0, 2, 1].into()));
                for _ in 0..idle {
                    worker.table.enter(other, 0, 0);
                }
            });
            assert_eq!(got, status, "{open} open, {idle} idle");
        }
    }
}
