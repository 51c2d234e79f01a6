//! Local users and groups, read from `/etc/passwd` and `/etc/group`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The users of `/etc/passwd` with their groups of `/etc/group`.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// User id and group id, by user name.
    users: BTreeMap<String, (u32, u32)>,
    groups: BTreeMap<String, BTreeSet<u32>>,
    group_ids: BTreeMap<String, u32>,
}

/// The numeric ids of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalIds {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Ids of the supplementary groups.
    pub groups: Vec<u32>,
}

/// Reason why a text does not name a user or group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountError {
    /// The text is neither a name in `/etc/passwd` nor `UID:GID`.
    Unknown(String),
    /// The text is neither a name in `/etc/group` nor a number.
    UnknownGroup(String),
    /// The user is root, which would have no limits.
    Root(String),
}

impl Accounts {
    /// Parses the texts of the two files. Ignores lines that have another form.
    pub fn parse(passwd: &str, group: &str) -> Self {
        let mut accounts = Self::default();
        for line in passwd.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [name, _, uid, gid, ..] = fields.as_slice()
                && let (Ok(uid), Ok(gid)) = (uid.parse(), gid.parse())
            {
                accounts.users.entry((*name).to_owned()).or_insert((uid, gid));
            }
        }
        for line in group.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [name, _, gid, members, ..] = fields.as_slice()
                && let Ok(gid) = gid.parse()
            {
                accounts.group_ids.entry((*name).to_owned()).or_insert(gid);
                for member in members.split(',').map(str::trim).filter(|member| !member.is_empty()) {
                    accounts.groups.entry(member.to_owned()).or_default().insert(gid);
                }
            }
        }
        accounts
    }

    /// Returns the ids of a user. The text is a name, or `UID:GID` or `UID:GID,GID,...` for a user that only
    /// another service knows.
    ///
    /// # Errors
    /// If the text names no user, or if the user is root.
    pub fn find(&self, text: &str) -> Result<LocalIds, AccountError> {
        let named = self.users.get(text).map(|(uid, gid)| {
            let groups = self.groups.get(text).into_iter().flatten().copied().collect();
            LocalIds { uid: *uid, gid: *gid, groups }
        });
        let ids = named.or_else(|| numbers(text)).ok_or_else(|| AccountError::Unknown(text.to_owned()))?;
        // The largest number means "no change" in system calls.
        let is_none = |id: &u32| *id == u32::MAX;
        if is_none(&ids.uid) || is_none(&ids.gid) || ids.groups.iter().any(is_none) {
            return Err(AccountError::Unknown(text.to_owned()));
        }
        if ids.uid == 0 { Err(AccountError::Root(text.to_owned())) } else { Ok(ids) }
    }

    /// Returns the id of a group, which is given by name or as a number.
    ///
    /// # Errors
    /// If the text is neither a name of a group nor a number.
    pub fn find_group(&self, text: &str) -> Result<u32, AccountError> {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| plain && *number != u32::MAX);
        let found = self.group_ids.get(text).copied().or(number);
        found.ok_or_else(|| AccountError::UnknownGroup(text.to_owned()))
    }
}

fn numbers(text: &str) -> Option<LocalIds> {
    let (uid, gids) = text.split_once(':')?;
    let number = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| plain)
    };
    let mut gids = gids.split(',').map(number);
    let gid = gids.next()??;
    Some(LocalIds { uid: number(uid)?, gid, groups: gids.collect::<Option<_>>()? })
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) => {
                write!(f, "{text:?} is neither a user in /etc/passwd nor written as UID:GID")
            }
            Self::UnknownGroup(text) => write!(f, "{text:?} is neither a group in /etc/group nor a number"),
            Self::Root(text) => write!(f, "{text:?} is root: acting as root would be no limit"),
        }
    }
}

impl std::error::Error for AccountError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_or_number_and_are_never_root() {
        let accounts = Accounts::parse(
            "root:x:0:0::/root:/bin/sh\nada:x:1000:100::/home/ada:/bin/sh\nbroken\ntoor:x:0:0::/:/bin/sh\n",
            "users:x:100:\nstaff:x:50:bob,ada\nlab:x:70: ada \nbroken:x:y:ada\n",
        );
        let ids = |uid, gid, groups: &[u32]| Ok(LocalIds { uid, gid, groups: groups.to_vec() });
        assert_eq!(accounts.find("ada"), ids(1000, 100, &[50, 70]));
        assert_eq!(accounts.find("7:8"), ids(7, 8, &[]));
        assert_eq!(accounts.find("7:8,9,10"), ids(7, 8, &[9, 10]));
        for root in ["root", "toor", "0:0", "00:5"] {
            assert_eq!(accounts.find(root), Err(AccountError::Root(root.to_owned())));
        }
        for unknown in
            ["", "bob", "7", "7:", ":8", "7:8,", "+7:8", "-1:8", "4294967295:1", "1:4294967295", "1:2:3"]
        {
            assert_eq!(accounts.find(unknown), Err(AccountError::Unknown(unknown.to_owned())));
        }
    }
}
