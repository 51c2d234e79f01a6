//! Processes, from /proc/PID (proc(5)), all their threads together.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::cpu_time::CpuTime;
use super::source::{Derived, KernelFile, Source, WatchError, named, number};
use super::table::{Column, Row};
use super::ticks::seconds;

/// How often it is looked for processes that have come.
const LOOK: Duration = Duration::from_secs(1);

/// Which processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Those whose program has this name, as /proc/PID/comm (at most 15 bytes) or the first argument without its directories has it.
    Name(String),
    /// The one with this number.
    Pid(u32),
}

/// Processes that come and go.
#[derive(Debug)]
pub struct Processes {
    which: Vec<Which>,
    /// By number and by when they started, for numbers are used again.
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
}

pub(super) const COLUMNS: &[Column] = &[
    Column::counter("cpu_user_s", "Seconds in user space"),
    Column::counter("cpu_system_s", "Seconds in the kernel"),
    Column::gauge("threads", "Threads"),
    Column::gauge("resident_bytes", "Memory that it has, shared pages included (RSS)"),
    Column::gauge(
        "proportional_bytes",
        "The same with its part of shared pages only (PSS); needs its user's rights",
    ),
    Column::gauge("virtual_bytes", "Address space"),
    Column::gauge("descriptors", "Open descriptors; needs its user's rights"),
    Column::counter("minor_faults", "Pages that came without a disk"),
    Column::counter("major_faults", "Pages that came from a disk"),
    Column::counter("voluntary_switches", "Times that a thread that still runs waited"),
    Column::counter("involuntary_switches", "Times that a thread that still runs was interrupted"),
    Column::counter("read_bytes", "Bytes that disks read for it; needs its user's rights"),
    Column::counter("written_bytes", "Bytes that disks write for it; needs its user's rights"),
    Column::counter("cpu_s", "Seconds of processors in all, finer than the kernel's ticks of 10 ms"),
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
];

impl Processes {
    /// Watches all of these, also those that come later.
    ///
    /// # Errors
    /// A number that no process has.
    pub fn new(which: Vec<Which>) -> Result<Self, WatchError> {
        let missing = which.iter().find_map(|which| match which {
            Which::Pid(pid) if open(*pid).is_none() => Some(*pid),
            _ => None,
        });
        match missing {
            Some(pid) => Err(WatchError::Unknown(format!("no process has the number {pid}"))),
            None => Ok(Self { which, known: BTreeMap::new(), looked: None }),
        }
    }

    /// Finds those that have come.
    fn look(&mut self) -> Result<(), WatchError> {
        let proc = PathBuf::from("/proc");
        let entries = fs::read_dir(&proc).map_err(WatchError::unreadable(&proc))?;
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        for pid in pids {
            // Who was seen before needs no second look, unless the number has gone to another: then its files are at their end.
            if self.known.range((pid, 0)..=(pid, u64::MAX)).next().is_none() && self.is_wanted(pid) {
                self.known.extend(open(pid));
            }
        }
        Ok(())
    }

    fn is_wanted(&self, pid: u32) -> bool {
        let named = |wanted: &str| names(pid).iter().any(|name| name == wanted);
        self.which.iter().any(|which| match which {
            Which::Name(name) => named(name),
            Which::Pid(wanted) => *wanted == pid,
        })
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
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.look()?;
            self.looked = Some(Instant::now());
        }
        let mut rows = Vec::new();
        self.known.retain(|(_, started), known| match known.read() {
            Ok(values) => {
                rows.push(Row { incarnation: *started, ..Row::new(known.subject.clone(), values) });
                true
            }
            // It has ended.
            Err(_) => false,
        });
        Ok(rows)
    }
}

impl Known {
    fn read(&mut self) -> Result<Vec<Option<f64>>, WatchError> {
        let stat = Stat::parse(self.stat.read()?);
        let status = self.status.read()?;
        let bytes = |name| named(status, name).map(|kib| kib * 1024.0);
        let (resident, virtual_) = (bytes("VmRSS"), bytes("VmSize"));
        let (voluntary, involuntary) = self.switches();
        let rollup = fs::read_to_string(self.directory.join("smaps_rollup")).ok();
        let io = fs::read_to_string(self.directory.join("io")).ok();
        let io = |name| named(io.as_deref()?, name);
        let ticks_s = stat.user_s.zip(stat.system_s).map(|(user_s, system_s)| user_s + system_s);
        let cpu_s = ticks_s.map(|ticks_s| self.cpu.read(&self.directory, ticks_s));
        let descriptors = fs::read_dir(self.directory.join("fd")).ok().map(|fds| fds.count() as f64);
        Ok(vec![
            stat.user_s,
            stat.system_s,
            stat.threads,
            resident,
            rollup.and_then(|rollup| named(&rollup, "Pss")).map(|kib| kib * 1024.0),
            virtual_,
            descriptors,
            stat.minor_faults,
            stat.major_faults,
            voluntary,
            involuntary,
            io("read_bytes"),
            io("write_bytes"),
            cpu_s,
        ])
    }

