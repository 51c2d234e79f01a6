//! Rate limits per client: each key may take a number of units in a time window.

use std::collections::HashMap;
use std::hash::Hash;

/// Maximum number of keys with a budget of their own. When the table is full, the least busy keys are
/// removed, at most once a second. Until then, all further keys share one budget.
pub(crate) const KEYS_MAX: usize = 10_000;

/// Pause between two sweeps of a full table, in milliseconds.
const SWEEP_MS: u64 = 1_000;

/// A token bucket for each key: a burst at once, then one unit after each pause, up to a full burst again.
///
/// Times are milliseconds of any clock that never goes back.
#[derive(Debug)]
pub(crate) struct Budgets<K> {
    /// Time that one unit occupies, in microseconds; 0 = no limit.
    cost_us: u64,
    /// Time that a full burst occupies, in microseconds.
    window_us: u64,
    /// End of the time that the units taken by each key occupy, in microseconds.
    busy_until_us: HashMap<K, u64>,
    /// The same for all keys that have no entry because the table is full.
    others_until_us: u64,
    swept_ms: u64,
}

impl<K: Eq + Hash> Budgets<K> {
    /// Creates budgets that permit `burst` units at once. All of them come back within `window_ms`; 0 = no
    /// limit.
    pub(crate) fn new(burst: u32, window_ms: u64) -> Self {
        Self {
            cost_us: (window_ms * 1_000).checked_div(burst.into()).unwrap_or(0),
            window_us: window_ms * 1_000,
            busy_until_us: HashMap::new(),
            others_until_us: 0,
            swept_ms: 0,
        }
    }

    /// Takes one unit.
    ///
    /// # Errors
    /// If no unit is left. The error is the number of seconds until one is available.
    pub(crate) fn take(&mut self, key: K, now_ms: u64) -> Result<(), u64> {
        if self.cost_us == 0 {
            return Ok(());
        }
        let (cost_us, window_us, now_us) = (self.cost_us, self.window_us, now_ms.saturating_mul(1_000));
        let until_us = self.of(key, now_ms);
        match wait_secs(*until_us, cost_us, window_us, now_us) {
            Some(seconds) => Err(seconds),
            None => {
                *until_us = (*until_us).max(now_us).saturating_add(cost_us);
                Ok(())
            }
        }
    }

    /// Returns the seconds until a unit is available; `None` = one is available now.
    pub(crate) fn wait_secs(&self, key: &K, now_ms: u64) -> Option<u64> {
        let is_full = self.busy_until_us.len() >= KEYS_MAX;
        let until_us = self.busy_until_us.get(key).copied();
        let until_us = until_us.or(is_full.then_some(self.others_until_us)).unwrap_or(0);
        wait_secs(until_us, self.cost_us, self.window_us, now_ms.saturating_mul(1_000))
    }

    /// Takes `number` units even if fewer are left.
    pub(crate) fn charge(&mut self, key: K, number: u64, now_ms: u64) {
        if self.cost_us == 0 {
            return;
        }
        let (more_us, now_us) = (self.cost_us.saturating_mul(number), now_ms.saturating_mul(1_000));
        let until_us = self.of(key, now_ms);
        *until_us = (*until_us).max(now_us).saturating_add(more_us);
    }

    /// Returns one unit to the budget.
    pub(crate) fn give_back(&mut self, key: &K) {
        let is_full = self.busy_until_us.len() >= KEYS_MAX;
        match self.busy_until_us.get_mut(key) {
            Some(until_us) => *until_us = until_us.saturating_sub(self.cost_us),
            None if is_full => {
                self.others_until_us = self.others_until_us.saturating_sub(self.cost_us);
            }
            // No entry: the whole budget is available already.
            None => {}
        }
    }

    /// Returns the number of keys with a budget of their own.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.busy_until_us.len()
    }

    fn of(&mut self, key: K, now_ms: u64) -> &mut u64 {
        let now_us = now_ms.saturating_mul(1_000);
        let is_full = self.busy_until_us.len() >= KEYS_MAX && !self.busy_until_us.contains_key(&key);
        if is_full && now_ms.saturating_sub(self.swept_ms) >= SWEEP_MS {
            self.swept_ms = now_ms;
            self.make_room(now_us);
        }
        match self.busy_until_us.len() >= KEYS_MAX && !self.busy_until_us.contains_key(&key) {
            true => &mut self.others_until_us,
            false => self.busy_until_us.entry(key).or_default(),
        }
    }
}

impl<K> Budgets<K> {
    /// Removes keys whose budget is full again. If too many keys remain, keeps only the busier half.
    /// Otherwise a flood of keys that each ask once would deprive other keys of a budget of their own.
    fn make_room(&mut self, now_us: u64) {
        self.busy_until_us.retain(|_, until_us| *until_us > now_us);
        if self.busy_until_us.len() < KEYS_MAX {
            return;
        }
        let mut all: Vec<u64> = self.busy_until_us.values().copied().collect();
        let (_, median_us, _) = all.select_nth_unstable(KEYS_MAX / 2);
        let median_us = *median_us;
        let busier = all.iter().filter(|until_us| **until_us > median_us).count();
        // Several keys can be exactly as busy as the median.
        let mut room = (KEYS_MAX / 2).saturating_sub(busier);
        self.busy_until_us.retain(|_, until_us| {
            let has_room = *until_us == median_us && room > 0;
            room -= usize::from(has_room);
            *until_us > median_us || has_room
        });
    }
}

fn wait_secs(until_us: u64, cost_us: u64, window_us: u64, now_us: u64) -> Option<u64> {
    let next_us = until_us.max(now_us).saturating_add(cost_us);
    let end_us = now_us.saturating_add(window_us);
    (next_us > end_us).then(|| (next_us - end_us).div_ceil(1_000_000))
}
