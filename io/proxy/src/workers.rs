//! The worker threads: starts them, opens their listening sockets and stops them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{mpsc, watch};
use weir_model::{BindAddress, ListenerName};
use weir_net::{Binder, ListenError, ListenOptions, ListenSocket};

use crate::accept::{Post, SocketOrder};
use crate::report;
use crate::socket_name::SocketName;
use crate::state::{Live, Shared};
use crate::worker::{Drain, Worker, count_what_was_noted};

/// All worker threads.
#[derive(Debug)]
pub struct Workers {
    threads: Vec<Thread>,
    shared: Arc<Shared>,
    binder: Option<Arc<dyn Binder>>,
}

#[derive(Debug)]
struct Thread {
    orders: mpsc::UnboundedSender<Order>,
    handle: JoinHandle<()>,
}

/// One address, open on every worker. When it is dropped, clients that have already connected are accepted,
/// and then the sockets are closed.
#[derive(Debug)]
pub struct ListenerSockets {
    /// Identity of the sockets.
    pub name: SocketName,
    orders: watch::Sender<SocketOrder>,
    file: Option<SocketFile>,
}

/// Order to a worker.
enum Order {
    Accept {
        name: SocketName,
        socket: ListenSocket,
        /// Plan for which the socket was opened: another one may be in force when the worker handles this
        /// order.
        plan: Arc<Live>,
        orders: watch::Receiver<SocketOrder>,
    },
    Drain(Drain),
}

/// Interval at which idle server connections are checked and log lines handed over.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// Maximum number of task polls between two checks for events. While a few connections keep a worker busy,
/// all others wait for that check; it costs about a thirtieth of a request.
const EVENT_INTERVAL: u32 = 16;
/// Time for idle clients to send another request before a shutdown closes their connections; such a request
/// is answered. New clients that have connected and stayed silent are accepted for the same time: the kernel
/// shows them after a second.
const IDLE_GRACE: Duration = Duration::from_millis(1_500);
/// Time after the cut until threads that have not ended are left behind. Normally they end within
/// milliseconds.
const CUT_GRACE: Duration = Duration::from_secs(2);

impl Workers {
    /// Starts `count` threads. `binder` binds the addresses that the process may not bind itself.
    pub fn start(count: usize, shared: &Arc<Shared>, binder: Option<Arc<dyn Binder>>) -> io::Result<Self> {
        let threads = (0..count).map(|index| {
            let (orders, received) = mpsc::unbounded_channel();
            let shared = Arc::clone(shared);
            let thread = thread::Builder::new().name(format!("worker-{index}"));
            let handle = thread.spawn(move || run(index, shared, received))?;
            Ok(Thread { orders, handle })
        });
        Ok(Self { threads: threads.collect::<io::Result<_>>()?, shared: Arc::clone(shared), binder })
    }

    /// Opens `address` for a listener, with one socket for each worker. They accept after the call of
    /// [`OpenedSockets::accept`].
    pub fn open(&self, address: &BindAddress, options: ListenOptions) -> Result<OpenedSockets, ListenError> {
        let binder = self.binder.as_deref();
        let first = ListenSocket::open(address, options, binder)?;
        let actual = first.address().clone();
        let mut sockets = vec![first];
        while sockets.len() < self.threads.len() {
            let next = match &actual {
                BindAddress::Inet(_) => ListenSocket::open(&actual, options, binder)?,
                BindAddress::Unix(_) => {
                    sockets[0].try_clone().map_err(|cause| ListenError { address: address.clone(), cause })?
                }
            };
            sockets.push(next);
        }
        let file = SocketFile::of(&actual);
        Ok(OpenedSockets { address: actual, configured: address.clone(), options, sockets, file })
    }

