//! Identifies processes of the machine, because ids are reused and processes of others must not be killed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Name of the environment variable that contains the lab's work directory, in everything that a lab starts.
pub(super) const MARK: &str = "WEIR_LAB_DIRECTORY";

/// Returns the ids of the running processes of a group.
pub(super) fn group_members(group: u32) -> Vec<u32> {
    let mut members: Vec<u32> =
        pids().filter(|pid| group_of(*pid) == Some(group) && !is_dead(*pid)).collect();
    members.sort_unstable();
    members
}

/// Returns the ids of all processes, in no order.
pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
}

/// Returns the start time of a process, in ticks since boot; `None` = it has ended.
pub(super) fn started(pid: u32) -> Option<u64> {
    if is_dead(pid) { None } else { of_stat(pid, STARTED) }
}

/// Returns the id of its group, which is that of the group's leader.
pub(super) fn group_of(pid: u32) -> Option<u32> {
    of_stat(pid, GROUP).and_then(|group| u32::try_from(group).ok())
}

/// Returns true if the environment says that a lab with this work directory started the process or its
/// ancestor.
pub(super) fn is_marked(pid: u32, work: &Path) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mark = [MARK.as_bytes(), b"=", work.as_os_str().as_bytes()].concat();
    environment.split(|byte| *byte == 0).any(|entry| entry == mark)
}

/// Returns true if the process is in that directory or names it among its arguments. This identifies
/// processes that overwrite their environment, such as NGINX.
pub(super) fn names(pid: u32, work: &Path) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let work_bytes = work.as_os_str().as_bytes();
    let is_at = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(work));
    is_at || arguments.windows(work_bytes.len().max(1)).any(|part| part == work_bytes)
}

/// Returns the present time of the clock of [`started`].
pub(super) fn now_ticks() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    (seconds * rustix::param::clock_ticks_per_second() as f64) as u64
}

/// Returns the id of the present boot.
pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Positions after the state in /proc/PID/stat (proc(5)).
const GROUP: usize = 1;
const STARTED: usize = 18;

/// Returns true for an ended process, including a zombie.
fn is_dead(pid: u32) -> bool {
    stat(pid).is_none_or(|rest| rest.starts_with(['Z', 'X']))
}

fn of_stat(pid: u32, place: usize) -> Option<u64> {
    stat(pid)?.split_whitespace().nth(place + 1)?.parse().ok()
}

/// Returns the fields after the name, from the state on.
fn stat(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn who_was_started_by_a_lab_is_known_by_its_environment_and_its_children_are() {
        let work = Path::new("/tmp/weir-lab-x");
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & wait"])
            .env(MARK, work)
            .process_group(0)
            .spawn()
            .unwrap();
        weir_testkit::wait_until("shell and sleeper", weir_testkit::PATIENCE, || {
            group_members(child.id()).len() == 2
        });
        for pid in group_members(child.id()) {
            weir_testkit::wait_until("its environment", weir_testkit::PATIENCE, || is_marked(pid, work));
            assert!(
                !is_marked(pid, Path::new("/tmp/weir-lab-"))
                    && !is_marked(pid, Path::new("/tmp/weir-lab-xy"))
            );
            assert!(!names(pid, work));
            assert_eq!(group_of(pid), Some(child.id()));
        }
        let now = now_ticks();
        let start = started(child.id()).unwrap();
        assert!(start <= now + 1 && start + 100_000 > now, "{start} {now}");
        let group = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
        assert_eq!(started(child.id()), None);
    }
}
