//! Everything runs in a network namespace of its own, with TCP as a Debian server has it. A machine that was tuned (BBR paces
//! every segment by a timer, loopback or not) would measure its tuning; and nobody else's traffic or ports are in the way.

use std::env;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::workshop::read_line;

const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Linux's default, and Debian's.
const DEFAULT_CONGESTION_CONTROL: &str = "cubic";

/// What the kernel and Debian have by default (Documentation/networking/ip-sysctl.rst). A new namespace copies these from
/// the machine, and the congestion control; everything else starts from the kernel's defaults by itself.
const DEFAULT_BUFFERS: [(&str, &str); 2] = [
    ("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456"),
    ("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304"),
];

/// The flag that a process inside its namespace is started with.
pub(crate) const INSIDE: &str = "--in-own-network";

/// Runs this program once more, in a namespace of its own, and ends with what it ends with.
pub(crate) fn run_inside() -> Result<ExitCode> {
    let program = env::current_exe().context("finding this program")?;
    let mut command = Command::new("unshare");
    command.arg("--net").arg(program).arg(INSIDE).args(env::args_os().skip(1));

    // Which congestion control a namespace begins with is the machine's; inside, the kernel lets nobody choose cubic.
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

/// A setting of the machine that gets its value back.
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

/// Once inside: loopback, and the defaults.
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

/// Lets programs that ask for it have so many connections that are not yet accepted, where the network is ours.
pub(crate) fn allow_backlog(connections: u32) -> Result<()> {
    let path = "/proc/sys/net/core/somaxconn";
    let now = read_line(path).parse::<u32>().unwrap_or(0);
    if now >= connections || !is_own() {
        return Ok(());
    }
    fs::write(path, connections.to_string()).context(format_args!("writing {connections} to {path}"))
}

/// For the report.
pub(crate) fn describe() -> String {
    let whose = if is_own() { "its own" } else { "the machine's" };
    format!("{whose} network settings with {}", read_line(CONGESTION_CONTROL))
}

fn is_own() -> bool {
    env::args_os().any(|argument| argument == INSIDE)
}
