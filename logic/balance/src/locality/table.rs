//! A hash table of keys in preallocated memory.

use super::members::Members;
use crate::mix::mix;

/// Data stored for a key.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) members: Members,
    pub(super) used_ms: u64,
    /// Time of the last change of the members.
    pub(super) changed_ms: u64,
}

/// Entries by key in memory allocated once, so that no pick waits for an allocator. The hash chains run
/// through one vector.
#[derive(Debug)]
pub(super) struct Table {
    /// For each chain, the index of its first node; [`NONE`] = the chain is empty.
    heads: Box<[u32]>,
    nodes: Vec<Node>,
    /// First unused node; the unused nodes form a chain as well.
    free: u32,
    len: usize,
}

#[derive(Debug)]
struct Node {
    id: u64,
    next: u32,
    /// `None` = the node is free.
    entry: Option<Entry>,
}

const NONE: u32 = u32::MAX;

impl Table {
    pub(super) fn new(entries_max: usize) -> Self {
        let heads = vec![NONE; entries_max.max(1)].into();
        Self { heads, nodes: Vec::with_capacity(entries_max), free: NONE, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there is no room for another key.
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.nodes.capacity()
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Entry> {
        let place = self.find(id)?;
        self.nodes.get_mut(place)?.entry.as_mut()
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.find(id).is_some()
    }

    /// Inserts or replaces the entry of a key. A full table ignores new keys.
    pub(super) fn insert(&mut self, id: u64, entry: Entry) {
        if let Some(known) = self.get_mut(id) {
            *known = entry;
            return;
        }
        if self.is_full() {
            return;
        }
        let chain = self.chain(id);
        let node = Node { id, next: self.heads[chain], entry: Some(entry) };
        let place = match self.free {
            NONE => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
            free => {
                self.free = self.nodes[free as usize].next;
                self.nodes[free as usize] = node;
                free
            }
        };
        self.heads[chain] = place;
        self.len += 1;
    }

    /// Keeps the entries for which `is_kept` returns true. The order of the calls depends only on earlier
    /// operations.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&Entry) -> bool) {
        for place in 0..self.nodes.len() {
            let node = &self.nodes[place];
            if node.entry.as_ref().is_some_and(|entry| !is_kept(entry)) {
                self.unlink(place as u32);
            }
        }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Entry> {
        self.nodes.iter().filter_map(|node| node.entry.as_ref())
    }

    fn chain(&self, id: u64) -> usize {
        (mix(id) % self.heads.len() as u64) as usize
    }

    fn find(&self, id: u64) -> Option<usize> {
        let mut place = self.heads[self.chain(id)];
        loop {
            let node = self.nodes.get(place as usize)?;
            if node.id == id {
                return Some(place as usize);
            }
            place = node.next;
        }
    }

    fn unlink(&mut self, place: u32) {
        let Node { id, next, .. } = self.nodes[place as usize];
        let chain = self.chain(id);
        if self.heads[chain] == place {
            self.heads[chain] = next;
        } else {
            let mut before = self.heads[chain] as usize;
            while self.nodes[before].next != place {
                before = self.nodes[before].next as usize;
            }
            self.nodes[before].next = next;
        }
        self.nodes[place as usize] = Node { id, next: self.free, entry: None };
        self.free = place;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::members::Member;
    use super::*;

    fn entry(used_ms: u64) -> Entry {
        Entry::new(Member { slot: 0, server: 0 }, used_ms)
    }

    #[test]
    fn a_table_has_what_a_map_would_have_whatever_is_done_to_it() {
        const KEYS: u64 = 60;
        let (mut table, mut map) = (Table::new(40), BTreeMap::new());
        for step in 0..20_000 {
            let random = mix(step);
            let id = random % KEYS;
            if random >> 40 & 63 == 0 {
                let from = random >> 20 & 15;
                table.retain(|entry| entry.used_ms % 16 >= from);
                map.retain(|_, used_ms| *used_ms % 16 >= from);
            } else if map.len() < 40 || map.contains_key(&id) {
                assert_eq!(table.is_full(), map.len() == 40);
                table.insert(id, entry(step));
                map.insert(id, step);
            } else {
                assert!(table.is_full() && !table.contains(id));
                table.insert(id, entry(step));
            }
            assert_eq!(table.len(), map.len());
            let id = mix(step + 1) % KEYS;
            assert_eq!(table.get_mut(id).map(|entry| entry.used_ms), map.get(&id).copied());
        }
        let mut used: Vec<u64> = table.values().map(|entry| entry.used_ms).collect();
        used.sort_unstable();
        let mut expected: Vec<u64> = map.into_values().collect();
        expected.sort_unstable();
        assert_eq!(used, expected);
    }
}
