//! What /proc tells of processes (proc(5)).

use std::fs;
use std::io::Read;

use serde::{Deserialize, Serialize};

/// One process and no other: numbers come again, together with the start time they do not, until the next boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) pid: i32,
    /// Clock ticks after the boot.
    pub(super) start_ticks: u64,
}

/// A process that carries a variable in its environment.
#[derive(Debug)]
pub(super) struct Carrier {
    pub(super) mark: Mark,
    pub(super) value: String,
    /// It leads its process group.
    pub(super) leads: bool,
}

/// An environment and the arguments together rarely come near this; what is beyond is not looked at.
const ENVIRONMENT_BYTES_MAX: u64 = 1 << 20;

impl Mark {
    /// The process that has this number now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        stat.is_alive().then_some(Self { pid, start_ticks: stat.start_ticks })
    }

    /// Whether it still runs. One that has ended and waits for its parent does not.
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
        // The name, in parentheses, may hold anything, parentheses included.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let group = fields.nth(1)?.parse().ok()?;
        // The start time is field 22; state was 3 and the group 5.
        let start_ticks = fields.nth(16)?.parse().ok()?;
        Some(Self { state, group, start_ticks })
    }

    fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Names this boot of the machine.
pub(super) fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// All live processes that we may look at whose environment has the variable, oldest first. What a process does to its own
/// environment later does not count; what it starts inherits it.
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
