//! Tests of the actuator with a simulated provider, in virtual time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{advance, sleep};
use weir_fleet::{
    Action, Activity, Actuator, Answer, Failure, FailureKind, Journal, Lease, Machine, MachineId,
    MachineState, Order, Outcome, Provider, Steps,
};
use weir_testkit::TempDir;

use crate::tools::{run_virtually, token};

/// State of the simulated provider.
#[derive(Default)]
struct World {
    machines: Vec<Machine>,
    /// Failures of the next actions, in order; later actions succeed.
    failures: Vec<Failure>,
    /// True if the next creation succeeds, but its answer is lost.
    answer_lost: bool,
    calls: Vec<String>,
    settling: Duration,
}

struct Scripted(Rc<RefCell<World>>);

impl Scripted {
    fn answer(&self, call: String) -> Result<(), Failure> {
        let mut world = self.0.borrow_mut();
        world.calls.push(call);
        if world.failures.is_empty() { Ok(()) } else { Err(world.failures.remove(0)) }
    }
}

fn machine(name: &str, state: MachineState) -> Machine {
    Machine {
        id: MachineId(name.to_owned()),
        token: Some(token(name)),
        ip: None,
        port: None,
        state,
        flavour: None,
        zone: None,
        cost_per_hour: None,
        tags: Default::default(),
        created_s: None,
        note: None,
    }
}

impl Provider for Scripted {
    fn machines(&self) -> Answer<'_, Vec<Machine>> {
        Box::pin(async { Ok(self.0.borrow().machines.clone()) })
    }

    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine> {
        Box::pin(async move {
            // A creation takes a second.
            sleep(Duration::from_secs(1)).await;
            self.answer(format!("create again={}", order.again))?;
            let made = machine(order.token.as_str(), MachineState::Running);
            self.0.borrow_mut().machines.push(made.clone());
            if std::mem::take(&mut self.0.borrow_mut().answer_lost) {
                return Err(Failure::new(FailureKind::Uncertain, "the answer is lost"));
            }
            Ok(made)
        })
    }

    fn start<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move { self.answer(format!("start {id}")) })
    }

    fn stop<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move { self.answer(format!("stop {id}")) })
    }

    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(async move { self.answer(format!("delete {id}")) })
    }

    fn room(&self) -> Answer<'_, Option<u32>> {
        Box::pin(async { Ok(None) })
    }

    fn verify(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn settling(&self) -> Duration {
        self.0.borrow().settling
    }
}

fn actuator(directory: &TempDir, world: &Rc<RefCell<World>>) -> Actuator {
    let lease = Lease::acquire(&directory.path().join("lease")).unwrap();
    let provider = Box::new(Scripted(Rc::clone(world)));
    Actuator::open("web", directory.path(), lease, provider, Steps::default()).unwrap()
}

fn kinds<T>(results: &[Result<T, Failure>]) -> Vec<Option<FailureKind>> {
    results.iter().map(|result| result.as_ref().err().map(|failure| failure.kind)).collect()
}

#[test]
fn machines_are_created_at_the_same_time() {
    let (directory, world) = (TempDir::new().unwrap(), Rc::default());
    run_virtually(async {
        let actuator = actuator(&directory, &world);
        let begun = tokio::time::Instant::now();
        let made = actuator.create(12).await;
        assert_eq!(kinds(&made), [None; 12]);
        assert!(begun.elapsed() < Duration::from_secs(2), "one after the other they take twelve seconds");
        assert_eq!(actuator.pending(), 0);
        let mut tokens: Vec<_> = made.into_iter().map(|machine| machine.unwrap().token).collect();
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), 12);
    });
}

