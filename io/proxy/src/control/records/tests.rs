//! Tests of health records and of members.

use std::time::Duration;

use tokio::time::Instant;
use weir_config::plan::{CheckKind, CheckPlan};
use weir_control::{CheckCode, EffectiveServer, Health, RuntimeState, ServerSpec};
use weir_health::{CheckTiming, InitialState};
use weir_model::{Millis, Name, PoolName};

use super::members::Members;
use super::{CheckResult, HealthRecord, ServerRecord};

fn check(initial: InitialState) -> CheckPlan {
    let timing = CheckTiming {
        interval: Millis(1_000),
        fast_interval: Millis(500),
        jitter_percent: 0,
        timeout: Millis(1_000),
        rise: 2,
        fall: 3,
        initial,
    };
    CheckPlan { kind: CheckKind::Tcp, timing, port: None }
}

fn result(code: CheckCode) -> CheckResult {
    CheckResult { code, status: None, text: String::new(), duration: Duration::ZERO }
}

fn record(name: &str, slot: usize) -> ServerRecord {
    let spec = ServerSpec::new(Name::new(name).unwrap(), "10.0.0.1:80".parse().unwrap());
    let pool = PoolName::new("web").unwrap();
    let spec: EffectiveServer = RuntimeState::default().effective(&pool, &spec.name, Some(&spec)).unwrap();
    let now = Instant::now();
    ServerRecord::new(spec, slot, HealthRecord::new(None, None, now), 1, now)
}

#[tokio::test(start_paused = true)]
async fn what_this_process_lacks_says_nothing_about_a_server() {
    let now = Instant::now();
    let mut health = HealthRecord::new(Some(&check(InitialState::Up)), None, now);
    for _ in 0..10 {
        assert!(health.on_check(result(CheckCode::SocketError), now).is_none());
    }
    assert!(health.is_up());
    assert_eq!((health.check_failures, health.last_check(now).unwrap().code), (0, CheckCode::SocketError));
    let change = health.on_check(result(CheckCode::L4Refused), now).unwrap();
    assert_eq!(change.transition, weir_health::Transition::Down);
}

#[tokio::test(start_paused = true)]
async fn the_way_up_and_down_is_shown_step_by_step_with_the_time_it_took() {
    let mut health = HealthRecord::new(Some(&check(InitialState::Down)), None, Instant::now());
    let mut after = |code, seconds| {
        let now = Instant::now() + Duration::from_secs(seconds);
        health.on_check(result(code), now);
        (health.health(Duration::ZERO), health.clock().downtime(now).as_secs(), health.clock().times_down())
    };
    assert_eq!(after(CheckCode::L4Timeout, 1), (Health::Down, 1, 0));
    assert_eq!(after(CheckCode::L4Ok, 2), (Health::GoingUp { successes: 1, rise: 2 }, 2, 0));
    assert_eq!(after(CheckCode::L4Ok, 3), (Health::Up, 3, 0));
    assert_eq!(after(CheckCode::L4Refused, 9), (Health::GoingDown { failures: 1, fall: 3 }, 3, 0));
    assert_eq!(after(CheckCode::L4Refused, 10), (Health::GoingDown { failures: 2, fall: 3 }, 3, 0));
    assert_eq!(after(CheckCode::L4Refused, 11), (Health::Down, 3, 1));
    assert_eq!(after(CheckCode::L4Refused, 15), (Health::Down, 7, 1));
}

#[test]
fn the_lowest_free_slot_is_given_out_first_and_tables_shrink_again() {
    let mut members = Members::default();
    for (index, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        assert_eq!(members.next_slot(), index);
        members.insert(record(name, index));
    }
    let is =
        |names: &'static [&str]| move |record: &ServerRecord| names.contains(&record.spec.spec.name.as_str());
    assert_eq!(members.remove_where(is(&["c", "a"])).len(), 2);
    assert_eq!(members.next_slot(), 0);
    members.insert(record("e", 0));
    assert_eq!(members.next_slot(), 2);
    members.remove_where(is(&["d"]));
    assert_eq!((members.slots().len(), members.next_slot(), members.len()), (2, 2, 2));
    let order: Vec<_> = members.iter().map(|record| record.spec.spec.name.to_string()).collect();
    assert_eq!(order, ["b", "e"]);
    assert_eq!(members.slot_of(&Name::new("e").unwrap()), Some(0));
    assert!(members.get(&Name::new("d").unwrap()).is_none());
}
