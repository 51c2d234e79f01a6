//! Fetches snapshots from the control socket in a separate thread, so that keys work while Weir does not
//! answer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use weir_admin::{ClientError, ControlClient};
use weir_control::Snapshot;

/// Result of a fetch.
#[derive(Debug)]
pub(super) enum Update {
    /// Current state of Weir.
    Snapshot(Box<Snapshot>),
    /// Weir does not answer. The feed tries again.
    Trouble(String),
}

/// Feed of snapshots. Its thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) updates: Receiver<Update>,
}

impl Feed {
    /// Fetches a snapshot every `interval`, and reconnects after a restart of Weir.
    pub(super) fn start(socket: &Path, interval: Duration) -> Self {
        let (updates, receiver) = mpsc::channel();
        let socket = socket.to_owned();
        thread::spawn(move || fetch(socket, interval, &updates));
        Self { updates: receiver }
    }
}

fn fetch(socket: PathBuf, interval: Duration, updates: &Sender<Update>) {
    let mut client: Option<ControlClient> = None;
    loop {
        let update = match snapshot(&mut client, &socket) {
            Ok(snapshot) => Update::Snapshot(Box::new(snapshot)),
            Err(error) => {
                client = None;
                Update::Trouble(error.to_string())
            }
        };
        if updates.send(update).is_err() {
            return;
        }
        thread::sleep(interval);
    }
}

fn snapshot(client: &mut Option<ControlClient>, socket: &Path) -> Result<Snapshot, ClientError> {
    match client {
        Some(client) => client.snapshot(),
        missing => missing.insert(ControlClient::connect(socket)?).snapshot(),
    }
}

/// Signals that end the view. Without a handler, they would leave the terminal in the mode of the view.
#[derive(Debug)]
pub(crate) struct Termination(Arc<Arrival>);

/// Flag that a signal has arrived, which threads can test or wait for.
#[derive(Debug, Default)]
struct Arrival {
    came: Mutex<bool>,
    news: Condvar,
}

impl Termination {
    /// Installs handlers, after which [`Termination::came`] reports SIGTERM, SIGHUP and SIGINT.
    pub(crate) fn listen() -> io::Result<Self> {
        let arrival = Arc::new(Arrival::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _entered = runtime.enter();
            let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
            kinds.map(signal).into_iter().collect::<io::Result<Vec<_>>>()?
        };
        let seen = Arc::clone(&arrival);
        thread::spawn(move || {
            runtime.block_on(async {
                let [terminate, hangup, interrupt] = signals.as_mut_slice() else { return };
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                    _ = interrupt.recv() => {}
                }
            });
            *seen.came.lock().unwrap_or_else(PoisonError::into_inner) = true;
            seen.news.notify_all();
        });
        Ok(Self(arrival))
    }

    /// Returns true if a signal has arrived.
    pub(crate) fn came(&self) -> bool {
        *self.0.came.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a signal, at most for `patience`, without polling. Returns true if one has arrived.
    #[cfg(feature = "lab")]
    pub(crate) fn came_within(&self, patience: Duration) -> bool {
        let came = self.0.came.lock().unwrap_or_else(PoisonError::into_inner);
        *self
            .0
            .news
            .wait_timeout_while(came, patience, |came| !*came)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;

    use weir_control::{Answer, Reply};

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Answers the next command of one client with a snapshot, then closes the connection.
    fn answer_once(listener: &UnixListener, pid: u32) {
        let (mut stream, _) = listener.accept().unwrap();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
        let mut snapshot = Snapshot::default();
        snapshot.process.pid = pid;
        let reply = serde_json::to_string(&Reply::Ok(Answer::Snapshot(Box::new(snapshot)))).unwrap();
        stream.write_all(format!("{reply}\n").as_bytes()).unwrap();
    }

    fn next_pid(feed: &Feed) -> u32 {
        loop {
            if let Update::Snapshot(snapshot) = feed.updates.recv_timeout(PATIENCE).unwrap() {
                return snapshot.process.pid;
            }
        }
    }

    #[test]
    fn a_server_that_was_restarted_is_found_again() {
        let directory = std::env::temp_dir().join(format!("weir-top-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let socket = directory.join("control.sock");
        let feed = Feed::start(&socket, Duration::from_millis(1));
        let Update::Trouble(trouble) = feed.updates.recv_timeout(PATIENCE).unwrap() else { panic!() };
        assert!(trouble.ends_with("(is Weir running?)"), "{trouble}");
        for pid in [1, 2] {
            let _ = std::fs::remove_file(&socket);
            let listener = UnixListener::bind(&socket).unwrap();
            answer_once(&listener, pid);
            assert_eq!(next_pid(&feed), pid);
        }
        drop(feed);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
