//! Reloads certificate files that change, and warns before certificates expire.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::task::spawn_blocking;
use tokio::time::sleep;
use weir_config::plan::{Certificate, PoolPlan};
use weir_model::PoolName;
use weir_net::tls::{ServerTls, check_certificate};

use super::parts::PoolTls;
use super::records::Records;
use super::task::Task;
use super::{Controller, EventLog};

const DAY: Duration = Duration::from_secs(86_400);
/// Lower limit of the plan's interval, because each check of the files occupies a thread.
const INTERVAL_MIN: Duration = Duration::from_millis(10);
/// Interval between checks of the files for TLS to servers.
const OWN_INTERVAL: Duration = Duration::from_secs(60);

impl Controller {
    /// Watches the certificates of the current plan and stops all earlier watches.
    pub(super) fn watch_certificates(self: &Arc<Self>, records: &mut Records) {
        let Some(runtime) = self.runtime.get() else { return };
        records.certificate_watch.clear();
        let mut watch = Vec::new();
        for listener in records.listeners.iter().filter(|listener| !listener.is_closing) {
            let state = &listener.state;
            if let Some(tls) = &state.tls {
                let follow =
                    follow_files(self.log.clone(), format!("listener {}", state.plan.name), Arc::clone(tls));
                watch.push(Task::new(runtime.spawn(follow).abort_handle()));
            }
        }
        for pool in records.pools_in_use().filter(|pool| pool.tls.has_files()) {
            let follow = Arc::clone(self).follow_own(pool.name.clone());
            watch.push(Task::new(runtime.spawn(follow).abort_handle()));
        }
        let own = records.plan.pools.iter().filter_map(|pool| pool.tls.as_ref()?.client_certificate.clone());
        let own: Vec<Certificate> = own.collect();
        if !own.is_empty() {
            watch.push(Task::new(runtime.spawn(warn_of_own(self.log.clone(), own)).abort_handle()));
        }
        records.certificate_watch = watch;
    }

    /// Reloads a pool's client certificate and CA when one of the files changes.
    async fn follow_own(self: Arc<Self>, pool: PoolName) {
        let mut trouble = None;
        loop {
            sleep(OWN_INTERVAL).await;
            let Some((plan, before)) = self.own(&pool) else { return };
            let files = before.clone();
            match spawn_blocking(move || files.renewed(&plan)).await {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(tls))) => {
                    trouble = None;
                    if self.renew_own(&pool, &before, tls) {
                        self.log.line(format!("pool {pool}: certificates read anew"));
                    }
                }
                Ok(Err(text)) => {
                    if trouble.as_ref() != Some(&text) {
                        self.log.line(format!("pool {pool}: {text}; the files read before stay in use"));
                        trouble = Some(text);
                    }
                }
                // The runtime is shutting down.
                Err(_) => return,
            }
        }
    }

    fn own(&self, pool: &PoolName) -> Option<(PoolPlan, PoolTls)> {
        let mut records = self.records();
        let pool = records.pool_in_use_mut(pool)?;
        Some((pool.shared.plan.clone(), pool.tls.clone()))
    }

    /// Installs the new TLS files. Returns false if a reload has replaced the old ones meanwhile.
    fn renew_own(&self, pool: &PoolName, before: &PoolTls, tls: PoolTls) -> bool {
        let mut records = self.records();
        let Some(pool) = records.pool_in_use_mut(pool).filter(|pool| pool.tls.is_like(before)) else {
            return false;
        };
        pool.secure(tls);
        true
    }
}

/// Reloads the TLS files for clients when they change. Warns of certificates that expire soon, at once and
/// then every day. Log lines begin with `owner`, the holder of `tls`.
pub async fn follow_files(log: EventLog, owner: String, tls: Arc<ServerTls>) {
    let interval = tls.reload_interval().max(INTERVAL_MIN);
    warn(&log, &owner, &tls);
    let mut since_warning = Duration::ZERO;
    let mut trouble = None;
    loop {
        sleep(interval).await;
        since_warning += interval;
        let files = Arc::clone(&tls);
        match spawn_blocking(move || files.reload_if_changed()).await {
            Ok(Ok(false)) => {}
            Ok(Ok(true)) => {
                trouble = None;
                log.line(format!("{owner}: certificates read anew"));
                warn(&log, &owner, &tls);
                since_warning = Duration::ZERO;
            }
            Ok(Err(error)) => {
                let text = error.to_string();
                // The error occurs at each check until it is fixed; one log line is enough.
                if trouble.as_ref() != Some(&text) {
                    log.line(format!("{owner}: {text}; the certificates read before stay in use"));
                    trouble = Some(text);
                }
            }
            // The runtime is shutting down.
            Err(_) => return,
        }
        if since_warning >= DAY {
            warn(&log, &owner, &tls);
            since_warning = Duration::ZERO;
        }
    }
}

fn warn(log: &EventLog, owner: &str, tls: &ServerTls) {
    let now = unix_seconds();
    for warning in tls.certificates().iter().flat_map(|certificate| certificate.warnings(now)) {
        log.line(format!("{owner}: {warning}"));
    }
}

/// Warns of client certificates that expire soon, at once and then every day.
async fn warn_of_own(log: EventLog, certificates: Vec<Certificate>) {
    loop {
        let files = certificates.clone();
        let read = move || -> BTreeSet<String> {
            let now = unix_seconds();
            let summaries = files.iter().filter_map(|files| check_certificate(files).ok());
            // A set, because pools may share a certificate.
            summaries.flat_map(|summary| summary.warnings(now)).collect()
        };
        let Ok(warnings) = spawn_blocking(read).await else { return };
        warnings.iter().for_each(|warning| log.line(format!("towards servers: {warning}")));
        sleep(DAY).await;
    }
}

fn unix_seconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64)
}
