//! Servers that a fleet has left in a former pool or balancer: they finish their requests and get no new
//! ones.

use std::time::Duration;

use weir_fleet::live::Balancer;

use super::balance::Balance;

/// The balancers that still have servers of the fleet after a change of its balancer.
pub(super) struct Moved {
    left: Vec<Balance>,
    /// Time after which the servers are removed, even with active requests.
    deadline: Duration,
}

impl Moved {
    pub(super) fn new(left: Vec<Balance>, deadline: Duration) -> Self {
        Self { left, deadline }
    }

    /// Removes the servers that have no requests left, or all of them after the deadline. `passed` is the
    /// time since the change. Returns the number of requests that were cut off, and the problems.
    pub(super) fn look(&mut self, passed: Duration) -> (u64, Vec<String>) {
        let is_over = passed >= self.deadline;
        let (mut cut, mut troubles) = (0, Vec::new());
        self.left.retain(|left| {
            // A balancer that does not answer is asked again later. A pool that no longer exists has no
            // servers.
            let members = match left.members() {
                Ok(members) => members,
                Err(_) if left.is_gone() => return false,
                Err(why) => {
                    troubles.push(why);
                    return !is_over;
                }
            };
            for member in &members {
                let told = match (member.draining, member.active) {
                    (false, _) if !is_over => left.drain(&member.server),
                    (_, 0) => left.remove(&member.server, false),
                    (_, active) if is_over => left.remove(&member.server, true).map(|()| cut += active),
                    _ => Ok(()),
                };
                troubles.extend(told.err().map(|why| format!("{}: {why}", member.server)));
            }
            !members.is_empty()
        });
        (cut, troubles)
    }
}
