//! The account that nodes with the same directory share. Each node reports its changes since the last count.
//! A count is valid for all nodes; while one of them counts, each node records the changes that the count
//! cannot see.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Ledger, Since, State, Sum, Tally};
use crate::Timestamp;

/// Seconds without a report after which a node counts as gone: its promises lapse, and its running count is
/// given up.
const HEARD_S: u64 = 120;

/// Seconds without a report after which a node's changes are dropped: it cannot still be changing what a
/// count did not see.
const FORGOTTEN_S: u64 = 3_600;

/// Contents of the shared file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Shared {
    /// Result of the last count.
    bytes: u64,
    files: u64,
    #[serde(default)]
    directories: u64,
    /// Time of the last count in seconds since 1970; 0 = never.
    at_s: u64,
    /// Number of the last count.
    #[serde(default)]
    count: u64,
    /// Number of the count that was begun last.
    #[serde(default)]
    turn: u64,
    /// The running count, if any.
    #[serde(default)]
    under_way: Option<UnderWay>,
    /// Report of each node.
    #[serde(default)]
    nodes: BTreeMap<String, Told>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct UnderWay {
    by: String,
    /// Start by the clock of the file system, in seconds since 1970 and nanoseconds; `None` = unknown.
    began: Option<(i64, u32)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    sum: Sum,
    /// Space that is promised to running uploads.
    promised: u64,
    /// Time of the report by the node's own clock, in seconds since 1970.
    at_s: u64,
    /// Number of the running count, and the changes that it does not see.
    since: Option<(u64, Sum)>,
}

impl Told {
    fn is_heard(&self, now_s: u64) -> bool {
        self.at_s.saturating_add(HEARD_S) > now_s
    }
}

impl Shared {
    /// Returns whether another node is counting and has neither died nor given up.
    pub(crate) fn is_counted_by_another(&self, own_key: &str, now_s: u64) -> bool {
        let by = self.under_way.as_ref().map(|count| &count.by).filter(|by| *by != own_key);
        let is_at_it = |told: &Told| told.since.is_some_and(|(turn, _)| turn == self.turn);
        by.and_then(|by| self.nodes.get(by)).is_some_and(|told| told.is_heard(now_s) && is_at_it(told))
    }

    /// Begins a count for all nodes. Returns its number.
    pub(crate) fn begin_count(&mut self, own_key: &str, began: Option<Timestamp>) -> u64 {
        self.turn = self.turn.max(self.count).saturating_add(1);
        let began = began.map(|began| (began.seconds, began.nanoseconds));
        self.under_way = Some(UnderWay { by: own_key.to_owned(), began });
        self.turn
    }

    /// Returns whether this state need not be written: only the time has changed, and no other node waits for
    /// a sign of life.
    pub(crate) fn says_nothing_new(&self, before: &Self, own_key: &str) -> bool {
        let (Some(told), Some(before_told)) = (self.nodes.get(own_key), before.nodes.get(own_key)) else {
            return false;
        };
        let counts = self.under_way.as_ref().is_some_and(|count| count.by == own_key);
        let is_waited_for = counts || told.promised > 0;
        if is_waited_for && told.at_s.saturating_sub(before_told.at_s) > HEARD_S / 4 {
            return false;
        }
        let told = Told { at_s: before_told.at_s, ..told.clone() };
        let same_nodes =
            self.nodes.iter().all(|(key, other)| key == own_key || before.nodes.get(key) == Some(other));
        told == *before_told
            && same_nodes
            && (self.count, self.turn, &self.under_way) == (before.count, before.turn, &before.under_way)
    }
}

impl Ledger {
    /// Ends the record for a count that was given up.
    pub(crate) fn give_up_count(&self, turn: u64) {
        let mut state = self.lock();
        state.since = state.since.filter(|since| since.turn != turn);
    }

    /// Takes over the reports of other nodes, without a report to them.
    pub(crate) fn recall(&self, shared: &mut Shared, own_key: &str, now_s: u64) {
        self.hear(shared, own_key, now_s);
    }

    /// Takes over the reports of other nodes.
    pub(super) fn hear(&self, shared: &mut Shared, own_key: &str, now_s: u64) {
        let mut state = self.lock();
        let never_counted = state.counted_s.is_none() && shared.at_s > 0;
        if shared.count > state.count || never_counted {
            state.adopt(shared);
        } else if shared.count < state.count {
            // The shared file was lost or is older, so it gets this node's numbers.
            let known = |number: i64| u64::try_from(number).unwrap_or(0);
            (shared.bytes, shared.files) = (known(state.base.bytes), known(state.base.files));
            shared.directories = known(state.base.directories);
            (shared.count, shared.at_s) = (state.count, state.counted_s.unwrap_or(0));
        }
        if shared.is_counted_by_another(own_key, now_s)
            && state.since.is_none_or(|since| since.turn != shared.turn)
            && let Some(count) = &shared.under_way
        {
            let began = count.began.map(|(seconds, nanoseconds)| Timestamp { seconds, nanoseconds });
            // Changes before this moment may or may not be in the count; only additions are recorded.
            let sum = (state.own - state.told).at_least_nothing();
            state.since = Some(Since { turn: shared.turn, sum, began });
        }
        state.others = others(shared, own_key, now_s);
    }

