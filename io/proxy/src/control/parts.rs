//! Resources of a plan whose creation can fail: compiled rules, certificates and keys.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_config::Plan;
use weir_config::plan::{CheckKind, ListenerPlan, Mode, PoolPlan, TlsOut, TlsVersion};
use weir_model::{ListenerName, PoolName};
use weir_net::tls::{ClientTls, ServerTls, TlsError};

use super::records::tls_host;
use crate::redirect::Redirect;
use crate::state::ModeState;
use crate::sticky::{Secret, read_secret};

/// Resources of a plan, in plan order.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) listeners: Vec<ListenerParts>,
    pub(super) pools: Vec<PoolParts>,
    /// Notes for the operator.
    pub(super) notes: Vec<String>,
}

/// A pool's resources.
#[derive(Debug)]
pub(super) struct PoolParts {
    pub(super) tls: Change<PoolTls>,
    /// Secret for sticky cookies.
    pub(super) sticky: Option<Secret>,
    /// Template for redirects of clients.
    pub(super) redirect: Option<Redirect>,
}

/// A listener's resources.
#[derive(Debug)]
pub(super) struct ListenerParts {
    pub(super) mode: ModeState,
    pub(super) tls: Option<Arc<ServerTls>>,
}

/// A resource that is unchanged or new.
#[derive(Debug)]
pub(super) enum Change<T> {
    Same,
    New(T),
}

/// Resources of the current plan.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) listeners: HashMap<ListenerName, Arc<ServerTls>>,
    pub(super) pools: HashMap<PoolName, PoolTls>,
}

/// TLS settings for connections to a pool's servers.
#[derive(Debug, Clone, Default)]
pub(super) struct PoolTls {
    /// Settings for requests; `None` = plaintext.
    pub(super) traffic: Option<Arc<ClientTls>>,
    /// Settings for checks.
    pub(super) checks: Option<Arc<ClientTls>>,
    made_of: Ingredients,
}

/// Inputs of a pool's TLS settings. Equal inputs give equal settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Ingredients {
    traffic: Option<TlsOut>,
    checks_want_tls: bool,
    files: Vec<Stamp>,
}

/// Fingerprint of a file, which changes when the file is written or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    /// Device, inode and size; then modification and change times, each in seconds and nanoseconds.
    identity: Option<(u64, u64, u64, [i64; 4])>,
}

impl Parts {
    /// Compiles and reads everything, or returns all problems. Blocks on the disk.
    pub(super) fn make(plan: &Plan, before: &Before) -> Result<Self, Vec<String>> {
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        let mut note = |problem: Vec<String>| problems.extend(problem);
        let listeners = plan.listeners.iter().filter_map(|listener| {
            let made = ListenerParts::make(listener, before.listeners.get(&listener.name), &mut notes);
            made.map_err(&mut note).ok()
        });
        let listeners = listeners.collect();
        let pools = plan.pools.iter().filter_map(|pool| {
            let made = PoolParts::make(pool, before.pools.get(&pool.name), &mut notes);
            made.map_err(|problem| note(vec![format!("pool {}: {problem}", pool.name)])).ok()
        });
        let pools = pools.collect();
        if problems.is_empty() { Ok(Self { listeners, pools, notes }) } else { Err(problems) }
    }
}

impl ListenerParts {
    fn make(
        plan: &ListenerPlan,
        before: Option<&Arc<ServerTls>>,
        notes: &mut Vec<String>,
    ) -> Result<Self, Vec<String>> {
        let of = |problem: String| format!("listener {}: {problem}", plan.name);
        let alpn: &[&[u8]] = match plan.mode {
            Mode::Http(_) => &[b"http/1.1"],
            Mode::Tcp(_) => &[],
        };
        let tls = plan.tls.as_ref().map(|tls| match before {
            // Keeps the session tickets, so that clients can still resume their sessions.
            Some(before) => match before.replace(tls, alpn) {
                Err(error) if error.is_denied() && before.is_made_by(tls, alpn) => {
                    notes.push(of(format!("{error}: {STAYS}")));
                    Ok(Arc::clone(before))
                }
                replaced => replaced,
            },
            None => ServerTls::load(tls, alpn),
        });
        match (ModeState::compile(plan), tls.transpose()) {
            (Ok(mode), Ok(tls)) => Ok(Self { mode, tls }),
            (mode, tls) => {
                let mode = mode.err().map(|error| of(error.to_string()));
                let tls = tls.err().map(|error| of(error.to_string()));
                Err(mode.into_iter().chain(tls).collect())
            }
        }
    }
}

