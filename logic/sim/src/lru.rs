//! A cache of names that drops the least recently used one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A cache of names: it contains the last `capacity` different names that were requested.
#[derive(Debug)]
pub(crate) struct Lru {
    capacity: usize,
    places: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    entries: Vec<Entry>,
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Entry {
    name: u64,
    newer: u32,
    older: u32,
}

const NONE: u32 = u32::MAX;

/// A hasher for keys that are hashes already.
#[derive(Debug, Default)]
pub(crate) struct Hashed(u64);

impl Lru {
    pub(crate) fn new(capacity: u32) -> Self {
        let capacity = capacity.max(1) as usize;
        Self { capacity, places: HashMap::default(), entries: Vec::new(), newest: NONE, oldest: NONE }
    }

    /// Returns true if the cache contains `name`, and makes it the newest entry in any case.
    pub(crate) fn ask(&mut self, name: u64) -> bool {
        if let Some(place) = self.places.get(&name).copied() {
            self.take_out(place);
            self.put_in_front(place);
            return true;
        }
        let place = if self.entries.len() < self.capacity {
            self.entries.push(Entry { name, newer: NONE, older: NONE });
            (self.entries.len() - 1) as u32
        } else {
            let place = self.oldest;
            self.take_out(place);
            let forgotten = std::mem::replace(&mut self.entries[place as usize].name, name);
            self.places.remove(&forgotten);
            place
        };
        self.places.insert(name, place);
        self.put_in_front(place);
        false
    }

    /// Removes all entries, as when a server restarts.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.entries.clear();
        (self.newest, self.oldest) = (NONE, NONE);
    }

    fn take_out(&mut self, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn put_in_front(&mut self, place: u32) {
        let older = self.newest;
        self.entries[place as usize].newer = NONE;
        self.entries[place as usize].older = older;
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }
}

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = crate::rng::hash(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = crate::rng::mix(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, Stream};

    #[test]
    fn the_least_recently_asked_for_is_forgotten() {
        let mut lru = Lru::new(2);
        let hits: Vec<bool> = [1, 2, 1, 3, 1, 2, 3].into_iter().map(|name| lru.ask(name)).collect();
        assert_eq!(hits, [false, false, true, false, true, false, false]);
        lru.clear();
        assert!(!lru.ask(3) && lru.ask(3));
    }

    #[test]
    fn it_does_what_a_list_would() {
        for capacity in [1, 7, 50] {
            let (mut lru, mut list) = (Lru::new(capacity), Vec::new());
            let mut rng = Rng::new(capacity.into(), Stream::Uris);
            for _ in 0..5_000 {
                let name = rng.below(60);
                let known = list.iter().position(|there| *there == name);
                assert_eq!(lru.ask(name), known.is_some());
                known.map(|at| list.remove(at));
                list.insert(0, name);
                list.truncate(capacity as usize);
                assert!(lru.places.len() <= capacity as usize && lru.entries.len() <= capacity as usize);
            }
        }
    }
}
