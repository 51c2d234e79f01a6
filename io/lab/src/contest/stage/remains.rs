//! Reads a ledger of a killed lab and removes what it records.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::family;
use super::ledger::PREFIX;
use super::strangers::{boot_id, group_members, group_of, is_marked, names, pids, started};

/// Remains of killed labs that have been removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Killed process groups.
    pub processes: usize,
    /// Removed network namespaces, with their processes and interfaces.
    pub namespaces: usize,
    /// Removed directories.
    pub directories: usize,
}

impl Cleaned {
    /// Returns true if there were no remains.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Content of a ledger.
#[derive(Debug, Default)]
pub(super) struct Remains {
    /// True if the machine has not restarted since, so that process ids and namespaces are still valid.
    same_boot: bool,
    directories: Vec<PathBuf>,
    namespaces: Vec<String>,
    /// Names of families, which identify processes that balancers started.
    families: Vec<String>,
    /// Leaders of process groups, with their start times.
    groups: Vec<(u32, u64)>,
    /// Start times of processes whose ids were not recorded.
    intents: Vec<u64>,
}

/// Maximum time from the intent to the start of a process, in ticks. Usually it takes moments, but the
/// machine may have been suspended.
const INTENT_TICKS: u64 = 1_000;
/// Maximum time until killed processes have ended.
const END_MAX: Duration = Duration::from_secs(2);

impl Remains {
    pub(super) fn read(ledger: &str) -> Self {
        let mut lines = ledger.lines();
        let boot = lines.next().and_then(|line| line.strip_prefix("boot "));
        let mut remains = Self { same_boot: boot == Some(boot_id().as_str()), ..Self::default() };
        let mut intent: Option<u64> = None;
        for line in lines {
            match line.split_once(' ') {
                Some(("process", record)) => {
                    intent = None;
                    remains.groups.extend(group(record));
                }
                Some(("intent", at)) => {
                    remains.intents.extend(intent.take());
                    intent = at.parse().ok();
                }
                Some(("family", name)) if is_plain(name) => remains.families.push(name.to_owned()),
                Some(("namespace", name)) if is_plain(name) => remains.namespaces.push(name.to_owned()),
                Some(("directory", path)) if is_ours(Path::new(path)) => {
                    remains.directories.push(path.into())
                }
                _ => {}
            }
        }
        remains.intents.extend(intent);
        remains
    }

    /// Removes the remains. Returns false if some of them still exist.
    pub(super) fn take(&self, cleaned: &mut Cleaned) -> bool {
        let mut is_gone = true;
        // After a restart of the machine, only directories can remain, and process ids belong to other
        // processes.
        if self.same_boot {
            let is_alive = |group: u32| !group_members(group).is_empty();
            let (killed, is_over) = until_nobody(END_MAX, |before| self.kill(before), is_alive);
            cleaned.processes += killed.len();
            cleaned.processes += self.families.iter().map(|name| family::end(name)).sum::<usize>();
            is_gone &= is_over && self.families.iter().all(|name| family::is_over(name));
            for name in self.namespaces.iter().filter(|name| is_there(name)) {
                cleaned.namespaces += usize::from(delete_namespace(name));
                is_gone &= !is_there(name);
            }
        }
        for path in self.directories.iter().filter(|path| path.exists()) {
            cleaned.directories += usize::from(fs::remove_dir_all(path).is_ok());
            is_gone &= !path.exists();
        }
        is_gone
    }