    /// Stops in steps: accepts the clients that have already connected, finishes requests, closes idle
    /// connections, and cuts the rest after `deadline`. Returns when the threads have ended, or two seconds
    /// after the cut.
    pub async fn drain(self, deadline: Duration) {
        self.tell_all(Drain::Finish);
        let mut ended: Vec<_> =
            self.threads.into_iter().map(|thread| (thread.orders, thread.handle)).collect();
        let until = tokio::time::Instant::now() + deadline;
        let close_idle_at = tokio::time::Instant::now() + IDLE_GRACE.min(deadline / 2);
        let mut told = Drain::Finish;
        while !ended.iter().all(|(_, handle)| handle.is_finished()) {
            let now = tokio::time::Instant::now();
            let due = match told {
                Drain::Finish if now >= close_idle_at => Some(Drain::CloseIdle),
                Drain::CloseIdle if now >= until => Some(Drain::Cut),
                _ => None,
            };
            if told == Drain::Cut && now >= until + CUT_GRACE {
                return report::line("worker threads that do not end are left behind");
            }
            if let Some(drain) = due {
                told = drain;
                for (orders, _) in &ended {
                    let _ = orders.send(Order::Drain(drain));
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for (_, handle) in ended.drain(..) {
            if handle.join().is_err() {
                report::line("a worker thread has panicked");
            }
        }
    }

    fn tell_all(&self, drain: Drain) {
        for thread in &self.threads {
            // A thread that has ended needs no orders.
            let _ = thread.orders.send(Order::Drain(drain));
        }
    }
}

/// Sockets that are bound and listening, but do not accept yet.
#[derive(Debug)]
pub struct OpenedSockets {
    /// Address that they are bound to.
    pub address: BindAddress,
    configured: BindAddress,
    options: ListenOptions,
    sockets: Vec<ListenSocket>,
    file: Option<SocketFile>,
}

impl OpenedSockets {
    /// Starts accepting on every worker, for the listener with this name, or with the socket's address, in
    /// the plan in force. Workers receive that plan with the socket. Clients that connect before a worker has
    /// handled the order are thus served, even if the next plan has no such listener.
    pub fn accept(self, workers: &Workers, listener: &ListenerName) -> ListenerSockets {
        let Self { configured, address, options, sockets, file } = self;
        let name = SocketName { listener: listener.clone(), configured, actual: address };
        let (orders, _) = watch::channel(SocketOrder::Listen(options));
        for (thread, socket) in workers.threads.iter().zip(sockets) {
            let (name, plan) = (name.clone(), workers.shared.live());
            let order = Order::Accept { name, socket, plan, orders: orders.subscribe() };
            let _ = thread.orders.send(order);
        }
        ListenerSockets { name, orders, file }
    }
}

impl ListenerSockets {
    /// Changes the options after a new plan in which the socket belongs to a listener.
    pub fn adjust(&self, options: ListenOptions) {
        self.orders.send_replace(SocketOrder::Listen(options));
    }
}

impl Drop for ListenerSockets {
    fn drop(&mut self) {
        // Removes the file first: a client that still finds it must be accepted.
        drop(self.file.take());
        self.orders.send_replace(SocketOrder::Close);
    }
}

/// File of a Unix socket. It is removed on drop, unless another file has replaced it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl SocketFile {
    fn of(address: &BindAddress) -> Option<Self> {
        let BindAddress::Unix(path) = address else { return None };
        let inode = fs::symlink_metadata(path).ok()?.ino();
        Some(Self { path: path.clone(), inode })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            // If the removal fails, the next start removes the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn run(index: usize, shared: Arc<Shared>, mut orders: mpsc::UnboundedReceiver<Order>) {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().event_interval(EVENT_INTERVAL).on_thread_park(count_what_was_noted);
    let runtime = match builder.build_local(LocalOptions::default()) {
        Ok(runtime) => runtime,
        Err(error) => return report::line(&format!("worker {index}: event loop: {error}")),
    };
    let seed = std::process::id() as u64 ^ ((index as u64 + 1) << 32) ^ started_nanos();
    runtime.block_on(async move {
        let worker = Worker::new(index, shared, seed);
        tokio::task::spawn_local(Rc::clone(&worker.timers).drive());
        let mut housekeeping = tokio::time::interval(HOUSEKEEPING);
        let (stopping, _) = watch::channel(Drain::No);
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order::Accept { name, socket, plan, orders }) => match socket.into_listener() {
                        Ok(socket) => {
                            let post = Post::new(&worker, name, &plan);
                            tokio::task::spawn_local(post.accept(socket, orders, stopping.subscribe()));
                        }
                        Err(error) => report::line(&format!("listener {}: {error}", name.listener)),
                    },
                    Some(Order::Drain(drain)) => {
                        worker.drain.set(drain);
                        stopping.send_replace(drain);
                        // Lets the accept loops take queued clients before their sockets close.
                        tokio::task::yield_now().await;
                        match drain {
                            Drain::Cut => worker.timers.expire_all(),
                            _ => worker.timers.wake_all(),
                        }
                    }
                    // The handle of the workers was dropped; there is nothing left to do.
                    None => return,
                },
                _ = housekeeping.tick() => worker.keep_house(),
                () = worker.ended.notified() => {}
                () = worker.shared.descriptors.are_wanted_of(index) => worker.give_up_some(),
                () = worker.shared.room.arrived(index) => worker.make_room_for_others(),
            }
            let accepting = stopping.receiver_count() > 0;
            if worker.drain.get() != Drain::No && worker.open.get() == 0 && !accepting {
                return worker.flush_log();
            }
        }
    });
    count_what_was_noted();
}

fn started_nanos() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}
