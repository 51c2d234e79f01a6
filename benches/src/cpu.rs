//! CPU time, memory and descriptors of a process, from /proc. A contestant may be several processes (NGINX:
//! master and workers), so all values are sums over a process and its descendants.

use std::fs;
use std::time::Duration;

/// Returns a process and all its descendants.
pub(crate) fn family(pid: u32) -> Vec<u32> {
    let parents = parents();
    let mut family = vec![pid];
    let mut at = 0;
    while let Some(&member) = family.get(at) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == member).map(|(child, _)| child));
        at += 1;
    }
    family
}

/// Returns the CPU time of all threads, in user space and in the kernel. It is exact to the nanosecond, from
/// the scheduler's account and not from ticks.
pub(crate) fn cpu_time(pid: u32) -> Duration {
    let mut total_ns = 0;
    for member in family(pid) {
        for thread in entries(&format!("/proc/{member}/task")) {
            let account = read(&format!("/proc/{member}/task/{thread}/schedstat"));
            total_ns += account.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(total_ns)
}

/// Tick in which the kernel reports times to programs (USER_HZ = 100).
const TICK_MS: u64 = 10;

/// Returns the CPU time of all ended child processes and their descendants, in ticks of 10 ms.
pub(crate) fn cpu_time_of_ended_children() -> Duration {
    let stat = read("/proc/self/stat");
    // Skips the process's own user and system time (proc_pid_stat(5)).
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().skip(13);
    let ticks: u64 = fields.take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * TICK_MS)
}

/// Returns the CPU time of a process and its descendants, in ticks of 10 ms. It includes ended threads, which
/// [`cpu_time`] does not see: a Java program starts and ends compiler threads as it runs.
pub(crate) fn cpu_time_with_ended_threads(pid: u32) -> Duration {
    let of = |member| {
        let stat = read(&format!("/proc/{member}/stat"));
        // After the name, in parentheses, come the state and ten more fields, then user and system time
        // (proc_pid_stat(5)).
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace().skip(11);
        fields.take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
    };
    let ticks: u64 = family(pid).into_iter().map(of).sum();
    Duration::from_millis(ticks * TICK_MS)
}

/// Returns the resident memory in bytes, as `ps` shows it. Shared pages count in each process that maps them.
pub(crate) fn memory_bytes(pid: u32) -> u64 {
    let of = |member| {
        let rollup = read(&format!("/proc/{member}/smaps_rollup"));
        let kb = rollup.lines().find_map(|line| line.strip_prefix("Rss:")?.trim().strip_suffix(" kB"));
        kb.and_then(|kb| kb.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    family(pid).into_iter().map(of).sum()
}

/// Returns the sum of the peak resident memory of each process, in bytes.
pub(crate) fn peak_memory_bytes(pid: u32) -> u64 {
    let of = |member| {
        let status = read(&format!("/proc/{member}/status"));
        let kb = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        kb.and_then(|kb| kb.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    family(pid).into_iter().map(of).sum()
}

/// Returns the number of open descriptors.
pub(crate) fn descriptors(pid: u32) -> usize {
    family(pid).into_iter().map(|member| entries(&format!("/proc/{member}/fd")).len()).sum()
}

/// Returns the time that the hypervisor took from this machine since boot, and the total time, in ticks of
/// all cores.
pub(crate) fn stolen_and_total() -> (u64, u64) {
    let stat = read("/proc/stat");
    let ticks: Vec<u64> = stat
        .lines()
        .next()
        .unwrap_or("")
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    // The fields are user nice system idle iowait irq softirq steal; later ones are contained in these.
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().take(8).sum())
}

/// Returns the time since boot in which a core was idle or taken by the hypervisor. The kernel measures idle
/// time and does not sample it.
pub(crate) fn free_or_stolen(core: usize) -> Duration {
    let stat = read("/proc/stat");
    let name = format!("cpu{core} ");
    let fields = stat.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or("");
    let ticks: Vec<u64> = fields.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // The fields are user nice system idle iowait irq softirq steal.
    let free: u64 = [3, 4, 7].iter().filter_map(|at| ticks.get(*at)).sum();
    Duration::from_millis(free * TICK_MS)
}

/// Returns every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let pids = entries("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let parent_of = |pid: u32| {
        let stat = read(&format!("/proc/{pid}/stat"));
        // The name, in parentheses, may contain anything; the state and the parent follow it.
        let (_, after_name) = stat.rsplit_once(')')?;
        after_name.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect()
}

/// Returns the names in a directory; none if the process is gone.
fn entries(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns the text of a file; empty if the process is gone.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_time_on_our_own_account() {
        let before = cpu_time(std::process::id());
        let mut sum = 0u64;
        while cpu_time(std::process::id()) <= before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(cpu_time(std::process::id()) > before);
    }

    #[test]
    fn time_of_threads_that_have_ended_still_counts() {
        let before = cpu_time_with_ended_threads(std::process::id());
        std::thread::spawn(|| {
            // Waits for several ticks, because a fraction of one may be cut off.
            let since = cpu_time_with_ended_threads(std::process::id());
            let mut sum = 0u64;
            while cpu_time_with_ended_threads(std::process::id()) < since + Duration::from_millis(30) {
                for _ in 0..100_000 {
                    sum = std::hint::black_box(sum.wrapping_add(1));
                }
            }
        })
        .join()
        .unwrap();
        assert!(cpu_time_with_ended_threads(std::process::id()) >= before + Duration::from_millis(30));
    }

    #[test]
    fn time_of_children_counts_when_they_have_ended() {
        let before = cpu_time_of_ended_children();
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        std::process::Command::new("sh").args(["-c", work]).status().unwrap();
        assert!(cpu_time_of_ended_children() > before);
    }

    #[test]
    fn a_process_has_at_least_its_standard_streams_and_one_that_is_gone_has_none() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        // The process may inherit more: make gives its jobs a pair of descriptors.
        let open = descriptors(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(open >= 3, "{open}");
        assert_eq!(descriptors(child.id()), 0);
    }

    #[test]
    fn a_child_belongs_to_the_family_until_it_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(family(std::process::id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!family(std::process::id()).contains(&child.id()));
    }

    #[test]
    fn a_core_that_is_there_was_free_at_times_and_one_that_is_not_never() {
        assert!(free_or_stolen(0) > Duration::ZERO);
        assert_eq!(free_or_stolen(100_000), Duration::ZERO);
    }

    #[test]
    fn our_own_memory_is_some() {
        assert!(memory_bytes(std::process::id()) > 100 * 1024);
    }

    #[test]
    fn memory_that_was_given_back_counts_for_the_peak() {
        let before = peak_memory_bytes(std::process::id());
        assert!(before > 100 * 1024);
        // The block is larger than anything that other tests may free meanwhile.
        drop(std::hint::black_box(vec![1_u8; 64 << 20]));
        assert!(peak_memory_bytes(std::process::id()) > before);
    }
}
