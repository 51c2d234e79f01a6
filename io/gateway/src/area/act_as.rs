//! Mapping of identities to the local users that read and write files for them.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use weir_access::identity::Identity;
use weir_access::local::{Accounts, LocalIds, UserMap};
use weir_config::plan::ActAsPlan;
use weir_storage::{IdMaps, LocalUser};

/// Maximum size of `/etc/passwd` and `/etc/group`, in bytes.
const ACCOUNT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The map from identities to local users.
#[derive(Debug)]
pub(crate) struct ActAs {
    map: UserMap,
    users: HashMap<String, Arc<LocalUser>>,
    otherwise: Option<Arc<LocalUser>>,
}

/// Checks that an area can act as local users: reads the map and the accounts. Blocks.
///
/// # Errors
/// If the map or the accounts cannot be read, or if this process may not act as these users.
pub fn check_act_as(plan: &ActAsPlan) -> Result<(), String> {
    ActAs::read(plan).map(drop)
}

/// Checks that the map has a local user for anonymous clients, because offloaded uploads are stored as
/// anonymous. Blocks.
///
/// # Errors
/// If the map cannot be read or has no such user.
pub fn check_act_as_for_uploads(plan: &ActAsPlan) -> Result<(), String> {
    match name_of(plan, &Identity::Anonymous)? {
        Some(_) => Ok(()),
        None => Err("act-as has no local user for uploads that servers have decided about, which are nobody's in particular: \
                     set otherwise, or map anyone"
            .to_owned()),
    }
}

/// Lists the local users that an area can act as, by their names in the map. Blocks.
///
/// # Errors
/// If the map or the accounts cannot be read, or if a user in the map has no account.
pub fn act_as_users(plan: &ActAsPlan) -> Result<Vec<(String, LocalIds)>, String> {
    users_of(plan, &read_map(plan)?)
}

fn users_of(plan: &ActAsPlan, map: &UserMap) -> Result<Vec<(String, LocalIds)>, String> {
    let accounts = read_accounts()?;
    let names: BTreeSet<&str> = map.users().chain(plan.otherwise.as_deref()).collect();
    names.into_iter().map(|name| Ok((name.to_owned(), find(&accounts, name)?))).collect()
}

fn find(accounts: &Accounts, name: &str) -> Result<LocalIds, String> {
    accounts.find(name).map_err(|error| format!("act-as: {error}"))
}

fn read_accounts() -> Result<Accounts, String> {
    let passwd = text_of(Path::new("/etc/passwd"), ACCOUNT_BYTES_MAX)?;
    let group = text_of(Path::new("/etc/group"), ACCOUNT_BYTES_MAX)?;
    Ok(Accounts::parse(&passwd, &group))
}

/// Returns the name of the local user for an identity, without a look at the accounts; `None` if there is
/// none. Blocks.
pub(crate) fn name_of(plan: &ActAsPlan, identity: &Identity) -> Result<Option<String>, String> {
    let map = read_map(plan)?;
    Ok(map.user_of(identity).map(str::to_owned).or_else(|| plan.otherwise.clone()))
}

fn read_map(plan: &ActAsPlan) -> Result<UserMap, String> {
    let text = text_of(&plan.map, UserMap::BYTES_MAX)?;
    UserMap::parse(&text).map_err(|error| format!("act-as {}: {error}", plan.map.display()))
}

impl ActAs {
    /// Reads the map and the accounts, and checks that this process may act as other users. Blocks.
    pub(crate) fn read(plan: &ActAsPlan) -> Result<Self, String> {
        LocalUser::can_be_acted_as().map_err(|error| format!("act-as: {error}"))?;
        let maps = IdMaps::read().map_err(|error| format!("act-as: {error}"))?;
        let map = read_map(plan)?;
        let mut users = HashMap::new();
        for (name, ids) in users_of(plan, &map)? {
            let user = LocalUser::new(ids.uid, ids.gid, ids.groups);
            let user = user.ok_or_else(|| format!("act-as: {name:?} is no user to act as"))?;
            user.check_mapped(&maps).map_err(|cause| format!("act-as: {name:?}: {cause}"))?;
            users.insert(name, Arc::new(user));
        }
        let otherwise = plan.otherwise.as_deref().and_then(|name| users.get(name)).cloned();
        Ok(Self { map, users, otherwise })
    }

    /// Returns the local user for an identity; `None` if there is none.
    pub(crate) fn user_of(&self, identity: &Identity) -> Option<Arc<LocalUser>> {
        match self.map.user_of(identity) {
            Some(name) => self.users.get(name).cloned(),
            None => self.otherwise.clone(),
        }
    }
}

fn text_of(path: &Path, bytes_max: usize) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("act-as {}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| failed(&error))?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() > bytes_max {
        return Err(failed(&"too long"));
    }
    // Comments in account files may contain bytes that are not UTF-8.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
