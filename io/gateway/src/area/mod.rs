//! A storage area while it is served: its files, its rules, and what is remembered of both.

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

/// For how long a file that nobody asks for is kept open for whoever asks for it next.
const OPEN_FILES_FOR: Duration = Duration::from_secs(1);

/// A storage area that is being served.
#[derive(Debug)]
pub(crate) struct Area {
    pub(crate) plan: AreaPlan,
    /// Who may do what.
    pub(crate) rules: AreaRules,
    /// Where the tree appears in URLs, longest first.
    pub(crate) points: Vec<AccessPoint>,
    /// The files.
    pub(crate) tree: Arc<Tree>,
    /// Those of them that were asked for a moment ago.
    pub(crate) open_files: OpenFiles<Known>,
    /// Who has locked which of them.
    pub(crate) locks: LockStore,
    /// The threads that wait for them. Where the area acts as local users, what they do here is done as nobody in particular:
    /// who asks has [`Self::disk_for`].
    pub(crate) disk: Disk,
    /// The same threads as the process itself: for what is open already, and for its own business.
    pub(crate) own_disk: Disk,
    act_as: Option<ActAs>,
    /// Users and passwords; `None` = no passwords are accepted.
    pub(crate) passwords: Option<Arc<Passwords>>,
    /// Whose certificates belong to an organisation.
    pub(crate) vo_map: VoMap,
    /// Reads what clients bring who were sent on to here; `None` = that means nothing.
    pub(crate) tickets: Option<Tickets>,
    /// Which credentials clients are asked for.
    pub(crate) schemes: Schemes,
    /// Whose checksums are being computed: by device and inode.
    pub(crate) flights: Flights<(u64, u64)>,
    /// Where uploads are about to be made visible of which a server has the word.
    pub(crate) confirmations: Arc<Flights<DavPath>>,
    /// Where the tree is for a proxy in front.
    accel_prefix: Option<DavPath>,
    /// Which uploads somebody is at work on.
    pub(crate) uploads: Arc<Uploads>,
    /// What was asked of it.
    pub(crate) counters: Arc<Counters>,
    /// What upkeep knows of it.
    pub(crate) kept: Arc<UpkeepState>,
    /// When checksums were looked for that its files have not.
    pub(crate) looked: Arc<BackfillState>,
    /// Where copies from and to other servers are begun; `None` = there are none.
    pub(crate) desk: Option<Arc<Desk>>,
    swept: Arc<AtomicBool>,
}

/// What an area may take over from the one of its name before a reload.
pub(crate) struct Kept<'a>(&'a Area);

impl<'a> Kept<'a> {
    pub(crate) fn of(area: &'a Area) -> Self {
        Self(area)
    }
}

impl Area {
    /// Opens the root and reads what the plan names. Blocks.
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
        // Something else may be mounted there by now.
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
            // What cannot be read is counted soon.
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

    /// Where the tree is for a proxy that sends its files itself; `None` = who asks is none. An address alone makes nobody one:
    /// a balancer or a client on the same machine would take the answer without a body for the file.
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

    /// What it offers.
    pub(crate) fn offer(&self) -> Offer {
        Offer { read_only: self.plan.read_only, locks: !self.plan.read_only }
    }

    /// The threads of the disk, as whom they do what somebody asks for; `None` if nobody here stands for them.
    pub(crate) fn disk_for(&self, identity: &Identity) -> Option<Disk> {
        match &self.act_as {
            None => Some(self.own_disk.clone()),
            Some(act_as) => act_as.user_of(identity).map(|user| self.own_disk.acting_as(user)),
        }
    }

    /// What must be on the disk when a change is confirmed.
    pub(crate) fn durability(&self) -> Durability {
        match self.plan.durability {
            plan::Durability::None => Durability::None,
            plan::Durability::Data => Durability::Data,
            plan::Durability::Full => Durability::Full,
        }
    }

    /// What faces show of it.
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

    /// What a plan says that holds for the tree as long as it lives.
    pub(crate) fn apply(&self) {
        self.tree.ledger().set_quota(self.plan.quota.map(|quota| quota.0));
        self.tree.ledger().set_entries_max(self.plan.files_max.map(u64::from));
    }

    /// Whether what earlier starts of this process left is to be removed: the first time that this is asked.
    pub(crate) fn is_to_be_swept(&self) -> bool {
        !self.plan.read_only && !self.swept.swap(true, Ordering::Relaxed)
    }
}

/// With the secret of who sends clients on to here. Blocks on the disk.
fn tickets(plan: &AreaPlan) -> Result<Option<Tickets>, String> {
    let Some(place) = &plan.redirect_key else { return Ok(None) };
    let secret = Secret::read(place).map_err(|cause| format!("redirect key: {cause}"))?;
    Ok(Some(Tickets::new(&secret).ok_or("redirect key: no key can be made of it")?))
}

/// Which links are followed.
pub(crate) fn symlinks(plan: &AreaPlan) -> SymlinkPolicy {
    match plan.symlinks {
        plan::Symlinks::Never => SymlinkPolicy::Never,
        plan::Symlinks::InsideRoot => SymlinkPolicy::InsideRoot,
        plan::Symlinks::OwnerMatch => SymlinkPolicy::OwnerMatch,
    }
}

/// Whether two trees have the same root. Blocks.
fn is_same_directory(one: &Tree, other: &Tree) -> bool {
    let identity = |tree: &Tree| {
        let root = tree.metadata(&DavPath::root()).ok()?;
        Some((root.device, root.inode))
    };
    identity(one).is_some() && identity(one) == identity(other)
}

/// Whether a token could help.
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
