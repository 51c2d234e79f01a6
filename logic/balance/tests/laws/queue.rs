//! Tests of the queue's order, against a model that examines every entry each time.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_balance::{Next, Queue, Rank, Ticket};

/// A waiting entry in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiter {
    number: usize,
    rank: Rank,
    due_us: i64,
}

fn rank(class: i16, client: u64, offset_ms: i32) -> Rank {
    Rank { class, client, offset_ms }
}

fn steps() -> impl Strategy<Value = Vec<(u8, i16, u64, i32, prop::sample::Index)>> {
    let step = (0..8_u8, -2..=2_i16, 0..4_u64, -5..=5_i32, any::<prop::sample::Index>());
    prop::collection::vec(step, 0..300)
}

proptest! {
    /// If all entries have the same client, the order is by class, time with offset, and arrival, whichever
    /// entries leave or are put back in between.
    #[test]
    fn the_first_of_the_lowest_class_is_next(steps in steps()) {
        let mut queue = Queue::default();
        let mut model: Vec<Waiter> = Vec::new();
        let mut tickets: BTreeMap<usize, Ticket> = BTreeMap::new();
        for (number, (what, class, _, offset, index)) in steps.into_iter().enumerate() {
            let now_us = number as u64 * 1_000;
            match what {
                0..4 => {
                    let rank = rank(class, 0, offset);
                    prop_assert_eq!(
                        queue.ahead_of(&rank),
                        model.iter().filter(|other| other.rank.class <= class).count()
                    );
                    tickets.insert(number, queue.enter(rank, now_us, number));
                    model.push(Waiter { number, rank, due_us: now_us as i64 + i64::from(offset) * 1_000 });
                }
                4 if !model.is_empty() => {
                    let gone = model.remove(index.index(model.len()));
                    prop_assert_eq!(queue.leave(&tickets[&gone.number]), Some(gone.number));
                    prop_assert_eq!(queue.leave(&tickets[&gone.number]), None);
                }
                _ => {
                    let wanted = model.iter().min_by_key(|one| (one.rank.class, one.due_us, one.number)).copied();
                    let next = queue.take_next();
                    prop_assert_eq!(next.as_ref().map(|next| next.who), wanted.map(|one| one.number));
                    if let Some(Next { ticket, who, .. }) = next {
                        prop_assert_eq!(queue.leave(&ticket), None);
                        if what == 5 {
                            queue.put_back(ticket, who);
                        } else {
                            model.retain(|one| one.number != who);
                        }
                    }
                }
            }
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.is_empty(), model.is_empty());
        }
    }

    /// While a client waits, no other client of its class is served twice.
    #[test]
    fn clients_of_a_class_are_served_in_turn(steps in steps()) {
        let mut queue = Queue::default();
        // By class and client: the number of waiting entries, and what others got since this client last got
        // something.
        let mut waiting: BTreeMap<(i16, u64), usize> = BTreeMap::new();
        let mut since: BTreeMap<(i16, u64), BTreeMap<u64, usize>> = BTreeMap::new();
        for (what, class, client, offset, _) in steps {
            if what < 4 {
                queue.enter(rank(class, client, offset), 0, (class, client));
                *waiting.entry((class, client)).or_default() += 1;
                since.entry((class, client)).or_default();
                continue;
            }
            let Some(Next { who, .. }) = queue.take_next() else { continue };
            let lowest = waiting.keys().map(|(class, _)| *class).min();
            prop_assert_eq!(Some(who.0), lowest);
            let left = waiting.get_mut(&who).unwrap();
            *left -= 1;
            if *left == 0 {
                waiting.remove(&who);
                since.remove(&who);
            } else {
                since.insert(who, BTreeMap::new());
            }
            for ((class, client), others) in &mut since {
                if *class == who.0 && *client != who.1 {
                    let times = others.entry(who.1).or_default();
                    *times += 1;
                    prop_assert!(*times <= 1, "{who:?} was served {times} times while client {client} waited");
                }
            }
        }
    }

    /// The reported position is right, except for the order within the round in which the entry is served.
    #[test]
    fn a_position_is_right_but_for_the_order_within_one_round(
        others in prop::collection::vec((-1..=1_i16, 0..5_u64), 0..100),
        own in 0..5_u64,
    ) {
        let mut queue = Queue::default();
        for (class, client) in others {
            queue.enter(rank(class, client, 0), 0, false);
        }
        let said = queue.ahead_of(&rank(0, own, 0));
        queue.enter(rank(0, own, 0), 0, true);
        let mut ahead = 0;
        while let Some(next) = queue.take_next() && !next.who {
            ahead += 1;
        }
        prop_assert!(said >= ahead && said - ahead <= 5, "said {said}, was {ahead}");
    }
}

