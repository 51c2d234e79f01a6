//! Sums the figures of the processes of a control group, which the kernel counts only per process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::pace::Pace;
use super::process_files::{Ended, Stat, descriptors, readable};
use super::source::{named, number};
use super::switches::Switches;
use super::ticks::seconds;

/// Processes of a group and of the groups below it.
#[derive(Debug, Default)]
pub(super) struct Members {
    known: BTreeMap<u32, Member>,
    /// Sums of the counters of all processes, including ended ones.
    counted: Counts,
    figures: Figures,
    /// Time of the last read, in seconds since boot.
    looked_s: Option<f64>,
    pace: Pace,
    /// Pace of reads of the proportional memory, for which the kernel walks all pages.
    proportional_pace: Pace,
}

/// Sums over all processes. A sum is known only if the figure of each process is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) processes: Option<f64>,
    pub(super) threads: Option<f64>,
    pub(super) resident_bytes: Option<f64>,
    pub(super) proportional_bytes: Option<f64>,
    pub(super) virtual_bytes: Option<f64>,
    pub(super) descriptors: Option<f64>,
    /// Minor faults, major faults, voluntary switches, involuntary switches.
    pub(super) counted: [Option<f64>; COUNTERS],
    /// Time of the read, in seconds since boot.
    pub(super) at_s: Option<f64>,
}

#[derive(Debug)]
struct Member {
    /// Start of the process, in ticks. It distinguishes processes with the same id.
    started: Option<u64>,
    threads: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    descriptors: Option<f64>,
    switches: Switches,
    counted: [Option<f64>; COUNTERS],
}

const COUNTERS: usize = 4;

type Counts = [f64; COUNTERS];

/// Minimum pause between two reads of the proportional memory. It is below a second, so that each read every
/// second gets a new value.
const PROPORTIONAL_PAUSE: Duration = Duration::from_millis(900);

impl Members {
    /// Returns the figures of the group at this path. If it has many processes, the figures may be from a
    /// moment ago.
    pub(super) fn look(&mut self, group: &Path) -> Figures {
        let began = Instant::now();
        if self.pace.is_due(began) {
            let at_s = since_start_s();
            match pids(group) {
                Ok(pids) => self.count(&pids, at_s),
                Err(_) => self.figures = Figures::default(),
            }
            self.pace.done(began, began.elapsed(), Duration::ZERO);
        }
        let began = Instant::now();
        if self.proportional_pace.is_due(began) {
            let all = sum(self.known.keys().filter_map(|pid| proportional(*pid).ok()));
            // If a process cannot be read, the sum is unknown, too.
            self.figures.proportional_bytes = self.figures.threads.and(all);
            self.proportional_pace.done(began, began.elapsed(), PROPORTIONAL_PAUSE);
        }
        self.figures
    }

    fn count(&mut self, pids: &BTreeSet<u32>, at_s: f64) {
        let mut before = std::mem::take(&mut self.known);
        for pid in pids {
            let old = before.remove(pid);
            let Ok((member, growth)) = Member::read(*pid, old, self.looked_s) else { continue };
            for (counted, growth) in self.counted.iter_mut().zip(growth) {
                *counted += growth;
            }
            self.known.insert(*pid, member);
        }
        // A process of another PID namespace has the id 0 here, and its figures are unknown.
        let hidden = pids.contains(&0).then_some(None);
        let all = |of: fn(&Member) -> Option<f64>| sum(self.known.values().map(of).chain(hidden));
        let mut counted = self.counted.map(Some);
        for (at, counted) in counted.iter_mut().enumerate() {
            let is_known = self.known.values().all(|member| member.counted[at].is_some()) && hidden.is_none();
            *counted = counted.filter(|_| is_known);
        }
        self.figures = Figures {
            processes: Some((self.known.len() + usize::from(hidden.is_some())) as f64),
            threads: all(|member| member.threads),
            resident_bytes: all(|member| member.resident_bytes),
            virtual_bytes: all(|member| member.virtual_bytes),
            descriptors: all(|member| member.descriptors),
            // The value of the last read.
            proportional_bytes: self.figures.proportional_bytes.filter(|_| hidden.is_none()),
            counted,
            at_s: Some(at_s),
        };
        self.looked_s = Some(at_s);
    }
}

