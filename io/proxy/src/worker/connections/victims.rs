//! Chooses the connections to close in favour of new ones. Connections of the client with the most waiting
//! ones come first; among these, connections without a request come before those with one, and longer waits
//! before shorter ones.

use std::collections::{BinaryHeap, HashMap, VecDeque};

use super::{Full, Source};

/// Number of connections chosen at a time, because a search must visit all connections.
const CHOSEN_MAX: usize = 256;
/// Pause after a search, in milliseconds.
const SEARCH_EVERY_MS: u64 = 10;
/// Number of waiting connections for which the pause after an exhaustive search grows by one millisecond.
/// Searches without result thus take a small part of the time, regardless of the number of connections.
const SEARCHED_PER_MS: usize = 200;
/// Age after which a choice is discarded, in milliseconds, because other connections have waited longer by
/// then.
const CHOSEN_FOR_MS: u64 = 1_000;
/// Time that a client's only connection may wait before it can be closed, in milliseconds: its request may be
/// in transit.
const GRACE_MS: u64 = 1_000;

/// A connection that waits for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) number: u32,
    pub(super) source: Source,
    /// True if the connection waits for the body of a request.
    pub(super) has_request: bool,
    pub(super) since_ms: u64,
}

impl Waiting {
    /// Returns the sort key; the lowest goes first. Closing an idle connection costs the client less than
    /// aborting a request.
    fn rank(&self) -> (bool, u64) {
        (self.has_request, self.since_ms)
    }
}

/// Connections that were chosen and are not closed yet.
#[derive(Debug, Default)]
pub(super) struct Victims {
    /// One choice for each limit, so that two reached limits do not discard each other's choice.
    chosen: HashMap<Full, Chosen>,
}

#[derive(Debug)]
struct Chosen {
    at_ms: u64,
    /// Time after `at_ms` without a new search once the row is empty, in milliseconds.
    pause_ms: u64,
    /// Chosen connections, each with the number of waiting connections of its client, itself included.
    row: VecDeque<(Waiting, u32)>,
    /// For each client in the row that has more connections, the next one.
    spare: HashMap<Source, Waiting>,
    /// Number of waiting connections of each client, including those accepted since.
    waiting: HashMap<Source, u32>,
}

impl Victims {
    /// Returns the next connection to close, if its client has more waiting connections than the client of
    /// the new one. The latter has `newcomer.1` more in other workers. `is_still` returns true if a
    /// connection still waits as when it was chosen. `all` returns every waiting connection.
    pub(super) fn next(
        &mut self,
        full: Full,
        newcomer: (Source, u32),
        now_ms: u64,
        is_still: impl Fn(&Waiting) -> bool,
        all: impl FnOnce() -> Vec<Waiting>,
    ) -> Option<u32> {
        if let Some(chosen) = self.chosen.get_mut(&full) {
            while chosen.row.front().is_some_and(|(waiting, _)| !is_still(waiting)) {
                chosen.row.pop_front();
            }
            if chosen.age_ms(now_ms) < if chosen.row.is_empty() { chosen.pause_ms } else { CHOSEN_FOR_MS } {
                return chosen.take(newcomer);
            }
        }
        // Removes the choices for limits that are no longer reached.
        self.chosen.retain(|_, chosen| chosen.age_ms(now_ms) < CHOSEN_FOR_MS);
        self.chosen.entry(full).insert_entry(Chosen::of(now_ms, &all())).get_mut().take(newcomer)
    }

    /// Returns how many connections of this client waited at the last search, including those accepted since.
    pub(super) fn counted(&self, full: Full, source: Source) -> u32 {
        let chosen = self.chosen.get(&full);
        chosen.and_then(|chosen| chosen.waiting.get(&source)).copied().unwrap_or(0)
    }

    /// Returns another chosen connection to replace one of this client: one of the same client or, if the
    /// client had no other, one of those that are their client's only one.
    pub(super) fn instead(
        &mut self,
        full: Full,
        source: Source,
        is_still: impl Fn(&Waiting) -> bool,
    ) -> Option<u32> {
        let chosen = self.chosen.get_mut(&full)?;
        let has_others = chosen.waiting.get(&source).is_some_and(|count| *count > 1);
        let fits = |(waiting, count): &(Waiting, u32)| {
            let is_like = if has_others { waiting.source == source } else { *count == 1 };
            is_like && is_still(waiting)
        };
        match chosen.row.iter().position(fits) {
            Some(at) => chosen.row.remove(at).map(|(waiting, _)| waiting.number),
            None => chosen.spare.remove(&source).filter(is_still).map(|waiting| waiting.number),
        }
    }
}