    /// Of all threads that still run: the kernel keeps no sum.
    fn switches(&self) -> (Option<f64>, Option<f64>) {
        let Ok(threads) = fs::read_dir(self.directory.join("task")) else { return (None, None) };
        let (mut voluntary, mut involuntary) = (0.0, 0.0);
        for thread in threads.flatten() {
            let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
            voluntary += named(&status, "voluntary_ctxt_switches").unwrap_or(0.0);
            involuntary += named(&status, "nonvoluntary_ctxt_switches").unwrap_or(0.0);
        }
        (Some(voluntary), Some(involuntary))
    }
}

/// With its start. `None`: it has ended.
fn open(pid: u32) -> Option<((u32, u64), Known)> {
    let directory = PathBuf::from(format!("/proc/{pid}"));
    let mut stat = KernelFile::open(directory.join("stat")).ok()?;
    let status = KernelFile::open(directory.join("status")).ok()?;
    let started = Stat::parse(stat.read().ok()?).started?;
    let name = names(pid).into_iter().next()?;
    Some((
        (pid, started),
        Known { subject: format!("{name}[{pid}]"), stat, status, directory, cpu: CpuTime::default() },
    ))
}

/// The names that a process goes by: the kernel's, cut at 15 bytes, and that of the program in its first argument.
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

/// Of /proc/PID/stat, what is needed of it.
#[derive(Debug, Default, PartialEq)]
struct Stat {
    minor_faults: Option<f64>,
    major_faults: Option<f64>,
    user_s: Option<f64>,
    system_s: Option<f64>,
    threads: Option<f64>,
    started: Option<u64>,
}

impl Stat {
    fn parse(text: &str) -> Self {
        // The name is in parentheses and may hold anything, parentheses too.
        let Some((_, rest)) = text.rsplit_once(')') else { return Self::default() };
        let words: Vec<&str> = rest.split_whitespace().collect();
        // proc(5) counts from 1, and the third field is the first one here.
        let field = |number_of: usize| words.get(number_of - 3).copied();
        Self {
            minor_faults: number(field(10)),
            major_faults: number(field(12)),
            user_s: number(field(14)).map(seconds),
            system_s: number(field(15)).map(seconds),
            threads: number(field(20)),
            started: field(22).and_then(|word| word.parse().ok()),
        }
    }
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
    fn a_name_may_hold_parentheses_and_spaces() {
        let text = "42 (a) (b c) S 1 42 42 0 -1 4194304 7 0 8 0 150 50 0 0 20 0 3 0 12345 1 2";
        let stat = Stat::parse(text);
        assert_eq!((stat.minor_faults, stat.major_faults), (Some(7.0), Some(8.0)));
        assert_eq!((stat.user_s, stat.system_s), (Some(seconds(150.0)), Some(seconds(50.0))));
        assert_eq!((stat.threads, stat.started), (Some(3.0), Some(12345)));
        assert_eq!(Stat::parse("42 (broken"), Stat::default());
    }

    #[test]
    fn the_own_process_has_threads_memory_and_descriptors() {
        let mut watched = Processes::new(vec![Which::Pid(std::process::id())]).unwrap();
        let before = watched.read().unwrap().remove(0);
        let mut sum = 0_u64;
        while watched.read().unwrap().remove(0).values[..2] == before.values[..2] {
            sum = (0..100_000).fold(sum, u64::wrapping_add);
        }
        let now = watched.read().unwrap().remove(0);
        let change = Change::new(COLUMNS, &before, &now, 1.0).unwrap();
        assert!((DERIVED[0].of)(&change).unwrap() > 0.0, "{sum}");
        for name in ["threads", "resident_bytes", "proportional_bytes", "virtual_bytes", "descriptors"] {
            assert!(value(&now, name).unwrap() >= 1.0, "{name}");
        }
        assert!(value(&now, "proportional_bytes") <= value(&now, "virtual_bytes"));
    }

    #[test]
    fn the_cpu_time_of_a_moment_is_seen_although_it_is_no_tick() {
        use std::io::{Read, Write};
        let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut watched = Processes::new(vec![Which::Pid(cat.id())]).unwrap();
        let mut echo = || {
            cat.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            value(&watched.read().unwrap()[0], "cpu_s").unwrap()
        };
        echo();
        let seen: Vec<f64> = (0..20).map(|_| echo()).collect();
        // In ticks there would be one or two values.
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
        let mut watched = Processes::new(vec![Which::Name(name.clone())]).unwrap();
        assert!(watched.read().unwrap().is_empty());
        let start = || Command::new(&program).stdin(Stdio::piped()).spawn().unwrap();
        let mut children = [start(), start()];
        let mut rows = Vec::new();
        // A moment passes from the start of a program to its name.
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
    fn a_number_that_no_process_has_is_an_error() {
        let error = Processes::new(vec![Which::Pid(u32::MAX)]).unwrap_err().to_string();
        assert!(error.contains("4294967295"), "{error}");
    }
}
