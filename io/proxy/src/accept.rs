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

/// What a listening socket is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SocketOrder {
    /// A plan is in force that has it: listen with these options.
    Listen(ListenOptions),
    /// It is no longer needed.
    Close,
}

/// How long nothing is accepted after the process has run out of descriptors or memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);
/// How often that is borne before a socket is closed although clients are queued in it.
const EXHAUSTED_PAUSES_MAX: usize = 10;

/// So few connections are not why memory is short: then further clients come in all the same.
const FEW: u32 = 64;

/// How long a socket that is to be closed is accepted from. A client that has connected and was silent so far comes out
/// when the kernel repeats its SYN-ACK: 1 s after the first one, a tick of its timers and the way there and back.
const CLOSING: Duration = Duration::from_millis(1_500);
/// At the end of that time nobody new is let begin for so long: whose handshake is under way gets through, also from far away,
/// and has time to ask for something before a stop closes connections without a request.
const LAST: Duration = Duration::from_millis(500);

/// A listening socket, and whom it is accepted for.
pub(crate) struct Post {
    worker: Rc<Worker>,
    name: SocketName,
    /// The listener it belongs to, and the last plan in which it belonged to one.
    serving: Option<(Rc<LocalLive>, LocalListener)>,
}

impl Post {
    /// `plan`: the one for which the socket was opened.
    pub(crate) fn new(worker: &Rc<Worker>, name: SocketName, plan: &Arc<Live>) -> Self {
        let mut post = Self { worker: Rc::clone(worker), name, serving: None };
        post.look_at_plan();
        if post.serving.is_none() {
            // The next plan is in force already, and has no listener for it.
            post.follow(&worker.live_of(plan));
        }
        post
    }

    /// Accepts until one of the two says stop: the socket's own orders, or the process's end. Then takes whoever has connected
    /// already, and closes the socket.
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
                // Asked anew only when they have said something: to get in line for that, and out of it again, takes longer than to accept.
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

    /// Follows the plan in force. If that has no listener for this socket any more, whoever is in its queue is served as before.
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

    /// What cannot be changed stays as it is.
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
                // The connection stays in the kernel's queue: the next one that ends makes room for it, in whichever worker.
                report::throttled(|| format!("{}: accept: {error}", self.label()));
                self.worker.wait_for_room(&error, EXHAUSTED_PAUSE).await;
            }
        }
    }

    /// Starts a session, unless a limit is reached: then the client learns at once that it will not be served.
    fn admit(&mut self, socket: Socket, peer: Peer) {
        if self.serving.as_ref().is_none_or(|(live, _)| !self.worker.is_current(live)) {
            self.look_at_plan();
        }
        let Some((live, listener)) = &self.serving else { return };
        let worker = &self.worker;
        let state = listener.shared();
        let address = address_of(peer);
        // Whose it is behind a PROXY header is known later.
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

    /// Takes who has connected or is about to, before the socket closes: the kernel resets those who are left in it.
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

/// A client that was accepted, and for which there may be no room.
struct Newcomer {
    worker: Rc<Worker>,
    live: Rc<LocalLive>,
    listener: LocalListener,
    socket: Socket,
    peer: Peer,
    /// Whose it is, if that is known.
    client: Option<SocketAddr>,
    counted: Option<CountedClient>,
}

impl Newcomer {
    /// Comes in if there is room, or if a connection of this worker gives way. Else other workers are asked.
    fn arrive(self) {
        let (state, shared) = (self.listener.shared(), &self.worker.shared);
        if shared.memory.is_short() && shared.open.now() >= FEW && !self.has_made_room(Full::Process) {
            return deny(&self.worker, &self.listener, &self.socket);
        }
        // The listener first: a newcomer that it refuses must cost no connection of another listener.
        let number = Full::Listener(state.number());
        let is_listener_full = !state.open.enter(state.plan.connections_max);
        if is_listener_full {
            if !self.has_made_room(number) {
                return self.seek_room(number);
            }
            // The connection that gives way ends within this turn of the event loop.
            state.open.enter(None);
        }
        if !shared.open.enter(Some(shared.connections_max)) {
            // What gives way in the listener leaves the process, too.
            if !is_listener_full && !self.has_made_room(Full::Process) {
                state.open.leave();
                return self.seek_room(Full::Process);
            }
            shared.open.enter(None);
        }
        self.begin();
    }

    /// Has another worker make room; refused if none does.
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

    /// A connection gives way to it where there was no room. Returns whether there is room in the rest, too.
    fn enter_after_other(&self, full: Full) -> bool {
        let (state, shared) = (self.listener.shared(), &self.worker.shared);
        let limit = if full == Full::Process { state.plan.connections_max } else { None };
        if !state.open.enter(limit) {
            return false;
        }
        shared.open.enter(None)
    }

    /// Returns whether another connection of this worker gives way.
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

/// The connection broke before it was accepted; the next one may be fine.
fn is_clients_fault(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, PermissionDenied,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted | PermissionDenied
    )
}

/// Clients of a plain HTTP listener get a 503 that needs no further step; all others a reset.
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

    /// A socket of a listener whose requests go to this server, and a client that has connected to it.
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

        /// Has a worker accept its client, as one of `plan`, while `meanwhile` holds. Returns the status that the client gets.
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
