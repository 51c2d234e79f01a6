//! A running `weir demo` for tests.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use weir_testkit::{PATIENCE, TempDir, wait_until};

use crate::{Terminal, program};

/// A running `weir demo` in a terminal. Dropping it kills the demo; its child processes die with it.
#[derive(Debug)]
pub struct Demo {
    // Declared first, so that it is dropped before the directory is removed.
    terminal: Terminal,
    /// Directory of the demo's files.
    directory: PathBuf,
    ground: TempDir,
}

impl Demo {
    /// Starts the demo and waits until all of its parts run.
    ///
    /// # Panics
    /// If the demo does not start.
    pub fn start() -> Self {
        let ground = TempDir::new().expect("temporary directory");
        let mut command = Command::new(program());
        command.arg("demo").env("TMPDIR", ground.path());
        let terminal = Terminal::start(command);
        terminal.wait_for("q closes it.");
        let mut entries = fs::read_dir(ground.path()).expect("own directory");
        let directory = entries.next().expect("the demo's directory").expect("own directory").path();
        Self { terminal, directory, ground }
    }

    /// Returns the address where the balancer accepts.
    ///
    /// # Panics
    /// If the config contains no such address.
    pub fn site(&self) -> SocketAddr {
        self.address("bind = \"")
    }

    /// Returns the address where a storage node accepts.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn node(&self, name: &str) -> SocketAddr {
        self.address(&format!("name = \"{name}\", address = \""))
    }

    /// Returns the first address after this text in the balancer's config.
    fn address(&self, before: &str) -> SocketAddr {
        let config = fs::read_to_string(self.config()).expect("the balancer's config");
        let behind = config.split_once(before).unwrap_or_else(|| panic!("no {before}: {config}")).1;
        let address = behind.split('"').next().unwrap_or_default();
        address.parse().unwrap_or_else(|cause| panic!("{address}: {cause}"))
    }

    /// Returns the address of the balancer's status page.
    ///
    /// # Panics
    /// If the config contains no such address.
    pub fn admin(&self) -> SocketAddr {
        self.address("[admin]\nbind = \"")
    }

    /// Returns the process id of a web server.
    ///
    /// # Panics
    /// If there is no such server.
    pub fn server_pid(&self, name: &str) -> u32 {
        // Other demos have servers with the same names, but in other directories.
        let own = format!("TMPDIR={}\0", self.ground.path().display());
        let pid = process_whose(|line, environment| {
            line.contains("\0origin\0")
                && line.contains(&format!("\0--name\0{name}\0"))
                && environment.contains(&own)
        });
        pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Returns the directory of the demo's files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of the balancer's control socket.
    pub fn control(&self) -> PathBuf {
        self.directory.join("control.sock")
    }

    /// Returns the directory that the storage nodes share.
    pub fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn config(&self) -> PathBuf {
        self.directory.join("weir.toml")
    }

    /// Appends this text to the balancer's config and reloads it.
    ///
    /// # Panics
    /// If the reload fails.
    pub fn extend(&self, config: &str) {
        let mut file = fs::File::options().append(true).open(self.config()).expect("the balancer's config");
        file.write_all(config.as_bytes()).expect("the balancer's config");
        let mut ctl = Command::new(program());
        ctl.args(["ctl", "--socket"]).arg(self.control()).arg("reload");
        let output = ctl.output().expect("run weir ctl");
        assert!(output.status.success(), "{output:?}");
    }

    /// Kills a storage node, as after a power loss, and waits until its process is gone.
    ///
    /// # Panics
    /// If the node does not run.
    pub fn kill_node(&self, name: &str) {
        let pid = process_with(&self.directory.join(format!("{name}.toml")));
        kill_process(pid, Signal::KILL).expect("kill");
        let process = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        wait_until("the node's end", PATIENCE, || !process.exists());
    }

    /// Stops the demo and returns its exit code; `None` = a signal killed it.
    ///
    /// # Panics
    /// If the demo does not end.
    pub fn end(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.terminal.process), Signal::TERM).expect("signal");
        let mut status = None;
        wait_until("the demo's end", PATIENCE * 2, || {
            status = self.terminal.process.try_wait().expect("wait");
            status.is_some()
        });
        // The summary contains this text.
        self.terminal.wait_for(" failed");
        status.and_then(|status| status.code())
    }
}

/// Returns the process that was started with this config.
fn process_with(config: &Path) -> Pid {
    let end = format!("\0run\0{}\0", config.display());
    process_whose(|line, _| line.ends_with(&end))
}

/// Finds the only process whose command line and environment match. A NUL byte follows each word in both.
fn process_whose(is_it: impl Fn(&str, &str) -> bool) -> Pid {
    let processes = fs::read_dir("/proc").expect("/proc").filter_map(Result::ok);
    let found = processes.filter_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let [line, environment] = ["cmdline", "environ"].map(|name| fs::read(process.path().join(name)));
        let (line, environment) = (line.ok()?, environment.unwrap_or_default());
        is_it(&String::from_utf8_lossy(&line), &String::from_utf8_lossy(&environment)).then_some(pid)
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}
