//! Reads processes from /proc/PID (proc(5)), each with all its threads.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::cpu_time::CpuTime;
use super::process_files::{Stat, descriptor_limit, descriptors};
use super::source::{Derived, KernelFile, Source, WatchError, named};
use super::switches::Switches;
use super::table::{Column, Row};

/// Interval of searches for new processes.
const LOOK: Duration = Duration::from_secs(1);

/// Selection of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Processes whose program has this name. The name is /proc/PID/comm (at most 15 bytes) or the file name
    /// in the first argument.
    Name(String),
    /// The process with this id.
    Pid(u32),
}

/// Processes that come and go.
#[derive(Debug)]
pub struct Processes {
    which: Vec<Which>,
    /// Found processes by id and start time, because ids are reused.
    known: BTreeMap<(u32, u64), Known>,
    looked: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    subject: String,
    stat: KernelFile,
    status: KernelFile,
    directory: PathBuf,
    cpu: CpuTime,
    switches: Switches,
}

pub(super) const COLUMNS: &[Column] = &[
    Column::counter("cpu_user_s", "Seconds in user space"),
    Column::counter("cpu_system_s", "Seconds in the kernel"),
    Column::gauge("threads", "Threads").shown(),
    Column::gauge("resident_bytes", "Memory that it has, shared pages included (RSS)").shown(),
    Column::gauge(
        "proportional_bytes",
        "The same with its part of shared pages only (PSS); needs its user's rights",
    )
    .shown(),
    Column::gauge("virtual_bytes", "Address space"),
    Column::gauge("descriptors", "Open descriptors; before Linux 6.2 this needs its user's rights").shown(),
    Column::counter("minor_faults", "Pages that came without a disk"),
    Column::counter("major_faults", "Pages that came from a disk"),
    Column::counter(
        "voluntary_switches",
        "Times that a thread waited; of one that has ended, up to the last look",
    ),
    Column::counter(
        "involuntary_switches",
        "Times that a thread was interrupted; of one that has ended, up to the last look",
    ),
    Column::counter("read_bytes", "Bytes that disks read for it; needs its user's rights"),
    Column::counter("written_bytes", "Bytes that disks write for it; needs its user's rights"),
    Column::counter("cpu_s", "Seconds of processors in all, finer than the kernel's ticks of 10 ms"),
    Column::gauge(
        "descriptor_limit",
        "Descriptors that it may have open (the soft limit); needs its user's rights",
    ),
];

pub(super) const DERIVED: &[Derived] = &[
    Derived {
        name: "cpu",
        help: "Processors it used: 1 = one of them all the time",
        of: |it| it.rate("cpu_s"),
    },
    Derived { name: "cpu_user", help: "Of these, in user space", of: |it| it.rate("cpu_user_s") },
    Derived { name: "cpu_system", help: "Of these, in the kernel", of: |it| it.rate("cpu_system_s") },
    Derived {
        name: "switches_per_s",
        help: "Times each second that a thread waited or was interrupted",
        of: |it| Some(it.rate("voluntary_switches")? + it.rate("involuntary_switches")?),
    },
    Derived {
        name: "read_bytes_per_s",
        help: "Bytes read from disks each second",
        of: |it| it.rate("read_bytes"),
    },
    Derived {
        name: "written_bytes_per_s",
        help: "Bytes written to disks each second",
        of: |it| it.rate("written_bytes"),
    },
    Derived {
        name: "major_faults_per_s",
        help: "Pages that came from a disk, each second",
        of: |it| it.rate("major_faults"),
    },
];

impl Processes {
    /// Watches all selected processes, including later ones.
    pub fn new(which: Vec<Which>) -> Self {
        Self { which, known: BTreeMap::new(), looked: None }
    }

