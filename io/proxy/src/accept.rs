//! Accepts connections on one listening socket of one worker, within the limits.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::watch;
use weir_model::ListenerName;
use weir_net::{Listener, Peer, Socket};

use crate::report;
use crate::session;
use crate::worker::{LocalListener, Worker};

/// Either stops accepting: the listener's own, and the process's.
pub(crate) type Stops = (watch::Receiver<bool>, watch::Receiver<bool>);

/// How long nothing is accepted after the process has run out of descriptors or memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// Accepts until `stop` says so; then takes what the kernel has queued already, and closes the socket.
pub(crate) async fn accept(worker: Rc<Worker>, name: ListenerName, socket: Listener, stops: Stops) {
    let (mut stop, mut all_stop) = stops;
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => break,
            _ = all_stop.wait_for(|stop| *stop) => break,
            accepted = socket.accept() => accepted,
        };
        match accepted {
            Ok((client, peer)) => admit(&worker, &name, client, peer),
            Err(error) if is_clients_fault(&error) => {}
            Err(error) => {
                // The connection stays in the kernel's queue: the next one that ends makes room for it.
                report::throttled(|| format!("listener {name}: accept: {error}"));
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
    while let Some((client, peer)) = socket.accept_queued() {
        admit(&worker, &name, client, peer);
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

/// Starts a session, unless a limit is reached: then the client learns at once that it will not be served.
fn admit(worker: &Rc<Worker>, name: &ListenerName, socket: Socket, peer: Peer) {
    let live = worker.live();
    let Some(listener) = live.listener(name) else { return };
    let state = listener.shared();
    let shared = &worker.shared;
    if !shared.open.enter(Some(shared.connections_max)) {
        return deny(worker, listener, &socket);
    }
    if !state.open.enter(state.plan.connections_max) {
        shared.open.leave();
        return deny(worker, listener, &socket);
    }
    let session = session::serve(Rc::clone(worker), Rc::clone(&live), listener.clone(), socket, peer);
    tokio::task::spawn_local(session);
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