impl Chosen {
    fn of(now_ms: u64, all: &[Waiting]) -> Self {
        let mut waiting: HashMap<Source, u32> = HashMap::new();
        for one in all.iter().filter(|one| one.source != Source::ALONE) {
            *waiting.entry(one.source).or_default() += 1;
        }
        let order = order(&waiting);
        let mut row: VecDeque<(Waiting, u32)> = VecDeque::new();
        let mut longest: HashMap<Source, VecDeque<Waiting>> =
            order.iter().map(|(source, _)| (*source, VecDeque::new())).collect();
        let mut only: Vec<Waiting> = Vec::new();
        for one in all {
            if let Some(longest) = longest.get_mut(&one.source) {
                longest.push_back(*one);
            } else if one.source == Source::ALONE || waiting.get(&one.source) == Some(&1) {
                only.push(*one);
            }
        }
        longest.values_mut().for_each(|longest| longest.make_contiguous().sort_by_key(Waiting::rank));
        for (source, count) in order {
            let next = longest.get_mut(&source).and_then(VecDeque::pop_front);
            row.extend(next.map(|one| (one, count)));
        }
        let spare = longest.into_iter();
        let spare = spare.filter_map(|(source, mut rest)| Some((source, rest.pop_front()?))).collect();
        only.retain(|one| one.since_ms.saturating_add(GRACE_MS) <= now_ms);
        only.sort_by_key(Waiting::rank);
        row.extend(only.into_iter().take(CHOSEN_MAX - row.len()).map(|one| (one, 1)));
        let pause_ms = if row.len() < CHOSEN_MAX {
            ((all.len() / SEARCHED_PER_MS) as u64).clamp(SEARCH_EVERY_MS, CHOSEN_FOR_MS)
        } else {
            SEARCH_EVERY_MS
        };
        Self { at_ms: now_ms, pause_ms, row, spare, waiting }
    }

    fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.at_ms)
    }

    fn take(&mut self, (newcomer, elsewhere): (Source, u32)) -> Option<u32> {
        let has = self.waiting.get(&newcomer).copied().unwrap_or(0);
        let (victim, _) = self.row.pop_front_if(|(_, count)| *count > has.saturating_add(elsewhere))?;
        if newcomer != Source::ALONE {
            self.waiting.insert(newcomer, has + 1);
        }
        Some(victim.number)
    }
}

