//! CPU time of a process with a better resolution than the kernel's ticks of 10 ms, which are too coarse for
//! the cost of a request.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use rustix::io::Errno;

/// CPU times of the threads of a process.
#[derive(Debug, Default)]
pub(super) struct CpuTime {
    /// CPU time of each running thread, in nanoseconds, by thread id.
    running: BTreeMap<u32, u64>,
    /// CPU time of ended threads, as of the last read before their end.
    ended_ns: u64,
    /// CPU time of threads that ended before the first read: the difference between ticks and threads.
    before_s: Option<f64>,
}

/// Maximum rounding error of the ticks: user and system ticks are each rounded down.
const CUT_TICKS: f64 = 2.0;

impl CpuTime {
    /// Returns the CPU time in seconds. `directory` is /proc/PID, and `ticks_s` is the time of the whole
    /// process in ticks. If the kernel has no finer figures, returns the ticks.
    pub(super) fn read(&mut self, directory: &Path, ticks_s: f64) -> f64 {
        match threads(directory) {
            Ok(now) => self.add(now, ticks_s),
            // The read failed, so no thread counts as ended.
            Err(_) => self.add(self.running.clone(), ticks_s),
        }
    }

    fn add(&mut self, now: BTreeMap<u32, u64>, ticks_s: f64) -> f64 {
        for (thread, ns) in &self.running {
            // The thread has ended, or a new thread with less time has its id.
            if now.get(thread).is_none_or(|now| now < ns) {
                self.ended_ns += ns;
            }
        }
        self.running = now;
        let threads_s = (self.ended_ns + self.running.values().sum::<u64>()) as f64 / 1e9;
        let before_s = *self.before_s.get_or_insert((ticks_s - threads_s).max(0.0));
        // Threads that started and ended between two reads are only in the ticks.
        (threads_s + before_s).max(ticks_s - super::ticks::seconds(CUT_TICKS))
    }
}

/// Reads the first number of /proc/PID/task/TID/schedstat of each thread: CPU time in nanoseconds.
///
/// # Errors
/// If a file cannot be read, for example because file descriptors are exhausted.
fn threads(directory: &Path) -> io::Result<BTreeMap<u32, u64>> {
    let mut threads = BTreeMap::new();
    for thread in fs::read_dir(directory.join("task"))? {
        let thread = thread?;
        let text = match fs::read_to_string(thread.path().join("schedstat")) {
            // The thread has ended since, or the kernel does not have this file.
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) if cause.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => continue,
            text => text?,
        };
        let number = thread.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let ns = text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
        threads.extend(number.zip(ns));
    }
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn threads_that_end_stay_in_the_sum() {
        let mut time = CpuTime::default();
        let ms = |ms: u64| ms * 1_000_000;
        // 50 ms of threads that ended before the first read.
        near(time.add([(1, ms(4)), (2, ms(6))].into(), 0.06), 0.06);
        near(time.add([(1, ms(5)), (2, ms(7))].into(), 0.06), 0.062);
        // The second thread has ended, and another one has started.
        near(time.add([(1, ms(6)), (3, ms(1))].into(), 0.06), 0.064);
        // A new thread has the same id.
        near(time.add([(1, ms(6)), (3, 500_000)].into(), 0.06), 0.0645);
    }

    #[test]
    fn what_came_and_went_between_two_looks_is_in_the_ticks() {
        let mut time = CpuTime::default();
        near(time.add([(1, 1_000_000)].into(), 0.0), 0.001);
        near(time.add([(1, 2_000_000)].into(), 0.5), 0.5 - super::super::ticks::seconds(2.0));
    }

    #[test]
    fn what_could_not_be_looked_at_has_not_ended() {
        let mut time = CpuTime::default();
        near(time.add([(1, 60_000_000)].into(), 0.06), 0.06);
        let nowhere = Path::new("/nowhere");
        near(time.read(nowhere, 0.06), 0.06);
        near(time.add([(1, 61_000_000)].into(), 0.06), 0.061);
    }

    #[test]
    fn without_finer_figures_the_ticks_remain() {
        let mut time = CpuTime::default();
        near(time.add(BTreeMap::new(), 0.5), 0.5);
        assert!(time.add(BTreeMap::new(), 0.7) > 0.67);
    }
}