    fn look_in_time(&mut self) -> Result<(), WatchError> {
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.look()?;
            self.looked = Some(Instant::now());
        }
        Ok(())
    }

    /// Finds new processes.
    fn look(&mut self) -> Result<(), WatchError> {
        let proc = PathBuf::from("/proc");
        let entries = fs::read_dir(&proc).map_err(WatchError::unreadable(&proc))?;
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        for pid in pids {
            // A known process needs no second check. If its id belongs to a new process now, reads of the old
            // files fail.
            if self.known.range((pid, 0)..=(pid, u64::MAX)).next().is_none() && self.is_wanted(pid) {
                self.known.extend(open(pid));
            }
        }
        Ok(())
    }

    fn is_wanted(&self, pid: u32) -> bool {
        self.which.iter().any(|which| which.is(pid))
    }
}

impl Which {
    fn is(&self, pid: u32) -> bool {
        match self {
            Self::Name(wanted) => names(pid).iter().any(|name| name == wanted),
            Self::Pid(wanted) => *wanted == pid,
        }
    }

    fn missing(&self) -> String {
        match self {
            Self::Name(name) => format!("no process is called {name:?}"),
            Self::Pid(pid) => format!("no process has the number {pid}"),
        }
    }
}

impl Source for Processes {
    fn name(&self) -> &'static str {
        "processes"
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        self.look_in_time()?;
        let mut rows = Vec::new();
        self.known.retain(|(_, started), known| match known.read() {
            Ok(values) => {
                rows.push(Row { incarnation: *started, ..Row::new(known.subject.clone(), values) });
                true
            }
            // The process has ended.
            Err(_) => false,
        });
        Ok(rows)
    }

    fn missing(&mut self) -> Result<Vec<String>, WatchError> {
        self.look_in_time()?;
        let is_there = |which: &&Which| self.known.keys().any(|(pid, _)| which.is(*pid));
        Ok(self.which.iter().filter(|which| !is_there(which)).map(Which::missing).collect())
    }
}

impl Known {
    fn read(&mut self) -> Result<Vec<Option<f64>>, WatchError> {
        let stat = Stat::parse(self.stat.read()?);
        let status = self.status.read()?;
        let bytes = |name| named(status, name).map(|kib| kib * 1024.0);
        let (resident, virtual_) = (bytes("VmRSS"), bytes("VmSize"));
        let switched = self.switches.read(&self.directory).ok();
        let rollup = fs::read_to_string(self.directory.join("smaps_rollup")).ok();
        let io = fs::read_to_string(self.directory.join("io")).ok();
        let io = |name| named(io.as_deref()?, name);
        let ticks_s = stat.user_s.zip(stat.system_s).map(|(user_s, system_s)| user_s + system_s);
        let cpu_s = ticks_s.map(|ticks_s| self.cpu.read(&self.directory, ticks_s));
        Ok(vec![
            stat.user_s,
            stat.system_s,
            stat.threads,
            resident,
            rollup.and_then(|rollup| named(&rollup, "Pss")).map(|kib| kib * 1024.0),
            virtual_,
            descriptors(&self.directory).ok(),
            stat.minor_faults,
            stat.major_faults,
            switched.map(|[voluntary, _]| voluntary),
            switched.map(|[_, involuntary]| involuntary),
            io("read_bytes"),
            io("write_bytes"),
            cpu_s,
            descriptor_limit(&self.directory),
        ])
    }
}

/// Opens a process and returns it with its start time; `None` = it has ended.
fn open(pid: u32) -> Option<((u32, u64), Known)> {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let mut stat = KernelFile::open(directory.join("stat")).ok()?;
    let status = KernelFile::open(directory.join("status")).ok()?;
    let started = Stat::parse(stat.read().ok()?).started?;
    let name = names(pid).into_iter().next()?;
    Some((
        (pid, started),
        Known {
            subject: format!("{name}[{pid}]"),
            stat,
            status,
            directory,
            cpu: CpuTime::default(),
            switches: Switches::default(),
        },
    ))
}

