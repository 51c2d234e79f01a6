//! Starts name lookups and applies their answers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{Answer, Learned, Resolver, keep_asking};
use crate::control::Controller;
use crate::control::records::Records;
use crate::control::task::Task;

/// Maximum time that a start or a reload waits for names.
pub(in crate::control) const PATIENCE: Duration = Duration::from_secs(2);

impl Controller {
    /// Waits until every server name has been looked up, for at most two seconds. Without this wait, the
    /// first requests could find no server. Call it after [`Controller::spawn_tasks`] and before listening.
    pub async fn names_resolved(&self) {
        let all_asked = async {
            loop {
                // Registers before the check, so that an answer right after the check is not missed.
                let answered = self.name_answered.notified();
                if self.records().names.all_were_asked() {
                    return;
                }
                answered.await;
            }
        };
        // Does not wait longer for DNS servers that have not answered.
        let _ = timeout(PATIENCE, all_asked).await;
        self.publish_news();
    }

    /// Starts lookups of the names that have no task yet.
    pub(in crate::control) fn start_names(self: &Arc<Self>, records: &mut Records) {
        let Some(runtime) = self.runtime.get() else { return };
        let Records { names, resolver, plan, .. } = records;
        let mut without_task = names.without_task().peekable();
        if without_task.peek().is_none() {
            return;
        }
        let resolver = resolver.get_or_insert_with(|| self.tell_trouble(Resolver::new(&plan.resolver)));
        for (host, entry) in without_task {
            let task = keep_asking(Arc::clone(self), resolver.clone(), Arc::clone(host));
            entry.task = Some(Task::new(runtime.spawn(task).abort_handle()));
        }
    }

    /// Returns the last answer for a name.
    pub(super) fn known_answer(&self, host: &str) -> Answer {
        self.records().names.answer(host).cloned().unwrap_or_default()
    }

    /// Applies the result of a lookup. Returns the maximum wait before the next one, if there is one.
    pub(super) fn name_learned(self: &Arc<Self>, host: &str, found: Option<Answer>) -> Option<Duration> {
        let now = Instant::now();
        let mut records = self.records();
        let hold = records.plan.resolver.obsolete_hold.duration();
        let Learned { moved, pools, ask_within } = records.names.learn(host, found, hold, now);
        let is_news = !moved.is_empty() || !pools.is_empty();
        for (uid, user, endpoint) in moved {
            let Some(pool) = records.pool_in_use_mut(&user.pool) else { continue };
            let server = pool.members.at_mut(user.slot).filter(|server| server.state.uid == uid);
            if server.is_some_and(|server| server.reach(endpoint, now)) {
                pool.settle(user.slot);
            }
        }
        for pool in &pools {
            if let Some(change) = records.follow_names(pool, self.shared().threads, now) {
                self.log.line(change);
            }
        }
        if !pools.is_empty() {
            self.start_missing(&mut records);
        }
        drop(records);
        if is_news {
            self.publish_soon();
        }
        self.name_answered.notify_waiters();
        ask_within
    }
}
