//! Watches the memory in use and tells workers when it is short.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use weir_config::plan::MemoryLimit;
use weir_model::ByteSize;
use weir_net::{GroupMemory, group_memory, own_memory, return_freed_memory};

use super::Controller;

/// Interval between measurements, with and without a limit.
const LOOK: Duration = Duration::from_millis(200);
const LOOK_WITHOUT_LIMIT: Duration = Duration::from_secs(5);
/// Interval at which freed memory is returned to the kernel while memory is short.
const RETURN: Duration = Duration::from_secs(1);

/// Thresholds in percent of the limit: memory becomes short at the first and stays short down to the second.
const SHORT_FROM: u64 = 90;
const SHORT_UNTIL: u64 = 85;

/// Memory in use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemoryUse {
    limit: u64,
    used: u64,
    /// Part of `used` that this process can reduce.
    own: u64,
}

impl MemoryUse {
    /// Measures memory; `None` = there is no limit.
    fn look(limit: MemoryLimit) -> Option<Self> {
        match limit {
            MemoryLimit::Off => None,
            MemoryLimit::Bytes(ByteSize(limit)) => {
                let own = own_memory()?;
                Some(Self { limit, used: own, own })
            }
            MemoryLimit::Group => {
                let GroupMemory { limit, used, sockets } = group_memory()?;
                Some(Self { limit, used, own: own_memory()?.saturating_add(sockets) })
            }
        }
    }

    /// Returns true if memory is short. If other processes of the group use most of it, freeing memory here
    /// would not help, so it returns false.
    fn is_short(self, was_short: bool) -> bool {
        let mark = if was_short { SHORT_UNTIL } else { SHORT_FROM };
        self.used >= self.limit / 100 * mark && self.own >= self.used / 2
    }
}

pub(super) async fn keep_watching_memory(controller: Arc<Controller>) {
    let mut returned: Option<Instant> = None;
    loop {
        let limit = controller.records().plan.process.memory_max;
        let memory = MemoryUse::look(limit);
        controller.judge_memory(memory);
        if controller.shared().memory.is_short() && returned.is_none_or(|at| at.elapsed() >= RETURN) {
            returned = Some(Instant::now());
            // The allocator keeps memory that workers free, and it would still count as used.
            let _ = spawn_blocking(return_freed_memory).await;
        }
        sleep(if memory.is_some() { LOOK } else { LOOK_WITHOUT_LIMIT }).await;
    }
}

impl Controller {
    fn judge_memory(&self, memory: Option<MemoryUse>) {
        let state = &self.shared().memory;
        let is_short = memory.is_some_and(|memory| memory.is_short(state.is_short()));
        if !state.set(is_short, memory.map(|memory| memory.limit)) {
            return;
        }
        let of_limit = memory.map_or_else(String::new, |MemoryUse { used, limit, .. }| {
            format!(" ({} of {} in use)", ByteSize(used >> 20 << 20), ByteSize(limit))
        });
        self.log.line(match is_short {
            true => format!(
                "memory is short{of_limit}: idle and stalled connections are closed, and new clients come in only in their place; lower max-connections, or give Weir more memory"
            ),
            false => format!("memory is no longer short{of_limit}"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_short_near_the_limit_and_until_there_is_some_room_again() {
        let of = |used| MemoryUse { limit: 1_000, used, own: used };
        let mut is_short = false;
        let short = [899, 900, 880, 850, 849, 899].map(|used| {
            is_short = of(used).is_short(is_short);
            is_short
        });
        assert_eq!(short, [false, true, true, true, false, false]);
    }

    #[test]
    fn what_other_processes_of_a_group_use_costs_no_connection() {
        let of = |own| MemoryUse { limit: 1_000, used: 950, own }.is_short(false);
        assert_eq!([200, 474, 475].map(of), [false, false, true]);
    }

    #[test]
    fn a_number_stands_for_the_memory_of_the_process() {
        let memory = MemoryUse::look(MemoryLimit::Bytes(ByteSize(1 << 40))).unwrap();
        assert!(memory.limit == 1 << 40 && memory.own == memory.used && memory.used > 0);
        assert_eq!(MemoryUse::look(MemoryLimit::Off), None);
    }
}
