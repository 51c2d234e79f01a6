use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

use serde_json::Value;
use weir_testkit::{Child, PATIENCE, RawClient, Signal, TempDir};

use crate::binary;
use crate::metrics::Metrics;

/// A running Weir. Dropping it kills it.
#[derive(Debug)]
pub struct Weir {
    child: Child,
    directory: TempDir,
    reloads: usize,
}

/// How a [`Weir`] is to be started.
#[derive(Debug)]
pub struct Launcher {
    config: String,
    directory: TempDir,
    environment: Vec<(String, OsString)>,
    descriptors_max: Option<u32>,
}

impl Weir {
    /// Starts with this config and waits until every listener in it accepts. A control socket, an admin listener and 2
    /// workers are added if the config does not say otherwise.
    ///
    /// # Panics
    /// It does not start.
    #[track_caller]
    pub fn start(config: &str) -> Self {
        Self::launcher(config).start()
    }

    /// To start with more than a config.
    pub fn launcher(config: &str) -> Launcher {
        Launcher {
            config: config.to_owned(),
            directory: TempDir::new().expect("temporary directory"),
            environment: Vec::new(),
            descriptors_max: None,
        }
    }

    /// Where the listener accepts, the first of its addresses.
    ///
    /// # Panics
    /// There is no such listener.
    #[track_caller]
    pub fn addr(&self, listener: &str) -> SocketAddr {
        let addresses = self.addrs(listener);
        *addresses.first().unwrap_or_else(|| panic!("no listener {listener}: {:#?}", self.log()))
    }

    /// Every TCP address where the listener accepts.
    pub fn addrs(&self, listener: &str) -> Vec<SocketAddr> {
        let start = format!("listener {listener}: ");
        let lines = self.log();
        let told = lines.iter().filter_map(|line| line.split_once(&start));
        told.filter_map(|(_, address)| address.trim().parse().ok()).collect()
    }

    /// A client connected to the listener `web`.
    ///
    /// # Panics
    /// Nobody accepts.
    #[track_caller]
    pub fn client(&self) -> RawClient {
        RawClient::connect(self.addr("web"))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// What it wrote on both its outputs so far.
    pub fn log(&self) -> Vec<String> {
        self.child.output()
    }

    /// The first line of the log, now or soon, that contains this.
    ///
    /// # Panics
    /// None comes.
    #[track_caller]
    pub fn wait_for_log(&mut self, part: &str) -> String {
        self.child.wait_for_line(PATIENCE, |line| line.contains(part))
    }

    /// A directory that lives as long as this.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The config file.
    pub fn config(&self) -> PathBuf {
        config_path(&self.directory)
    }

    /// The control socket.
    pub fn control(&self) -> PathBuf {
        control_path(&self.directory)
    }

    /// Sends one command through the control socket, and returns the reply.
    ///
    /// # Panics
    /// There is no reply.
    #[track_caller]
    pub fn command(&self, command: &Value) -> Value {
        let mut stream = UnixStream::connect(self.control()).expect("control socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        stream.write_all(format!("{command}\n").as_bytes()).expect("send command");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("read reply");
        serde_json::from_str(&line).unwrap_or_else(|cause| panic!("reply {line:?}: {cause}"))
    }

    /// Sends one command through the control socket, which must be obeyed; returns its answer.
    ///
    /// # Panics
    /// It is refused.
    #[track_caller]
    pub fn obey(&self, command: &Value) -> Value {
        let mut reply = self.command(command);
        assert!(reply.get("ok").is_some(), "{command}: {reply}");
        reply["ok"].take()
    }

    /// Runs `weir ctl` with these arguments.
    ///
    /// # Panics
    /// It cannot be run.
    pub fn ctl(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(binary::path());
        command.arg("ctl").arg("--socket").arg(self.control()).args(arguments);
        command.output().expect("run weir ctl")
    }

    /// The metrics page.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn metrics(&self) -> Metrics {
        let page = self.admin("/metrics");
        Metrics::new(page)
    }

    /// What the admin listener answers to a GET; the status must be 200.
    ///
    /// # Panics
    /// It is not.
    #[track_caller]
    pub fn admin(&self, target: &str) -> String {
        let mut client = RawClient::connect(self.admin_addr());
        let response =
            client.exchange(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    }

    /// Where the admin listener listens.
    pub fn admin_addr(&self) -> SocketAddr {
        let lines = self.log();
        let told = lines.iter().find_map(|line| line.split_once("admin: http://"));
        let address = told.and_then(|(_, address)| address.trim_end_matches('/').parse().ok());
        address.expect("the log tells where admin listens")
    }

    /// Sends a signal.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Writes a new config file and sends SIGHUP; returns once the log says that it holds.
    ///
    /// # Panics
    /// It does not come to hold.
    #[track_caller]
    pub fn reload(&mut self, config: &str) {
        self.reload_and(config, |_| {});
    }

    /// As [`Weir::reload`]; `then` runs after the signal and before the wait.
    ///
    /// # Panics
    /// The config does not come to hold.
    #[track_caller]
    pub fn reload_and(&mut self, config: &str, then: impl FnOnce(&Self)) {
        self.write_config(config);
        self.signal(Signal::HUP);
        then(self);
        self.reloads += 1;
        let count = self.reloads;
        weir_testkit::wait_until("the new config holds", PATIENCE, || {
            self.log().iter().filter(|line| line.contains(RELOADED)).count() >= count
        });
    }

    /// Writes the config file that the next SIGHUP reads.
    pub fn write_config(&self, config: &str) {
        write_config(&self.directory, config);
    }

    /// Stops in order, and starts again with the same config file.
    ///
    /// # Panics
    /// It does not end well, or does not start.
    #[track_caller]
    pub fn start_again(mut self) -> Self {
        assert!(self.stop().success(), "{:#?}", self.log());
        let config = std::fs::read_to_string(self.config()).expect("config");
        let Self { directory, .. } = self;
        Launcher { config, directory, environment: Vec::new(), descriptors_max: None }.start()
    }

    /// Sends SIGTERM and waits for the end.
    ///
    /// # Panics
    /// It does not end.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// It does not end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait(PATIENCE)
    }
}

/// What the log says after a reload that succeeded.
const RELOADED: &str = "weir: reloaded ";

impl Launcher {
    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Limits its open descriptors.
    pub fn descriptors_max(mut self, count: u32) -> Self {
        self.descriptors_max = Some(count);
        self
    }

