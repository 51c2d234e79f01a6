//! One shard of the table of keys: its entries and their expiry.

pub(super) use super::members::{Member, Members};
use super::table::{Entry, Table};

/// Part of the keys that shares one lock.
#[derive(Debug)]
pub(super) struct Shard {
    entries: Table,
    /// Time of the next sweep; 0 = the shard has not been used yet.
    sweep_at_ms: u64,
    /// Sweeps since the last one that removed expired entries.
    sweeps: u32,
    /// Buffer for computing the median age.
    ages: Vec<u64>,
}

/// Wanted number of entries in a shard: the kernel's 1024 * 16 divided by the number of shards.
pub(super) const ENTRIES_WANTED: usize = 16 * 1_024 / super::SHARDS;
/// Most entries in a shard, however many keys clients use.
pub(super) const ENTRIES_MAX: usize = 4 * ENTRIES_WANTED;
/// Values of the kernel's CHECK_EXPIRE_INTERVAL, ENTRY_TIMEOUT and COUNT_FOR_FULL_EXPIRATION.
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
    /// Returns the key's entry and marks it as used now.
    pub(super) fn touch(&mut self, id: u64, now_ms: u64) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(id)?;
        entry.used_ms = now_ms;
        Some(entry)
    }

    /// Assigns the key to this server.
    pub(super) fn set(&mut self, id: u64, member: Member, now_ms: u64) {
        if self.entries.is_full() && !self.entries.contains(id) {
            self.forget_half();
        }
        self.entries.insert(id, Entry::new(member, now_ms));
    }

    /// Does the work of the kernel's timer, at most as often as the timer would have fired.
    ///
    /// If there are too many entries, it removes some that were not used lately. After half an hour without
    /// that, it removes those that have expired.
    pub(super) fn expire(&mut self, now_ms: u64, expiration_ms: u64) {
        if self.sweep_at_ms == 0 {
            self.sweep_at_ms = now_ms.saturating_add(SWEEP_INTERVAL_MS);
            self.sweeps = 1;
        }
        while self.sweep_at_ms <= now_ms {
            let missed = (now_ms - self.sweep_at_ms) / SWEEP_INTERVAL_MS;
            // The missed sweeps of an idle shard would all find the same entries, so most of them are
            // skipped.
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

    /// Removes the half of the entries that was unused for longest.
    fn forget_half(&mut self) {
        self.ages.clear();
        self.ages.extend(self.entries.values().map(|entry| entry.used_ms));
        let middle = self.ages.len() / 2;
        let (_, median, _) = self.ages.select_nth_unstable(middle);
        let median = *median;
        // Removes only as many of the entries used at the median time as are needed.
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

    /// Adds a server unless it is there already (ip_vs_dest_set_insert). In a full set it replaces the one at
    /// `most`.
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