impl PoolParts {
    fn make(plan: &PoolPlan, before: Option<&PoolTls>, notes: &mut Vec<String>) -> Result<Self, String> {
        let tls = match (PoolTls::make(plan, before), before) {
            (Err(trouble), Some(before)) if trouble.is_denied && before.is_made_by(plan) => {
                before.try_names(plan)?;
                notes.push(format!("pool {}: {}: {STAYS}", plan.name, trouble.text));
                Change::Same
            }
            (made, _) => made.map_err(|trouble| trouble.text)?,
        };
        Ok(Self { tls, sticky: read_secret(plan)?, redirect: Redirect::make(plan)? })
    }
}

/// Note for files that the process may no longer read, if nothing else has changed.
const STAYS: &str = "what is loaded of it stays in use; let the user of the process read it, or restart";

/// Reason why TLS to a pool's servers cannot be set up.
struct Trouble {
    text: String,
    /// Set when the process has no permission to read a file.
    is_denied: bool,
}

impl From<String> for Trouble {
    fn from(text: String) -> Self {
        Self { text, is_denied: false }
    }
}

impl From<TlsError> for Trouble {
    fn from(error: TlsError) -> Self {
        Self { text: error.to_string(), is_denied: error.is_denied() }
    }
}

impl PoolTls {
    fn make(plan: &PoolPlan, before: Option<&Self>) -> Result<Change<Self>, Trouble> {
        let made_of = Ingredients::of(plan);
        if let Some(before) = before.filter(|before| before.made_of == made_of) {
            before.try_names(plan)?;
            return Ok(Change::Same);
        }
        let load = |tls: &TlsOut| ClientTls::load(tls).map(Arc::new);
        let traffic = made_of.traffic.as_ref().map(load).transpose()?;
        let checks = match &traffic {
            None if made_of.checks_want_tls => Some(load(&DEFAULTS)?),
            traffic => traffic.clone(),
        };
        let tls = Self { traffic, checks, made_of };
        tls.try_names(plan)?;
        Ok(Change::New(tls))
    }

    /// Returns true if the settings depend on files, which may change.
    pub(super) fn has_files(&self) -> bool {
        !self.made_of.files.is_empty()
    }

    /// Returns new settings if a file has changed. Blocks on the disk.
    pub(super) fn renewed(&self, plan: &PoolPlan) -> Result<Option<Self>, String> {
        match Self::make(plan, Some(self)).map_err(|trouble| trouble.text)? {
            Change::Same => Ok(None),
            Change::New(tls) => Ok(Some(tls)),
        }
    }

    /// Returns true if the plan's settings are the same, regardless of the files' contents.
    fn is_made_by(&self, plan: &PoolPlan) -> bool {
        let Ingredients { traffic, checks_want_tls, .. } = Ingredients::of(plan);
        self.made_of.traffic == traffic && self.made_of.checks_want_tls == checks_want_tls
    }

    /// Returns true if both have the same inputs.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.made_of == other.made_of
    }

    /// Checks that a TLS connector can be made for each server.
    fn try_names(&self, plan: &PoolPlan) -> Result<(), String> {
        let Some(tls) = self.checks.as_ref() else { return Ok(()) };
        // A name that all servers share needs one try.
        let for_all = self.made_of.traffic.as_ref().is_some_and(|tls| tls.server_name.is_some());
        let tried = plan.servers.iter().take(if for_all { 1 } else { usize::MAX });
        for server in tried {
            let connector = tls.connector(&tls_host(&server.address));
            connector.map_err(|error| format!("server {} ({}): {error}", server.name, server.address))?;
        }
        Ok(())
    }
}

/// Settings for TLS checks of a pool that sends its requests in plaintext.
const DEFAULTS: TlsOut = TlsOut {
    verify: true,
    ca: None,
    server_name: None,
    client_certificate: None,
    version_min: TlsVersion::V1_2,
};

impl Ingredients {
    fn of(plan: &PoolPlan) -> Self {
        let client = plan.tls.iter().filter_map(|tls| tls.client_certificate.as_ref());
        let client = client.flat_map(|files| [files.certificate.as_path(), files.key.as_path()]);
        let ca = plan.tls.iter().filter_map(|tls| tls.ca.as_deref());
        Self {
            traffic: plan.tls.clone(),
            checks_want_tls: plan.check.as_ref().is_some_and(|check| check.kind == CheckKind::Tls),
            files: client.chain(ca).map(Stamp::of).collect(),
        }
    }
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let identity = fs::metadata(path).ok().map(|file| {
            let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
            (file.dev(), file.ino(), file.size(), times)
        });
        Self { path: path.to_owned(), identity }
    }
}
