//! The worker threads: started once, told what to listen on, told to stop.

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

/// One address, open on every worker. Dropping it stops accepting there, once those who have connected already are taken.
#[derive(Debug)]
pub struct ListenerSockets {
    /// Whose it is.
    pub name: SocketName,
    orders: watch::Sender<SocketOrder>,
    file: Option<SocketFile>,
}

/// What a worker is told.
enum Order {
    Accept {
        name: SocketName,
        socket: ListenSocket,
        /// The plan for which the socket was opened: another may be in force when the worker gets to this order.
        plan: Arc<Live>,
        orders: watch::Receiver<SocketOrder>,
    },
    Drain(Drain),
}

/// Idle server connections are looked at, and log lines handed over, this often.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// Events are looked for after so many turns of tasks that are ready, at the latest. While a few connections keep a
/// worker busy, all others wait for that; a look costs as much as a thirtieth of a request.
const EVENT_INTERVAL: u32 = 16;
/// Idle clients get this long to send another request, which is answered, before a stop closes their connections. As long
/// clients come in that have connected already and were silent: the kernel shows them after a second.
const IDLE_GRACE: Duration = Duration::from_millis(1_500);
/// What is cut has ended within milliseconds. Whatever has not after this long does not hold up the process.
const CUT_GRACE: Duration = Duration::from_secs(2);

impl Workers {
    /// Starts `count` threads. What the process may not bind itself, `binder` binds for them.
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

    /// Opens `address` for a listener: a socket for each worker. They accept from the call of
    /// [`OpenedSockets::accept`] on.
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

    /// Stops in order: those who have connected already are taken, requests are finished, idle connections are closed, and
    /// after `deadline` everything that is left is cut. Returns when the threads have ended, or have not for two seconds after
    /// that.
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

/// Sockets that are bound and listening, but from which nobody accepts yet.
#[derive(Debug)]
pub struct OpenedSockets {
    /// What they are bound to.
    pub address: BindAddress,
    configured: BindAddress,
    options: ListenOptions,
    sockets: Vec<ListenSocket>,
    file: Option<SocketFile>,
}

impl OpenedSockets {
    /// Accepts on every worker, for the listener that has this name, or the socket's address, in the plan in force. Workers get that
    /// plan with the socket: clients that connect before a worker has looked are served even if the next plan has no such listener.
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
    /// Another plan is in force, in which it belongs to a listener with these options.
    pub fn adjust(&self, options: ListenOptions) {
        self.orders.send_replace(SocketOrder::Listen(options));
    }
}

impl Drop for ListenerSockets {
    fn drop(&mut self) {
        // First the file: whoever finds it must still be accepted.
        drop(self.file.take());
        self.orders.send_replace(SocketOrder::Close);
    }
}

/// The file of a Unix socket: removed on drop, unless another has taken its place.
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
            // The next start removes what is left here.
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
                        // Accept loops take what is queued before their sockets close.
                        tokio::task::yield_now().await;
                        match drain {
                            Drain::Cut => worker.timers.expire_all(),
                            _ => worker.timers.wake_all(),
                        }
                    }
                    // The process forgot its workers: nothing is left to do here.
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