#[test]
fn after_an_outage_the_pauses_grow_until_something_works() {
    let (directory, world) = (TempDir::new().unwrap(), Rc::<RefCell<World>>::default());
    let down = || Failure::new(FailureKind::Transient, "the API is down");
    world.borrow_mut().failures = vec![down(), down()];
    run_virtually(async {
        let actuator = actuator(&directory, &world);
        assert_eq!(kinds(&actuator.create(1).await), [Some(FailureKind::Transient)]);
        let troubles = actuator.troubles();
        let shown: Vec<_> = troubles.iter().map(|trouble| (trouble.activity, trouble.failures)).collect();
        assert_eq!(shown, [(Activity::Creating, 1)]);
        assert_eq!(troubles[0].failure.message, "the API is down");

        // The pause prevents a call, even if another activity succeeds meanwhile.
        actuator.machines().await.unwrap();
        assert_eq!(kinds(&actuator.create(1).await), [Some(FailureKind::Transient)]);
        assert_eq!(world.borrow().calls.len(), 1);
        advance(Duration::from_millis(1001)).await;
        assert_eq!(kinds(&actuator.create(1).await), [Some(FailureKind::Transient)]);
        assert_eq!(world.borrow().calls.len(), 2);
        advance(Duration::from_millis(1001)).await;
        assert!(actuator.create(1).await[0].as_ref().unwrap_err().message.starts_with("not tried"));
        advance(Duration::from_millis(1001)).await;
        assert_eq!(kinds(&actuator.create(1).await), [None]);
        assert_eq!(actuator.troubles(), []);
    });
}

#[test]
fn a_pause_that_is_asked_for_is_kept() {
    let (directory, world) = (TempDir::new().unwrap(), Rc::<RefCell<World>>::default());
    let retry_after = Some(Duration::from_secs(40));
    world.borrow_mut().failures =
        vec![Failure { retry_after, ..Failure::new(FailureKind::Transient, "too many requests") }];
    run_virtually(async {
        let actuator = actuator(&directory, &world);
        actuator.create(1).await;
        advance(Duration::from_secs(39)).await;
        assert_eq!(kinds(&actuator.create(1).await), [Some(FailureKind::Transient)]);
        advance(Duration::from_secs(2)).await;
        assert_eq!(kinds(&actuator.create(1).await), [None]);
    });
}

#[test]
fn a_quota_holds_up_creating_and_nothing_else() {
    let (directory, world) = (TempDir::new().unwrap(), Rc::<RefCell<World>>::default());
    world.borrow_mut().failures = vec![Failure::new(FailureKind::Quota, "13 of 13 used")];
    run_virtually(async {
        let actuator = actuator(&directory, &world);
        assert_eq!(kinds(&actuator.create(2).await), [Some(FailureKind::Quota), None]);
        assert_eq!(kinds(&actuator.create(1).await), [Some(FailureKind::Quota)]);
        assert_eq!(kinds(&actuator.stop(&[MachineId("a".to_owned())]).await), [None]);
        assert_eq!(world.borrow().calls.len(), 3);
    });
}

#[test]
fn a_machine_whose_creation_was_not_answered_is_found_and_not_made_again() {
    let (directory, world) = (TempDir::new().unwrap(), Rc::<RefCell<World>>::default());
    world.borrow_mut().answer_lost = true;
    run_virtually(async {
        let actuator = actuator(&directory, &world);
        assert_eq!(kinds(&actuator.create(1).await), [Some(FailureKind::Uncertain)]);
        assert_eq!(actuator.pending(), 1);
        advance(Duration::from_secs(2)).await;
        let settled = actuator.settle().await.unwrap();
        assert!(matches!(&settled[0].outcome, Outcome::Done(_)));
        assert_eq!(actuator.pending(), 0);
        assert_eq!(world.borrow().calls.len(), 1);
    });
}

#[test]
fn a_creation_that_may_still_be_under_way_is_waited_for() {
    let (directory, world) = (TempDir::new().unwrap(), Rc::<RefCell<World>>::default());
    world.borrow_mut().failures = vec![Failure::new(FailureKind::Uncertain, "cut off")];
    world.borrow_mut().settling = Duration::from_secs(3600);
    run_virtually(async {
        let actuator = actuator(&directory, &world);
        actuator.create(1).await;
        advance(Duration::from_secs(2)).await;
        assert_eq!(actuator.settle().await.unwrap(), []);
        assert_eq!(actuator.pending(), 1);
        // Once a list would show it, it is created again with the same token.
        world.borrow_mut().settling = Duration::ZERO;
        assert_eq!(actuator.settle().await.unwrap().len(), 1);
        assert_eq!(world.borrow().calls, ["create again=false", "create again=true"]);
    });
}