#[test]
fn one_who_was_served_knows_how_many_were_before() {
    let mut queue = Queue::default();
    let served =
        |queue: &mut Queue<&'static str>| queue.take_next().map(|next| (next.who, next.served_before));
    queue.enter(rank(0, 0, 0), 0, "first");
    queue.enter(rank(0, 0, 0), 0, "second");
    assert_eq!(served(&mut queue), Some(("first", 0)));
    queue.enter(rank(-1, 0, 0), 0, "urgent");
    queue.enter(rank(5, 0, 0), 0, "patient");
    assert_eq!(served(&mut queue), Some(("urgent", 0)));
    let second = queue.take_next().unwrap();
    assert_eq!((second.who, second.served_before), ("second", 2));
    queue.put_back(second.ticket, second.who);
    assert_eq!(served(&mut queue), Some(("second", 2)));
    assert_eq!(served(&mut queue), Some(("patient", 2)));
    assert_eq!(served(&mut queue), None);
}

#[test]
fn whoever_is_put_back_goes_before_the_others_of_its_class() {
    let mut queue = Queue::default();
    for (client, who) in [(1, "a1"), (1, "a2"), (2, "b1"), (3, "c1")] {
        queue.enter(rank(0, client, 0), 0, who);
    }
    let first = queue.take_next().unwrap();
    let second = queue.take_next().unwrap();
    queue.put_back(second.ticket, second.who);
    queue.put_back(first.ticket, first.who);
    let order: Vec<_> = std::iter::from_fn(|| queue.take_next().map(|next| next.who)).collect();
    assert_eq!(order, ["a1", "b1", "c1", "a2"]);
}

#[test]
fn a_client_with_thousands_waiting_delays_another_by_one() {
    let mut queue = Queue::default();
    for number in 0..10_000 {
        queue.enter(rank(0, 1, 0), number, 1);
    }
    assert_eq!(queue.ahead_of(&rank(0, 2, 0)), 1);
    assert_eq!(queue.ahead_of(&rank(0, 1, 0)), 10_000);
    queue.enter(rank(0, 2, 0), 10_000, 2);
    assert_eq!(queue.take_next().map(|next| next.who), Some(1));
    assert_eq!(queue.take_next().map(|next| next.who), Some(2));
}

#[test]
fn the_longest_wait_is_that_of_the_one_who_came_first() {
    let mut queue = Queue::default();
    assert_eq!(queue.longest_wait_us(5), None);
    let first = queue.enter(rank(9, 0, 0), 100, ());
    queue.enter(rank(0, 0, -500), 300, ());
    assert_eq!(queue.longest_wait_us(1_000), Some(900));
    queue.leave(&first);
    assert_eq!(queue.longest_wait_us(1_000), Some(700));
    assert_eq!(queue.longest_wait_us(0), Some(0));
}

#[test]
fn one_who_came_while_another_was_taken_out_for_nothing_has_its_turn() {
    let mut queue = Queue::default();
    queue.enter(rank(0, 0, 0), 0, "put back");
    let first = queue.take_next().unwrap();
    queue.enter(rank(-1, 0, 0), 1, "urgent");
    queue.put_back(first.ticket, first.who);
    let served: Vec<(&str, u64)> =
        std::iter::from_fn(|| queue.take_next()).map(|next| (next.who, next.served_before)).collect();
    assert_eq!(served, [("urgent", 0), ("put back", 1)]);
}
