pub(super) use super::members::{Member, Members};
use super::table::Table;

/// A part of the keys: those that share a lock.
#[derive(Debug)]
pub(super) struct Shard {
    entries: Table,
    /// When it is swept next; 0 = never looked at yet.
    sweep_at_ms: u64,
    /// Sweeps since the last one for entries that are past all use.
    sweeps: u32,
    /// For a sum over all entries.
    ages: Vec<u64>,
}

/// What is remembered of a key.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) members: Members,
    pub(super) used_ms: u64,
    /// When a member came or went last.
    pub(super) changed_ms: u64,
}

/// The kernel's 1024 * 16 for all shards together.
pub(super) const ENTRIES_WANTED: usize = 16 * 1_024 / super::SHARDS;
/// However many strangers ask for however many keys.
pub(super) const ENTRIES_MAX: usize = 4 * ENTRIES_WANTED;
/// CHECK_EXPIRE_INTERVAL, ENTRY_TIMEOUT, COUNT_FOR_FULL_EXPIRATION.
const SWEEP_INTERVAL_MS: u64 = 60_000;
const IDLE_MS: u64 = 6 * 60_000;
const SWEEPS_TO_FULL: u32 = 30;

impl Default for Shard {
    fn default() -> Self {
        let (entries, ages) = (Table::new(ENTRIES_MAX), Vec::with_capacity(ENTRIES_MAX));
        Self { entries, sweep_at_ms: 0, sweeps: 0, ages }
    }
}

impl Shard {
    /// The key's entry, which is used now.
    pub(super) fn touch(&mut self, id: u64, now_ms: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(id)?;
        entry.used_ms = now_ms;
        Some(entry)
    }

    /// The key is this server's from now on.
    pub(super) fn set(&mut self, id: u64, member: Member, now_ms: u64) {
        if self.entries.is_full() && !self.entries.contains(id) {
            self.forget_half();
        }
        self.entries.insert(id, Entry::new(member, now_ms));
    }

    /// The kernel's timer, as often as it would have gone off at most: when there are too many, those that nobody has asked
    /// for lately go; each half hour without that, those that have expired.
    pub(super) fn expire(&mut self, now_ms: u64, expiration_ms: u64) {
        if self.sweep_at_ms == 0 {
            self.sweep_at_ms = now_ms.saturating_add(SWEEP_INTERVAL_MS);
            self.sweeps = 1;
        }
        while self.sweep_at_ms <= now_ms {
            let missed = (now_ms - self.sweep_at_ms) / SWEEP_INTERVAL_MS;
            // An idle shard's missed sweeps would each have found the same: two are as good as all.
            let skipped = missed.saturating_sub(u64::from(SWEEPS_TO_FULL));
            self.sweep_at_ms = self.sweep_at_ms.saturating_add(SWEEP_INTERVAL_MS * (1 + skipped));
            self.sweep(now_ms, expiration_ms);
        }
    }

    fn sweep(&mut self, now_ms: u64, expiration_ms: u64) {
        if self.sweeps.is_multiple_of(SWEEPS_TO_FULL) {
            self.entries.retain(|entry| now_ms < entry.used_ms.saturating_add(expiration_ms));
            self.sweeps = 1;
            return;
        }
        let Some(surplus) = self.entries.len().checked_sub(ENTRIES_WANTED + 1) else {
            self.sweeps += 1;
            return;
        };
        let mut goal = ((surplus + 1) * 4 / 3).min(ENTRIES_WANTED / 2);
        self.entries.retain(|entry| {
            let is_idle = goal > 0 && now_ms >= entry.used_ms.saturating_add(IDLE_MS);
            goal -= usize::from(is_idle);
            !is_idle
        });
    }

    /// Drops the half that was not asked for longest.
    fn forget_half(&mut self) {
        self.ages.clear();
        self.ages.extend(self.entries.values().map(|entry| entry.used_ms));
        let middle = self.ages.len() / 2;
        let (_, median, _) = self.ages.select_nth_unstable(middle);
        let median = *median;
        // Of those asked for at the median itself only as many go as are missing.
        let older = self.entries.values().filter(|entry| entry.used_ms < median).count();
        let mut at_median = middle.saturating_sub(older);
        self.entries.retain(|entry| {
            let goes = entry.used_ms < median || (entry.used_ms == median && at_median > 0);
            at_median -= usize::from(goes && entry.used_ms == median);
            !goes
        });
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

impl Entry {
    pub(super) fn new(member: Member, now_ms: u64) -> Self {
        Self { members: Members::of(member), used_ms: now_ms, changed_ms: now_ms }
    }

    /// ip_vs_dest_set_insert: nothing if it is there. Where the set is full it takes the place of `most`.
    pub(super) fn add(&mut self, member: Member, most: usize, now_ms: u64) {
        if self.members.as_slice().contains(&member) {
            return;
        }
        if self.members.as_slice().len() >= Members::MAX {
            self.members.remove(most.min(Members::MAX - 1));
        }
        self.members.push_front(member);
        self.changed_ms = now_ms;
    }

    pub(super) fn remove(&mut self, place: usize, now_ms: u64) {
        if self.members.remove(place) {
            self.changed_ms = now_ms;
        }
    }
}
