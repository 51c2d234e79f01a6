//! Which scope permits which action (WLCG profile, table of storage scopes).
//!
//! | action | scope |
//! |---|---|
//! | read | read |
//! | stat | read, create, modify, stage |
//! | list | read, modify: the profile says nothing of it; a token for uploads need not see what others have uploaded |
//! | create | create, modify |
//! | make directory | create, modify; also for the missing parents of the scope's path |
//! | overwrite, delete | modify |
//! | rename | create, modify: both ends below the path of one scope, or what may not be read could be moved to where it may |
//! | stage | stage |
//! | poll | stage, poll |

use super::scope::{Operation, ScopeSet, StorageScope};
use crate::{AccessPath, Action};

impl ScopeSet {
    /// The first scope that permits `action` on `path`, which is below the issuer's base path and relative to it.
    pub fn permits(&self, action: &Action, path: &AccessPath) -> Option<&StorageScope> {
        self.scopes().iter().find(|scope| scope.permits(action, path))
    }
}

impl StorageScope {
    /// Whether it permits `action` on `path`, both relative to the issuer's base path.
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
