//! A storage area in service: its files, its access rules, and the caches for both.

pub(crate) mod access_point;
pub(crate) mod act_as;
pub(crate) mod cedar;
mod counters;
pub(crate) mod response_cache;
mod upkeep_state;
pub(crate) mod upload_registry;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_access::identity::{Identity, VoMap};
use weir_access::rule::{AreaRules, Principal};
use weir_access::www_authenticate::Schemes;
use weir_config::plan::{self, AreaPlan};
use weir_control::StorageSnapshot;
use weir_dav::method::Offer;
use weir_dav::path::DavPath;
use weir_net::Secret;
use weir_net::service::Request;
use weir_net::ticket::Tickets;
use weir_storage::{
    Disk, Durability, LocalUser, LockStore, NodeId, OpenFiles, SymlinkPolicy, Tree, TreeOptions,
};

use crate::credentials::{Passwords, read_vo_maps};
use crate::single_flight::Flights;
use crate::transfers::Desk;
use access_point::{AccessPoint, plain_path};
use act_as::ActAs;
use counters::Counters;
use response_cache::Known;
use upkeep_state::{BackfillState, UpkeepState};
use upload_registry::Uploads;

/// Time for which an unused file stays open for the next request.
const OPEN_FILES_FOR: Duration = Duration::from_secs(1);

/// A storage area in service.
#[derive(Debug)]
pub(crate) struct Area {
    pub(crate) plan: AreaPlan,
    /// Access rules.
    pub(crate) rules: AreaRules,
    /// URL paths of the tree, deepest first.
    pub(crate) points: Vec<AccessPoint>,
    /// Files of the area.
    pub(crate) tree: Arc<Tree>,
    /// Recently requested files, kept open.
    pub(crate) open_files: OpenFiles<Known>,
    /// WebDAV locks.
    pub(crate) locks: LockStore,
    /// Disk threads. If the area acts as local users, these act as the user `nobody`. [`Self::disk_for`]
    /// returns the threads that act for a client.
    pub(crate) disk: Disk,
    /// Disk threads that act as the process itself, for files that are already open and for upkeep.
    pub(crate) own_disk: Disk,
    act_as: Option<ActAs>,
    /// Users and passwords; `None` if no passwords are accepted.
    pub(crate) passwords: Option<Arc<Passwords>>,
    /// Members of virtual organisations, by certificate.
    pub(crate) vo_map: VoMap,
    /// Opens the tickets of redirected clients; `None` if redirect tickets are ignored.
    pub(crate) tickets: Option<Tickets>,
    /// Authentication schemes that the area offers.
    pub(crate) schemes: Schemes,
    /// Checksums that are being computed, by device and inode.
    pub(crate) flights: Flights<(u64, u64)>,
    /// Paths at which uploads are being made visible after the pool server confirmed them.
    pub(crate) confirmations: Arc<Flights<DavPath>>,
    /// Path of the tree for a proxy in front that sends files itself (`X-Accel-Redirect`).
    accel_prefix: Option<DavPath>,
    /// Resumable uploads that a request works on.
    pub(crate) uploads: Arc<Uploads>,
    /// Request counters.
    pub(crate) counters: Arc<Counters>,
    /// State of the area's upkeep.
    pub(crate) kept: Arc<UpkeepState>,
    /// State of the search for files without checksums.
    pub(crate) looked: Arc<BackfillState>,
    /// Admission of third-party copies; `None` if the area permits none.
    pub(crate) desk: Option<Arc<Desk>>,
    swept: Arc<AtomicBool>,
}

/// The former area of the same name, whose state may be taken over at a reload.
pub(crate) struct Kept<'a>(&'a Area);

impl<'a> Kept<'a> {
    pub(crate) fn of(area: &'a Area) -> Self {
        Self(area)
    }
}

