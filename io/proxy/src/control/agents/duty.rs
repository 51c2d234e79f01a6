//! Starts agent checks and applies their replies.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_control::AdminState;
use weir_model::{PoolName, ServerAddress};
use weir_wire::agent::AgentReply;

use super::Question;
use super::task::keep_asking;
use crate::control::Controller;
use crate::control::checks::{Target, find};
use crate::control::records::ServerRecord;
use crate::control::task::Task;

impl Controller {
    /// Starts the agent task of a server, unless it runs or the pool has no agents. A server at a Unix socket
    /// has no agent.
    pub(in crate::control) fn start_agent(
        self: &Arc<Self>,
        pool: &PoolName,
        has_agents: bool,
        server: &mut ServerRecord,
    ) {
        let Some(runtime) = self.runtime.get() else { return };
        let is_unix = matches!(server.spec.spec.address, ServerAddress::Unix(_));
        if server.agent.is_some() || !has_agents || is_unix {
            return;
        }
        let target = Target { pool: pool.clone(), slot: server.state.slot, uid: server.state.uid };
        server.agent = Some(Task::new(runtime.spawn(keep_asking(Arc::clone(self), target)).abort_handle()));
    }

    /// Returns the next agent check of a server; `None` = the server or its agent is gone.
    pub(super) fn question(&self, target: &Target) -> Option<Question> {
        let mut records = self.records();
        let pool = records.pool_in_use_mut(&target.pool)?;
        let plan = pool.shared.plan.agent.clone()?;
        let (_, server) = find(pool, target)?;
        let port = server.spec.spec.agent_port.unwrap_or(plan.port);
        Some(Question { endpoint: server.state.endpoint(), port, plan })
    }

    /// Applies an agent's reply, or the reason why there is none. Returns the wait before the next agent
    /// check.
    pub(super) fn agent_answered(
        self: &Arc<Self>,
        target: &Target,
        answer: Result<AgentReply, String>,
    ) -> Option<Duration> {
        let now = Instant::now();
        let mut records = self.records();
        let pool = records.pool_in_use_mut(&target.pool)?;
        let shared = Arc::clone(&pool.shared);
        let interval = shared.plan.agent.as_ref()?.interval.duration();
        let (slot, server) = find(pool, target)?;
        let label = server.label();
        let changed = server.health.on_agent(&answer, now);
        if let Some(told) = &changed.trouble {
            self.log.line(format!("pool {}, {label}: agent: {told}", target.pool));
        }
        if !changed.anything {
            return Some(interval);
        }
        if changed.left_maintenance {
            server.health.restart(shared.plan.check.as_ref(), now);
        }
        if server.admin() == AdminState::Maintenance {
            server.check = None;
        } else {
            self.start_check(&target.pool, shared.plan.check.is_some(), server);
        }
        let words = server.health.agent().map(|agent| agent.state.words()).unwrap_or_default();
        pool.settle(slot);
        pool.spoil();
        let left = pool.rotation();
        self.log.line(format!("pool {}, {label}: agent says {words}; {left}", target.pool));
        drop(records);
        self.publish_soon();
        Some(interval)
    }
}
