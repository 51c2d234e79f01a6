//! What a lab has made on this machine, written down before it is used: whoever comes after one that was killed takes it away.
//!
//! A ledger is a file that its lab holds a lock on. The kernel gives the lock back when the lab ends, however it ends; a ledger that
//! can be locked belongs to nobody any more.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process_group};

use super::{family, is_root};

/// What a lab makes on its machine.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
}

/// What was left behind by labs that are no more, and has been taken away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Groups of processes that were killed.
    pub processes: usize,
    /// Network namespaces, with all that was in them.
    pub namespaces: usize,
    /// Directories.
    pub directories: usize,
}

impl Cleaned {
    /// Nothing was left.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Names of all namespaces and directories begin so: what does not is never taken away.
pub(super) const PREFIX: &str = "weir-lab-";

impl Ledger {
    /// Where ledgers lie: of root in /run, which a restart empties, else in the user's runtime directory.
    pub fn directory() -> PathBuf {
        let own = || std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        match is_root() {
            true if Path::new("/run").is_dir() => PathBuf::from("/run/weir-lab"),
            _ => own().unwrap_or_else(std::env::temp_dir).join("weir-lab"),
        }
    }

    /// Opens a new one in `directory`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let path = directory.join(format!("{}.ledger", std::process::id()));
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        writeln!(file, "boot {}", boot_id())?;
        Ok(Self { path, file })
    }

    pub(super) fn namespace(&mut self, name: &str) -> io::Result<()> {
        writeln!(self.file, "namespace {name}")
    }

    /// The leader of a process group.
    pub(super) fn process(&mut self, pid: u32) -> io::Result<()> {
        writeln!(self.file, "process {pid} {}", started(pid).unwrap_or(0))
    }

    /// What the processes of this lab's balancers that outlive them are known by.
    pub(crate) fn family_name() -> String {
        format!("{PREFIX}{}", std::process::id())
    }

    /// Processes that carry this name in their environment.
    pub(super) fn family(&mut self, name: &str) -> io::Result<()> {
        writeln!(self.file, "family {name}")
    }

    /// A directory of `PREFIX` in its name.
    pub(crate) fn work_directory(&mut self, path: &Path) -> io::Result<()> {
        writeln!(self.file, "directory {}", path.display())
    }

    /// Takes away what labs left behind that are no more.
    pub fn clean(directory: &Path) -> Cleaned {
        let mut cleaned = Cleaned::default();
        let Ok(entries) = fs::read_dir(directory) else { return cleaned };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "ledger") {
                continue;
            }
            let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let text = fs::read_to_string(&path).unwrap_or_default();
                cleaned.take(&text);
                // With the lock held: nobody else takes it for theirs meanwhile.
                let _ = fs::remove_file(&path);
            }
        }
        cleaned
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // What is written in it has gone before; else the next one shall find it.
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        Cleaned::default().take(&text);
        let _ = fs::remove_file(&self.path);
    }
}

impl Cleaned {
    fn take(&mut self, ledger: &str) {
        let mut lines = ledger.lines();
        // After a restart of the machine only directories can be left, and numbers mean other processes.
        let same_boot = lines.next().and_then(|line| line.strip_prefix("boot ")) == Some(boot_id().as_str());
        for line in lines {
            let words: Vec<&str> = line.splitn(2, ' ').collect();
            match words[..] {
                ["process", rest] if same_boot => self.processes += usize::from(kill_group(rest)),
                ["family", name] if same_boot && is_plain(name) => self.processes += family::end(name),
                ["namespace", name] if same_boot && is_plain(name) => {
                    self.namespaces += usize::from(delete_namespace(name));
                }
                ["directory", path] => self.directories += usize::from(remove_directory(Path::new(path))),
                _ => {}
            }
        }
    }
}

fn is_plain(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.starts_with(PREFIX) && name.chars().all(is_letter)
}

/// `PID START`: kills the group if it is still the one that was meant.
fn kill_group(record: &str) -> bool {
    let mut words = record.split(' ').filter_map(|word| word.parse::<u64>().ok());
    let (Some(pid), Some(start)) = (words.next().and_then(|pid| u32::try_from(pid).ok()), words.next())
    else {
        return false;
    };
    // While a group has members nobody else gets its number: a leader of another age has founded another group.
    if started(pid).is_some_and(|now| now != start) || group_members(pid).is_empty() {
        return false;
    }
    match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        Some(group) => kill_process_group(group, Signal::KILL).is_ok(),
        None => false,
    }
}

/// Processes of a group that still run.
pub(super) fn group_members(group: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_member = |pid: &u32| {
        let fields = stat(*pid);
        // State, parent, group; a zombie is nobody.
        fields.first().is_some_and(|state| state != "Z" && state != "X")
            && fields.get(2).and_then(|field| field.parse::<u32>().ok()) == Some(group)
    };
    pids.filter(is_member).collect()
}

/// When a process started, in ticks since the machine did; `None` = it has ended.
fn started(pid: u32) -> Option<u64> {
    let fields = stat(pid);
    fields.first().filter(|state| *state != "Z")?;
    fields.get(19)?.parse().ok()
}

/// Of /proc/PID/stat, what follows the name, from the state on.
fn stat(pid: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    rest.split_whitespace().map(str::to_owned).collect()
}

/// With whoever still runs in it, and thereby its interfaces, bridges and qdiscs.
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

fn remove_directory(path: &Path) -> bool {
    let is_ours =
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX));
    is_ours && fs::remove_dir_all(path).is_ok()
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn what_a_killed_lab_left_is_taken_away_and_what_a_living_one_has_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("weir-lab-work");
        let others = directory.path().join("others");
        fs::create_dir_all(work.join("deep")).unwrap();
        fs::create_dir_all(&others).unwrap();
        let mut child =
            Command::new("sh").args(["-c", "sleep 600 & sleep 600"]).process_group(0).spawn().unwrap();
        let mut ledger = Ledger::open(directory.path()).unwrap();
        ledger.process(child.id()).unwrap();
        ledger.work_directory(&work).unwrap();
        ledger.work_directory(&others).unwrap();
        assert!(Ledger::clean(directory.path()).is_nothing(), "its lab lives");
        // As a kill leaves it: the lock is gone, the file is there.
        let Ledger { path, file } = &ledger;
        let text = fs::read_to_string(path).unwrap();
        flock(file, FlockOperation::Unlock).unwrap();
        assert_eq!(Ledger::clean(directory.path()), Cleaned { processes: 1, namespaces: 0, directories: 1 });
        child.wait().unwrap();
        assert!(!work.exists() && others.exists() && !path.exists());
        weir_testkit::wait_until("the group's end", weir_testkit::PATIENCE, || {
            group_members(child.id()).is_empty()
        });
        assert!(text.starts_with("boot "), "{text}");
    }

    #[test]
    fn a_number_that_another_process_has_now_is_left_alone() {
        let mut child = Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        assert!(!kill_group(&format!("{} 1", child.id())), "it did not start then");
        assert!(child.try_wait().unwrap().is_none());
        assert!(kill_group(&format!("{} {}", child.id(), started(child.id()).unwrap())));
        child.wait().unwrap();
        assert!(!kill_group("nonsense") && !kill_group("4294967295 0"));
    }

    #[test]
    fn names_of_others_are_not_ours() {
        assert!(is_plain("weir-lab-1-client"));
        assert!(!is_plain("eth0") && !is_plain("weir-lab-1/../x") && !is_plain("weir-lab-a b"));
    }
}
