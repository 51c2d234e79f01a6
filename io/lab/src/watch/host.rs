//! Reads the whole machine: CPU time by mode, load, memory, pressure and interrupts (proc(5);
//! Documentation/accounting/psi.rst of the kernel).

use super::source::{Derived, KernelFile, Source, WatchError, named, number};
use super::table::{Change, Column, Row};
use super::ticks::seconds;

/// The machine as a whole.
#[derive(Debug)]
pub struct Host {
    stat: KernelFile,
    load: KernelFile,
    memory: KernelFile,
    /// Files for CPU, memory and I/O pressure; `None` on kernels without PSI.
    pressure: Vec<Option<KernelFile>>,
}

/// Each processor of the machine.
#[derive(Debug)]
pub struct Processors {
    stat: KernelFile,
}

const MODES: usize = 10;

pub(super) const COLUMNS: &[Column] = &[
    Column::counter("cpu_user_s", "Seconds of all processors in user space"),
    Column::counter("cpu_nice_s", "The same of programs with lowered priority"),
    Column::counter("cpu_system_s", "Seconds in the kernel"),
    Column::counter("cpu_idle_s", "Seconds without work"),
    Column::counter("cpu_iowait_s", "Seconds without work, with a disk to wait for"),
    Column::counter("cpu_irq_s", "Seconds in interrupts"),
    Column::counter("cpu_softirq_s", "Seconds in soft interrupts: the network's receiving side"),
    Column::counter("cpu_steal_s", "Seconds that the hypervisor gave to others"),
    Column::counter("cpu_guest_s", "Seconds of virtual machines, part of user"),
    Column::counter("cpu_guest_nice_s", "Seconds of virtual machines with lowered priority, part of nice"),
    Column::counter("interrupts", "Interrupts"),
    Column::counter("softirqs", "Soft interrupts"),
    Column::counter("context_switches", "Switches from one thread to another"),
    Column::counter("forks", "Processes and threads that were started"),
    Column::gauge("running", "Threads that run or could run"),
    Column::gauge("blocked", "Threads that wait for a disk"),
    Column::gauge("load_1m", "Load average of a minute").shown(),
    Column::gauge("memory_total_bytes", "Memory"),
    Column::gauge("memory_available_bytes", "Memory that programs could still get").shown(),
    Column::gauge("memory_free_bytes", "Memory that is used for nothing"),
    Column::gauge("page_cache_bytes", "Memory that holds parts of files"),
    Column::gauge("dirty_bytes", "Of these, what waits to be written"),
    Column::gauge("swap_used_bytes", "Swap that is used").shown(),
    Column::counter("cpu_pressure_s", "Seconds in which a thread waited for a processor"),
    Column::counter("memory_pressure_s", "Seconds in which a thread waited for memory"),
    Column::counter("io_pressure_s", "Seconds in which a thread waited for a disk"),
    Column::gauge("load_5m", "Load average of 5 minutes").shown(),
    Column::gauge("load_15m", "Load average of 15 minutes").shown(),
    Column::counter(
        "cpu_full_pressure_s",
        "Seconds in which all threads waited for a processor; of a whole machine Linux says 0",
    ),
    Column::counter(
        "memory_full_pressure_s",
        "Seconds in which all threads that had work waited for memory at once",
    ),
    Column::counter(
        "io_full_pressure_s",
        "Seconds in which all threads that had work waited for a disk at once",
    ),
];

pub(super) const PROCESSOR_COLUMNS: &[Column] = &[
    COLUMNS[0], COLUMNS[1], COLUMNS[2], COLUMNS[3], COLUMNS[4], COLUMNS[5], COLUMNS[6], COLUMNS[7],
    COLUMNS[8], COLUMNS[9],
];

pub(super) const CPU_DERIVED: [Derived; 6] = [
    Derived {
        name: "busy",
        help: "Share of the time with work",
        of: |it| Some(1.0 - share(it, &["cpu_idle_s", "cpu_iowait_s"])?),
    },
    Derived {
        name: "user",
        help: "Share of the time in user space",
        of: |it| share(it, &["cpu_user_s", "cpu_nice_s"]),
    },
    Derived {
        name: "system",
        help: "Share of the time in the kernel",
        of: |it| share(it, &["cpu_system_s"]),
    },
    Derived {
        name: "softirq",
        help: "Share of the time in soft interrupts",
        of: |it| share(it, &["cpu_softirq_s"]),
    },
    Derived {
        name: "iowait",
        help: "Share of the time waiting for a disk",
        of: |it| share(it, &["cpu_iowait_s"]),
    },
    Derived {
        name: "steal",
        help: "Share of the time given to others",
        of: |it| share(it, &["cpu_steal_s"]),
    },
];

