//! Reads control groups of version 2 (Documentation/admin-guide/cgroup-v2.rst of the kernel).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::members::{Figures, Members};
use super::source::{Derived, Source, WatchError, named};
use super::table::{Change, Column, Row};

/// Control groups, for example a container or a systemd unit. Groups may come and go.
#[derive(Debug)]
pub struct Cgroups {
    root: PathBuf,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    path: PathBuf,
    /// Distinguishes the group from an earlier one with the same path; 0 = not seen yet.
    inode: u64,
    members: Members,
}

const ROOT: &str = "/sys/fs/cgroup";

/// File that every group of version 2 has, and no other group.
const MARK: &str = "cgroup.controllers";

pub(super) const COLUMNS: &[Column] = &[
    Column::counter("cpu_user_s", "Seconds in user space"),
    Column::counter("cpu_system_s", "Seconds in the kernel"),
    Column::counter("throttled_s", "Seconds in which it was kept from running by its quota"),
    Column::gauge("memory_bytes", "Memory, its part of the page cache included").shown(),
    Column::gauge("memory_max_bytes", "Memory that it may have; nothing = no limit"),
    Column::gauge("processes", "Processes of it and of the groups below it").shown(),
    Column::counter("read_bytes", "Bytes read from disks"),
    Column::counter("written_bytes", "Bytes written to disks"),
    Column::gauge("tasks", "Processes and their threads, as its controller of numbers counts them"),
    Column::counter("cpu_s", "Seconds of processors in all"),
    Column::gauge("threads", "Threads of its processes").shown(),
    Column::gauge("resident_bytes", "Memory that its processes have, what they share counted for each (RSS)").shown(),
    Column::gauge(
        "proportional_bytes",
        "The same with the part of each of shared pages only (PSS); needs their users' rights; of the last second or before",
    )
    .shown(),
    Column::gauge("virtual_bytes", "Address space of its processes"),
    Column::gauge("descriptors", "Open descriptors of its processes; before Linux 6.2 this needs their users' rights")
        .shown(),
    Column::counter(
        "minor_faults",
        "Pages that came to its processes without a disk; of those that have ended, up to the last look",
    ),
    Column::counter(
        "major_faults",
        "Pages that came to its processes from a disk; of those that have ended, up to the last look",
    ),
    Column::counter(
        "voluntary_switches",
        "Times that a thread of it waited; of those that have ended, up to the last look",
    ),
    Column::counter(
        "involuntary_switches",
        "Times that a thread of it was interrupted; of those that have ended, up to the last look",
    ),
    Column::counter(
        "members_at_s",
        "When it was looked at its processes, in seconds since the machine was started: their figures are of then",
    ),
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
    Derived {
        name: "switches_per_s",
        help: "Times each second that a thread waited or was interrupted",
        of: |it| Some(member_rate(it, "voluntary_switches")? + member_rate(it, "involuntary_switches")?),
    },
    Derived {
        name: "major_faults_per_s",
        help: "Pages that came from a disk, each second",
        of: |it| member_rate(it, "major_faults"),
    },
];

/// Returns the rate of a counter of the members. `None` if the processes have not been read since the last
/// row. Their work is then part of the next rate.
fn member_rate(change: &Change<'_>, name: &str) -> Option<f64> {
    let seconds = change.growth("members_at_s").filter(|seconds| *seconds > 0.0)?;
    Some(change.growth(name)? / seconds)
}

impl Cgroups {
    /// Watches the groups with these paths, relative to /sys/fs/cgroup or absolute, including groups that
    /// come later.
    ///
    /// # Errors
    /// If a path belongs to a hierarchy of version 1.
    pub fn new(groups: &[String]) -> Result<Self, WatchError> {
        Self::below(Path::new(ROOT), groups)
    }

    fn below(root: &Path, groups: &[String]) -> Result<Self, WatchError> {
        let group = |name: &String| {
            let inner = Path::new(name).strip_prefix(root).unwrap_or(Path::new(name.trim_start_matches('/')));
            let path = root.join(inner);
            let mut above = path.ancestors().filter(|path| path.starts_with(root));
            match above.find(|path| path.is_dir()) {
                Some(there) if there.join(MARK).exists() => {
                    Ok(Group { path, inode: 0, members: Members::default() })
                }
                there => Err(WatchError::Unknown(format!(
                    "{}: no control group of version 2: {} has no {MARK}",
                    path.display(),
                    there.unwrap_or(root).display()
                ))),
            }
        };
        Ok(Self { root: root.to_owned(), groups: groups.iter().map(group).collect::<Result<_, _>>()? })
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
        let root = &self.root;
        Ok(self.groups.iter_mut().filter_map(|group| group.read(root)).collect())
    }

    fn missing(&mut self) -> Result<Vec<String>, WatchError> {
        let missing = self.groups.iter().filter(|group| !group.path.join(MARK).exists());
        Ok(missing.map(|group| format!("{}: no such control group", group.path.display())).collect())
    }
}

