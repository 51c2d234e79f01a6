//! Names in the Cedar schema: entity types and actions.

use cedar_policy::{Entity, EntityId, EntityTypeName, EntityUid, Schema};

use crate::Action;

/// The schema that policies are validated against; see the file.
pub(super) const SCHEMA: &str = include_str!("schema.cedarschema");

/// Entity types of the schema. They are parsed only once.
#[derive(Debug, Clone)]
pub(super) struct Words {
    pub(super) user: EntityTypeName,
    pub(super) anonymous: EntityTypeName,
    pub(super) group: EntityTypeName,
    pub(super) area: EntityTypeName,
    pub(super) directory: EntityTypeName,
    pub(super) path: EntityTypeName,
    action: EntityTypeName,
}

/// The actions of requests, as the schema names them, each with its groups.
const ACTIONS: [(&str, &[&str]); 9] = [
    ("read", &["all"]),
    ("stat", &["read", "all"]),
    ("list", &["read", "all"]),
    ("poll", &["read", "all"]),
    ("create", &["write", "all"]),
    ("make-directory", &["write", "all"]),
    ("overwrite", &["write", "all"]),
    ("delete", &["all"]),
    ("stage", &["all"]),
];

/// Number of actions.
pub(super) const ACTION_COUNT: usize = ACTIONS.len();

/// Returns the index of an action in [`ACTIONS`]. The caller splits a rename into its parts; a rename itself
/// counts as a delete.
pub(super) fn index_of(action: &Action) -> usize {
    match action {
        Action::Read => 0,
        Action::Stat => 1,
        Action::List => 2,
        Action::Poll => 3,
        Action::Create => 4,
        Action::MakeDirectory => 5,
        Action::Overwrite => 6,
        Action::Delete | Action::Rename { .. } => 7,
        Action::Stage => 8,
    }
}

impl Words {
    /// Parses the schema and returns it with its names.
    pub(super) fn read() -> Result<(Self, Schema), String> {
        let (schema, _) = Schema::from_cedarschema_str(SCHEMA).map_err(|error| error.to_string())?;
        let name = |text: &str| text.parse::<EntityTypeName>().map_err(|error| error.to_string());
        let words = Self {
            user: name("User")?,
            anonymous: name("Anonymous")?,
            group: name("Group")?,
            area: name("Area")?,
            directory: name("Directory")?,
            path: name("Path")?,
            action: name("Action")?,
        };
        Ok((words, schema))
    }

    /// Returns every action with its groups, in the order of [`index_of`].
    pub(super) fn actions(&self) -> Vec<Entity> {
        let uid = |name: &&str| uid(&self.action, name);
        let of = |(name, groups): &(&str, &[&str])| {
            Entity::new_no_attrs(uid(name), groups.iter().map(uid).collect())
        };
        ACTIONS.iter().map(of).collect()
    }
}

/// Returns the entity id `kind::"id"`.
pub(super) fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}