    /// Kills the processes, except those of groups that were killed `before`. Returns the killed groups.
    fn kill(&self, before: &BTreeSet<u32>) -> Vec<u32> {
        let mut killed = Vec::new();
        let kill_all = |leader: u32| {
            let group = i32::try_from(leader).ok().and_then(Pid::from_raw);
            group.is_some_and(|group| kill_process_group(group, Signal::KILL).is_ok())
        };
        for (leader, start) in &self.groups {
            match started(*leader) {
                // The recorded process: while a group has members, its id is not reused.
                Some(now) if now == *start => killed.extend(kill_all(*leader).then_some(*leader)),
                Some(_) => {}
                // The id may have belonged to another process that has ended, too. Then the group is not the
                // lab's.
                None => {
                    let is_own = |pid: u32| {
                        self.directories.iter().any(|work| is_marked(pid, work) || names(pid, work))
                    };
                    let count =
                        group_members(*leader).into_iter().filter(|pid| kill_if(*pid, &is_own)).count();
                    killed.extend((count > 0).then_some(*leader));
                }
            }
        }
        for at in &self.intents {
            let is_own = |pid: &u32| {
                let is_then = started(*pid)
                    .is_some_and(|start| (at.saturating_sub(1)..=at + INTENT_TICKS).contains(&start));
                is_then
                    && group_of(*pid) == Some(*pid)
                    && self.directories.iter().any(|work| names(*pid, work))
            };
            killed.extend(pids().filter(is_own).filter(|pid| kill_all(*pid)));
        }
        // Processes that have left their group or were not recorded.
        let is_labs = |pid: u32| self.directories.iter().any(|work| is_marked(pid, work));
        let is_dying =
            |pid: u32| group_of(pid).is_some_and(|group| killed.contains(&group) || before.contains(&group));
        let others: Vec<u32> = pids().filter(|pid| !is_dying(*pid) && kill_if(*pid, &is_labs)).collect();
        killed.extend(others);
        killed
    }
}

/// Kills repeatedly, because a killed process may have started another one a moment before. Stops when no
/// process is found and no killed group has a member, or after `time_max`. Returns all killed groups, and
/// true if no process remains.
fn until_nobody(
    time_max: Duration,
    mut kill: impl FnMut(&BTreeSet<u32>) -> Vec<u32>,
    is_alive: impl Fn(u32) -> bool,
) -> (BTreeSet<u32>, bool) {
    let (begun, mut killed) = (Instant::now(), BTreeSet::new());
    loop {
        let found = kill(&killed);
        killed.extend(&found);
        if found.is_empty() && !killed.iter().any(|group| is_alive(*group)) {
            return (killed, true);
        }
        if begun.elapsed() >= time_max {
            return (killed, false);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a process if `is_one` holds for it. Never kills another process that gets the same id meanwhile.
fn kill_if(pid: u32, is_one: &dyn Fn(u32) -> bool) -> bool {
    let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    // The descriptor is opened before the check, so it refers to the checked process.
    let Ok(held) = pidfd_open(number, PidfdFlags::empty()) else { return false };
    is_one(pid) && pidfd_send_signal(&held, Signal::KILL).is_ok()
}

/// Parses `PID START`.
fn group(record: &str) -> Option<(u32, u64)> {
    let (pid, start) = record.split_once(' ')?;
    Some((pid.parse().ok()?, start.parse().ok()?))
}

fn is_plain(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.starts_with(PREFIX) && name.chars().all(is_letter)
}

fn is_ours(path: &Path) -> bool {
    path.is_absolute()
        && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX))
}

/// Returns true if the namespace exists in the directory of `ip netns`.
fn is_there(namespace: &str) -> bool {
    Path::new("/run/netns").join(namespace).exists()
}

/// Deletes a namespace with its remaining processes, and so its interfaces, bridges and qdiscs.
fn delete_namespace(name: &str) -> bool {
    let ip = |arguments: &[&str]| Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    if let Ok(output) = ip(&["netns", "pids", name]) {
        let pids = String::from_utf8_lossy(&output.stdout).into_owned();
        for pid in pids.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()).filter_map(Pid::from_raw)
        {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
    ip(&["netns", "delete", name]).is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_not_ours() {
        assert!(is_plain("weir-lab-1-client"));
        assert!(!is_plain("eth0") && !is_plain("weir-lab-1/../x") && !is_plain("weir-lab-a b"));
        assert!(is_ours(Path::new("/tmp/weir-lab-x")));
        assert!(
            !is_ours(Path::new("/tmp"))
                && !is_ours(Path::new("weir-lab-x"))
                && !is_ours(Path::new("/weir-lab-x/.."))
        );
    }

    #[test]
    fn who_is_started_while_others_are_killed_is_killed_too() {
        // The second search finds no process, but one of the killed groups still has a member.
        let mut looks = [vec![7, 8], vec![], vec![9], vec![]].into_iter();
        let lives = std::cell::Cell::new(1);
        let is_alive = |group| group == 8 && lives.replace(0) == 1;
        let (killed, is_over) = until_nobody(END_MAX, |_| looks.next().unwrap_or_default(), is_alive);
        assert_eq!((killed, is_over), (BTreeSet::from([7, 8, 9]), true));
    }

    #[test]
    fn what_does_not_end_is_still_there() {
        let time_max = Duration::from_millis(20);
        assert!(!until_nobody(time_max, |_| vec![7], |_| false).1, "one that comes again and again");
        let mut looks = [vec![7]].into_iter();
        let (killed, is_over) = until_nobody(time_max, |_| looks.next().unwrap_or_default(), |_| true);
        assert_eq!((killed, is_over), (BTreeSet::from([7]), false), "one of a group lives on");
    }

    #[test]
    fn an_intent_that_came_to_a_process_is_none_any_more() {
        let remains =
            Remains::read("boot x\nintent 5\nprocess 7 5\nintent 8\nintent 9\nprocess 9 9\nintent 12\n");
        assert_eq!((remains.intents, remains.groups), (vec![8, 12], vec![(7, 5), (9, 9)]));
        assert!(!remains.same_boot);
    }
}