impl Group {
    /// Reads the group; `None` = it does not exist.
    fn read(&mut self, root: &Path) -> Option<Row> {
        let inode = fs::metadata(&self.path).ok()?.ino();
        if inode != self.inode {
            (self.inode, self.members) = (inode, Members::default());
        }
        let members = self.members.look(&self.path);
        let subject = self.path.strip_prefix(root).unwrap_or(&self.path).display().to_string();
        let subject = if subject.is_empty() { "/".to_owned() } else { subject };
        Some(Row { incarnation: inode, ..Row::new(subject, figures(&self.path, &members)) })
    }
}

fn figures(path: &Path, members: &Figures) -> Vec<Option<f64>> {
    // A missing file belongs to a controller that is disabled.
    let text = |file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
    let (cpu, io) = (text("cpu.stat"), text("io.stat"));
    let seconds = |name| named(&cpu, name).map(|microseconds| microseconds / 1e6);
    let alone = |file: &str| text(file).trim().parse::<u64>().ok().map(|number| number as f64);
    let mut values = vec![
        seconds("user_usec"),
        seconds("system_usec"),
        seconds("throttled_usec"),
        alone("memory.current"),
        alone("memory.max"),
        members.processes,
        of_all_disks(&io, "rbytes="),
        of_all_disks(&io, "wbytes="),
        alone("pids.current"),
        seconds("usage_usec"),
        members.threads,
        members.resident_bytes,
        members.proportional_bytes,
        members.virtual_bytes,
        members.descriptors,
    ];
    values.extend(members.counted);
    values.push(members.at_s);
    values
}

/// Returns the sum of a field over all lines, such as `8:0 rbytes=1 wbytes=2 ...`.
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
        write("pids.current", "7\n");
        let values = figures(group.path(), &Figures::default());
        let known = [
            Some(3.0),
            Some(2.0),
            Some(0.5),
            Some(4096.0),
            None,
            None,
            Some(11.0),
            Some(22.0),
            Some(7.0),
            Some(5.0),
        ];
        assert_eq!(values[..10], known);
        assert!(values.len() == COLUMNS.len() && values[10..].iter().all(Option::is_none));
    }

    #[test]
    fn a_group_that_comes_is_read_from_then_on_and_another_by_its_name_is_another() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(MARK), "").unwrap();
        let group = root.path().join("slice/unit");
        let make = || {
            fs::create_dir_all(&group).unwrap();
            fs::write(group.join(MARK), "").unwrap();
            fs::write(group.join("cgroup.procs"), format!("{}\n", std::process::id())).unwrap();
        };
        let mut groups = Cgroups::below(root.path(), &["/slice/unit".to_owned()]).unwrap();
        assert_eq!(groups.missing().unwrap(), [format!("{}: no such control group", group.display())]);
        assert!(groups.read().unwrap().is_empty());
        make();
        let row = groups.read().unwrap().remove(0);
        assert!(groups.missing().unwrap().is_empty() && row.incarnation > 0);
        assert_eq!((row.subject.as_str(), row.values[5]), ("slice/unit", Some(1.0)));
        let value =
            |name: &str| row.values[COLUMNS.iter().position(|column| column.name == name).unwrap()].unwrap();
        assert!(value("threads") >= 1.0 && value("descriptors") >= 1.0 && value("voluntary_switches") >= 0.0);
        assert!(value("proportional_bytes") <= value("resident_bytes"));
        fs::rename(&group, root.path().join("gone")).unwrap();
        assert!(groups.read().unwrap().is_empty());
        make();
        assert_ne!(groups.read().unwrap()[0].incarnation, row.incarnation);
    }

    #[test]
    fn switches_are_those_between_two_looks_at_the_processes() {
        let row = |switches: f64, at_s: f64| {
            let counted = [Some(0.0), Some(0.0), Some(switches), Some(0.0)];
            let members = Figures { counted, at_s: Some(at_s), ..Figures::default() };
            Row::new("unit", figures(Path::new("/nowhere"), &members))
        };
        let (before, now) = (row(100.0, 5.0), row(400.0, 7.0));
        let rate = |before, now| {
            let change = Change::new(COLUMNS, before, now, 0.1).unwrap();
            (DERIVED.iter().find(|it| it.name == "switches_per_s").unwrap().of)(&change)
        };
        assert_eq!((rate(&before, &now), rate(&now, &now)), (Some(150.0), None));
    }

    #[test]
    fn where_groups_are_of_version_1_it_says_what_is_missing() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("memory")).unwrap();
        for (name, without) in [("memory/unit", root.path().join("memory")), ("unit", root.path().to_owned())]
        {
            let path = root.path().join(name);
            assert_eq!(
                Cgroups::below(root.path(), &[name.to_owned()]).unwrap_err().to_string(),
                format!(
                    "{}: no control group of version 2: {} has no cgroup.controllers",
                    path.display(),
                    without.display()
                )
            );
        }
    }
}
