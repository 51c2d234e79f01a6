//! The map from identities to local users.

use std::fmt;

use serde::Deserialize;

use crate::identity::Identity;
use crate::rule::Principal;

/// Maps identities to local users; the first entry that matches applies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserMap {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    principal: Principal,
    user: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    map: Vec<Entry>,
}

/// Reason why a text is not a valid map, with the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMapError(String);

impl UserMap {
    /// Maximum size of the file, in bytes.
    pub const BYTES_MAX: usize = 4 * 1024 * 1024;
    /// Maximum number of entries. Each request scans them in order.
    pub const ENTRIES_MAX: usize = 10_000;

    /// Parses TOML with one `[[map]]` per entry. Each has a `principal` in the form that policies use, and a
    /// `user`.
    ///
    /// # Errors
    /// If the text is not a valid map.
    pub fn parse(text: &str) -> Result<Self, UserMapError> {
        if text.len() > Self::BYTES_MAX {
            return Err(UserMapError(format!("longer than {} bytes", Self::BYTES_MAX)));
        }
        let document: Document = toml::from_str(text).map_err(|error| UserMapError(error.to_string()))?;
        if document.map.len() > Self::ENTRIES_MAX {
            return Err(UserMapError(format!("more than {} entries", Self::ENTRIES_MAX)));
        }
        Ok(Self { entries: document.map })
    }

    /// Returns the local user for an identity, if an entry matches.
    pub fn user_of(&self, identity: &Identity) -> Option<&str> {
        self.entries.iter().find(|entry| entry.principal.admits(identity)).map(|entry| entry.user.as_str())
    }

    /// Returns every local user that the map names.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.user.as_str())
    }
}

impl fmt::Display for UserMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl std::error::Error for UserMapError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::BasicUser;

    #[test]
    fn the_first_entry_that_fits_counts() {
        let map = UserMap::parse(
            "[[map]]\nprincipal = { type = 'user', name = 'ada' }\nuser = 'lovelace'\n\
             [[map]]\nprincipal = { type = 'any-authenticated-user' }\nuser = '7:8'\n",
        )
        .unwrap();
        let user = |name: &str| Identity::Basic(BasicUser { name: name.to_owned() });
        assert_eq!(map.user_of(&user("ada")), Some("lovelace"));
        assert_eq!(map.user_of(&user("bob")), Some("7:8"));
        assert_eq!(map.user_of(&Identity::Anonymous), None);
        assert_eq!(map.users().collect::<Vec<_>>(), ["lovelace", "7:8"]);
        assert_eq!(UserMap::parse(""), Ok(UserMap::default()));
    }

    #[test]
    fn what_is_no_map_is_said_with_its_line() {
        let error = |text: &str| UserMap::parse(text).unwrap_err().to_string();
        assert!(error("[[map]]\nprincipal = { type = 'martian' }\nuser = 'a'\n").contains("martian"));
        assert!(error("[[map]]\nuser = 'a'\n").contains("principal"));
        assert!(error("[[map]]\nprincipal = { type = 'anyone' }\nuser = 'a'\nuid = 5\n").contains("line 4"));
        assert!(error("rubbish").contains("line 1"));
    }
}
