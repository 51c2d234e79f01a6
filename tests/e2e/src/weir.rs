//! A running Weir for tests.

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

/// A running Weir. Dropping it kills the process.
#[derive(Debug)]
pub struct Weir {
    child: Child,
    directory: TempDir,
    reloads: usize,
}

/// Settings for the start of a [`Weir`].
#[derive(Debug)]
pub struct Launcher {
    config: String,
    directory: TempDir,
    environment: Vec<(String, OsString)>,
    descriptors_max: Option<u32>,
}

impl Weir {
    /// Starts Weir with this config and waits until each of its listeners accepts. Adds a control socket, an
    /// admin listener and two workers, unless the config sets these.
    ///
    /// # Panics
    /// If Weir does not start.
    #[track_caller]
    pub fn start(config: &str) -> Self {
        Self::launcher(config).start()
    }

    /// Returns a launcher for a start with further settings.
    pub fn launcher(config: &str) -> Launcher {
        Launcher {
            config: config.to_owned(),
            directory: TempDir::new().expect("temporary directory"),
            environment: Vec::new(),
            descriptors_max: None,
        }
    }

    /// Returns the first address where the listener accepts.
    ///
    /// # Panics
    /// If there is no such listener.
    #[track_caller]
    pub fn addr(&self, listener: &str) -> SocketAddr {
        let addresses = self.addrs(listener);
        *addresses.first().unwrap_or_else(|| panic!("no listener {listener}: {:#?}", self.log()))
    }

    /// Returns every TCP address where the listener accepts.
    pub fn addrs(&self, listener: &str) -> Vec<SocketAddr> {
        let start = format!("listener {listener}: ");
        let lines = self.log();
        let told = lines.iter().filter_map(|line| line.split_once(&start));
        told.filter_map(|(_, address)| address.trim().parse().ok()).collect()
    }

    /// Returns a client that is connected to the listener `web`.
    ///
    /// # Panics
    /// If the connection fails.
    #[track_caller]
    pub fn client(&self) -> RawClient {
        RawClient::connect(self.addr("web"))
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Returns the lines that the process has written to both outputs so far.
    pub fn log(&self) -> Vec<String> {
        self.child.output()
    }

    /// Returns the first line of the log that contains this text. Waits for it if necessary.
    ///
    /// # Panics
    /// If no such line appears in time.
    #[track_caller]
    pub fn wait_for_log(&mut self, part: &str) -> String {
        self.child.wait_for_line(PATIENCE, |line| line.contains(part))
    }

    /// Returns a directory that exists as long as this Weir.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path of the config file.
    pub fn config(&self) -> PathBuf {
        config_path(&self.directory)
    }

    /// Returns the path of the control socket.
    pub fn control(&self) -> PathBuf {
        control_path(&self.directory)
    }

    /// Sends a command to the control socket and returns the reply.
    ///
    /// # Panics
    /// If there is no reply.
    #[track_caller]
    pub fn command(&self, command: &Value) -> Value {
        let mut stream = UnixStream::connect(self.control()).expect("control socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        stream.write_all(format!("{command}\n").as_bytes()).expect("send command");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("read reply");
        serde_json::from_str(&line).unwrap_or_else(|cause| panic!("reply {line:?}: {cause}"))
    }

    /// Sends a command to the control socket and returns the value of its reply.
    ///
    /// # Panics
    /// If Weir refuses the command.
    #[track_caller]
    pub fn obey(&self, command: &Value) -> Value {
        let mut reply = self.command(command);
        assert!(reply.get("ok").is_some(), "{command}: {reply}");
        reply["ok"].take()
    }

    /// Runs `weir ctl` with these arguments.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn ctl(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(binary::path());
        command.arg("ctl").arg("--socket").arg(self.control()).args(arguments);
        command.output().expect("run weir ctl")
    }

    /// Returns the metrics page.
    ///
    /// # Panics
    /// If there is no metrics page.
    #[track_caller]
    pub fn metrics(&self) -> Metrics {
        let page = self.admin("/metrics");
        Metrics::new(page)
    }

    /// Returns the body of the admin listener's response to a GET.
    ///
    /// # Panics
    /// If the status is not 200.
    #[track_caller]
    pub fn admin(&self, target: &str) -> String {
        let mut client = RawClient::connect(self.admin_addr());
        let response =
            client.exchange(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
        assert_eq!(response.status, 200, "{}", response.text());
        response.text()
    }

    /// Returns the address of the admin listener.
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

    /// Writes a new config file, sends SIGHUP, and waits until the log confirms the reload.
    ///
    /// # Panics
    /// If the reload fails.
    #[track_caller]
    pub fn reload(&mut self, config: &str) {
        self.reload_and(config, |_| {});
    }

    /// Does the same as [`Weir::reload`]; runs `then` after the signal and before the wait.
    ///
    /// # Panics
    /// If the reload fails.
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

    /// Writes the config file that the next SIGHUP loads.
    pub fn write_config(&self, config: &str) {
        write_config(&self.directory, config);
    }

    /// Stops Weir and starts it again with the same config file.
    ///
    /// # Panics
    /// If the exit status is not 0, or if Weir does not start.
    #[track_caller]
    pub fn start_again(mut self) -> Self {
        assert!(self.stop().success(), "{:#?}", self.log());
        let config = std::fs::read_to_string(self.config()).expect("config");
        let Self { directory, .. } = self;
        Launcher { config, directory, environment: Vec::new(), descriptors_max: None }.start()
    }

    /// Sends SIGTERM and waits for the end of the process.
    ///
    /// # Panics
    /// If the process does not end.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    /// If the process does not end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait(PATIENCE)
    }
}

/// Start of the log line after a successful reload.
const RELOADED: &str = "weir: reloaded ";

impl Launcher {
    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    /// Limits the number of open descriptors.
    pub fn descriptors_max(mut self, count: u32) -> Self {
        self.descriptors_max = Some(count);
        self
    }

    /// Returns the directory that becomes [`Weir::directory`], for files that the config names.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Replaces the config, for a config that contains the directory.
    pub fn config(mut self, config: &str) -> Self {
        config.clone_into(&mut self.config);
        self
    }

    /// Starts Weir and waits until every listener in the config accepts.
    ///
    /// # Panics
    /// If Weir does not start.
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

    /// Starts Weir without waiting, for configs that must fail.
    ///
    /// # Panics
    /// If there is no binary.
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

/// Text of the log line after all listeners accept.
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

/// Writes the config with the settings that every test needs, unless the config has them.
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
