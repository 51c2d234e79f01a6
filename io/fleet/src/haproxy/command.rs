//! Commands that validate a configuration, and that make HAProxy read it.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Interval at which the command's exit is polled.
const LOOK: Duration = Duration::from_millis(5);
/// Maximum size of the output in the error message.
const COMPLAINT_BYTES_MAX: u64 = 2_048;

/// Runs a command to its end, with its placeholders replaced. Its output goes to a file instead of a pipe,
/// because processes that it leaves running may write further output.
///
/// # Errors
/// If the command cannot be started, fails, or takes longer than `patience` (then it is killed). Includes the
/// output.
pub(super) fn run(
    words: &[String],
    placeholders: &[(&str, &str)],
    output: &Path,
    patience: Duration,
) -> Result<(), String> {
    let filled = words.iter().map(|word| {
        placeholders
            .iter()
            .fold(word.clone(), |word, (name, value)| word.replace(&format!("{{{name}}}"), value))
    });
    let filled: Vec<String> = filled.collect();
    let (program, arguments) = filled.split_first().ok_or("the command is empty")?;
    let failed = |why: &dyn std::fmt::Display| format!("{program}: {why}");
    let kept = File::create(output).map_err(|cause| format!("{}: {cause}", output.display()))?;
    let also_kept = kept.try_clone().map_err(|cause| failed(&cause))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(kept).stderr(also_kept).process_group(0);
    let mut child = command.spawn().map_err(|cause| failed(&cause))?;
    match end_of(&mut child, patience).map_err(|cause| failed(&cause))? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("{program}: {status}: {}", complaint(output))),
        None => Err(format!("{program}: took longer than {} ms, and was killed", patience.as_millis())),
    }
}

/// Waits for the exit status; `None` = the command was killed after the time limit.
fn end_of(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let until = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // The process may just have ended.
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// Returns the output on one line.
fn complaint(output: &Path) -> String {
    let mut printed = Vec::new();
    // An unreadable output counts as empty.
    let _ = File::open(output).and_then(|file| file.take(COMPLAINT_BYTES_MAX).read_to_end(&mut printed));
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_in_shell(script: &str, patience: Duration) -> Result<(), String> {
        let directory = tempfile::tempdir().unwrap();
        let words = ["/bin/sh", "-c", script].map(str::to_owned);
        run(&words, &[("file", "/a b"), ("pid", "7")], &directory.path().join("output"), patience)
    }

    #[test]
    fn placeholders_are_filled_in_and_complaints_are_told() {
        let told = run_in_shell("echo one '{file}'; echo {pid}{pid} >&2; exit 3", Duration::from_secs(60))
            .unwrap_err();
        assert_eq!(told, "/bin/sh: exit status: 3: one /a b; 77");
        assert_eq!(run_in_shell("true", Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn one_that_does_not_end_is_killed_and_one_that_is_not_there_is_named() {
        let told = run_in_shell("sleep 600 & wait", Duration::from_millis(50)).unwrap_err();
        assert!(told.contains("took longer than 50 ms"), "{told}");
        let directory = tempfile::tempdir().unwrap();
        let told =
            run(&["/nowhere/haproxy".to_owned()], &[], &directory.path().join("output"), Duration::ZERO);
        assert!(told.unwrap_err().starts_with("/nowhere/haproxy: No such file"));
    }
}
