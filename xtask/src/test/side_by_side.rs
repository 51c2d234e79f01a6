//! Runs test programs in parallel.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use super::programs::TestProgram;
use super::tally::Tally;

/// Interval at which the running programs are polled.
const LOOK: Duration = Duration::from_millis(50);

/// Interval at which a long-running program is reported, so that a program that hangs is known by name.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs all programs and writes the output of each to `out` when it has ended. Programs that measure run
/// last, one at a time.
///
/// # Errors
/// If a program fails or cannot be run: the names of all of these.
pub(super) fn run(
    programs: Vec<TestProgram>,
    logs: &Path,
    prepare: impl Fn(&mut Command),
    tally: &mut Tally,
    out: &mut impl Write,
) -> Result<(), String> {
    std::fs::create_dir_all(logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    let (alone, others): (VecDeque<_>, VecDeque<_>) =
        programs.into_iter().partition(|program| program.is_alone);
    // One more than there are cores, because most programs wait most of the time.
    let at_once = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) + 1;
    let mut failed = Vec::new();
    for (mut waiting, at_once) in [(others, at_once), (alone, 1)] {
        let mut running: Vec<Run> = Vec::new();
        while !waiting.is_empty() || !running.is_empty() {
            while running.len() < at_once
                && let Some(program) = waiting.pop_front()
            {
                match Run::start(&program, logs, &prepare) {
                    Ok(run) => running.push(run),
                    Err(why) => failed.push(why),
                }
            }
            std::thread::sleep(LOOK);
            let mut still = Vec::new();
            for mut run in running {
                match run.look(out) {
                    Ok(None) => still.push(run),
                    Ok(Some(status)) => {
                        let has_result = run.tell(tally, out);
                        if !status.success() {
                            failed.push(format!("{}: {status}", run.name));
                        } else if !has_result {
                            failed.push(format!(
                                "{}: {status}, but it printed no test result: its tests did not run to their end",
                                run.name
                            ));
                        }
                    }
                    Err(error) => failed.push(format!("{}: {error}", run.name)),
                }
            }
            running = still;
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Running test program. Its output goes to a file, because a pipe would stay open until every process that
/// the program leaves behind has ended.
struct Run {
    name: String,
    child: Child,
    log: PathBuf,
    since: Instant,
    mentioned: Instant,
}

impl Run {
    fn start(program: &TestProgram, logs: &Path, prepare: impl Fn(&mut Command)) -> Result<Self, String> {
        let log = logs.join(program.file_name()).with_extension("log");
        let at = |error| format!("{}: {error}", log.display());
        let stdout = File::create(&log).map_err(at)?;
        let stderr = stdout.try_clone().map_err(at)?;
        let mut command = program.command();
        prepare(&mut command);
        // Makes libtest report the time of each test. This is an unstable option, which `RUSTC_BOOTSTRAP`
        // permits.
        command.env("RUSTC_BOOTSTRAP", "1").args(["-Z", "unstable-options", "--report-time"]);
        let child = command.stdin(std::process::Stdio::null()).stdout(stdout).stderr(stderr).spawn();
        let child = child.map_err(|error| format!("{}: {error}", program.executable.display()))?;
        let now = Instant::now();
        Ok(Self { name: program.name.clone(), child, log, since: now, mentioned: now })
    }

    /// Returns the exit status once the program has ended.
    fn look(&mut self, out: &mut impl Write) -> std::io::Result<Option<ExitStatus>> {
        let ended = self.child.try_wait()?;
        if ended.is_none() && self.mentioned.elapsed() >= PATIENCE {
            self.mentioned = Instant::now();
            let said = self.said();
            let last = said.lines().last().unwrap_or_default();
            say(out, &format!("     Running {} for {} s: {last}", self.name, self.since.elapsed().as_secs()));
        }
        Ok(ended)
    }

    fn said(&self) -> String {
        std::fs::read(&self.log).map_or_else(
            |error| format!("{}: {error}", self.log.display()),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Writes the program's output to `out`. Returns whether it contains a result: a test that calls
    /// `exit(0)` ends the other tests without one.
    fn tell(&self, tally: &mut Tally, out: &mut impl Write) -> bool {
        let (said, before) = (self.said(), tally.programs());
        said.lines().for_each(|line| tally.read(&self.name, line));
        say(out, &format!("     Ran {} in {:.1} s\n{said}", self.name, self.since.elapsed().as_secs_f64()));
        tally.programs() > before
    }
}

/// Writes a line. A closed standard output must not stop the tests.
fn say(out: &mut impl Write, line: &str) {
    let _ = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSED: &str = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";

    fn program(directory: &Path, name: &str, script: &str, is_alone: bool) -> TestProgram {
        let executable = directory.join(name);
        // Another process writes the script. If this process wrote it, a child that another test starts
        // meanwhile would inherit the open file, and the script could not be run ("text file busy").
        let mut writer = Command::new("sh");
        writer.args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\""]);
        assert!(writer.arg(&executable).arg(script).status().unwrap().success());
        TestProgram { name: name.to_owned(), executable, package: directory.into(), is_alone }
    }

    #[test]
    fn every_program_is_run_where_its_package_is_and_counted_and_who_failed_is_named() {
        let there = tempfile::tempdir().unwrap();
        let good = "echo 'test result: ok. 2 passed; 0 failed; 1 ignored'; test \"$PWD\" = \"$CARGO_MANIFEST_DIR\" && test -n \"$TOLD\"";
        let bad = "echo 'test a::b ... FAILED'; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored' >&2; exit 101";
        let programs = vec![
            program(there.path(), "good", good, false),
            program(there.path(), "bad", bad, false),
            program(there.path(), "measures", good, true),
            TestProgram { executable: there.path().join("gone"), ..program(there.path(), "gone", "", false) },
        ];
        std::fs::remove_file(there.path().join("gone")).unwrap();
        let mut tally = Tally::default();
        let tell = |command: &mut Command| {
            command.env("TOLD", "1");
        };
        let mut out = Vec::new();
        let failed = run(programs, &there.path().join("logs"), tell, &mut tally, &mut out).unwrap_err();
        let out = String::from_utf8(out).unwrap();
        assert!(out.contains("Ran bad in") && out.contains("test a::b ... FAILED"), "{out}");
        assert!(failed.contains("bad: exit status: 101"), "{failed}");
        assert!(failed.contains("gone: No such file"), "{failed}");
        assert_eq!(failed.lines().count(), 2, "{failed}");
        assert_eq!(
            tally.to_string(),
            "failed: a::b\ntests: 5 passed, 1 failed, 2 ignored, in 3 test programs"
        );
    }

    #[test]
    fn a_program_that_ends_with_success_before_its_result_has_failed() {
        let there = tempfile::tempdir().unwrap();
        let programs = vec![
            program(there.path(), "leaves", "echo 'running 3 tests'; exit 0", false),
            program(there.path(), "passes", PASSED, false),
        ];
        let logs = there.path().join("logs");
        let failed = run(programs, &logs, |_| {}, &mut Tally::default(), &mut Vec::new()).unwrap_err();
        assert!(failed.starts_with("leaves: exit status: 0, but it printed no test result"), "{failed}");
        assert_eq!(failed.lines().count(), 1, "{failed}");
    }

    #[test]
    fn who_measures_runs_when_nobody_else_does() {
        let there = tempfile::tempdir().unwrap();
        let mark = there.path().join("others");
        let mark = mark.display();
        // Each program has a directory while it runs. A program that measures fails if it finds one.
        let other = format!("mkdir -p {mark}/$$; sleep 0.3; rmdir {mark}/$$; {PASSED}");
        let measures = format!(
            "test -z \"$(ls {mark})\" && mkdir {mark}/$$ && sleep 0.1 && rmdir {mark}/$$ && {PASSED}"
        );
        let programs = vec![
            program(there.path(), "m1", &measures, true),
            program(there.path(), "o1", &other, false),
            program(there.path(), "m2", &measures, true),
            program(there.path(), "o2", &other, false),
            program(there.path(), "o3", &other, false),
        ];
        let logs = there.path().join("logs");
        run(programs, &logs, |_| {}, &mut Tally::default(), &mut Vec::new()).unwrap();
    }

    #[test]
    fn what_a_program_leaves_behind_is_not_waited_for() {
        let there = tempfile::tempdir().unwrap();
        let leaves = format!("sleep 60 & echo $! > child; {PASSED}");
        let since = Instant::now();
        let mut tally = Tally::default();
        let done = run(
            vec![program(there.path(), "leaves", &leaves, false)],
            &there.path().join("logs"),
            |_| {},
            &mut tally,
            &mut Vec::new(),
        );
        let child = std::fs::read_to_string(there.path().join("child")).unwrap();
        Command::new("kill").arg(child.trim()).status().unwrap();
        done.unwrap();
        assert!(since.elapsed() < Duration::from_secs(60));
        assert_eq!(tally.to_string(), "tests: 1 passed, 0 failed, 0 ignored, in 1 test programs");
    }
}
