//! TCP mode: forwards bytes in both directions between a client and its own server connection.

mod first_bytes;
mod server;

use std::rc::Rc;
use std::time::Instant;

use weir_balance::{Key, Rank};
use weir_http::BodyScanner;
use weir_net::{Deadline, Stream};

use crate::connect::ProxiedClient;
use crate::early::{self, Early, EarlyEnd};
use crate::http::{ClientTlsFacts, Place};
use crate::log::{self, TcpRecord};
use crate::pump::Pump;
use crate::session::Arrival;
use crate::state::{QueueAhead, ServerCounters};
use crate::sticky::Bond;
use crate::tunnel::{TUNNELLED, Tunnel, TunnelEnd};
use crate::worker::{LocalLive, LocalPool, LocalTcp, Worker};

/// A client's connection in TCP mode.
struct Session {
    worker: Rc<Worker>,
    listener: Rc<LocalTcp>,
    client: Stream,
    deadline: Deadline,
    source: Option<std::net::SocketAddr>,
    destination: Option<std::net::SocketAddr>,
    tls: Option<Box<ClientTlsFacts>>,
    /// Bytes already read, which go to the server first.
    received: Vec<u8>,
    started: Instant,
    /// True if the time limit for the client's first bytes is running.
    head_runs: bool,
}

/// Serves a client's connection to its end.
pub(crate) async fn serve(worker: Rc<Worker>, live: Rc<LocalLive>, listener: Rc<LocalTcp>, arrival: Arrival) {
    let head_runs = arrival.head_runs();
    let Arrival { stream, deadline, client, destination, tls, started, number } = arrival;
    let mut session = Session {
        worker,
        listener,
        client: stream,
        deadline,
        source: client,
        destination,
        tls,
        received: Vec::new(),
        started,
        head_runs,
    };
    session.listener.counters(&session.worker).requests.one();
    let chosen = session.choose_pool(&live, number).await;
    session.worker.table.is_busy(number);
    match chosen {
        Ok(pool) => session.pass_on(live, &pool).await,
        Err(why) => {
            let Session { worker, listener, client, source, tls, received, .. } = &session;
            let (client_address, tls, bytes_in) = (*source, tls.as_deref(), received.len());
            let early = Early { client: client_address, tls, started, bytes_in, why };
            early::ended(worker, &live, &listener.shared, &early);
            client.socket().reset_on_close();
        }
    }
}

impl Session {
    /// Returns the pool for this connection, or the reason why no pool accepts it. `number`: the connection's
    /// number in the worker's table.
    async fn choose_pool(&mut self, live: &LocalLive, number: u32) -> Result<Rc<LocalPool>, EarlyEnd> {
        // Checked first: arming the deadline would hide that it has expired.
        self.keeps_its_room(number)?;
        let listener = Rc::clone(&self.listener);
        let index = match listener.tcp.sni_routes.as_slice() {
            [] => listener.tcp.pool,
            routes => {
                self.arm_head();
                let name = self.read_server_name().await;
                self.keeps_its_room(number)?;
                let name = name.map_err(|error| EarlyEnd::of(&error))?;
                let found = routes.iter().find(|route| first_bytes::takes(route, name.as_deref()));
                found.map(|route| route.pool).or(listener.tcp.pool)
            }
        };
        index.and_then(|index| live.pool(index)).map(Rc::clone).ok_or(EarlyEnd::ServerName)
    }

    /// Fails if new connections need this connection's room.
    fn keeps_its_room(&self, number: u32) -> Result<(), EarlyEnd> {
        if self.worker.table.gives_way(number) { Err(EarlyEnd::GivesWay) } else { Ok(()) }
    }

