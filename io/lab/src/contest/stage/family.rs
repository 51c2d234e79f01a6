//! Processes that a balancer of the lab has started and that outlive it. A variable in their environment
//! identifies them.

use std::fs;
use std::io;

use rustix::process::{Pid, Signal, kill_process};

use super::Ledger;

/// Name of the variable in the environment of each process.
pub(crate) const FAMILY_VARIABLE: &str = "WEIR_LAB_FAMILY";

/// Processes that end when this is dropped. Drop the balancer that starts them first.
#[derive(Debug)]
pub(crate) struct Family {
    name: String,
}

impl Family {
    /// Records the name of this lab's family, before processes start with it.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub(crate) fn begin(ledger: &mut Ledger) -> io::Result<Self> {
        let name = Ledger::family_name();
        ledger.family(&name)?;
        Ok(Self { name })
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        end(&self.name);
    }
}

/// Kills all processes of a family, including ones that start meanwhile. Returns the number of killed
/// processes.
pub(super) fn end(name: &str) -> usize {
    /// Maximum number of searches. Usually one search suffices, unless the machine is very slow.
    const LOOKS_MAX: usize = 500;

    let (mut killed, mut looks) = (0, 0);
    loop {
        let members = members(name);
        if members.is_empty() || looks == LOOKS_MAX {
            return killed;
        }
        for pid in members {
            let is_killed = kill_process(pid, Signal::KILL).is_ok();
            killed += usize::from(looks == 0 && is_killed);
        }
        looks += 1;
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Returns true if the family has no process.
pub(super) fn is_over(name: &str) -> bool {
    members(name).is_empty()
}

fn members(name: &str) -> Vec<Pid> {
    let wanted = format!("{FAMILY_VARIABLE}={name}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    // An ended process has no environment.
    let is_member = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    pids.filter(is_member).filter_map(Pid::from_raw).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn who_carries_the_name_ends_whatever_its_group_and_others_do_not() {
        let start = |name: &str| {
            let mut command = Command::new("sleep");
            command.arg("600").env(FAMILY_VARIABLE, name).process_group(0);
            command.spawn().unwrap()
        };
        let own = format!("weir-lab-test-{}", std::process::id());
        let (mut one, mut two, mut other) = (start(&own), start(&own), start(&format!("{own}-other")));
        // Between fork and exec, a child is a copy of this program.
        weir_testkit::wait_until("both", weir_testkit::PATIENCE, || members(&own).len() == 2);
        assert_eq!(end(&own), 2);
        one.wait().unwrap();
        two.wait().unwrap();
        assert!(members(&own).is_empty() && other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
