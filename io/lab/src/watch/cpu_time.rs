//! The processors' time of a process, finer than the kernel's ticks of 10 ms: for what a request costs these are too coarse.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use rustix::io::Errno;

/// What is known of its threads.
#[derive(Debug, Default)]
pub(super) struct CpuTime {
    /// Of each thread that runs, in nanoseconds, by its number.
    running: BTreeMap<u32, u64>,
    /// Of threads that have ended, as far as they were looked at.
    ended_ns: u64,
    /// What ticks count beyond threads at the first look: threads that had ended by then.
    before_s: Option<f64>,
}

/// So far the ticks of user and kernel can be behind what they count: each is cut.
const CUT_TICKS: f64 = 2.0;

impl CpuTime {
    /// In seconds, from the threads of /proc/PID (`directory`) and what the kernel has counted in ticks for the whole process. Of a
    /// kernel that does not count finer, the ticks.
    pub(super) fn read(&mut self, directory: &Path, ticks_s: f64) -> f64 {
        match threads(directory) {
            Ok(now) => self.add(now, ticks_s),
            // Nobody has ended because nobody could look.
            Err(_) => self.add(self.running.clone(), ticks_s),
        }
    }

    fn add(&mut self, now: BTreeMap<u32, u64>, ticks_s: f64) -> f64 {
        for (thread, ns) in &self.running {
            // It has ended; also if its number has gone to another that has run for less.
            if now.get(thread).is_none_or(|now| now < ns) {
                self.ended_ns += ns;
            }
        }
        self.running = now;
        let threads_s = (self.ended_ns + self.running.values().sum::<u64>()) as f64 / 1e9;
        let before_s = *self.before_s.get_or_insert((ticks_s - threads_s).max(0.0));
        // Threads that came and went between two looks are only in the ticks.
        (threads_s + before_s).max(ticks_s - super::ticks::seconds(CUT_TICKS))
    }
}

/// The first figure of /proc/PID/task/TID/schedstat: time on a processor, in nanoseconds.
///
/// # Errors
/// It could not be looked at: for want of descriptors, for example.
fn threads(directory: &Path) -> io::Result<BTreeMap<u32, u64>> {
    let mut threads = BTreeMap::new();
    for thread in fs::read_dir(directory.join("task"))? {
        let thread = thread?;
        let text = match fs::read_to_string(thread.path().join("schedstat")) {
            // It has ended since, or the kernel does not count this.
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
        // 50 ms of threads that had ended before the first look.
        near(time.add([(1, ms(4)), (2, ms(6))].into(), 0.06), 0.06);
        near(time.add([(1, ms(5)), (2, ms(7))].into(), 0.06), 0.062);
        // The second has ended, and another came.
        near(time.add([(1, ms(6)), (3, ms(1))].into(), 0.06), 0.064);
        // Its number was used again.
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