    /// Reports this node's state to the other nodes.
    pub(super) fn tell(&self, shared: &mut Shared, own_key: &str, now_s: u64) {
        let state = self.lock();
        let since =
            state.since.filter(|since| since.turn == shared.turn).map(|since| (since.turn, since.sum));
        let told = Told { sum: state.own, promised: state.claimed, at_s: now_s, since };
        shared.nodes.insert(own_key.to_owned(), told);
    }

    /// Records that the report was written, so that other nodes can read it.
    pub(crate) fn was_told(&self, shared: &Shared, own_key: &str) {
        let Some(told) = shared.nodes.get(own_key) else { return };
        let mut state = self.lock();
        (state.told, state.told_claimed) = (told.sum, told.promised);
    }

    /// Publishes the result of this node's count, unless another count has replaced it.
    pub(crate) fn conclude(&self, shared: &mut Shared, tally: Tally, own_key: &str, now_s: u64) {
        let turn = self.lock().since.map_or(0, |since| since.turn);
        if shared.turn == turn && shared.under_way.as_ref().is_some_and(|count| count.by == own_key) {
            (shared.bytes, shared.files, shared.directories) = (tally.bytes, tally.files, tally.directories);
            shared.at_s = now_s;
            (shared.count, shared.under_way) = (turn, None);
            shared.nodes.retain(|_, told| told.at_s.saturating_add(FORGOTTEN_S) > now_s);
            for told in shared.nodes.values_mut() {
                // A node that has not seen the count's start has reported no change since then.
                let since = told.since.take().filter(|(of, _)| *of == turn);
                told.sum = since.map_or_else(Sum::default, |(_, sum)| sum);
            }
        }
        self.hear(shared, own_key, now_s);
        self.tell(shared, own_key, now_s);
    }
}

impl State {
    /// Replaces the last count by another node's.
    fn adopt(&mut self, shared: &Shared) {
        let untold = (self.own - self.told).at_least_nothing();
        let is_of_it = |since: &Since| since.turn == shared.count && shared.count > 0;
        self.own = self.since.filter(is_of_it).map_or(untold, |since| since.sum);
        self.since = self.since.filter(|since| since.turn > shared.count);
        let Shared { bytes, files, directories, .. } = *shared;
        (self.base, self.told) =
            (Sum::of(Tally { bytes, files, directories, ..Tally::default() }), Sum::default());
        (self.count, self.counted_s) = (shared.count, Some(shared.at_s));
    }
}

fn others(shared: &Shared, own_key: &str, now_s: u64) -> Sum {
    let others = shared.nodes.iter().filter(|(key, _)| *key != own_key);
    others.fold(Sum::default(), |sum, (_, told)| {
        let promised = if told.is_heard(now_s) { told.promised } else { 0 };
        sum + told.sum + Sum::of_bytes(promised)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StorageError;

    fn two_with_quota(bytes: u64) -> [Ledger; 2] {
        [Ledger::default(), Ledger::default()].map(|ledger| {
            ledger.set_quota(Some(bytes));
            ledger
        })
    }

    #[test]
    fn what_a_node_had_promised_is_free_when_it_has_not_been_heard_of_for_long() {
        let [one, other] = two_with_quota(100);
        let mut shared = Shared::default();
        one.exchange(&mut shared, "one", 80, 1_000).unwrap();
        let ask = |shared: &mut Shared, now_s| other.exchange(shared, "other", 30, now_s);
        assert_eq!(ask(&mut shared, 1_000 + HEARD_S - 1), Err(StorageError::OverQuota));
        assert_eq!(ask(&mut shared, 1_000 + HEARD_S), Ok(()));
    }

    #[test]
    fn who_has_nothing_to_tell_writes_only_while_others_wait_for_a_sign_of_life() {
        let [one, _] = two_with_quota(100);
        let mut shared = Shared::default();
        let at = |shared: &Shared, now_s| {
            let mut later = shared.clone();
            one.exchange(&mut later, "one", 0, now_s).unwrap();
            later.says_nothing_new(shared, "one")
        };
        assert!(!at(&shared, 1_000));
        one.exchange(&mut shared, "one", 0, 1_000).unwrap();
        assert!(at(&shared, 1_000_000));
        one.exchange(&mut shared, "one", 80, 1_000).unwrap();
        assert!(at(&shared, 1_010) && !at(&shared, 1_000 + HEARD_S / 2));
    }

    #[test]
    fn what_was_lost_is_told_again_and_what_earlier_versions_have_written_is_understood() {
        let mut shared: Shared = serde_json::from_str(r#"{"bytes":50,"files":2,"at_s":7}"#).unwrap();
        let [one, other] = two_with_quota(100);
        one.exchange(&mut shared, "one", 0, 1_000).unwrap();
        assert_eq!((one.account().used, one.account().counted_s), (Some(50), Some(7)));
        one.begin_count();
        let turn = shared.begin_count("one", None);
        one.set_began(None, turn);
        one.conclude(&mut shared, Tally::new(60), "one", 1_001);
        let mut shared = Shared::default();
        one.exchange(&mut shared, "one", 0, 1_002).unwrap();
        other.exchange(&mut shared, "other", 0, 1_003).unwrap();
        assert_eq!((other.account().used, other.account().files), (Some(60), Some(1)));
    }
}
