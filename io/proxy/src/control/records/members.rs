//! The servers of a pool.

use std::collections::{BTreeSet, HashMap};

use weir_model::ServerName;

use super::ServerRecord;

/// A pool's servers: by slot for checks and rosters, by name for commands, in order for display.
#[derive(Debug, Default)]
pub(in crate::control) struct Members {
    by_slot: Vec<Option<ServerRecord>>,
    /// Free slots below the highest slot in use. The lowest is assigned first, because tables are as long as
    /// the highest slot.
    free: BTreeSet<usize>,
    by_name: HashMap<ServerName, usize>,
    order: Vec<usize>,
}

impl Members {
    /// Returns the slot for the next server.
    pub(super) fn next_slot(&self) -> usize {
        self.free.first().copied().unwrap_or(self.by_slot.len())
    }

    /// Adds a server at the slot that [`Members::next_slot`] returned, last in order.
    pub(super) fn insert(&mut self, record: ServerRecord) {
        let slot = record.state.slot;
        self.free.remove(&slot);
        self.by_name.insert(record.spec.spec.name.clone(), slot);
        self.order.push(slot);
        if slot < self.by_slot.len() {
            self.by_slot[slot] = Some(record);
        } else {
            self.free.extend(self.by_slot.len()..slot);
            self.by_slot.resize_with(slot, || None);
            self.by_slot.push(Some(record));
        }
    }

    /// Removes the servers for which `goes` returns true; O(number of servers), whatever the number removed.
    pub(super) fn remove_where(&mut self, goes: impl Fn(&ServerRecord) -> bool) -> Vec<ServerRecord> {
        let mut gone = Vec::new();
        for slot in 0..self.by_slot.len() {
            if let Some(record) = self.by_slot[slot].take_if(|record| goes(record)) {
                self.by_name.remove(&record.spec.spec.name);
                self.free.insert(slot);
                gone.push(record);
            }
        }
        if !gone.is_empty() {
            self.order.retain(|slot| self.by_slot[*slot].is_some());
            let used = self.by_slot.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            self.by_slot.truncate(used);
            self.free.split_off(&used);
        }
        gone
    }

    /// Sorts the servers in this order; servers not listed come last. Returns true if the order changed.
    pub(super) fn arrange<'a>(&mut self, names: impl Iterator<Item = &'a ServerName>) -> bool {
        let rank: HashMap<usize, usize> =
            names.enumerate().filter_map(|(rank, name)| Some((*self.by_name.get(name)?, rank))).collect();
        let before = self.order.clone();
        self.order.sort_by_key(|slot| rank.get(slot).copied().unwrap_or(usize::MAX));
        self.order != before
    }

    pub(in crate::control) fn slot_of(&self, name: &ServerName) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(in crate::control) fn get(&self, name: &ServerName) -> Option<&ServerRecord> {
        self.at(self.slot_of(name)?)
    }

    pub(in crate::control) fn get_mut(&mut self, name: &ServerName) -> Option<&mut ServerRecord> {
        self.at_mut(self.slot_of(name)?)
    }

    pub(in crate::control) fn at(&self, slot: usize) -> Option<&ServerRecord> {
        self.by_slot.get(slot)?.as_ref()
    }

    pub(in crate::control) fn at_mut(&mut self, slot: usize) -> Option<&mut ServerRecord> {
        self.by_slot.get_mut(slot)?.as_mut()
    }

    /// Iterates in order.
    pub(in crate::control) fn iter(&self) -> impl Iterator<Item = &ServerRecord> {
        self.order.iter().filter_map(|slot| self.at(*slot))
    }

    /// Returns the servers by slot, including free slots.
    pub(in crate::control) fn slots(&self) -> &[Option<ServerRecord>] {
        &self.by_slot
    }

    pub(in crate::control) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ServerRecord> {
        self.by_slot.iter_mut().flatten()
    }

    pub(in crate::control) fn len(&self) -> usize {
        self.order.len()
    }
}
