//! Settings of a fleet of processes.

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a fleet of processes.
#[derive(Debug, Clone)]
pub struct ProcessSettings {
    /// Directory of the records and logs, for this fleet only.
    pub directory: PathBuf,
    /// Program and arguments. In them and in [`environment`](Self::environment), `{port}` and `{address}` are
    /// replaced by the address to listen on, `{machine}` by the machine's name. The program must stay in the
    /// foreground: when it ends, its child processes are ended, too.
    pub command: Vec<String>,
    /// Address on which the processes listen.
    pub address: IpAddr,
    /// Range of ports; `None` = the system chooses. A process keeps its port while it is stopped. A port
    /// chosen by the system is replaced if another process has taken it by then.
    pub ports: Option<RangeInclusive<u16>>,
    /// Environment of the processes, in addition to PATH, HOME, LANG, TZ, PORT and [`MACHINE_VARIABLE`]. The
    /// rest of Weir's environment is not passed on, because it may hold secrets.
    pub environment: Vec<(String, String)>,
    /// Working directory; `None` = [`directory`](Self::directory).
    pub working_directory: Option<PathBuf>,
    /// Resource limits.
    pub limits: Limits,
    /// Reaction to a process that ends by itself.
    pub restart: Restart,
    /// Pause before the first restart. It doubles with each restart, up to 60 s, until a process has run for
    /// a minute.
    pub restart_pause: Duration,
    /// Time from the request to end (SIGTERM) to SIGKILL.
    pub stop_grace: Duration,
    /// Approximate maximum size of a process's output, of which the latest part is kept. Checked about once a
    /// second.
    pub log_bytes_max: u64,
    /// Maximum number of processes, including stopped ones; `None` = unlimited.
    pub machines_max: Option<u32>,
}

/// Resource limits of a process, set before its program starts (setrlimit(2)). `None` = Weir's own limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Maximum number of open descriptors.
    pub open_files: Option<u64>,
    /// Maximum address space in bytes; rounded up to KiB.
    pub memory_bytes: Option<u64>,
    /// Maximum CPU time in seconds.
    pub cpu_s: Option<u64>,
    /// Maximum size of a core dump in bytes; rounded up to units of 512.
    pub core_bytes: Option<u64>,
}

/// Reaction to a process that ends without a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// The process is restarted.
    Always,
    /// The process is restarted unless it ended with status 0.
    OnFailure,
    /// The process is not restarted: the machine is stopped or failed.
    Never,
}

/// Environment variable that identifies Weir's processes, also without a record. Its value is the directory
/// of the records, a slash, and the machine's name.
pub const MACHINE_VARIABLE: &str = "WEIR_FLEET_MACHINE";

impl ProcessSettings {
    /// Creates settings with defaults: address 127.0.0.1, ports chosen by the system, restart always, 10 s to
    /// end, 1 MiB of output.
    pub fn new(directory: PathBuf, command: Vec<String>) -> Self {
        Self {
            directory,
            command,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            ports: None,
            environment: Vec::new(),
            working_directory: None,
            limits: Limits::default(),
            restart: Restart::Always,
            restart_pause: Duration::from_secs(1),
            stop_grace: Duration::from_secs(10),
            log_bytes_max: 1 << 20,
            machines_max: None,
        }
    }
}

impl Limits {
    /// Returns the shell script that sets the limits and then becomes the program; `None` = no limits.
    pub(super) fn script(&self) -> Option<String> {
        // -n and -t are in POSIX.1-2024; each shell of this system supports -v (KiB) and -c (512 bytes).
        let parts = [
            ("-n", self.open_files),
            ("-v", self.memory_bytes.map(|bytes| bytes.div_ceil(1024))),
            ("-t", self.cpu_s),
            ("-c", self.core_bytes.map(|bytes| bytes.div_ceil(512))),
        ];
        let set =
            parts.into_iter().filter_map(|(option, value)| Some(format!("ulimit {option} {} && ", value?)));
        let script: String = set.collect();
        (!script.is_empty()).then(|| script + "exec \"$@\"")
    }
}