/// Returns the names of a process: the kernel's, limited to 15 bytes, and the file name in the first
/// argument.
fn names(pid: u32) -> Vec<String> {
    let read = |file: &str| -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/{file}"))?).into_owned())
    };
    let comm = read("comm").map(|comm| comm.trim_end().to_owned()).ok();
    let first = read("cmdline").ok().and_then(|line| line.split('\0').next().map(str::to_owned));
    let program =
        first.and_then(|first| first.rsplit('/').next().map(str::to_owned)).filter(|name| !name.is_empty());
    comm.into_iter().chain(program).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::super::table::Change;
    use super::*;

    fn value(row: &Row, name: &str) -> Option<f64> {
        row.values[COLUMNS.iter().position(|column| column.name == name).unwrap()]
    }

    #[test]
    fn the_own_process_has_threads_memory_and_descriptors() {
        let mut watched = Processes::new(vec![Which::Pid(std::process::id())]);
        let before = watched.read().unwrap().remove(0);
        let mut sum = 0_u64;
        while watched.read().unwrap().remove(0).values[..2] == before.values[..2] {
            sum = (0..100_000).fold(sum, u64::wrapping_add);
        }
        let now = watched.read().unwrap().remove(0);
        let change = Change::new(COLUMNS, &before, &now, 1.0).unwrap();
        assert!((DERIVED[0].of)(&change).unwrap() > 0.0, "{sum}");
        for name in [
            "threads",
            "resident_bytes",
            "proportional_bytes",
            "virtual_bytes",
            "descriptors",
            "descriptor_limit",
        ] {
            assert!(value(&now, name).unwrap() >= 1.0, "{name}");
        }
        assert!(value(&now, "proportional_bytes") <= value(&now, "virtual_bytes"));
    }

    #[test]
    fn the_cpu_time_of_a_moment_is_seen_although_it_is_no_tick() {
        use std::io::{Read, Write};
        let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut watched = Processes::new(vec![Which::Pid(cat.id())]);
        let mut echo = || {
            cat.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            value(&watched.read().unwrap()[0], "cpu_s").unwrap()
        };
        echo();
        let seen: Vec<f64> = (0..20).map(|_| echo()).collect();
        // In ticks, there would be only one or two different values.
        let steps = seen.windows(2).filter(|pair| pair[1] > pair[0]).count();
        assert!(steps >= 10 && seen[19] - seen[0] < 1.0, "{seen:?}");
        cat.kill().unwrap();
        cat.wait().unwrap();
    }

    #[test]
    fn processes_that_come_and_go_are_seen_to() {
        let name = format!("w{}", std::process::id());
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join(&name);
        std::os::unix::fs::symlink("/bin/cat", &program).unwrap();
        let mut watched = Processes::new(vec![Which::Name(name.clone())]);
        assert!(watched.read().unwrap().is_empty());
        let start = || Command::new(&program).stdin(Stdio::piped()).spawn().unwrap();
        let mut children = [start(), start()];
        let mut rows = Vec::new();
        // A started program has its name only after a moment.
        weir_testkit::wait_until("both", weir_testkit::PATIENCE, || {
            watched.looked = None;
            rows = watched.read().unwrap();
            rows.len() == 2
        });
        let subjects: Vec<_> = rows.iter().map(|row| row.subject.clone()).collect();
        assert!(subjects.contains(&format!("{name}[{}]", children[0].id())), "{subjects:?}");
        assert!(rows.iter().all(|row| row.incarnation > 0));
        children[0].kill().unwrap();
        children[0].wait().unwrap();
        assert_eq!(watched.read().unwrap().len(), 1);
        children[1].kill().unwrap();
        children[1].wait().unwrap();
        assert!(watched.read().unwrap().is_empty());
    }

    #[test]
    fn those_that_are_not_there_are_named_and_the_others_are_read() {
        let own = Which::Pid(std::process::id());
        let which = vec![own, Which::Pid(u32::MAX), Which::Name("no-such-one".to_owned())];
        let mut watched = Processes::new(which);
        assert_eq!(
            watched.missing().unwrap(),
            ["no process has the number 4294967295", "no process is called \"no-such-one\""]
        );
        assert_eq!(watched.read().unwrap().len(), 1);
    }
}
