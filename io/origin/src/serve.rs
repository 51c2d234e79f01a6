//! Accept loop and connections, with one current-thread runtime for each thread.

use std::io;
use std::net::TcpListener as StdListener;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::connection::{Connection, Control, End};
use crate::handle::{Phase, Threads, killed, not_serving};
use crate::routes::{self, Visit};
use crate::state::State;

/// Time in which a client must send a request head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Pause after a failed accept, for example when the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Starts `threads` threads that accept from the same socket.
pub(crate) fn start(
    listener: StdListener,
    threads: NonZeroUsize,
    grace: Duration,
    state: &Arc<State>,
) -> io::Result<Threads> {
    let phase = watch::Sender::new(Phase::Serve);
    let mut joins = Vec::with_capacity(threads.get());
    for number in 0..threads.get() {
        let listener = listener.try_clone()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (phase, state) = (phase.subscribe(), Arc::clone(state));
        let serve = move || {
            // Registering with the runtime's epoll fails only if the process has no descriptor left; the
            // thread then ends.
            if let Err(cause) = runtime.block_on(accept(listener, phase, grace, &state)) {
                eprintln!("origin {}: listen: {cause}", state.name);
            }
        };
        joins.push(thread::Builder::new().name(format!("origin-{number}")).spawn(serve)?);
    }
    Ok(Threads { phase, joins })
}

async fn accept(
    listener: StdListener,
    mut phase: watch::Receiver<Phase>,
    grace: Duration,
    state: &Arc<State>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    // Every connection holds a sender. When the last one is dropped, all connections have ended.
    let (alive, mut over) = mpsc::channel(1);
    let visits = phase.clone();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let visit = Visit {
                        state: Arc::clone(state),
                        control: Control::new(),
                        phase: visits.clone(),
                        alive: alive.clone(),
                    };
                    tokio::spawn(serve(stream, visit));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            _ = not_serving(&mut phase) => break,
        }
    }
    drop((listener, alive));
    // Each connection follows the phase by itself. The grace time limits connections that do not end.
    let _ = tokio::time::timeout(grace, over.recv()).await;
    Ok(())
}

/// Serves one connection from its first byte to its last.
async fn serve(stream: TcpStream, visit: Visit) {
    let _ = stream.set_nodelay(true);
    let connection = Connection::new(stream, Arc::clone(&visit.control), Arc::clone(&visit.state));
    let (control, mut phase) = (Arc::clone(&visit.control), visit.phase.clone());
    let service = service_fn(move |request| routes::answer(request, visit.clone()));
    let mut builder = http1::Builder::new();
    // hyper treats a half-closed connection as closed and cancels its request.
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    let mut exchange = pin!(builder.serve_connection(TokioIo::new(connection), service).with_upgrades());
    let now = tokio::select! {
        // An error is a mistake of the client, or a fault that it requested.
        _ = exchange.as_mut() => return,
        now = not_serving(&mut phase) => now,
    };
    if now == Phase::Drain {
        exchange.as_mut().graceful_shutdown();
        tokio::select! {
            _ = exchange.as_mut() => return,
            () = killed(&mut phase) => {}
        }
    }
    control.end_with(End::Reset);
}