pub(super) const DERIVED: &[Derived] = &[
    CPU_DERIVED[0],
    CPU_DERIVED[1],
    CPU_DERIVED[2],
    CPU_DERIVED[3],
    CPU_DERIVED[4],
    CPU_DERIVED[5],
    Derived { name: "interrupts_per_s", help: "Interrupts each second", of: |it| it.rate("interrupts") },
    Derived {
        name: "context_switches_per_s",
        help: "Switches each second",
        of: |it| it.rate("context_switches"),
    },
    Derived {
        name: "memory_used",
        help: "Share of the memory that programs cannot get any more",
        of: |it| Some(1.0 - it.now("memory_available_bytes")? / it.now("memory_total_bytes")?),
    },
    Derived {
        name: "cpu_pressure",
        help: "Share of the time with a thread that waits for a processor",
        of: |it| it.rate("cpu_pressure_s"),
    },
    Derived {
        name: "memory_pressure",
        help: "Share of the time with a thread that waits for memory",
        of: |it| it.rate("memory_pressure_s"),
    },
    Derived {
        name: "io_pressure",
        help: "Share of the time with a thread that waits for a disk",
        of: |it| it.rate("io_pressure_s"),
    },
    Derived {
        name: "memory_full_pressure",
        help: "Share of the time in which all that had work waited for memory",
        of: |it| it.rate("memory_full_pressure_s"),
    },
    Derived {
        name: "io_full_pressure",
        help: "Share of the time in which all that had work waited for a disk",
        of: |it| it.rate("io_full_pressure_s"),
    },
];

/// Returns the share of these modes in the time of all processors. User and nice time already include guest
/// time.
fn share(change: &Change<'_>, modes: &[&str]) -> Option<f64> {
    let all = PROCESSOR_COLUMNS[..8].iter().map(|column| change.growth(column.name)).sum::<Option<f64>>()?;
    let some = modes.iter().map(|mode| change.growth(mode)).sum::<Option<f64>>()?;
    (all > 0.0).then(|| some / all)
}

impl Host {
    /// Opens the files.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn new() -> Result<Self, WatchError> {
        let pressure =
            ["cpu", "memory", "io"].map(|name| KernelFile::open(format!("/proc/pressure/{name}")).ok());
        Ok(Self {
            stat: KernelFile::open("/proc/stat")?,
            load: KernelFile::open("/proc/loadavg")?,
            memory: KernelFile::open("/proc/meminfo")?,
            pressure: pressure.into(),
        })
    }
}

impl Source for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        let stat = self.stat.read()?;
        let mut values = stat.lines().next().map(modes).unwrap_or_default();
        values.extend(
            ["intr", "softirq", "ctxt", "processes", "procs_running", "procs_blocked"]
                .map(|name| named(stat, name)),
        );
        let mut load = self.load.read()?.split_whitespace().map(|word| word.parse().ok());
        let mut load = || load.next().flatten();
        let [load_1m, load_5m, load_15m] = [load(), load(), load()];
        values.push(load_1m);
        let memory = self.memory.read()?;
        let bytes = |name| named(memory, name).map(|kib| kib * 1024.0);
        values.extend(["MemTotal", "MemAvailable", "MemFree", "Cached", "Dirty"].map(bytes));
        values.push(bytes("SwapTotal").zip(bytes("SwapFree")).map(|(total, free)| total - free));
        let mut full = Vec::new();
        for file in &mut self.pressure {
            // If PSI is disabled at boot, the file exists but cannot be read.
            let text = file.as_mut().and_then(|file| file.read().ok());
            values.push(text.and_then(|text| total_s(text, "some ")));
            full.push(text.and_then(|text| total_s(text, "full ")));
        }
        values.extend([load_5m, load_15m]);
        values.extend(full);
        Ok(vec![Row::new("host", values)])
    }
}

