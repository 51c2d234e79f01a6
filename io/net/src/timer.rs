//! Timeouts of one worker. They are coarse (16 ms) and lazy, because almost none of them fires. Moving a
//! deadline further away, which every request does several times, is a single store.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use slab::Slab;
use tokio::sync::Notify;

use crate::Ticks;

const TICK_MS: u64 = 16;
/// Number of buckets. Deadlines that are more ticks away (65 s) wait in the last bucket, where they are
/// examined again.
const BUCKETS: usize = 4096;
const NONE: u32 = u32::MAX;

/// A hashed timing wheel (Varghese and Lauck, scheme 6) with lists threaded through a slab.
#[derive(Debug)]
pub struct Timers {
    ticks: Ticks,
    wheel: RefCell<Wheel>,
    driver_wakes_at: Cell<u64>,
    sooner: Notify,
    /// Set when all deadlines count as expired.
    over: Cell<bool>,
}

#[derive(Debug)]
struct Wheel {
    entries: Slab<Entry>,
    heads: Box<[u32]>,
    occupied: [u64; BUCKETS / 64],
    /// Last examined tick.
    done_tick: u64,
}

#[derive(Debug)]
struct Entry {
    /// Tick of the deadline; 0 = disarmed.
    deadline: u64,
    /// Tick at which the wheel examines this entry, at or before `deadline`; 0 = not in the wheel.
    linked: u64,
    next: u32,
    previous: u32,
    expired: bool,
    waker: Option<Waker>,
}

/// Deadline of one task. It is armed, moved and disarmed many times.
#[derive(Debug)]
pub struct Deadline {
    timers: Rc<Timers>,
    key: u32,
}

impl Timers {
    /// Creates a wheel without entries. Deadlines fire only while [`Timers::drive`] runs.
    pub fn new() -> Rc<Self> {
        let wheel = Wheel {
            entries: Slab::new(),
            heads: vec![NONE; BUCKETS].into_boxed_slice(),
            occupied: [0; BUCKETS / 64],
            done_tick: 0,
        };
        Rc::new(Self {
            ticks: Ticks::new(Instant::now(), TICK_MS),
            wheel: RefCell::new(wheel),
            driver_wakes_at: Cell::new(u64::MAX),
            sooner: Notify::new(),
            over: Cell::new(false),
        })
    }

    /// Creates a deadline that is not armed yet.
    pub fn deadline(self: &Rc<Self>) -> Deadline {
        let entry = Entry { deadline: 0, linked: 0, next: NONE, previous: NONE, expired: false, waker: None };
        let key = self.wheel.borrow_mut().entries.insert(entry) as u32;
        Deadline { timers: Rc::clone(self), key }
    }

    /// Fires deadlines forever; sleeps while none is armed.
    pub async fn drive(self: Rc<Self>) {
        loop {
            let next = self.wheel.borrow().next_occupied();
            self.driver_wakes_at.set(next.unwrap_or(u64::MAX));
            match next {
                None => self.sooner.notified().await,
                Some(tick) => {
                    let at = self.ticks.start() + Duration::from_millis(tick * TICK_MS);
                    let slept = tokio::time::timeout_at(at.into(), self.sooner.notified()).await;
                    if slept.is_ok() {
                        continue;
                    }
                }
            }
            let now = self.ticks.of(Instant::now());
            let due = self.wheel.borrow_mut().advance(now);
            for waker in due {
                waker.wake();
            }
        }
    }

    /// Wakes every task that waits for a deadline, because the process is about to stop.
    pub fn wake_all(&self) {
        let wakers: Vec<Waker> =
            self.wheel.borrow_mut().entries.iter_mut().filter_map(|(_, entry)| entry.waker.take()).collect();
        for waker in wakers {
            waker.wake();
        }
    }