impl Area {
    /// Opens the root and reads the files that the plan names. Blocks.
    pub(crate) fn open(
        plan: &AreaPlan,
        (node, boot): (NodeId, u64),
        before: Option<Kept<'_>>,
    ) -> Result<Self, String> {
        let texts: Vec<&str> = plan.access_points.iter().map(String::as_str).collect();
        let rules = plan.access.resolve(plan.name.as_str(), &texts).map_err(|error| error.to_string())?;
        let rules = cedar::with_policies(rules, &plan.access.cedar)?;
        let mut points =
            texts.iter().map(|text| AccessPoint::parse(text)).collect::<Result<Vec<_>, String>>()?;
        points.sort_by_key(|point| std::cmp::Reverse(point.path.depth()));
        let symlinks = symlinks(plan);
        let trust_foreign_checksums = plan.trust_checksums;
        let act_as = plan.act_as.as_ref().map(ActAs::read).transpose()?;
        let as_users = act_as.is_some();
        let options =
            TreeOptions { symlinks, trust_foreign_checksums, as_users, ..TreeOptions::new(node, boot) };
        let is_same_tree = |before: &&Area| {
            before.plan.root == plan.root
                && before.plan.symlinks == plan.symlinks
                && before.plan.trust_checksums == plan.trust_checksums
                && before.plan.act_as.is_some() == plan.act_as.is_some()
        };
        let is_same_disk =
            |before: &&Area| before.plan.threads == plan.threads && before.plan.queue == plan.queue;
        let before = before.map(|Kept(before)| before);
        let tree = Tree::open_root(&plan.root, options)
            .map_err(|error| format!("root {}: {error}", plan.root.display()))?;
        // Another file system may be mounted at this path by now.
        let is_there_still = |before: &&Area| is_same_directory(&before.tree, &tree);
        let (tree, swept, kept, looked) = match before.filter(is_same_tree).filter(is_there_still) {
            Some(before) => (
                Arc::clone(&before.tree),
                Arc::clone(&before.swept),
                Arc::clone(&before.kept),
                Arc::clone(&before.looked),
            ),
            None => (tree, Arc::default(), Arc::default(), Arc::default()),
        };
        if plan.usage_interval.is_some() {
            // If the stored count cannot be read, upkeep counts the files soon.
            let _ = tree.recall_count();
        }
        let uploads = before.map(|before| Arc::clone(&before.uploads)).unwrap_or_default();
        let counters = before.map(|before| Arc::clone(&before.counters)).unwrap_or_default();
        let own_disk = match before.filter(is_same_disk) {
            Some(before) => before.own_disk.clone(),
            None => Disk::new(plan.name.as_str(), plan.threads.into(), plan.queue as usize),
        };
        let disk = match &act_as {
            None => own_disk.clone(),
            Some(_) => own_disk.acting_as(Arc::new(LocalUser::nobody().ok_or("there is no user nobody")?)),
        };
        let passwords = match &plan.htpasswd {
            Some(file) => Some(Arc::new(Passwords::read(file)?)),
            None => None,
        };
        let vo_map = read_vo_maps(&plan.vo_maps).map_err(|cause| format!("vo-maps: {cause}"))?;
        let tickets = tickets(plan)?;
        let schemes =
            Schemes { bearer: asks_for_tokens(plan), basic: passwords.is_some(), realm: plan.realm.clone() };
        let accel_prefix = match &plan.accel_redirect {
            Some(accel) => {
                Some(plain_path(&accel.prefix).map_err(|error| format!("accel-redirect: {error}"))?)
            }
            None => None,
        };
        let open_files = OpenFiles::new(&tree, &own_disk, plan.open_files_max as usize, OPEN_FILES_FOR);
        let locks = LockStore::new(Arc::clone(&tree));
        let (flights, desk) = (Flights::default(), None);
        let confirmations = before.map(|before| Arc::clone(&before.confirmations)).unwrap_or_default();
        let plan = plan.clone();
        Ok(Self {
            plan,
            rules,
            open_files,
            points,
            tree,
            locks,
            disk,
            own_disk,
            act_as,
            passwords,
            vo_map,
            tickets,
            schemes,
            flights,
            confirmations,
            desk,
            accel_prefix,
            uploads,
            counters,
            kept,
            looked,
            swept,
        })
    }

    /// Returns the path of the tree for a proxy that sends files itself; `None` for other clients.
    ///
    /// The peer's address alone is not sufficient. A balancer or client on the same machine would take the
    /// response without a body for the file. So the request must have `X-Sendfile-Type: X-Accel-Redirect`
    /// too.
    pub(crate) fn accel_redirect(&self, request: &Request) -> Option<&DavPath> {
        let plan = self.plan.accel_redirect.as_ref()?;
        let is_trusted = request.peer.is_none_or(|peer| {
            let ip = peer.ip().to_canonical();
            plan.trusted.iter().any(|network| network.contains(&ip))
        });
        let mut kinds = request.headers("X-Sendfile-Type");
        let sends_files = is_trusted && kinds.any(|kind| kind.eq_ignore_ascii_case(b"X-Accel-Redirect"));
        self.accel_prefix.as_ref().filter(|_| sends_files)
    }

