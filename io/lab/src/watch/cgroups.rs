//! Control groups of version 2 (Documentation/admin-guide/cgroup-v2.rst of the kernel).

use std::fs;
use std::path::{Path, PathBuf};

use super::source::{Derived, Source, WatchError, named};
use super::table::{Column, Row};

/// Groups of processes that the kernel counts together: a container, a unit of systemd.
#[derive(Debug)]
pub struct Cgroups {
    groups: Vec<PathBuf>,
}

const ROOT: &str = "/sys/fs/cgroup";

pub(super) const COLUMNS: &[Column] = &[
    Column::counter("cpu_user_s", "Seconds in user space"),
    Column::counter("cpu_system_s", "Seconds in the kernel"),
    Column::counter("throttled_s", "Seconds in which it was kept from running by its quota"),
    Column::gauge("memory_bytes", "Memory, its part of the page cache included"),
    Column::gauge("memory_max_bytes", "Memory that it may have; nothing = no limit"),
    Column::gauge("processes", "Processes and threads"),
    Column::counter("read_bytes", "Bytes read from disks"),
    Column::counter("written_bytes", "Bytes written to disks"),
];

pub(super) const DERIVED: &[Derived] = &[
    Derived {
        name: "cpu",
        help: "Processors it used: 1 = one of them all the time",
        of: |it| Some(it.rate("cpu_user_s")? + it.rate("cpu_system_s")?),
    },
    Derived {
        name: "throttled",
        help: "Share of the time in which its quota kept it from running",
        of: |it| it.rate("throttled_s"),
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

impl Cgroups {
    /// Those at these paths, below /sys/fs/cgroup or in full.
    ///
    /// # Errors
    /// There is no such group, or control groups are of version 1.
    pub fn new(groups: &[String]) -> Result<Self, WatchError> {
        let path = |name: &String| {
            let path = Path::new(ROOT).join(name.strip_prefix(ROOT).unwrap_or(name).trim_start_matches('/'));
            match path.join("cgroup.controllers").exists() {
                true => Ok(path),
                false => {
                    Err(WatchError::Unknown(format!("{}: no control group of version 2", path.display())))
                }
            }
        };
        Ok(Self { groups: groups.iter().map(path).collect::<Result<_, _>>()? })
    }
}

impl Source for Cgroups {
    fn name(&self) -> &'static str {
        "cgroups"
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        Ok(self.groups.iter().filter(|path| path.exists()).map(|path| row(path)).collect())
    }
}

fn row(path: &Path) -> Row {
    // Files that a group does not have belong to controllers that are not on.
    let text = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
    let (cpu, io) = (text("cpu.stat"), text("io.stat"));
    let seconds = |name| named(&cpu, name).map(|microseconds| microseconds / 1e6);
    let alone = |file: &str| text(file).trim().parse::<u64>().ok().map(|number| number as f64);
    let subject = path.strip_prefix(ROOT).unwrap_or(path).display().to_string();
    let values = vec![
        seconds("user_usec"),
        seconds("system_usec"),
        seconds("throttled_usec"),
        alone("memory.current"),
        alone("memory.max"),
        alone("pids.current"),
        of_all_disks(&io, "rbytes="),
        of_all_disks(&io, "wbytes="),
    ];
    Row::new(if subject.is_empty() { "/".to_owned() } else { subject }, values)
}

/// The sum of what each line `8:0 rbytes=1 wbytes=2 ...` has.
fn of_all_disks(text: &str, name: &str) -> Option<f64> {
    let figures = text.split_whitespace().filter_map(|word| word.strip_prefix(name)?.parse::<u64>().ok());
    (!text.is_empty()).then(|| figures.sum::<u64>() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_s_figures_are_read_and_what_it_does_not_have_is_left_out() {
        let group = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(group.path().join(file), text).unwrap();
        write(
            "cpu.stat",
            "usage_usec 5000000\nuser_usec 3000000\nsystem_usec 2000000\nthrottled_usec 500000\n",
        );
        write("memory.current", "4096\n");
        write("memory.max", "max\n");
        write("io.stat", "8:0 rbytes=10 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2 rios=1\n");
        let row = row(group.path());
        assert_eq!(
            row.values,
            [Some(3.0), Some(2.0), Some(0.5), Some(4096.0), None, None, Some(11.0), Some(22.0)]
        );
    }

    #[test]
    fn a_group_that_is_not_there_is_an_error() {
        let error = Cgroups::new(&["no/such/group".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("/sys/fs/cgroup/no/such/group"), "{error}");
    }
}