    /// Expires the deadline with this key at once and wakes its task.
    pub fn expire(&self, key: u32) {
        let waker = self.wheel.borrow_mut().entries.get_mut(key as usize).and_then(|entry| {
            entry.expired = true;
            entry.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Expires every deadline from now on, including those armed later: the process ends, and tasks that
    /// still wait are aborted.
    pub fn expire_all(&self) {
        self.over.set(true);
        self.wake_all();
    }
}

impl Deadline {
    /// Sets the deadline to `after` from `now`, whatever it was.
    #[inline]
    pub fn arm(&self, now: Instant, after: Duration) {
        let timers = &self.timers;
        // Adds one tick, so that it never fires early; tick 0 means "none".
        let deadline = timers.ticks.of(now) + (after.as_millis() as u64).div_ceil(TICK_MS) + 1;
        let mut wheel = timers.wheel.borrow_mut();
        let tick = wheel.arm(self.key, deadline);
        drop(wheel);
        if tick < timers.driver_wakes_at.get() {
            timers.sooner.notify_one();
        }
    }

    /// Disarms the deadline until it is armed again.
    #[inline]
    pub fn disarm(&self) {
        if let Some(entry) = self.timers.wheel.borrow_mut().entries.get_mut(self.key as usize) {
            entry.deadline = 0;
            entry.expired = false;
        }
    }

    /// Returns true if the deadline has passed. Otherwise the task of `cx` is woken when it does.
    #[inline]
    pub fn poll_expired(&self, cx: &Context<'_>) -> bool {
        if self.timers.over.get() {
            return true;
        }
        let mut wheel = self.timers.wheel.borrow_mut();
        let Some(entry) = wheel.entries.get_mut(self.key as usize) else { return false };
        if entry.expired {
            return true;
        }
        if !entry.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            entry.waker = Some(cx.waker().clone());
        }
        false
    }

    /// Returns the deadline's key, for [`Timers::expire`].
    pub fn key(&self) -> u32 {
        self.key
    }

    /// Returns the wheel of the deadline.
    pub fn timers(&self) -> &Rc<Timers> {
        &self.timers
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        let mut wheel = self.timers.wheel.borrow_mut();
        wheel.unlink(self.key);
        wheel.entries.try_remove(self.key as usize);
    }
}

impl Wheel {
    /// Arms an entry. Returns the tick at which the wheel will examine it.
    fn arm(&mut self, key: u32, deadline: u64) -> u64 {
        let Some(entry) = self.entries.get_mut(key as usize) else { return u64::MAX };
        entry.deadline = deadline;
        entry.expired = false;
        if entry.linked != 0 && entry.linked <= deadline {
            return entry.linked;
        }
        self.unlink(key);
        self.link(key, deadline)
    }

    fn link(&mut self, key: u32, deadline: u64) -> u64 {
        let earliest = self.done_tick + 1;
        let tick = deadline.clamp(earliest, self.done_tick + BUCKETS as u64 - 1);
        let bucket = tick as usize % BUCKETS;
        let head = self.heads[bucket];
        if let Some(entry) = self.entries.get_mut(key as usize) {
            entry.linked = tick;
            entry.next = head;
            entry.previous = NONE;
        }
        if let Some(second) = self.entries.get_mut(head as usize) {
            second.previous = key;
        }
        self.heads[bucket] = key;
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        tick
    }

    fn unlink(&mut self, key: u32) {
        let Some(entry) = self.entries.get_mut(key as usize) else { return };
        if entry.linked == 0 {
            return;
        }
        let bucket = entry.linked as usize % BUCKETS;
        let (next, previous) = (entry.next, entry.previous);
        entry.linked = 0;
        if let Some(entry) = self.entries.get_mut(next as usize) {
            entry.previous = previous;
        }
        match self.entries.get_mut(previous as usize) {
            Some(entry) => entry.next = next,
            None => self.heads[bucket] = next,
        }
        if self.heads[bucket] == NONE {
            self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        }
    }

    fn next_occupied(&self) -> Option<u64> {
        let first = self.done_tick + 1;
        let mut ahead = 0;
        while ahead < BUCKETS {
            let bucket = (first as usize + ahead) % BUCKETS;
            let word = self.occupied[bucket / 64] >> (bucket % 64);
            if word != 0 {
                return Some(first + ahead as u64 + u64::from(word.trailing_zeros()));
            }
            ahead += 64 - bucket % 64;
        }
        None
    }

    /// Examines every bucket up to `now`. Returns the wakers of the expired entries.
    fn advance(&mut self, now: u64) -> Vec<Waker> {
        let mut due = Vec::new();
        while self.done_tick < now {
            let Some(tick) = self.next_occupied().filter(|tick| *tick <= now) else {
                self.done_tick = now;
                break;
            };
            self.done_tick = tick;
            let mut key = std::mem::replace(&mut self.heads[tick as usize % BUCKETS], NONE);
            self.occupied[tick as usize % BUCKETS / 64] &= !(1 << (tick as usize % 64));
            while let Some(entry) = self.entries.get_mut(key as usize) {
                let this = std::mem::replace(&mut key, entry.next);
                entry.linked = 0;
                if entry.deadline == 0 {
                    continue;
                }
                if entry.deadline <= tick {
                    entry.expired = true;
                    due.extend(entry.waker.take());
                } else {
                    let deadline = entry.deadline;
                    self.link(this, deadline);
                }
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel() -> Wheel {
        Wheel {
            entries: Slab::new(),
            heads: vec![NONE; BUCKETS].into_boxed_slice(),
            occupied: [0; BUCKETS / 64],
            done_tick: 0,
        }
    }

    fn entry(wheel: &mut Wheel) -> u32 {
        let waker = Some(Waker::noop().clone());
        let entry = Entry { deadline: 0, linked: 0, next: NONE, previous: NONE, expired: false, waker };
        wheel.entries.insert(entry) as u32
    }

    fn expired(wheel: &Wheel, key: u32) -> bool {
        wheel.entries[key as usize].expired
    }

    #[test]
    fn a_deadline_fires_at_its_tick_and_not_before() {
        let mut wheel = wheel();
        let key = entry(&mut wheel);
        wheel.arm(key, 10);
        assert!(wheel.advance(9).is_empty());
        assert_eq!(wheel.advance(10).len(), 1);
        assert!(expired(&wheel, key));
    }

    #[test]
    fn a_deadline_moved_away_fires_late_and_one_moved_nearer_fires_early() {
        let mut wheel = wheel();
        let (later, sooner) = (entry(&mut wheel), entry(&mut wheel));
        wheel.arm(later, 10);
        wheel.arm(later, 50);
        wheel.arm(sooner, 50);
        wheel.arm(sooner, 10);
        wheel.advance(49);
        assert!(expired(&wheel, sooner) && !expired(&wheel, later));
        wheel.advance(50);
        assert!(expired(&wheel, later));
    }

    #[test]
    fn deadlines_beyond_the_wheel_survive_its_turns() {
        let mut wheel = wheel();
        let far = 3 * BUCKETS as u64 + 7;
        let key = entry(&mut wheel);
        wheel.arm(key, far);
        let mut now = 0;
        while now < far - 1 {
            now = (now + 1000).min(far - 1);
            wheel.advance(now);
        }
        assert!(!expired(&wheel, key));
        wheel.advance(far);
        assert!(expired(&wheel, key));
    }

    #[test]
    fn many_deadlines_all_fire_exactly_at_their_tick() {
        let mut wheel = wheel();
        let mut state = 42_u64;
        let deadlines: Vec<u64> = (0..5000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1 + (state >> 33) % 9000
            })
            .collect();
        let keys: Vec<u32> = deadlines
            .iter()
            .map(|deadline| {
                let key = entry(&mut wheel);
                wheel.arm(key, *deadline);
                key
            })
            .collect();
        for now in 1..=9000 {
            wheel.advance(now);
            for (key, deadline) in keys.iter().zip(&deadlines) {
                if *deadline == now || *deadline == now + 1 {
                    assert_eq!(expired(&wheel, *key), *deadline <= now, "deadline {deadline} at {now}");
                }
            }
        }
    }

    #[test]
    fn a_disarmed_or_dropped_deadline_never_fires() {
        let mut wheel = wheel();
        let (disarmed, dropped) = (entry(&mut wheel), entry(&mut wheel));
        wheel.arm(disarmed, 5);
        wheel.arm(dropped, 5);
        wheel.entries[disarmed as usize].deadline = 0;
        wheel.unlink(dropped);
        wheel.entries.remove(dropped as usize);
        assert!(wheel.advance(10).is_empty());
        assert_eq!(wheel.next_occupied(), None);
    }
}
