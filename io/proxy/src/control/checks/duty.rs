//! Starts health checks and applies their results.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_config::plan::CheckKind;
use weir_control::AdminState;
use weir_health::Transition;
use weir_model::PoolName;

use super::{Probe, Target, keep_checking};
use crate::control::Controller;
use crate::control::phrase::{duration, with_reason};
use crate::control::records::{CheckResult, PoolRecord, ServerRecord, tls_host};
use crate::control::task::Task;

impl Controller {
    /// Starts the check task of a server that needs one and has none.
    pub(in crate::control) fn start_check(
        self: &Arc<Self>,
        pool: &PoolName,
        is_checked: bool,
        server: &mut ServerRecord,
    ) {
        let Some(runtime) = self.runtime.get() else { return };
        if server.check.is_some() || !is_checked || server.admin() == AdminState::Maintenance {
            return;
        }
        let target = Target { pool: pool.clone(), slot: server.state.slot, uid: server.state.uid };
        server.check = Some(Task::new(runtime.spawn(keep_checking(Arc::clone(self), target)).abort_handle()));
    }

    /// Returns the wait before the first check; `None` = the server is not checked.
    pub(super) fn first_check_wait(&self, target: &Target) -> Option<Duration> {
        let random = self.random.next();
        let mut records = self.records();
        let (_, server) = find(records.pool_in_use_mut(&target.pool)?, target)?;
        server.health.wait(true, random)
    }

    /// Returns the next check of a server; `None` = it is no longer checked.
    pub(super) fn probe(&self, target: &Target) -> Option<Probe> {
        let mut records = self.records();
        let pool = records.pool_in_use_mut(&target.pool)?;
        let (plan, proxy_protocol) = (pool.shared.plan.check.clone()?, pool.shared.plan.proxy_protocol);
        let lenient = pool.shared.plan.lenient;
        let tls = match plan.kind {
            CheckKind::Tcp => None,
            CheckKind::Tls | CheckKind::Http(_) => pool.tls.checks.clone(),
        };
        let (_, server) = find(pool, target)?;
        let address = &server.spec.spec.address;
        Some(Probe {
            endpoint: server.state.endpoint(),
            tls_host: tls_host(address),
            host: host_header(address, plan.port),
            plan,
            tls,
            proxy_protocol,
            lenient,
        })
    }

    /// Applies the result of a check. Returns the wait before the next one; `None` = there is none.
    pub(super) fn check_done(&self, target: &Target, result: CheckResult) -> Option<Duration> {
        let random = self.random.next();
        let now = Instant::now();
        let mut records = self.records();
        let pool = records.pool_in_use_mut(&target.pool)?;
        let (slot, server) = find(pool, target)?;
        let told = with_reason(result.code.name(), &result.text);
        let change = server.health.on_check(result, now);
        let wait = server.health.wait(false, random);
        let Some(change) = change else { return wait };
        let label = server.label();
        pool.settle(slot);
        let left = pool.rotation();
        let event = match change.transition {
            Transition::Down => format!("down: check {told}; {left}"),
            Transition::Up => format!("up again after {}; {left}", duration(change.lasted)),
        };
        self.log.line(format!("pool {}, {label}: {event}", target.pool));
        drop(records);
        self.publish_soon();
        wait
    }
}

pub(in crate::control) fn find<'a>(
    pool: &'a mut PoolRecord,
    target: &Target,
) -> Option<(usize, &'a mut ServerRecord)> {
    let server = pool.members.at_mut(target.slot).filter(|server| server.state.uid == target.uid)?;
    Some((target.slot, server))
}

/// Returns the address for the check's Host header, in the form that clients use.
fn host_header(address: &weir_model::ServerAddress, port: Option<u16>) -> String {
    use weir_model::ServerAddress::{Inet, Named, Unix};
    match address {
        Inet(address) => std::net::SocketAddr::new(address.ip(), port.unwrap_or(address.port())).to_string(),
        Named(host) => format!("{}:{}", host.host, port.unwrap_or(host.port)),
        Unix(_) => "localhost".to_owned(),
    }
}
