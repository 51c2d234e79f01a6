//! Sets up the servers for the training: one Weir that serves files, and one that balances between the
//! listeners of the first.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::fresh;
use crate::command;

/// Host name in the certificate.
pub(super) const HOST: &str = "training.test";

/// Files to request: name and size in bytes.
const FILES: [(&str, usize); 4] = [("1k", 1 << 10), ("8k", 8 << 10), ("64k", 64 << 10), ("1m", 1 << 20)];

/// Time limit for a program to start listening, and to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Configs, certificate, files and addresses of the training.
pub(super) struct Site {
    directory: PathBuf,
    /// Listeners that serve files, plain and with TLS.
    pub(super) origin: SocketAddr,
    pub(super) origin_tls: SocketAddr,
    /// Listeners that balance: plain, with TLS from clients, with TLS on both sides, and in TCP mode.
    pub(super) plain: SocketAddr,
    pub(super) tls: SocketAddr,
    pub(super) tls_both: SocketAddr,
    pub(super) tcp: SocketAddr,
}

impl Site {
    /// Creates everything in `directory`, which is emptied first.
    pub(super) fn build(directory: &Path) -> Result<Self, String> {
        let files = directory.join("files");
        fresh(directory)?;
        fresh(&files)?;
        for (name, bytes) in FILES {
            let content: Vec<u8> = (b'a'..=b'z').cycle().take(bytes).collect();
            write(&files.join(name), &content)?;
        }
        fresh(&files.join("many"))?;
        for number in 0..50 {
            write(&files.join(format!("many/{number}")), b"one of many\n")?;
        }
        make_certificate(directory)?;
        let [origin, origin_tls, plain, tls, tls_both, tcp] = free_addresses()?;
        Ok(Self { directory: directory.to_owned(), origin, origin_tls, plain, tls, tls_both, tcp })
    }

    /// Starts the Weir that serves files.
    pub(super) fn start_origin(&self, program: &Path, counts: &Path) -> Result<Running, String> {
        let Self { origin, origin_tls, .. } = self;
        let config = format!(
            r#"[weir]
workers = 1
control = {control:?}
state = false

[listener.plain]
bind = "{origin}"
storage = "files"

[listener.tls]
bind = "{origin_tls}"
storage = "files"
tls = {{ certificates = {certificate:?} }}

[storage-area.files]
root = {root:?}

[[storage-area.files.access.policy]]
description = "everybody"
effect = "permit"
actions = "all"
principals = {{ type = "anyone" }}
"#,
            control = self.directory.join("origin.sock"),
            certificate = self.certificate(),
            root = self.directory.join("files"),
        );
        self.start("origin", &config, program, counts, &[*origin, *origin_tls])
    }

    /// Starts the Weir that balances, with `more` lines of config.
    pub(super) fn start_balancer(
        &self,
        program: &Path,
        counts: &Path,
        more: &str,
    ) -> Result<Running, String> {
        let Self { origin, origin_tls, plain, tls, tls_both, tcp, .. } = self;
        let certificate = self.certificate();
        let config = format!(
            r#"[weir]
workers = 1
control = {control:?}
state = false

[listener.plain]
bind = "{plain}"
pool = "web"

[listener.tls]
bind = "{tls}"
pool = "web"
tls = {{ certificates = {certificate:?} }}

[listener.tls-both]
bind = "{tls_both}"
pool = "secure"
tls = {{ certificates = {certificate:?} }}

[listener.tcp]
bind = "{tcp}"
mode = "tcp"
pool = "bytes"

[[route]]
host = "elsewhere.test"
path = "/nothing"
respond = {{ status = 404 }}

[[route]]
path = "/many"
pool = "in-turn"

[pool.web]
check = {{ http = "GET /1k", host = "{HOST}" }}
servers = ["{origin}"]

[pool.in-turn]
balance = "round-robin"
servers = ["{origin}"]

[pool.secure]
check = {{ http = "GET /1k", host = "{HOST}" }}
servers = ["{origin_tls}"]
tls = {{ ca = {certificate:?}, server-name = "{HOST}" }}

[pool.bytes]
servers = ["{origin}"]

{more}"#,
            control = self.directory.join("balancer.sock"),
        );
        self.start("balancer", &config, program, counts, &[*plain, *tls, *tls_both, *tcp])
    }

    /// Returns the path of the file with chain and key. The certificate is self-signed.
    pub(super) fn certificate(&self) -> PathBuf {
        self.directory.join("site.pem")
    }

    /// Returns a path for a file that the balancer writes.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn start(
        &self,
        name: &'static str,
        config: &str,
        program: &Path,
        counts: &Path,
        listens: &[SocketAddr],
    ) -> Result<Running, String> {
        let path = self.directory.join(name).with_extension("toml");
        write(&path, config.as_bytes())?;
        let mut command = Command::new(program);
        command.arg("run").arg(path);
        counting(&mut command, counts);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("{}: {error}", command::spelled(&command)))?;
        let mut running = Running { name, child };
        running.wait_until_it_listens(listens)?;
        Ok(running)
    }
}

/// Running Weir. It is killed if it is dropped before [`Running::stop`].
pub(super) struct Running {
    name: &'static str,
    child: Child,
}

impl Running {
    fn wait_until_it_listens(&mut self, addresses: &[SocketAddr]) -> Result<(), String> {
        let begun = Instant::now();
        for address in addresses {
            while TcpStream::connect(address).is_err() {
                if let Ok(Some(status)) = self.child.try_wait() {
                    return Err(format!("{}: {status}", self.name));
                }
                if begun.elapsed() > PATIENCE {
                    return Err(format!("{}: does not listen on {address}", self.name));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    /// Stops the process with SIGTERM, and waits until it has written its counts and has ended.
    pub(super) fn stop(mut self) -> Result<(), String> {
        command::run(Command::new("kill").arg(self.child.id().to_string()))?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match self.child.try_wait().map_err(|error| format!("{}: {error}", self.name))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("{}: {status}", self.name)),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        Err(format!("{}: does not end", self.name))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the process of `command` write its counts to its own file.
pub(super) fn counting(command: &mut Command, counts: &Path) {
    command.env("LLVM_PROFILE_FILE", counts.join("%p.profraw"));
}

fn make_certificate(directory: &Path) -> Result<(), String> {
    let [key, certificate] = ["key.pem", "certificate.pem"].map(|name| directory.join(name));
    // The system's openssl.cnf has extensions that would make the certificate a CA. This config has none.
    let settings = directory.join("openssl.cnf");
    write(&settings, b"[req]\ndistinguished_name = name\n[name]\n")?;
    let mut openssl = Command::new("openssl");
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "90",
    ]);
    openssl.args(["-subj", &format!("/CN={HOST}"), "-addext", &format!("subjectAltName=DNS:{HOST}")]);
    openssl.arg("-config").arg(settings);
    openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    command::output(openssl.stdin(Stdio::null()))?;
    let mut both = Vec::new();
    for path in [&certificate, &key] {
        both.extend(fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    write(&directory.join("site.pem"), &both)
}

/// Returns loopback addresses with ports that were free a moment ago.
fn free_addresses<const N: usize>() -> Result<[SocketAddr; N], String> {
    let found = (0..N)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<Result<Vec<_>, _>>()
        .and_then(|listeners| listeners.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>());
    let found = found.map_err(|error| format!("a free port: {error}"))?;
    found.try_into().map_err(|_| "a free port: too few".to_owned())
}

fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}
