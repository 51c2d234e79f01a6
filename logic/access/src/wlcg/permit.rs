//! Actions that each storage scope permits (WLCG profile, table of storage scopes).
//!
//! | action | scope |
//! |---|---|
//! | read | read |
//! | stat | read, create, modify, stage |
//! | list | read, modify; the profile does not define it |
//! | create | create, modify |
//! | make directory | create, modify; also for the missing parents of the scope's path |
//! | overwrite, delete | modify |
//! | rename | create, modify; source and destination must be below one scope's path |
//! | stage | stage |
//! | poll | stage, poll |
//!
//! `storage.create` does not permit listing, because a token for uploads need not see other files. A rename
//! across scopes could move files that the client may not read to a path where it may read them.

use super::scope::{Operation, ScopeSet, StorageScope};
use crate::{AccessPath, Action};

impl ScopeSet {
    /// Returns the first scope that permits `action` on `path`. The path is relative to the issuer's base
    /// path.
    pub fn permits(&self, action: &Action, path: &AccessPath) -> Option<&StorageScope> {
        self.scopes().iter().find(|scope| scope.permits(action, path))
    }
}

impl StorageScope {
    /// Returns true if the scope permits `action` on `path`. Both paths are relative to the issuer's base
    /// path.
    pub fn permits(&self, action: &Action, path: &AccessPath) -> bool {
        use Operation::{Create, Modify, Poll, Read, Stage};
        let here = self.path.contains(path);
        match (action, self.operation) {
            (Action::Read, Read)
            | (Action::Stat, Read | Create | Modify | Stage)
            | (Action::List, Read | Modify)
            | (Action::Create, Create | Modify)
            | (Action::Overwrite | Action::Delete, Modify)
            | (Action::Stage, Stage)
            | (Action::Poll, Stage | Poll) => here,
            (Action::MakeDirectory, Create | Modify) => {
                let directory = path.clone().as_directory();
                self.path.contains(&directory) || directory.is_above(&self.path)
            }
            (Action::Rename { to }, Create | Modify) => here && self.path.contains(to),
            _ => false,
        }
    }
}