impl Member {
    /// Reads a process. Returns its figures and the growth of the group's counters. `looked_s` is the time of
    /// the group's last read.
    fn read(pid: u32, before: Option<Self>, looked_s: Option<f64>) -> Result<(Self, Counts), Ended> {
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let text = |file: &str| readable(fs::read_to_string(directory.join(file)));
        let stat = Stat::parse(&text("stat")?.unwrap_or_default());
        let statm = text("statm")?.unwrap_or_default();
        let mut pages = statm.split_whitespace();
        let mut bytes = || number(pages.next()).map(|pages| pages * rustix::param::page_size() as f64);
        let (virtual_bytes, resident_bytes) = (bytes(), bytes());
        let before = before.filter(|before| before.started == stat.started);
        let counted_before = before.as_ref().map(|before| before.counted);
        let mut switches = before.map(|before| before.switches).unwrap_or_default();
        let switched = readable(switches.read(&directory))?;
        let [voluntary, involuntary] = switched.map_or([None; 2], |counts| counts.map(Some));
        let counted = [stat.minor_faults, stat.major_faults, voluntary, involuntary];
        // Counts from before the process joined the group do not belong to the group.
        let began_here = started_since(stat.started, looked_s);
        let old = counted_before.unwrap_or(if began_here { [Some(0.0); COUNTERS] } else { counted });
        let growth =
            std::array::from_fn(|at| counted[at].zip(old[at]).map_or(0.0, |(now, old)| (now - old).max(0.0)));
        let member = Self {
            started: stat.started,
            threads: stat.threads,
            resident_bytes,
            virtual_bytes,
            descriptors: readable(descriptors(&directory))?,
            switches,
            counted,
        };
        Ok((member, growth))
    }
}

/// Returns true if the process started after the last read, or if there was no earlier read. All its counts
/// then belong to the group.
fn started_since(started_ticks: Option<u64>, looked_s: Option<f64>) -> bool {
    // The kernel rounds down to a whole tick.
    started_ticks.zip(looked_s).is_none_or(|(ticks, looked_s)| seconds(ticks as f64 + 1.0) >= looked_s)
}

/// Reads the proportional memory of a process.
///
/// # Errors
/// If the process has ended, or is a kernel thread without memory.
fn proportional(pid: u32) -> Result<Option<f64>, Ended> {
    let rollup = readable(fs::read_to_string(format!("/proc/{pid}/smaps_rollup")))?;
    Ok(rollup.and_then(|rollup| named(&rollup, "Pss")).map(|kib| kib * 1024.0))
}

fn sum(mut parts: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    parts.try_fold(0.0, |sum, part| Some(sum + part?))
}

/// Returns the time since boot including suspend, the clock of process start times.
fn since_start_s() -> f64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Returns the processes of a group and of the groups below it.
///
/// # Errors
/// If the processes cannot be read, for example in a threaded group.
fn pids(group: &Path) -> io::Result<BTreeSet<u32>> {
    let text = fs::read_to_string(group.join("cgroup.procs"))?;
    let mut all: BTreeSet<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            match pids(&entry.path()) {
                // The group was removed, or contains only threads of processes that the parent group has.
                Err(cause) if is_without_processes(&cause) => {}
                below => all.extend(below?),
            }
        }
    }
    Ok(all)
}