    /// The directory that will be [`Weir::directory`], for files that the config names.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Replaces the config, when it had to know the directory.
    pub fn config(mut self, config: &str) -> Self {
        config.clone_into(&mut self.config);
        self
    }

    /// Starts and waits until every listener in the config accepts.
    ///
    /// # Panics
    /// It does not start.
    #[track_caller]
    pub fn start(self) -> Weir {
        let mut weir = self.spawn();
        let listeners: Vec<String> = weir.configured_listeners();
        for listener in listeners {
            weir.wait_for_log(&format!("listener {listener}: "));
        }
        weir.wait_for_log(READY);
        weir
    }

    /// Starts and does not wait: for configs that must fail.
    ///
    /// # Panics
    /// There is no binary.
    pub fn spawn(self) -> Weir {
        write_config(&self.directory, &self.config);
        let program = binary::path();
        let mut command = match self.descriptors_max {
            None => Command::new(program),
            Some(count) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("ulimit -n {count} && exec \"$0\" \"$@\"")).arg(program);
                shell
            }
        };
        command.arg("run").arg(config_path(&self.directory));
        command.env("RUST_BACKTRACE", "1").envs(self.environment);
        Weir { child: Child::spawn(command), directory: self.directory, reloads: 0 }
    }
}

/// What the log says when everything listens.
const READY: &str = " is ready";

impl Weir {
    fn configured_listeners(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.config()).expect("config");
        let headings = text.lines().filter_map(|line| line.trim().strip_prefix("[listener."));
        headings
            .filter_map(|rest| rest.strip_suffix(']'))
            .filter(|name| !name.contains('.'))
            .map(str::to_owned)
            .collect()
    }
}

fn config_path(directory: &TempDir) -> PathBuf {
    directory.path().join("weir.toml")
}

fn control_path(directory: &TempDir) -> PathBuf {
    directory.path().join("control.sock")
}

/// Adds what every test needs and the config does not say.
fn write_config(directory: &TempDir, config: &str) {
    let own = |key: &str, line: String| if config.contains(key) { String::new() } else { line };
    let process = format!(
        "[weir]\n{}{}{}",
        own("\nworkers", "workers = 2\n".to_owned()),
        own("\ncontrol", format!("control = \"{}\"\n", control_path(directory).display())),
        own("\nstate", "state = false\n".to_owned()),
    );
    let mut text = match config.contains("[weir]\n") {
        true => config.replacen("[weir]\n", &process, 1),
        false => format!("{config}\n{process}"),
    };
    if !config.contains("[admin]") {
        text.push_str("\n[admin]\nbind = \"127.0.0.1:0\"\n");
    }
    std::fs::write(config_path(directory), text).expect("write config");
}
