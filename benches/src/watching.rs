//! Cost of `weir watch`: it reads the state of all disks again and again and writes it to a file, and the
//! kernel gives its CPU time.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::process::{Cores, Process};
use crate::rivals::Contestant;
use crate::workshop::Workshop;

/// Intervals of the loop, and whether the interval is the fast one that has a requirement.
const LOOPS: [(Duration, bool); 2] = [(Duration::from_millis(100), true), (Duration::from_secs(1), false)];
/// Largest accepted share of one core, in percent.
const SHARE_MAX: f64 = 0.2;
/// Time for the program to start.
const BEFORE: Duration = Duration::from_secs(2);
const WATCHED: Duration = Duration::from_secs(20);

/// Runs `watch`. Returns whether the fast loop's share of a core is within its limit.
pub(crate) fn run() -> Result<bool> {
    let contestant = Contestant::weir()?;
    let mut table = format!(
        "\n## Watching disks\n\n`weir watch --disks --output DIRECTORY` for {} s; CPU time in percent of one core.\n\n\
         | every | lines | share | required | |\n|---|---|---|---|---|\n",
        WATCHED.as_secs()
    );
    let mut all_kept = true;
    for (every, is_required) in LOOPS {
        let (lines, share) = watch(contestant.program(), every)?;
        let is_kept = share < SHARE_MAX;
        all_kept &= is_kept || !is_required;
        let (required, verdict) = match (is_required, is_kept) {
            (true, true) => (format!("< {SHARE_MAX}%"), "kept"),
            (true, false) => (format!("< {SHARE_MAX}%"), "**missed**"),
            (false, _) => (String::new(), ""),
        };
        table.push_str(&format!("| {every:?} | {lines} | {share:.3}% | {required} | {verdict} |\n"));
    }
    println!("{table}");
    Ok(all_kept)
}

/// Returns the number of written lines, and the share of a core in percent.
fn watch(program: &Path, every: Duration) -> Result<(usize, f64)> {
    let workshop = Workshop::open()?;
    let (output, log) = (workshop.path("watched"), workshop.path("watch.log"));
    let mut command = Cores::Balancer.command(program);
    command.args(["watch", "--disks", "--every", &format!("{}ms", every.as_millis())]);
    command.arg("--output").arg(&output);
    let watching = Process::start("weir watch", &mut command, None, &log)?;
    thread::sleep(BEFORE);
    let lines_before = lines(&output)?;
    let (began, spent_before) = (Instant::now(), cpu::cpu_time(watching.pid()));
    thread::sleep(WATCHED);
    let (took, spent) = (began.elapsed(), cpu::cpu_time(watching.pid()).saturating_sub(spent_before));
    let lines = lines(&output)?.saturating_sub(lines_before);
    // Each iteration writes at least one line. A loop that does not run would cost nothing.
    let looks = took.as_secs_f64() / every.as_secs_f64();
    if (lines as f64) < looks * 0.9 {
        return Err(Error::new(format!(
            "weir watch wrote {lines} lines within {looks:.0} looks: {}",
            fs::read_to_string(&log).unwrap_or_default()
        )));
    }
    Ok((lines, spent.as_secs_f64() / took.as_secs_f64() * 100.0))
}

fn lines(directory: &Path) -> Result<usize> {
    let file = directory.join("disks.csv");
    Ok(fs::read_to_string(&file).context(file.display())?.lines().count())
}
