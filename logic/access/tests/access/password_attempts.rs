//! Tests of the limits on password attempts and of the order of password checks.

use std::net::IpAddr;

use proptest::prelude::*;
use weir_access::basic::{AttemptEnd, CheckQueue, PasswordAttempts, UserKey};

use crate::crypto::AwsLc;

const HOUR: u64 = 3_600_000;

fn client(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn attempts() -> PasswordAttempts {
    PasswordAttempts::new(&[7; 32])
}

fn user(attempts: &PasswordAttempts, name: &str) -> UserKey {
    attempts.user(b"/etc/weir/htpasswd", name, &AwsLc)
}

/// Attempts a wrong password. The error is the number of seconds to wait.
fn wrong(attempts: &mut PasswordAttempts, from: IpAddr, of: UserKey, now: u64) -> Result<(), u64> {
    let attempt = attempts.begin(from, of, now)?;
    attempts.end(attempt, AttemptEnd::Wrong, now);
    Ok(())
}

fn right(attempts: &mut PasswordAttempts, from: IpAddr, of: UserKey, now: u64) {
    let attempt = attempts.begin(from, of, now).unwrap();
    attempts.end(attempt, AttemptEnd::Right, now);
}

#[test]
fn a_client_may_be_wrong_ten_times_about_a_user_and_then_once_every_six_seconds() {
    let mut attempts = attempts();
    let (ada, bob) = (user(&attempts, "ada"), user(&attempts, "bob"));
    let (one, other) = (client("192.0.2.1"), client("192.0.2.2"));
    for _ in 0..10 {
        assert_eq!(attempts.wait_secs(one, ada, 0), None);
        assert_eq!(wrong(&mut attempts, one, ada, 0), Ok(()));
    }
    assert_eq!(attempts.wait_secs(one, ada, 0), Some(6));
    assert_eq!(wrong(&mut attempts, one, ada, 0), Err(6));
    // Another user and another client have budgets of their own.
    assert_eq!(wrong(&mut attempts, one, bob, 0), Ok(()));
    assert_eq!(wrong(&mut attempts, other, ada, 0), Ok(()));
    assert_eq!(wrong(&mut attempts, one, ada, 6_000), Ok(()));
    assert_eq!(wrong(&mut attempts, one, ada, 6_000), Err(6));
}

#[test]
fn a_client_may_be_wrong_a_hundred_times_about_all_users() {
    let mut attempts = attempts();
    let from = client("2001:db8::1");
    for number in 0..100 {
        let of = user(&attempts, &format!("user {number}"));
        assert_eq!(wrong(&mut attempts, from, of, 0), Ok(()), "{number}");
    }
    let further = user(&attempts, "one more");
    assert_eq!(wrong(&mut attempts, client("2001:db8::ffff"), further, 0), Err(6), "the same network");
    assert_eq!(wrong(&mut attempts, client("2001:db8:0:1::1"), further, 0), Ok(()));
}

#[test]
fn strangers_do_not_lock_a_user_out_where_the_user_has_come_from_before() {
    let mut attempts = attempts();
    let ada = user(&attempts, "ada");
    let home = client("198.51.100.1");
    right(&mut attempts, home, ada, 0);
    let mut let_in = 0;
    for number in 0..1_000_u32 {
        let from = IpAddr::V4((0x0a00_0000 + number).into());
        let_in += u32::from(wrong(&mut attempts, from, ada, 0).is_ok());
    }
    assert_eq!(let_in, 100, "of all strangers together");
    assert_eq!(wrong(&mut attempts, client("203.0.113.1"), ada, 0), Err(36));
    assert_eq!(wrong(&mut attempts, home, ada, 0), Ok(()));
    // A user of the same name in another file is another user.
    let namesake = attempts.user(b"/etc/weir/other", "ada", &AwsLc);
    assert_eq!(wrong(&mut attempts, client("203.0.113.1"), namesake, 0), Ok(()));
    assert_eq!(wrong(&mut attempts, client("203.0.113.1"), ada, HOUR), Ok(()));
}

#[test]
fn right_passwords_cost_nothing_and_make_a_client_known() {
    let mut attempts = attempts();
    let (ada, from) = (user(&attempts, "ada"), client("192.0.2.1"));
    assert!(!attempts.knows(from, 0));
    for _ in 0..1_000 {
        right(&mut attempts, from, ada, 0);
    }
    assert!(attempts.knows(from, 0));
    assert!(!attempts.knows(client("192.0.2.2"), 0));
    assert!(!attempts.knows(from, 8 * 24 * HOUR), "a week ago");
}

/// The cache was searched for the password. A client that disconnects before the check has learnt that the
/// password is not in it.
#[test]
fn a_password_that_was_not_checked_counts_for_its_client_and_user_only() {
    let mut attempts = attempts();
    let from = client("192.0.2.1");
    let ada = user(&attempts, "ada");
    for _ in 0..10 {
        let attempt = attempts.begin(from, ada, 0).unwrap();
        attempts.end(attempt, AttemptEnd::NotChecked, 0);
    }
    assert_eq!(attempts.wait_secs(from, ada, 0), Some(6));
    assert_eq!(attempts.wait_secs(client("192.0.2.2"), ada, 0), None);
    for number in 10..100 {
        let of = user(&attempts, &format!("user {number}"));
        let attempt = attempts.begin(from, of, 0).unwrap();
        attempts.end(attempt, AttemptEnd::NotChecked, 0);
    }
    let further = user(&attempts, "one more");
    assert_eq!(attempts.begin(from, further, 0).err(), Some(6), "it hangs up to pay nothing");
}

#[test]
fn one_client_with_invented_users_keeps_no_other_client_out() {
    let mut attempts = attempts();
    let (ada, flooder) = (user(&attempts, "ada"), client("203.0.113.1"));
    let (home, new) = (client("198.51.100.1"), client("198.51.100.2"));
    right(&mut attempts, home, ada, 0);
    let mut let_in = 0;
    for number in 0..20_000 {
        let of = user(&attempts, &format!("nobody {number}"));
        let_in += u32::from(wrong(&mut attempts, flooder, of, 0).is_ok());
    }
    assert_eq!(let_in, 100);
    for from in [home, new] {
        assert_eq!(attempts.wait_secs(from, ada, 0), None, "{from}");
        right(&mut attempts, from, ada, 0);
    }
    assert_eq!(attempts.wait_secs(flooder, ada, 0), Some(6));
}

#[test]
fn a_neighbour_behind_the_same_address_does_not_lock_a_known_user_out() {
    let mut attempts = attempts();
    let (ada, shared) = (user(&attempts, "ada"), client("192.0.2.1"));
    right(&mut attempts, shared, ada, 0);
    for number in 0..1_000 {
        let of = user(&attempts, &format!("user {number}"));
        let _ = wrong(&mut attempts, shared, of, 0);
    }
    assert_eq!(attempts.wait_secs(shared, ada, 0), None);
    right(&mut attempts, shared, ada, 0);
}

/// Passwords that are being checked also count, else many could be tried at once.
#[test]
fn a_password_counts_as_wrong_while_it_is_checked() {
    let mut attempts = attempts();
    let (ada, from) = (user(&attempts, "ada"), client("192.0.2.1"));
    let under_way: Vec<_> = (0..10).map(|_| attempts.begin(from, ada, 0).unwrap()).collect();
    assert_eq!(attempts.begin(from, ada, 0).err(), Some(6));
    for attempt in under_way {
        attempts.end(attempt, AttemptEnd::Right, 0);
    }
    assert!(attempts.begin(from, ada, 0).is_ok());
}

/// Adds checks of a client and returns those that the queue rejects.
fn push(queue: &mut CheckQueue<String>, is_known: bool, from: &str, number: usize) -> Vec<String> {
    (0..number).filter_map(|at| queue.push(client(from), is_known, format!("{from} {at}"))).collect()
}

fn pop(queue: &mut CheckQueue<String>, number: usize) -> Vec<String> {
    (0..number).filter_map(|_| queue.pop()).collect()
}

#[test]
fn a_client_with_many_checks_delays_another_one_by_one_check() {
    let mut queue = CheckQueue::new(100);
    assert!(push(&mut queue, false, "10.0.0.1", 50).is_empty());
    assert!(push(&mut queue, false, "10.0.0.2", 2).is_empty());
    let order = ["10.0.0.1 0", "10.0.0.2 0", "10.0.0.1 1", "10.0.0.2 1", "10.0.0.1 2"];
    assert_eq!(pop(&mut queue, 5), order);
    assert_eq!(queue.len(), 47);
}

#[test]
fn many_strange_clients_delay_one_that_is_known_by_one_check() {
    let mut queue = CheckQueue::new(100);
    for number in 0..100 {
        assert!(push(&mut queue, false, &format!("10.0.0.{number}"), 1).is_empty());
    }
    assert!(push(&mut queue, true, "192.0.2.1", 2).is_empty(), "it has a lane of its own");
    assert_eq!(pop(&mut queue, 4), ["192.0.2.1 0", "10.0.0.0 0", "192.0.2.1 1", "10.0.0.1 0"]);
    assert_eq!(push(&mut queue, false, "10.0.1.1", 1).len(), 0);
}

#[test]
fn in_a_full_queue_the_client_with_most_checks_gives_way() {
    let mut queue = CheckQueue::new(4);
    assert!(push(&mut queue, false, "10.0.0.1", 4).is_empty(), "while there is room nobody is limited");
    assert_eq!(push(&mut queue, false, "10.0.0.1", 1), ["10.0.0.1 0"], "its own");
    assert_eq!(push(&mut queue, false, "10.0.0.2", 1), ["10.0.0.1 3"]);
    assert_eq!(push(&mut queue, false, "10.0.0.2", 1), ["10.0.0.1 2"]);
    assert_eq!(push(&mut queue, false, "10.0.0.2", 1), ["10.0.0.2 0"], "they have as many");
    assert_eq!(pop(&mut queue, 9), ["10.0.0.1 0", "10.0.0.2 0", "10.0.0.1 1", "10.0.0.2 0"]);
    assert!(queue.is_empty());
}

proptest! {
    #[test]
    fn no_check_is_lost_and_none_is_there_twice(
        steps in prop::collection::vec((0_u8..6, any::<bool>(), any::<bool>()), 0..200),
        max in 0_usize..8,
    ) {
        let mut queue = CheckQueue::new(max);
        let (mut pushed, mut out) = (0, Vec::new());
        for (from, is_known, is_push) in steps {
            if is_push {
                out.extend(queue.push(IpAddr::V4(u32::from(from).into()), is_known, pushed));
                pushed += 1;
            } else {
                out.extend(queue.pop());
            }
            prop_assert!(queue.len() <= 2 * max);
        }
        while let Some(check) = queue.pop() {
            out.push(check);
        }
        out.sort_unstable();
        prop_assert_eq!(out, (0..pushed).collect::<Vec<_>>());
        prop_assert!(queue.is_empty());
    }
}