    async fn pass_on(mut self, live: Rc<LocalLive>, pool: &Rc<LocalPool>) {
        let proxied = self.proxied();
        let idle = self.listener.tcp.idle_timeout.duration();
        let key = self.key(pool).await;
        let source = self.source.map(|address| address.ip());
        let bond = pool.shared.sticky.as_ref().map(|sticky| Bond::of_source(sticky, source, Instant::now()));
        let rank = Rank { client: pool.queue_client(source, |_| None), ..Rank::default() };
        let mut wait = server::Wait {
            deadline: &self.deadline,
            client: self.client.socket(),
            queue_us: 0,
            queue_ahead: QueueAhead::default(),
            tries: server::Tries::default(),
        };
        let place = Place { key, rank };
        // Time spent waiting for the client must not count as the server's.
        let asked = Instant::now();
        let reached = server::reach(&self.worker, pool, place, bond, proxied, &mut wait).await;
        let (queue_us, queue_ahead, tries) = (wait.queue_us, wait.queue_ahead, wait.tries);
        let mut reached = match reached {
            Ok(reached) => reached,
            Err(why) => {
                if matches!(why, server::Unreached::ClientGone(_)) {
                    self.listener.counters(&self.worker).client_aborts.one();
                }
                log::tcp(&self.worker, &live, &self.record(pool, &tries, (0, 0), why.termination()));
                self.client.socket().reset_on_close();
                return;
            }
        };
        let reached_us = asked.elapsed().as_micros() as u64;
        let mut upload = Pump::new(BodyScanner::UntilClose);
        if !self.received.is_empty() {
            upload.take_over(&self.worker, &self.received);
            self.received = Vec::new();
        }
        let mut tunnel = Tunnel::new(upload, Pump::new(BodyScanner::UntilClose));
        let end = tunnel
            .run(
                &mut self.client,
                &mut reached.connection.stream,
                &self.deadline,
                idle,
                &self.worker,
                Some(&reached.lease),
            )
            .await;
        if matches!(end, TunnelEnd::Clean) {
            reached.lease.completed(self.worker.look_at_clock(), TUNNELLED);
        }
        let (bytes_in, bytes_out) = (tunnel.upload.bytes_read, tunnel.download.bytes_written);
        let counters = self.listener.counters(&self.worker);
        counters.bytes_in.add(bytes_in);
        counters.bytes_out.add(bytes_out);
        counters.duration.record(asked.elapsed().as_micros() as u64);
        let server = reached.lease.server.counters();
        server.bytes_in.add(bytes_out);
        server.bytes_out.add(bytes_in);
        server.times.record(ServerCounters::TOTAL, asked.elapsed().as_micros() as u64);
        if matches!(end, TunnelEnd::Client) {
            counters.client_aborts.one();
            server.client_aborts.one();
        }
        if matches!(end, TunnelEnd::Server) {
            server.server_aborts.one();
        }
        let mut record = self.record(pool, &tries, (bytes_in, bytes_out), end.termination());
        record.connected_us = Some(reached_us.saturating_sub(queue_us));
        record.queue_us = Some(queue_us);
        record.queue_ahead = queue_ahead;
        log::tcp(&self.worker, &live, &record);
    }

    /// Returns the key for the pool's algorithm.
    async fn key(&mut self, pool: &LocalPool) -> Option<Key> {
        let reader = pool.shared.key.as_ref()?;
        let cookie = match reader.rdp_cookie() {
            Some(name) => {
                self.arm_head();
                self.read_rdp_cookie(name).await
            }
            None => None,
        };
        reader.of_connection(self.source, || self.own_address(), cookie.as_deref())
    }

    /// Starts the time limit for the client's first bytes, unless it is running.
    fn arm_head(&mut self) {
        if !std::mem::replace(&mut self.head_runs, true) {
            self.deadline.arm(Instant::now(), self.listener.tcp.head_timeout.duration());
        }
    }

    fn proxied(&self) -> Option<ProxiedClient> {
        Some(ProxiedClient { source: self.source?, destination: self.own_address()? })
    }

    /// Returns the address that the client has connected to.
    fn own_address(&self) -> Option<std::net::SocketAddr> {
        self.destination.or_else(|| self.client.socket().local_address())
    }

    fn record<'a>(
        &'a self,
        pool: &'a LocalPool,
        tries: &'a server::Tries,
        (bytes_in, bytes_out): (u64, u64),
        termination: weir_http::access_log::Termination,
    ) -> TcpRecord<'a> {
        TcpRecord {
            listener: &self.listener.shared,
            tls: self.tls.as_deref(),
            pool: pool.shared.plan.name.as_str(),
            server: tries.server.as_ref().map(|server| &*server.shared),
            retries: tries.retries,
            redispatched: tries.redispatched,
            client: self.source,
            started: self.started,
            queue_us: None,
            queue_ahead: QueueAhead::default(),
            connected_us: None,
            bytes_in,
            bytes_out,
            termination,
        }
    }
}
