//! Dead properties (RFC 4918 section 4.2): values that clients store with a file or directory.

use std::sync::Arc;

use weir_dav::path::DavPath;
use weir_dav::xml::{Fragment, PropName, PropertyUpdate, win32_modified_s};

use crate::gate::{Gate, pass};
use crate::ledger::Tally;
use crate::notes::{self, Note};
use crate::store::Guard;
use crate::{Durability, Metadata, StorageError, Tree, times};

/// File whose lock serializes changes of properties.
const GUARD: &str = "properties.guard";

impl Tree {
    /// Returns the dead properties of what is at a path, in the order in which they were created. Blocks.
    pub fn properties(&self, path: &DavPath) -> Result<Vec<Fragment>, StorageError> {
        let resource = self.resource(path)?;
        let found = notes::read(&resource.fd, Note::Properties, || self.side(path, &resource.metadata))?;
        found.map_or(Ok(Vec::new()), |text| decode(&text))
    }

    /// Carries out all instructions, or none if one fails (RFC 4918 section 9.2). `Win32LastModifiedTime`
    /// also sets the modification time. With [`Durability::Full`], the changes are on the disk when this
    /// returns. Blocks.
    pub fn update_properties(
        self: &Arc<Self>,
        path: &DavPath,
        updates: &[PropertyUpdate],
        durability: Durability,
    ) -> Result<Metadata, StorageError> {
        self.update_properties_through(path, updates, durability, &mut |step| step())
    }

    /// Updates properties like [`Self::update_properties`], with a gate before the visible step.
    pub fn update_properties_through(
        self: &Arc<Self>,
        path: &DavPath,
        updates: &[PropertyUpdate],
        durability: Durability,
        gate: &mut Gate<'_>,
    ) -> Result<Metadata, StorageError> {
        let _turn = self.turn(path)?;
        pass(gate, || self.carry_out_updates(path, updates, durability))
    }

    fn carry_out_updates(
        self: &Arc<Self>,
        path: &DavPath,
        updates: &[PropertyUpdate],
        durability: Durability,
    ) -> Result<Metadata, StorageError> {
        let _guard = Self::guard(&self.make_store()?, GUARD, false)?;
        let resource = self.resource(path)?;
        let side = || self.side(path, &resource.metadata);
        let before = notes::read(&resource.fd, Note::Properties, side)?;
        let bytes_before = before.as_ref().map_or(0, |text| text.len() as u64);
        let mut properties = before.map_or(Ok(Vec::new()), |text| decode(&text))?;
        let at = |properties: &[Fragment], name: &PropName| {
            properties.iter().position(|property| property.name() == name)
        };
        for update in updates {
            match (update, at(&properties, update.name())) {
                (PropertyUpdate::Set(value), Some(at)) => {
                    if let Some(property) = properties.get_mut(at) {
                        *property = value.clone();
                    }
                }
                (PropertyUpdate::Set(value), None) => properties.push(value.clone()),
                (PropertyUpdate::Remove(_), Some(at)) => drop(properties.remove(at)),
                (PropertyUpdate::Remove(_), None) => {}
            }
        }
        let modified_s = updates.iter().rev().find_map(win32_modified_s).and_then(Result::ok);
        let metadata = match modified_s {
            Some(modified_s) => {
                times::give_modified_to_checked(&resource.fd, &resource.metadata, modified_s, side)?
            }
            None => resource.metadata,
        };
        let mut bytes = 0;
        if properties.is_empty() {
            notes::remove(&resource.fd, Note::Properties, side)?;
        } else {
            let text = serde_json::to_vec(&properties).map_err(|_| StorageError::Damaged("properties"))?;
            bytes = text.len() as u64;
            let _claim = self.claim(bytes.saturating_sub(bytes_before))?;
            notes::write(&resource.fd, Note::Properties, &text, side)?;
        }
        self.ledger().came(Tally::properties(bytes.saturating_sub(bytes_before)));
        self.ledger().gone(Tally::properties(bytes_before.saturating_sub(bytes)));
        notes::sync(&resource.fd, durability, side)?;
        Ok(metadata)
    }
}

impl Tree {
    /// Waits for running changes of properties and keeps further ones out while the guard is held. `None` if
    /// the tree has no reserved directory, and so no properties yet.
    pub(crate) fn hold_properties(&self) -> Result<Option<Guard>, StorageError> {
        let store = self.store()?;
        store.map(|store| Self::guard(&store, GUARD, true)).transpose()
    }
}

fn decode(text: &[u8]) -> Result<Vec<Fragment>, StorageError> {
    serde_json::from_slice(text).map_err(|_| StorageError::Damaged("properties"))
}
