//! Servers of a fleet where it was balanced before: they finish what they have there, and get nothing new.

use std::time::Duration;

use weir_fleet::live::Balancer;

use super::balance::Balance;

/// What is left behind after a change of the pool.
pub(super) struct Moved {
    left: Vec<Balance>,
    /// By then they are gone, whatever they work on.
    deadline: Duration,
}

impl Moved {
    pub(super) fn new(left: Vec<Balance>, deadline: Duration) -> Self {
        Self { left, deadline }
    }

    /// Lets go what has nothing to do any more, `passed` after the move. Returns how many requests are cut off, and what did not work.
    pub(super) fn look(&mut self, passed: Duration) -> (u64, Vec<String>) {
        let is_over = passed >= self.deadline;
        let (mut cut, mut troubles) = (0, Vec::new());
        self.left.retain(|left| {
            // What cannot be asked is asked again; a pool that is gone has no servers.
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
