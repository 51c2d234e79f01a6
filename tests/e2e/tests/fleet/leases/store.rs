//! Starts a real Redis or a real etcd (Debian's; `scripts/setup test` installs them).

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_testkit::{Child, PATIENCE, RawClient, Signal, wait_until};

/// A store of either kind, at a fixed address.
pub(super) struct Store {
    kind: Kind,
    directory: PathBuf,
    address: SocketAddr,
    /// Peer address of an etcd, which has no other members.
    peers: SocketAddr,
    more: Vec<String>,
    child: Option<Child>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Redis,
    Etcd,
}

impl Store {
    /// Starts a store in `directory` with further arguments.
    pub(super) fn start(kind: Kind, directory: PathBuf, more: &[String]) -> Self {
        // Another process may take the port before the store binds it; the test then fails with that error.
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        let [address, peers] = [free(), free()].map(|listener| listener.local_addr().unwrap());
        std::fs::create_dir_all(&directory).unwrap();
        let mut store = Self { kind, directory, address, peers, more: more.to_vec(), child: None };
        store.go_on();
        store
    }

    /// Returns the value of the key `lease` in the config, with the further keys in `more`.
    pub(super) fn lease(&self, more: &str) -> String {
        let key = if self.kind == Kind::Redis { "redis" } else { "etcd" };
        // Long enough for a busy machine to renew the lease in time.
        format!("{{ {key} = \"{}\", lasts = \"4s\"{more} }}", self.address)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills the store.
    pub(super) fn fail(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.signal(Signal::KILL);
            child.wait(PATIENCE);
        }
    }

    /// Starts the store again with its data. Returns once it accepts connections.
    pub(super) fn go_on(&mut self) {
        let command = match self.kind {
            Kind::Redis => self.redis(),
            Kind::Etcd => self.etcd(),
        };
        self.child = Some(Child::spawn(command));
        let address = self.address;
        wait_until("the store accepts", PATIENCE, || RawClient::try_connect(address).is_ok());
    }

    fn redis(&self) -> Command {
        let program =
            ["/usr/bin/redis-server", "/usr/sbin/redis-server"].iter().find(|path| Path::new(path).exists());
        let mut command =
            Command::new(program.expect("redis-server is not installed: run `scripts/setup test`"));
        let port = self.address.port().to_string();
        command
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .arg("--dir")
            .arg(&self.directory);
        if self.more.iter().all(|word| word != "--tls-port") {
            command.args(["--port", &port]);
        }
        // The option for the TLS port contains the port number.
        command.args(self.more.iter().map(|word| if word == "PORT" { &port } else { word }));
        command
    }

    fn etcd(&self) -> Command {
        assert!(Path::new("/usr/bin/etcd").exists(), "etcd is not installed: run `scripts/setup test`");
        let tls = self.more.iter().any(|word| word.starts_with("--cert-file"));
        let url = format!("{}://{}", if tls { "https" } else { "http" }, self.address);
        let mut command = Command::new("/usr/bin/etcd");
        command.arg("--data-dir").arg(self.directory.join("data"));
        command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url]);
        // No member joins this etcd.
        let peers = format!("http://{}", self.peers);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("default={peers}")]);
        command.args(&self.more);
        command
    }

    /// Returns true if a Redis without TLS has this key.
    pub(super) fn has(&self, key: &str) -> bool {
        let answer = self.ask(&format!("EXISTS {key}"));
        assert!([":0\r\n", ":1\r\n"].contains(&answer.as_str()), "{answer}");
        answer == ":1\r\n"
    }

    /// Deletes all data of a Redis without TLS, which continues to run.
    pub(super) fn empty(&self) {
        assert_eq!(self.ask("FLUSHALL"), "+OK\r\n");
    }

    /// Returns the first line of the reply of a Redis without TLS.
    fn ask(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    }
}
