use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// How the processes of a fleet are run.
#[derive(Debug, Clone)]
pub struct ProcessSettings {
    /// Records and logs are kept here; nobody else's directory.
    pub directory: PathBuf,
    /// Program and arguments. In them and in [`environment`](Self::environment), `{port}` and `{address}` stand for where the
    /// process is to listen, `{machine}` for its name. The program must stay in the foreground: when it ends, what it has started
    /// is ended, too.
    pub command: Vec<String>,
    /// Processes listen on this address.
    pub address: IpAddr,
    /// Ports are taken from here; `None` = the system chooses. A process keeps its port while it is stopped; one that the system
    /// chose may be taken by then, and is replaced.
    pub ports: Option<RangeInclusive<u16>>,
    /// What processes see beside PATH, HOME, LANG, TZ and the variables of [`MACHINE_VARIABLE`] and PORT. The rest of our own
    /// environment may hold secrets, and stays with us.
    pub environment: Vec<(String, String)>,
    /// Where they run; `None` = in [`directory`](Self::directory).
    pub working_directory: Option<PathBuf>,
    /// What they may use up.
    pub limits: Limits,
    /// What happens when one ends by itself.
    pub restart: Restart,
    /// The pause before the first restart; doubled with each one, up to 60 s, until a process has run for a minute.
    pub restart_pause: Duration,
    /// From the request to end (SIGTERM) to the end (SIGKILL).
    pub stop_grace: Duration,
    /// What a process writes to its output is kept up to about so many bytes: the latest ones. Looked at about once a second.
    pub log_bytes_max: u64,
    /// There may not be more processes, stopped ones included; `None` = no limit.
    pub machines_max: Option<u32>,
}

/// Limits of a process, set before its program runs (setrlimit(2)). `None` = as they are for us.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Open descriptors.
    pub open_files: Option<u64>,
    /// Address space in bytes; rounded up to KiB.
    pub memory_bytes: Option<u64>,
    /// Processor time in seconds.
    pub cpu_s: Option<u64>,
    /// Size of a core dump in bytes; rounded up to units of 512.
    pub core_bytes: Option<u64>,
}

/// What happens when a process ends that nobody has asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// It is started again.
    Always,
    /// It is started again unless it ended with status 0.
    OnFailure,
    /// It stays as it is: stopped, or failed.
    Never,
}

/// The environment variable by which a process is known as ours, also when its record was not written any more: the directory of the
/// records, a slash, and the machine's name.
pub const MACHINE_VARIABLE: &str = "WEIR_FLEET_MACHINE";

impl ProcessSettings {
    /// A command with defaults for all else: on 127.0.0.1, ports of the system's choice, restarted always, 10 s to end, 1 MiB of
    /// output.
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
    /// What a POSIX shell has to do before it becomes the program; `None` = nothing.
    pub(super) fn script(&self) -> Option<String> {
        // -n and -t are POSIX.1-2024; -v (KiB) and -c (512 bytes) are what every shell of this system has.
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
