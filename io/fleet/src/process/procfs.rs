//! Information about processes in /proc (proc(5)).

use std::fs;
use std::io::Read;

use serde::{Deserialize, Serialize};

/// Identity of a process. A pid may be reused, but not with the same start time until the next boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) pid: i32,
    /// Start time in clock ticks since boot.
    pub(super) start_ticks: u64,
}

/// A process with a given variable in its environment.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) mark: Mark,
    pub(super) value: String,
    /// True if the process leads its process group.
    pub(super) leads: bool,
}

/// Maximum size of an environment that is read. The environment and the arguments together are rarely that
/// large.
const ENVIRONMENT_BYTES_MAX: u64 = 1 << 20;

impl Mark {
    /// Returns the process that has this pid now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        stat.is_alive().then_some(Self { pid, start_ticks: stat.start_ticks })
    }

    /// Returns true if the process still runs. A zombie does not.
    pub(crate) fn is_alive(&self) -> bool {
        Self::of(self.pid) == Some(*self)
    }
}

struct Stat {
    state: char,
    group: i32,
    start_ticks: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name, in parentheses, may itself contain parentheses.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let group = fields.nth(1)?.parse().ok()?;
        // The start time is field 22; the state was field 3 and the group field 5.
        let start_ticks = fields.nth(16)?.parse().ok()?;
        Some(Self { state, group, start_ticks })
    }

    fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Returns the id of this boot.
pub(super) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// Returns all accessible live processes with the variable in their environment, oldest first. This is the
/// environment at the start of a program; later changes do not count. Child processes inherit it.
pub(super) fn carriers(variable: &str) -> Vec<Carrier> {
    let prefix = format!("{variable}=");
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut carriers: Vec<_> = pids
        .filter_map(|pid| {
            let mut environment = Vec::new();
            let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
            file.take(ENVIRONMENT_BYTES_MAX).read_to_end(&mut environment).ok()?;
            let mut variables = environment.split(|&byte| byte == 0);
            let value = variables.find_map(|pair| pair.strip_prefix(prefix.as_bytes()))?;
            let stat = Stat::read(pid).filter(Stat::is_alive)?;
            Some(Carrier {
                mark: Mark { pid, start_ticks: stat.start_ticks },
                value: String::from_utf8_lossy(value).into_owned(),
                leads: stat.group == pid,
            })
        })
        .collect();
    carriers.sort_by_key(|carrier| carrier.mark.start_ticks);
    carriers
}
