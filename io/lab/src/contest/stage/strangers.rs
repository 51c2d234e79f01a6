//! Who is who among the machine's processes: numbers are used again, and what belongs to others must not be killed.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// In the environment of everything that a lab starts, with the lab's work directory.
pub(super) const MARK: &str = "WEIR_LAB_DIRECTORY";

/// Processes of a group that still run, by number.
pub(super) fn group_members(group: u32) -> Vec<u32> {
    let mut members: Vec<u32> =
        pids().filter(|pid| group_of(*pid) == Some(group) && !is_dead(*pid)).collect();
    members.sort_unstable();
    members
}

/// All processes, in no order.
pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
}

/// When a process started, in ticks since the machine did; `None` = it has ended.
pub(super) fn started(pid: u32) -> Option<u64> {
    if is_dead(pid) { None } else { of_stat(pid, STARTED) }
}

/// The number of its group, which is that of the group's leader.
pub(super) fn group_of(pid: u32) -> Option<u32> {
    of_stat(pid, GROUP).and_then(|group| u32::try_from(group).ok())
}

/// Whether a lab with this work directory has started it, or what it came from: its environment says so.
pub(super) fn is_marked(pid: u32, work: &Path) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mark = [MARK.as_bytes(), b"=", work.as_os_str().as_bytes()].concat();
    environment.split(|byte| *byte == 0).any(|entry| entry == mark)
}

/// Whether it is in that directory, or names it among its arguments: what rewrites its environment, as NGINX does, is known by that.
pub(super) fn names(pid: u32, work: &Path) -> bool {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let work_bytes = work.as_os_str().as_bytes();
    let is_at = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(work));
    is_at || arguments.windows(work_bytes.len().max(1)).any(|part| part == work_bytes)
}

/// What the clock of [`started`] shows now.
pub(super) fn now_ticks() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    (seconds * rustix::param::clock_ticks_per_second() as f64) as u64
}

/// Which life of the machine this is.
pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Places behind the state in /proc/PID/stat (proc(5)).
const GROUP: usize = 1;
const STARTED: usize = 18;

/// A zombie is nobody.
fn is_dead(pid: u32) -> bool {
    stat(pid).is_none_or(|rest| rest.starts_with(['Z', 'X']))
}

fn of_stat(pid: u32, place: usize) -> Option<u64> {
    stat(pid)?.split_whitespace().nth(place + 1)?.parse().ok()
}

/// What follows the name, from the state on.
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
