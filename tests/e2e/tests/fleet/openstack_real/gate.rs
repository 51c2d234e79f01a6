//! A proxy between Weir and Nova that records requests and responses, and that a test can shut.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub(crate) struct Gate {
    /// Nova's URL through the gate.
    url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    shut: AtomicBool,
    shuts_at_order: AtomicBool,
    tokens: Mutex<Vec<String>>,
    statuses: Mutex<Vec<String>>,
}

/// Maximum delay until a connection notices that the gate is shut.
const NOTICE: Duration = Duration::from_millis(20);

impl Gate {
    /// Opens a gate in front of the service with this URL.
    pub(crate) fn before(url: &str) -> Self {
        let (authority, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
        let server: SocketAddr = authority.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/{path}", listener.local_addr().unwrap());
        let shared: Arc<Shared> = Arc::default();
        let gate = Self { url, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // While the gate is shut, new connections are closed.
                if !shared.shut.load(Ordering::SeqCst)
                    && let Ok(server) = TcpStream::connect(server)
                {
                    Shared::join(&shared, client, server);
                }
            }
        });
        gate
    }

    /// Shuts the gate and closes its open connections.
    pub(crate) fn shut(&self) {
        self.shared.shut.store(true, Ordering::SeqCst);
    }

    /// Lets the next order of a machine through to Nova, and shuts the gate before the response.
    pub(crate) fn shut_at_order(&self) {
        self.shared.shuts_at_order.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.shared.shut.load(Ordering::SeqCst)
    }

    pub(crate) fn open(&self) {
        self.shared.shut.store(false, Ordering::SeqCst);
    }

    /// Returns the different tokens that Nova has received.
    pub(crate) fn tokens(&self) -> Vec<String> {
        self.shared.tokens.lock().unwrap().clone()
    }

    /// Returns true if Nova has ever responded with this status.
    pub(crate) fn has_seen(&self, status: &str) -> bool {
        self.shared.statuses.lock().unwrap().iter().any(|seen| seen == status)
    }

    /// Writes a clouds.yaml with one cloud: this Keystone, and Nova behind the gate.
    pub(crate) fn clouds(&self, directory: &Path, auth_url: &str) -> PathBuf {
        let path = directory.join("clouds.yaml");
        let text = format!(
            "clouds:\n  gated:\n    compute_endpoint_override: {}\n    auth:\n      auth_url: {auth_url}\n      \
             username: fleet\n      password: fleet\n      project_name: fleet\n      user_domain_id: default\n      \
             project_domain_id: default\n",
            self.url
        );
        fs::write(&path, text).unwrap();
        path
    }
}

impl Shared {
    /// Forwards both directions of a connection. Weir opens a connection for each request.
    fn join(shared: &Arc<Self>, client: TcpStream, server: TcpStream) {
        let requests = (client.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(shared));
        thread::spawn(move || {
            let (client, server, shared) = requests;
            shared.pass(client, server, |shared, request| shared.asked(request));
        });
        let shared = Arc::clone(shared);
        thread::spawn(move || shared.pass(server, client, |shared, answer| shared.answered(answer)));
    }

    /// Forwards one direction. Calls `told` with the bytes received so far until it returns true.
    fn pass(&self, mut from: TcpStream, mut to: TcpStream, told: impl Fn(&Self, &str) -> bool) {
        from.set_read_timeout(Some(NOTICE)).unwrap();
        let (mut piece, mut message, mut is_told) = (vec![0; 16 << 10], Vec::new(), false);
        while !self.shut.load(Ordering::SeqCst) {
            match from.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => {
                    // Records the message before it is forwarded: a test that sees its effect may rely on the
                    // record.
                    if !is_told {
                        message.extend_from_slice(&piece[..count]);
                        is_told = told(self, &String::from_utf8_lossy(&message));
                    }
                    if to.write_all(&piece[..count]).is_err() {
                        break;
                    }
                }
                Err(cause) if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
        // The other side may have closed the connection.
        let _ = to.shutdown(Shutdown::Write);
    }

    /// Records a request. Returns false if it is not complete yet.
    fn asked(&self, request: &str) -> bool {
        let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
        let field = |name: &str| {
            let fields = head.lines().filter_map(|line| line.split_once(": "));
            fields.filter(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
        };
        let length: usize = field("content-length").map_or(0, |length| length.parse().unwrap());
        if body.len() < length {
            return false;
        }
        if let Some(token) = field("x-auth-token") {
            let mut tokens = self.tokens.lock().unwrap();
            if !tokens.iter().any(|known| known == token) {
                tokens.push(token.to_owned());
            }
        }
        let target = head.split(' ').nth(1).unwrap_or_default();
        if head.starts_with("POST ")
            && target.ends_with("/servers")
            && self.shuts_at_order.swap(false, Ordering::SeqCst)
        {
            self.shut.store(true, Ordering::SeqCst);
        }
        true
    }

    /// Records the status of a response. Returns false if it is not complete yet.
    fn answered(&self, answer: &str) -> bool {
        let Some((status_line, _)) = answer.split_once("\r\n") else { return false };
        let status = status_line.split(' ').nth(1).unwrap_or_default();
        self.statuses.lock().unwrap().push(status.to_owned());
        true
    }
}
