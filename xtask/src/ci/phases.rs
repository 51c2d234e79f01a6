//! Measures phases: wall time, and the CPU time of the processes that a phase started and waited for.

use std::fmt;
use std::time::{Duration, Instant};

/// Linux reports process times in hundredths of a second on every architecture (`USER_HZ`; proc_pid_stat(5)).
const TICKS_PER_SECOND: f64 = 100.0;

/// Phases that have run, in order.
#[derive(Debug, Default)]
pub(super) struct Phases(Vec<Phase>);

#[derive(Debug)]
struct Phase {
    name: &'static str,
    wall: Duration,
    cpu_s: f64,
    passed: bool,
}

impl Phases {
    /// Runs one phase and records its cost, even if it fails.
    ///
    /// # Errors
    /// If the phase fails: its error, with the name of the phase in front.
    pub(super) fn run<T>(
        &mut self,
        name: &'static str,
        phase: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let (since, cpu_before) = (Instant::now(), children_cpu_s());
        let done = phase();
        let cpu_s = children_cpu_s() - cpu_before;
        self.0.push(Phase { name, wall: since.elapsed(), cpu_s, passed: done.is_ok() });
        done.map_err(|why| format!("{name}: {why}"))
    }
}

impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<18} {:>8} {:>8}", "phase", "wall s", "CPU s")?;
        for Phase { name, wall, cpu_s, passed } in &self.0 {
            let failed = if *passed { "" } else { "  failed" };
            writeln!(f, "{name:<18} {:>8.1} {cpu_s:>8.1}{failed}", wall.as_secs_f64())?;
        }
        let wall: f64 = self.0.iter().map(|phase| phase.wall.as_secs_f64()).sum();
        let cpu_s: f64 = self.0.iter().map(|phase| phase.cpu_s).sum();
        write!(f, "{:<18} {wall:>8.1} {cpu_s:>8.1}", "all")
    }
}

/// Returns the CPU seconds of all child processes that have been waited for, including their own waited-for
/// children. Returns 0 if /proc cannot be read.
fn children_cpu_s() -> f64 {
    std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| children_ticks(&stat)).unwrap_or(0.0)
        / TICKS_PER_SECOND
}

/// Sums the fields `cutime` and `cstime` of /proc/PID/stat. The second field, the program's name, may contain
/// spaces.
fn children_ticks(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    // `fields` starts with the third field; cutime is the sixteenth and cstime the seventeenth.
    let mut fields = fields.split(' ').skip(13);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_charged_the_cpu_time_of_its_children() {
        let mut phases = Phases::default();
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let done =
            phases.run("spin", || crate::command::run(std::process::Command::new("sh").args(["-c", spin])));
        assert_eq!(done, Ok(()));
        assert!(phases.0[0].cpu_s > 0.0, "{phases}");
        assert!(phases.0[0].passed);
    }

    #[test]
    fn a_failing_phase_is_named_and_keeps_its_row() {
        let mut phases = Phases::default();
        let done: Result<(), _> = phases.run("format", || Err("not formatted".to_owned()));
        assert_eq!(done, Err("format: not formatted".to_owned()));
        assert!(phases.to_string().lines().nth(1).unwrap().ends_with("  failed"), "{phases}");
    }

    #[test]
    fn the_times_of_children_are_the_sixteenth_and_seventeenth_field_after_a_name_with_blanks() {
        let stat = "4711 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 30 12 20 0 1 0 99";
        assert_eq!(children_ticks(stat), Some(42.0));
        assert_eq!(children_ticks("nonsense"), None);
    }
}
