use cedar_policy::{Entity, EntityId, EntityTypeName, EntityUid, Schema};

use crate::Action;

/// The schema that policies are validated against: see the file.
pub(super) const SCHEMA: &str = include_str!("schema.cedarschema");

/// What the schema calls things. Read once: a name is parsed before it can be used.
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

/// The actions that requests ask for, as the schema names them, each with the groups that it is in.
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

/// How many actions there are.
pub(super) const ACTION_COUNT: usize = ACTIONS.len();

/// Its place among [`ACTIONS`]. A rename is asked for in its parts; what is left of it is what is taken away.
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
    /// With the schema.
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

    /// Every action with the groups above it, in the order of [`index_of`].
    pub(super) fn actions(&self) -> Vec<Entity> {
        let uid = |name: &&str| uid(&self.action, name);
        let of = |(name, groups): &(&str, &[&str])| {
            Entity::new_no_attrs(uid(name), groups.iter().map(uid).collect())
        };
        ACTIONS.iter().map(of).collect()
    }
}

/// `kind::"id"`.
pub(super) fn uid(kind: &EntityTypeName, id: &str) -> EntityUid {
    EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
}