    /// Returns the features of the area that determine the Allow header.
    pub(crate) fn offer(&self) -> Offer {
        Offer { read_only: self.plan.read_only, locks: !self.plan.read_only }
    }

    /// Returns disk threads that act as the local user of this identity; `None` if it has no local user.
    pub(crate) fn disk_for(&self, identity: &Identity) -> Option<Disk> {
        match &self.act_as {
            None => Some(self.own_disk.clone()),
            Some(act_as) => act_as.user_of(identity).map(|user| self.own_disk.acting_as(user)),
        }
    }

    /// Returns the data that must be on disk before a change is confirmed.
    pub(crate) fn durability(&self) -> Durability {
        match self.plan.durability {
            plan::Durability::None => Durability::None,
            plan::Durability::Data => Durability::Data,
            plan::Durability::Full => Durability::Full,
        }
    }

    /// Returns the state of the area for operators.
    pub(crate) fn snapshot(&self) -> StorageSnapshot {
        let (account, load) = (self.tree.ledger().account(), self.own_disk.load());
        let available = self.kept.available();
        StorageSnapshot {
            name: self.plan.name.to_string(),
            used: account.used,
            files: account.files,
            counted_unix_s: account.counted_s,
            quota: account.quota,
            available: available.map(|bytes| account.left.map_or(bytes, |left| left.min(bytes))),
            threads_busy: load.busy as u64,
            calls_waiting: load.queued as u64,
            methods: self.counters.snapshot(),
        }
    }

    /// Applies the quota settings of the plan to the tree.
    pub(crate) fn apply(&self) {
        self.tree.ledger().set_quota(self.plan.quota.map(|quota| quota.0));
        self.tree.ledger().set_entries_max(self.plan.files_max.map(u64::from));
    }

    /// Returns true at the first call, if leftovers of earlier processes should be removed.
    pub(crate) fn is_to_be_swept(&self) -> bool {
        !self.plan.read_only && !self.swept.swap(true, Ordering::Relaxed)
    }
}

/// Reads the key of the server that redirects clients here. Blocks on the disk.
fn tickets(plan: &AreaPlan) -> Result<Option<Tickets>, String> {
    let Some(place) = &plan.redirect_key else { return Ok(None) };
    let secret = Secret::read(place).map_err(|cause| format!("redirect key: {cause}"))?;
    Ok(Some(Tickets::new(&secret).ok_or("redirect key: no key can be made of it")?))
}

/// Returns the policy for symbolic links.
pub(crate) fn symlinks(plan: &AreaPlan) -> SymlinkPolicy {
    match plan.symlinks {
        plan::Symlinks::Never => SymlinkPolicy::Never,
        plan::Symlinks::InsideRoot => SymlinkPolicy::InsideRoot,
        plan::Symlinks::OwnerMatch => SymlinkPolicy::OwnerMatch,
    }
}

/// Returns true if two trees have the same root directory. Blocks.
fn is_same_directory(one: &Tree, other: &Tree) -> bool {
    let identity = |tree: &Tree| {
        let root = tree.metadata(&DavPath::root()).ok()?;
        Some((root.device, root.inode))
    };
    identity(one).is_some() && identity(one) == identity(other)
}

/// Returns true if some access rule could be satisfied by a token.
fn asks_for_tokens(plan: &AreaPlan) -> bool {
    let of_token = |principal: &Principal| {
        matches!(
            principal,
            Principal::JwtGroup { .. }
                | Principal::JwtScope { .. }
                | Principal::JwtIssuer { .. }
                | Principal::JwtSubject { .. }
                | Principal::JwtClient { .. }
        )
    };
    let mut policies = plan.access.policy.iter();
    !plan.access.issuers.is_empty()
        || plan.token_endpoint.is_some()
        || policies.any(|policy| policy.principals.iter().any(of_token))
}
