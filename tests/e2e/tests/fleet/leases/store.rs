//! A real Redis and a real etcd (Debian's; `scripts/setup test` installs them).

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_testkit::{Child, PATIENCE, RawClient, Signal, wait_until};

/// A store of either kind, at an address that stays.
pub(super) struct Store {
    kind: Kind,
    directory: PathBuf,
    address: SocketAddr,
    /// Of an etcd: for members that there are none of.
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
    /// Runs in `directory`, with these arguments more.
    pub(super) fn start(kind: Kind, directory: PathBuf, more: &[String]) -> Self {
        // Between this and its bind somebody may take the port: then the test fails, and says so.
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        let [address, peers] = [free(), free()].map(|listener| listener.local_addr().unwrap());
        std::fs::create_dir_all(&directory).unwrap();
        let mut store = Self { kind, directory, address, peers, more: more.to_vec(), child: None };
        store.go_on();
        store
    }

    /// As the config names it; further keys may stand in `more`.
    pub(super) fn lease(&self, more: &str) -> String {
        let key = if self.kind == Kind::Redis { "redis" } else { "etcd" };
        // Long enough for a busy machine to renew it in time.
        format!("{{ {key} = \"{}\", lasts = \"4s\"{more} }}", self.address)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// It is killed.
    pub(super) fn fail(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.signal(Signal::KILL);
            child.wait(PATIENCE);
        }
    }

    /// Starts it again, as it was left; returns once it accepts.
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
        // Where TLS is spoken depends on the port.
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
        // Nobody joins it there.
        let peers = format!("http://{}", self.peers);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("default={peers}")]);
        command.args(&self.more);
        command
    }

    /// Whether there is something in a key of a Redis that speaks plaintext.
    pub(super) fn has(&self, key: &str) -> bool {
        let answer = self.ask(&format!("EXISTS {key}"));
        assert!([":0\r\n", ":1\r\n"].contains(&answer.as_str()), "{answer}");
        answer == ":1\r\n"
    }

    /// Everything in a Redis that speaks plaintext is gone, and it goes on.
    pub(super) fn empty(&self) {
        assert_eq!(self.ask("FLUSHALL"), "+OK\r\n");
    }

    /// The first line of what a Redis that speaks plaintext answers.
    fn ask(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    }
}