fn is_without_processes(cause: &io::Error) -> bool {
    let errors = [Errno::NOENT, Errno::NODEV, Errno::OPNOTSUPP];
    errors.iter().any(|errno| cause.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Directory that replaces a control group.
    struct Group(tempfile::TempDir);

    impl Group {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn has(&self, below: &str, pids: &[u32]) {
            let directory = self.0.path().join(below);
            fs::create_dir_all(&directory).unwrap();
            let lines: String = pids.iter().map(|pid| format!("{pid}\n")).collect();
            fs::write(directory.join("cgroup.procs"), lines).unwrap();
        }
    }

    /// Waiting process that ends with the test.
    struct Waiting(Child);

    impl Waiting {
        fn start() -> Self {
            Self(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
        }

        /// Makes the process wait once more.
        fn wake(&mut self) {
            use std::io::{Read, Write};
            self.0.stdin.as_mut().unwrap().write_all(b"x").unwrap();
            self.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            let stat = format!("/proc/{}/stat", self.pid());
            while !fs::read_to_string(&stat).unwrap().contains(") S ") {
                std::thread::yield_now();
            }
        }

        fn pid(&self) -> u32 {
            self.0.id()
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Reads the members regardless of the cost.
    fn look(members: &mut Members, group: &Group) -> Figures {
        (members.pace, members.proportional_pace) = (Pace::default(), Pace::default());
        members.look(group.0.path())
    }

    #[test]
    fn processes_of_a_group_and_of_those_below_are_summed_up() {
        let (group, mut one, two) = (Group::new(), Waiting::start(), Waiting::start());
        one.wake();
        group.has("", &[one.pid(), one.pid()]);
        let alone = look(&mut Members::default(), &group);
        group.has("below/deeper", &[two.pid()]);
        group.has("below", &[]);
        fs::create_dir(group.0.path().join("going")).unwrap();
        let mut members = Members::default();
        let both = look(&mut members, &group);
        assert_eq!((alone.processes, both.processes, both.threads), (Some(1.0), Some(2.0), Some(2.0)));
        let grown = |of: fn(&Figures) -> Option<f64>| of(&both).unwrap() > of(&alone).unwrap();
        assert!(grown(|it| it.resident_bytes) && grown(|it| it.virtual_bytes) && grown(|it| it.descriptors));
        assert!(both.proportional_bytes.unwrap() > 0.0 && both.proportional_bytes <= both.resident_bytes);
        assert!(both.counted[0].unwrap() > 0.0 && both.counted.iter().all(Option::is_some));
        assert!(alone.counted[2].unwrap() >= 1.0, "it has waited for the letter");
    }

    #[test]
    fn what_members_counted_stays_when_they_end() {
        let (group, mut one, mut two) = (Group::new(), Waiting::start(), Waiting::start());
        (0..20).for_each(|_| two.wake());
        group.has("", &[one.pid(), two.pid()]);
        let mut members = Members::default();
        let mut last = look(&mut members, &group);
        let mut grown = |members: &mut Members, by: f64| {
            let now = look(members, &group);
            let growth = now.counted[2].unwrap() - last.counted[2].unwrap();
            assert!(growth >= by, "{growth} of {by}: {last:?} {now:?}");
            assert!(
                now.counted.iter().zip(last.counted).all(|(now, last)| *now >= last) && now.at_s > last.at_s
            );
            last = now;
            now.processes
        };
        (0..5).for_each(|_| one.wake());
        assert_eq!(grown(&mut members, 5.0), Some(2.0));
        drop(two);
        assert_eq!(grown(&mut members, 0.0), Some(1.0), "one has ended");
        let mut three = Waiting::start();
        (0..5).for_each(|_| three.wake());
        group.has("", &[one.pid(), three.pid()]);
        assert_eq!(grown(&mut members, 5.0), Some(2.0), "of one that was started here all counts");
        group.has("", &[]);
        assert_eq!(grown(&mut members, 0.0), Some(0.0));
    }

    #[test]
    fn of_one_that_came_from_elsewhere_only_what_it_does_here_counts() {
        let (group, mut one) = (Group::new(), Waiting::start());
        (0..30).for_each(|_| one.wake());
        std::thread::sleep(Duration::from_millis(50));
        group.has("", &[]);
        let mut members = Members::default();
        assert_eq!(look(&mut members, &group).counted, [Some(0.0); COUNTERS]);
        group.has("", &[one.pid()]);
        assert_eq!(look(&mut members, &group).counted[2], Some(0.0));
        one.wake();
        assert!(look(&mut members, &group).counted[2].unwrap() >= 1.0);
    }

    #[test]
    fn what_is_not_known_of_one_is_not_known_of_the_group() {
        let (group, one) = (Group::new(), Waiting::start());
        group.has("", &[one.pid(), 0]);
        let figures = look(&mut Members::default(), &group);
        assert_eq!((figures.processes, figures.threads, figures.descriptors), (Some(2.0), None, None));
        assert_eq!(figures.counted, [None; COUNTERS]);
        assert_eq!(
            (sum([Some(1.0), None].into_iter()), sum([Some(1.0), Some(2.0)].into_iter())),
            (None, Some(3.0))
        );
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(Members::default().look(nothing.path()), Figures::default());
    }

    #[test]
    fn many_members_are_not_looked_at_each_time() {
        let (group, one) = (Group::new(), Waiting::start());
        group.has("", &[one.pid()]);
        let mut members = Members::default();
        let first = members.look(group.0.path());
        members.pace.done(Instant::now(), Duration::from_millis(50), Duration::ZERO);
        group.has("", &[]);
        assert_eq!(members.look(group.0.path()), first);
        members.pace = Pace::default();
        assert_eq!(members.look(group.0.path()).processes, Some(0.0));
    }
}
