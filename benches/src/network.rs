//! A network namespace for all measurements, with TCP as on a Debian server. A tuned machine would measure
//! its tuning (BBR paces every segment by a timer, even on loopback). The namespace also keeps other traffic
//! and other ports out.

use std::env;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::workshop::read_line;

const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Default of Linux and Debian.
const DEFAULT_CONGESTION_CONTROL: &str = "cubic";

/// Defaults of the kernel and Debian (Documentation/networking/ip-sysctl.rst). A new namespace copies these
/// values and the congestion control from the machine; all others start from the kernel's defaults.
const DEFAULT_BUFFERS: [(&str, &str); 2] = [
    ("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456"),
    ("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304"),
];

/// Flag of a process that runs inside its namespace.
pub(crate) const INSIDE: &str = "--in-own-network";

/// Runs this program again in a network namespace. Returns its exit code.
pub(crate) fn run_inside() -> Result<ExitCode> {
    let program = env::current_exe().context("finding this program")?;
    let mut command = Command::new("unshare");
    command.arg("--net").arg(program).arg(INSIDE).args(env::args_os().skip(1));

    // The namespace starts with the machine's congestion control. Inside of it, the kernel does not permit
    // choosing cubic.
    let machines = Restored::set(CONGESTION_CONTROL, DEFAULT_CONGESTION_CONTROL)?;
    let mut inside = command.spawn().context("a network namespace (unshare; --host-network does without)")?;
    let own = fs::read_link("/proc/self/ns/net").context("reading /proc/self/ns/net")?;
    let theirs = format!("/proc/{}/ns/net", inside.id());
    while fs::read_link(&theirs).is_ok_and(|namespace| namespace == own)
        && inside.try_wait().is_ok_and(|done| done.is_none())
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(machines);

    let status = inside.wait().context("waiting for the measurement")?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}

/// A setting of the machine that is restored when this is dropped.
struct Restored {
    path: &'static str,
    value: String,
}

impl Restored {
    fn set(path: &'static str, value: &str) -> Result<Self> {
        let before = read_line(path);
        fs::write(path, value).context(format_args!("writing {value:?} to {path}"))?;
        Ok(Self { path, value: before })
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        if let Err(error) = fs::write(self.path, &self.value) {
            eprintln!("weir-bench: {} could not be set back to {:?}: {error}", self.path, self.value);
        }
    }
}

/// Starts the loopback interface and sets the defaults, inside the namespace.
pub(crate) fn settle() -> Result<()> {
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().context("ip link set lo up")?;
    if !up.success() {
        return Err(Error::new(format!("ip link set lo up: {up}")));
    }
    for (path, value) in DEFAULT_BUFFERS {
        fs::write(path, value).context(format_args!("writing {value:?} to {path}"))?;
    }
    Ok(())
}

/// Permits listeners to queue this many connections that are not yet accepted, if the network namespace is
/// this program's own.
pub(crate) fn allow_backlog(connections: u32) -> Result<()> {
    let path = "/proc/sys/net/core/somaxconn";
    let now = read_line(path).parse::<u32>().unwrap_or(0);
    if now >= connections || !is_own() {
        return Ok(());
    }
    fs::write(path, connections.to_string()).context(format_args!("writing {connections} to {path}"))
}

/// Describes the network settings for the report.
pub(crate) fn describe() -> String {
    let whose = if is_own() { "its own" } else { "the machine's" };
    format!("{whose} network settings with {}", read_line(CONGESTION_CONTROL))
}

fn is_own() -> bool {
    env::args_os().any(|argument| argument == INSIDE)
}