/// Returns the clients whose connections are closed, in order, as long as a client has more than one. Each
/// step takes the client with the most connections left, and returns that number with it.
fn order(waiting: &HashMap<Source, u32>) -> Vec<(Source, u32)> {
    let several = waiting.iter().filter(|(_, count)| **count > 1);
    let mut most: BinaryHeap<(u32, u64)> = several.map(|(source, count)| (*count, source.0)).collect();
    let mut order = Vec::new();
    while let Some((count, source)) = most.pop().filter(|_| order.len() < CHOSEN_MAX) {
        order.push((Source(source), count));
        if count > 2 {
            most.push((count - 1, source));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates `count` connections of a client, numbered from `first`, that wait since `since_ms`, each a
    /// millisecond less than the one before.
    fn waiting(source: u64, first: u32, count: u32, since_ms: u64) -> Vec<Waiting> {
        let one = |at| Waiting {
            number: first + at,
            source: Source(source),
            has_request: false,
            since_ms: since_ms + u64::from(at),
        };
        (0..count).map(one).collect()
    }

    fn next(victims: &mut Victims, newcomer: u64, now_ms: u64, all: &[Waiting]) -> Option<u32> {
        victims.next(Full::Process, (Source(newcomer), 0), now_ms, |_| true, || all.to_vec())
    }

    #[test]
    fn the_client_with_most_connections_gives_way_by_its_longest_waits() {
        let all = [waiting(7, 0, 3, 500), waiting(9, 10, 5, 900), waiting(11, 20, 1, 0)].concat();
        let mut victims = Victims::default();
        let order: Vec<_> = (100..105).map(|newcomer| next(&mut victims, newcomer, 1_000, &all)).collect();
        // Down to three, then in turns; the order of two clients with the same number is not defined.
        assert_eq!(order[..2], [Some(10), Some(11)]);
        let mut then: Vec<_> = order[2..4].to_vec();
        then.sort();
        assert_eq!(then, [Some(0), Some(12)]);
    }

    #[test]
    fn a_newcomer_that_has_as_many_as_anyone_is_not_let_in() {
        let all = [waiting(7, 0, 3, 0), waiting(9, 10, 3, 0)].concat();
        let mut victims = Victims::default();
        assert_eq!(next(&mut victims, 9, 5_000, &all), None);
        assert!(next(&mut victims, 11, 5_000, &all).is_some());
    }

    #[test]
    fn what_a_newcomer_has_in_another_worker_counts() {
        let all = waiting(7, 0, 4, 0);
        let mut victims = Victims::default();
        let mut let_in = |elsewhere| {
            let newcomer = (Source(9), elsewhere);
            victims.next(Full::Process, newcomer, 5_000, |_| true, || all.clone()).is_some()
        };
        assert_eq!([4, 3].map(&mut let_in), [false, true]);
        assert_eq!(victims.counted(Full::Process, Source(9)), 1);
    }

    #[test]
    fn what_was_let_in_counts_at_once() {
        let all = waiting(7, 0, 3, 0);
        let mut victims = Victims::default();
        let let_in: Vec<_> = (0..4).map(|_| next(&mut victims, 9, 5_000, &all).is_some()).collect();
        // 3 and 0, then 2 and 1; then each client has the same number.
        assert_eq!(let_in, [true, true, false, false]);
    }

    #[test]
    fn an_only_connection_gives_way_after_a_while_and_the_longest_wait_first() {
        let all = [waiting(7, 0, 1, 2_000), waiting(9, 1, 1, 500), waiting(0, 2, 2, 1_000)].concat();
        let order = |now_ms| {
            let mut victims = Victims::default();
            (100..104).map(|newcomer| next(&mut victims, newcomer, now_ms, &all)).collect::<Vec<_>>()
        };
        assert_eq!(order(1_400), [None; 4]);
        assert_eq!(order(2_500), [Some(1), Some(2), Some(3), None]);
        assert_eq!(order(9_000), [Some(1), Some(2), Some(3), Some(0)]);
    }

    #[test]
    fn requests_give_way_after_idle_connections_of_their_client_and_are_counted_with_them() {
        let mut all = [waiting(7, 0, 4, 100), waiting(9, 10, 3, 0)].concat();
        all.iter_mut().take(3).for_each(|one| one.has_request = true);
        let mut victims = Victims::default();
        let first = next(&mut victims, 100, 5_000, &all);
        assert_eq!(first, Some(3), "the only idle one of the client that has most");
        let mut then: Vec<_> = (101..103).map(|newcomer| next(&mut victims, newcomer, 5_000, &all)).collect();
        then.sort();
        assert_eq!(then, [Some(0), Some(10)]);
    }

    #[test]
    fn one_that_has_a_request_by_now_is_passed_over() {
        let all = waiting(7, 0, 4, 0);
        let mut victims = Victims::default();
        assert_eq!(next(&mut victims, 9, 5_000, &all), Some(0));
        let still = |waiting: &Waiting| waiting.number != 1;
        assert_eq!(victims.next(Full::Process, (Source(11), 0), 5_000, still, Vec::new), Some(2));
    }

    #[test]
    fn in_place_of_one_that_goes_on_another_of_its_client_is_found() {
        let all =
            [waiting(7, 0, 3, 0), waiting(9, 10, 2, 0), waiting(11, 20, 1, 0), waiting(0, 30, 1, 1)].concat();
        let mut victims = Victims::default();
        assert_eq!(next(&mut victims, 100, 5_000, &all), Some(0));
        let instead =
            |victims: &mut Victims, source| victims.instead(Full::Process, Source(source), |_| true);
        assert_eq!(instead(&mut victims, 7), Some(1));
        assert_eq!(instead(&mut victims, 7), Some(2), "its last one");
        assert_eq!(instead(&mut victims, 7), None);
        assert_eq!(instead(&mut victims, 11), Some(20), "which is not the first any more");
        assert_eq!(instead(&mut victims, 0), Some(30));
        assert_eq!(instead(&mut victims, 0), None);
        assert_eq!(victims.instead(Full::Listener(1), Source(9), |_| true), None);
    }

    #[test]
    fn all_connections_are_looked_at_seldom() {
        let all = waiting(7, 0, 600, 0);
        let mut victims = Victims::default();
        let mut looks = 0;
        for newcomer in 0..600 {
            let mut look = || {
                looks += 1;
                all.clone()
            };
            victims.next(Full::Process, (Source(1_000 + newcomer), 0), 5_000, |_| true, &mut look);
        }
        // After the first choice, no further search happens at the same time, unless all chosen connections
        // have been closed.
        assert!(looks <= 600_usize.div_ceil(CHOSEN_MAX), "{looks} looks");
    }

    /// Counts the searches when a new connection arrives each millisecond, for each limit in `full` in turn.
    fn looks(full: &[Full], all: &[Waiting], newcomers: u64) -> usize {
        let mut victims = Victims::default();
        let mut looks = 0;
        for (newcomer, full) in (0..newcomers).zip(full.iter().cycle()) {
            let look = || {
                looks += 1;
                all.to_vec()
            };
            victims.next(*full, (Source(1_000_000 + newcomer), 0), 5_000 + newcomer, |_| true, look);
        }
        looks
    }

    #[test]
    fn two_that_are_full_do_not_make_each_other_search_again() {
        let all = waiting(7, 0, 300, 0);
        let full = [Full::Process, Full::Listener(1), Full::Listener(2)];
        assert_eq!(looks(&full, &all, 300), full.len());
    }

    #[test]
    fn a_search_among_many_that_was_in_vain_is_not_repeated_at_once() {
        // Each client has one connection, which has not waited long enough to be closed.
        let all = |count| (1..=count).flat_map(|at| waiting(at, at as u32, 1, 5_000)).collect::<Vec<_>>();
        assert_eq!(looks(&[Full::Process], &all(10), 900), 90);
        assert_eq!(looks(&[Full::Process], &all(20_000), 900), 9);
    }
}
