//! Counts context switches of the threads of a process. The kernel counts them per thread, and drops the
//! count when the thread ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use super::process_files::has_ended;
use super::source::named;

/// Context switches of a process's threads.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// Counts of each running thread, by thread id.
    running: BTreeMap<u32, Counts>,
    /// Counts of ended threads, as of the last read before their end.
    ended: Counts,
}

/// Voluntary and involuntary switches.
pub(super) type Counts = [f64; 2];

impl Switches {
    /// Returns the switches of the process of /proc/PID (`directory`). Ended threads count as of the last
    /// read.
    ///
    /// # Errors
    /// If a file cannot be read. No thread counts as ended then.
    pub(super) fn read(&mut self, directory: &Path) -> io::Result<Counts> {
        threads(directory).map(|now| self.add(now))
    }

    fn add(&mut self, now: BTreeMap<u32, Counts>) -> Counts {
        for (thread, counts) in &self.running {
            // The thread has ended, or a new thread with lower counts has its id.
            if now.get(thread).is_none_or(|now| now[0] < counts[0] || now[1] < counts[1]) {
                self.ended = sum(self.ended, *counts);
            }
        }
        self.running = now;
        self.running.values().copied().fold(self.ended, sum)
    }
}

fn sum(one: Counts, other: Counts) -> Counts {
    [one[0] + other[0], one[1] + other[1]]
}

fn threads(directory: &Path) -> io::Result<BTreeMap<u32, Counts>> {
    let mut threads = BTreeMap::new();
    for thread in fs::read_dir(directory.join("task"))? {
        let thread = thread?;
        let status = match fs::read_to_string(thread.path().join("status")) {
            Err(cause) if has_ended(&cause) => continue,
            status => status?,
        };
        let number = thread.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let count = |name| named(&status, name).unwrap_or(0.0);
        let counts = [count("voluntary_ctxt_switches"), count("nonvoluntary_ctxt_switches")];
        threads.extend(number.map(|number| (number, counts)));
    }
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_did_stays_in_the_sum_when_they_end() {
        let mut switches = Switches::default();
        assert_eq!(switches.add([(1, [4.0, 1.0]), (2, [6.0, 0.0])].into()), [10.0, 1.0]);
        assert_eq!(switches.add([(1, [5.0, 1.0])].into()), [11.0, 1.0], "the second has ended");
        assert_eq!(
            switches.add([(1, [5.0, 2.0]), (2, [1.0, 0.0])].into()),
            [12.0, 2.0],
            "its number came again"
        );
        assert_eq!(switches.add([(1, [5.0, 2.0]), (2, [0.0, 1.0])].into()), [12.0, 3.0], "and again");
    }

    #[test]
    fn a_thread_that_sleeps_has_waited() {
        let mut switches = Switches::default();
        let own = Path::new("/proc/self");
        let before = switches.read(own).unwrap();
        std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(5))).join().unwrap();
        let now = switches.read(own).unwrap();
        assert!(now[0] > before[0] && now[1] >= before[1], "{before:?} {now:?}");
        assert!(switches.read(Path::new("/nowhere")).is_err());
    }
}