/// Settles an open journal. Returns the outcomes and the provider calls.
fn settled(actions: Vec<(u64, Action)>, machines: Vec<Machine>) -> (Vec<Outcome>, Vec<String>) {
    let (directory, world) = (TempDir::new().unwrap(), Rc::<RefCell<World>>::default());
    let mut journal = Journal::open(&directory.path().join("journal"), 1).unwrap();
    for (at_ms, action) in actions {
        journal.begin(at_ms, [action]).unwrap();
    }
    drop(journal);
    world.borrow_mut().machines = machines;
    let outcomes = run_virtually(async {
        let settled = actuator(&directory, &world).settle().await.unwrap();
        settled.into_iter().map(|settled| settled.outcome).collect()
    });
    let calls = world.borrow().calls.clone();
    (outcomes, calls)
}

/// Returns the time five seconds ago.
fn just_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap() - 5000
}

#[test]
fn what_was_stopped_halfway_and_serves_is_left_to_a_new_decision() {
    let id = |name: &str| MachineId(name.to_owned());
    let actions = vec![
        (just_now(), Action::Stop(id("runs"))),
        (just_now(), Action::Delete(id("runs"))),
        (just_now(), Action::Stop(id("stops"))),
        (just_now(), Action::Stop(id("gone"))),
    ];
    let machines = vec![machine("runs", MachineState::Running), machine("stops", MachineState::Stopping)];
    let (outcomes, calls) = settled(actions, machines);
    let expected =
        [Outcome::Abandoned, Outcome::Abandoned, Outcome::Done(id("stops")), Outcome::Done(id("gone"))];
    assert_eq!(outcomes, expected);
    assert_eq!(calls, [""; 0]);
}

#[test]
fn what_takes_nothing_from_anybody_is_done_again() {
    let id = |name: &str| MachineId(name.to_owned());
    let actions = vec![(just_now(), Action::Start(id("a"))), (just_now(), Action::Delete(id("b")))];
    let machines = vec![machine("a", MachineState::Stopped), machine("b", MachineState::Stopped)];
    let (outcomes, calls) = settled(actions, machines);
    assert_eq!(outcomes, [Outcome::Done(id("a")), Outcome::Done(id("b"))]);
    assert_eq!(calls, ["start a", "delete b"]);
}

#[test]
fn what_was_wanted_long_ago_is_not_created_any_more() {
    let (outcomes, calls) = settled(vec![(0, Action::Create(token("web-old")))], Vec::new());
    assert_eq!(outcomes, [Outcome::Abandoned]);
    assert_eq!(calls, [""; 0]);
}

#[test]
fn nothing_is_done_after_the_lease_is_lost() {
    let (directory, world) = (TempDir::new().unwrap(), Rc::default());
    run_virtually(async {
        let actuator = actuator(&directory, &world);
        std::fs::remove_file(directory.path().join("lease")).unwrap();
        assert_eq!(kinds(&actuator.create(1).await), [Some(FailureKind::Permanent)]);
        assert!(actuator.tend().await.is_err());
        assert_eq!(world.borrow().calls, [""; 0]);
    });
}

#[test]
fn two_with_other_leases_do_not_write_into_one_directory() {
    let directory = TempDir::new().unwrap();
    let open = |lease: &str| {
        let lease = Lease::acquire(&directory.path().join(lease)).unwrap();
        let provider = Box::new(Scripted(Rc::default()));
        Actuator::open("web", directory.path(), lease, provider, Steps::default())
    };
    let first = open("lease").unwrap();
    assert!(matches!(open("another"), Err(weir_fleet::LeaseError::Held)));
    drop(first);
    assert!(open("another").is_ok());
}
