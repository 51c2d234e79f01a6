//! Tests that requests of a dead server are retried as in the proxy, within a budget.

use weir_balance::Algorithm;
use weir_config::plan::HedgePlan;
use weir_config::simulation::{
    Arrivals, AtOnceRule, BalancerPlan, BudgetRule, Disturbance, Failure, Group, Pattern, Scenario, SimTime,
    StickySessions, Volume,
};
use weir_model::Millis;
use weir_sim::{Run, run};

const SECOND: u64 = 1_000_000_000;

fn play(scenario: &Scenario) -> Run {
    let run = run(scenario, Algorithm::RoundRobin, scenario.seed, None, &mut |_| {}).unwrap();
    assert_eq!(run.latency.count() + run.errors.total(), run.measured, "each request has one end");
    run
}

/// Creates four servers, one of which dies in the 2nd second without being noticed by checks.
fn one_dies(balancer: BalancerPlan) -> Scenario {
    let dies = Failure { at: SimTime(2 * SECOND), lasts: SimTime(3_600 * SECOND), servers: 1 };
    let group =
        Group { count: 4, concurrency: 50, disturbances: vec![Disturbance::Fail(dies)], ..Group::default() };
    Scenario {
        requests: Some(40_000),
        warm_up: 0,
        groups: vec![group],
        arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(0.4) },
        balancer: BalancerPlan { down_after: SimTime::MAX, ..balancer },
        ..Scenario::default()
    }
}

fn within(percent: u8) -> BalancerPlan {
    BalancerPlan {
        retry_budget: Some(BudgetRule { percent, per_second: 0, at_once: None }),
        ..BalancerPlan::default()
    }
}

#[test]
fn what_a_dying_server_had_is_lost_or_tried_again_elsewhere() {
    let lost = play(&one_dies(BalancerPlan::default()));
    assert!(lost.errors.broken > 5 && lost.errors.refused == 0, "{:?}", lost.errors);
    let again = BalancerPlan { retries_lost: true, ..BalancerPlan::default() };
    assert_eq!(play(&one_dies(again.clone())).errors.total(), 0);
    let bound = BalancerPlan { sticky: Some(StickySessions::default()), ..again.clone() };
    assert_eq!(play(&one_dies(bound)).errors.total(), 0);
    let never = play(&one_dies(BalancerPlan { retries: 0, ..again }));
    assert_eq!(never.errors.broken, lost.errors.broken);
}

#[test]
fn there_are_no_more_further_tries_than_the_budget_permits() {
    let refused = |balancer| {
        let run = play(&one_dies(balancer));
        run.errors.refused as f64 / run.measured as f64
    };
    assert_eq!(refused(BalancerPlan::default()), 0.0);
    // A quarter of the requests, from the 2nd of five seconds on.
    let none = refused(within(0));
    assert!((0.1..0.2).contains(&none), "{none}");
    // A tenth of all requests may be retried; the first two seconds save up to ten retries.
    let some = refused(within(10));
    assert!((none - 0.12..none - 0.02).contains(&some), "{some} {none}");
    assert_eq!(refused(within(100)), 0.0);
}

#[test]
fn no_more_are_tried_again_at_once_than_may_be() {
    let broken = |retries, at_once| {
        let budget = BudgetRule { percent: 100, per_second: 0, at_once };
        let balancer = BalancerPlan { retries, retries_lost: true, ..BalancerPlan::default() };
        play(&one_dies(BalancerPlan { retry_budget: Some(budget), ..balancer })).errors.broken
    };
    // The dying server loses all its requests at one moment.
    let had = broken(0, None);
    assert!(had > 5, "{had}");
    assert_eq!(broken(2, None), 0);
    assert_eq!(broken(2, Some(AtOnceRule { percent: 0, min: 2 })), had - 2);
    assert_eq!(broken(2, Some(AtOnceRule { percent: 100, min: 1 })), 0, "of those in flight all may");
}

#[test]
fn a_second_try_counts_as_long_as_it_goes_on() {
    let tries = |at_once| {
        let retry_budget = Some(BudgetRule { percent: 100, per_second: 100, at_once });
        let hedge = Some(HedgePlan { delay: Some(Millis(1)) });
        let balancer = BalancerPlan { retry_budget, hedge, ..BalancerPlan::default() };
        play(&Scenario { balancer, ..one_dies(BalancerPlan::default()) }).hedges
    };
    let (any, one) = (tries(None), tries(Some(AtOnceRule { percent: 0, min: 1 })));
    // One at a time: an answered request makes room for the next.
    assert!(one > 100 && one < any / 2, "{one} {any}");
}

#[test]
fn a_request_that_is_tried_again_comes_back_to_no_server_that_has_lost_or_refused_it() {
    let alone = |from_s: u64| {
        let dead = Failure { at: SimTime(from_s * SECOND), lasts: SimTime(3_600 * SECOND), servers: 1 };
        let disturbances = vec![Disturbance::Fail(dead)];
        Group { count: 1, concurrency: 50, disturbances, ..Group::default() }
    };
    let fine = Group { count: 1, concurrency: 50, ..Group::default() };
    let scenario = Scenario {
        requests: Some(5_000),
        warm_up: 0,
        groups: vec![alone(0), alone(2), fine],
        arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::PerSecond(1_000.0) },
        // One retry for each server that refuses the request, including the one that loses it.
        balancer: BalancerPlan {
            retries: 3,
            retries_lost: true,
            down_after: SimTime::MAX,
            ..BalancerPlan::default()
        },
        ..Scenario::default()
    };
    assert_eq!(play(&scenario).errors.total(), 0);
}

#[test]
fn with_a_budget_each_run_is_the_same() {
    let scenario = one_dies(BalancerPlan { retries_lost: true, workers: 2, ..within(10) });
    assert_eq!(play(&scenario), play(&scenario));
}