impl Processors {
    /// Opens the file.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn new() -> Result<Self, WatchError> {
        Ok(Self { stat: KernelFile::open("/proc/stat")? })
    }
}

impl Source for Processors {
    fn name(&self) -> &'static str {
        "processors"
    }

    fn columns(&self) -> &'static [Column] {
        PROCESSOR_COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        &CPU_DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        let lines = self.stat.read()?.lines().skip(1).take_while(|line| line.starts_with("cpu"));
        Ok(lines
            .map(|line| Row::new(line.split_whitespace().next().unwrap_or_default(), modes(line)))
            .collect())
    }
}

/// Parses a line such as `cpu0 1 2 3 ...`. Old kernels have fewer modes.
fn modes(line: &str) -> Vec<Option<f64>> {
    let mut words = line.split_whitespace().skip(1);
    (0..MODES).map(|_| number(words.next()).map(seconds)).collect()
}

/// Returns the busy seconds of all processors from /proc/stat. Excludes time that the hypervisor gave to
/// other machines.
pub(super) fn worked_s(stat: &str) -> Option<f64> {
    let modes = modes(stat.lines().next()?);
    let [user, nice, system, _, _, irq, softirq, ..] = modes[..] else { return None };
    // Old kernels do not count interrupts separately.
    Some(user? + nice? + system? + irq.unwrap_or(0.0) + softirq.unwrap_or(0.0))
}

/// Returns the total time in seconds from a line such as `some avg10=0.00 avg60=0.00 avg300=0.00
/// total=12345`, which is in microseconds. Before Linux 5.13, the file for CPUs has no line `full`.
fn total_s(text: &str, line: &str) -> Option<f64> {
    let found = text.lines().find(|it| it.starts_with(line))?;
    let total = found.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok().map(|microseconds| microseconds as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_processors_memory_and_a_load() {
        let row = Host::new().unwrap().read().unwrap().remove(0);
        assert_eq!(row.values.len(), COLUMNS.len());
        let value = |name: &str| row.values[COLUMNS.iter().position(|column| column.name == name).unwrap()];
        for name in ["cpu_user_s", "cpu_idle_s", "interrupts", "context_switches", "memory_total_bytes"] {
            assert!(value(name).unwrap() > 0.0, "{name}");
        }
        assert!(["load_1m", "load_5m", "load_15m"].iter().all(|name| value(name).is_some()));
        assert!(value("io_full_pressure_s") <= value("io_pressure_s"));
        assert!(value("memory_available_bytes") <= value("memory_total_bytes"));
        let processors = Processors::new().unwrap().read().unwrap();
        assert!(!processors.is_empty() && processors.iter().all(|row| row.subject.starts_with("cpu")));
    }

    #[test]
    fn shares_of_modes_are_of_all_time() {
        let row = |modes| Row::new("cpu0", super::modes(modes));
        let (before, now) = (row("cpu0 0 0 0 0 0 0 0 0 0 0"), row("cpu0 30 10 20 25 5 0 8 2 30 0"));
        let change = Change::new(PROCESSOR_COLUMNS, &before, &now, 1.0).unwrap();
        let derived = CPU_DERIVED.map(|it| ((it.of)(&change).unwrap() * 100.0).round());
        assert_eq!(derived, [70.0, 40.0, 20.0, 8.0, 5.0, 2.0]);
    }

    #[test]
    fn pressure_is_the_time_in_which_somebody_waited() {
        let text = "some avg10=0.12 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n";
        assert_eq!((total_s(text, "some "), total_s(text, "full ")), (Some(2.5), Some(0.001)));
        assert_eq!(total_s("some avg10=0.12 total=1\n", "full "), None, "an old kernel's");
    }

    #[test]
    fn work_is_all_time_but_that_without_and_that_of_others() {
        let ticks = |line| (worked_s(line).unwrap() / seconds(1.0)).round();
        assert_eq!(ticks("cpu 10 20 30 4000 500 6 7 800 9 0\ncpu0 1"), 73.0);
        assert_eq!(ticks("cpu 10 20 30 4000\n"), 60.0);
        assert_eq!(worked_s(""), None);
    }

    #[test]
    fn an_old_kernel_s_line_has_fewer_modes() {
        assert_eq!(modes("cpu 100 0 0 200").iter().flatten().count(), 4);
    }
}
