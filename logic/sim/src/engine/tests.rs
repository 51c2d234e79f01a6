//! Tests of single requests, step by step.

use std::net::IpAddr;

use weir_balance::Scheduling;
use weir_config::plan::{HedgePlan, WhenGone};
use weir_config::simulation::{BalancerPlan, Group, PoolRules, SimTime, StickySessions};
use weir_health::BreakerRule;
use weir_model::Millis;

use super::*;
use crate::in_flight::testing::flight;

/// Creates a scenario with two servers.
fn two(connections_max: Option<u32>, balancer: BalancerPlan) -> Scenario {
    let groups = vec![Group { count: 2, connections_max, ..Group::default() }];
    Scenario { groups, balancer, ..Scenario::default() }
}

/// Creates a scenario with two servers for one request each, in which keys wait for their own server.
fn strict(balancer: BalancerPlan) -> Scenario {
    let mut ring = Scheduling::from(Algorithm::Ring);
    ring.hash.fallback = false;
    let pool = PoolRules { scheduling: Some(ring), ..PoolRules::default() };
    Scenario { pool, ..two(Some(1), balancer) }
}

fn lost_again() -> BalancerPlan {
    BalancerPlan { retries_lost: true, queue: SimTime(600_000_000_000), ..BalancerPlan::default() }
}

impl Engine<'_> {
    /// Adds a request of this client.
    fn comes(&mut self, client: IpAddr) -> FlightId {
        let id = self.flights.add(Flight { client, ..flight() });
        self.send(id);
        id
    }

    /// Returns the server of its first or only try.
    fn place(&mut self, id: FlightId) -> Option<u32> {
        self.flights.get_mut(id)?.at.map(|there| there.server)
    }
}

/// Returns a client whose key belongs to this server.
fn client_of(engine: &mut Engine<'_>, server: usize) -> IpAddr {
    let mut clients = (1..=250_u8).map(|number| IpAddr::from([10, 0, 0, number]));
    let has = |client: &IpAddr| {
        let flight = Flight { client: *client, ..flight() };
        engine.pool.awaited_server(&flight, &[]) == Some(server)
    };
    clients.find(has).unwrap()
}

#[test]
fn the_time_of_a_request_that_is_tried_again_runs_from_its_first_try() {
    let scenario = two(None, lost_again());
    let mut engine = Engine::new(&scenario, Algorithm::RoundRobin, 1);
    engine.now_ns = 5;
    let id = engine.comes(IpAddr::from([10, 0, 0, 1]));
    let first = engine.place(id).unwrap();
    engine.now_ns = 9;
    engine.die(first);
    let again = *engine.flights.get_mut(id).unwrap();
    assert_eq!((again.sent_ns, again.lost_at), (5, Some(first)));
    assert_eq!(engine.place(id), Some(1 - first));
}

#[test]
fn who_has_lost_its_only_server_does_not_wait_for_it() {
    let scenario = strict(lost_again());
    let mut engine = Engine::new(&scenario, Algorithm::Ring, 1);
    let client = client_of(&mut engine, 0);
    let (first, second) = (engine.comes(client), engine.comes(client));
    assert_eq!((engine.place(first), engine.place(second)), (Some(0), None), "the second one waits");
    engine.die(0);
    assert_eq!(engine.place(first), Some(1), "at once, and not behind the second one");
}

#[test]
fn the_place_that_a_slower_try_leaves_goes_to_who_waits_for_that_server() {
    let hedge = Some(HedgePlan { delay: Some(Millis(1_000)) });
    let scenario = strict(BalancerPlan { hedge, ..lost_again() });
    let mut engine = Engine::new(&scenario, Algorithm::Ring, 1);
    let (of_0, of_1) = (client_of(&mut engine, 0), client_of(&mut engine, 1));
    let hedged = engine.comes(of_0);
    engine.hedge(hedged);
    let waits = engine.comes(of_1);
    assert_eq!((engine.place(hedged), engine.place(waits)), (Some(0), None), "its second try is at 1");
    // Both tries finish at the same time, the first one first.
    while let Some(Reverse((at_ns, _, event))) = engine.events.pop() {
        engine.happen(at_ns, event);
        if event == (Event::Wake { server: 0 }) {
            break;
        }
    }
    assert_eq!(engine.place(waits), Some(1));
}

#[test]
fn the_breaker_hears_of_a_request_that_its_server_has_lost_and_nobody_else_may_have() {
    let rule = BreakerRule {
        error_percent: 1,
        requests_min: 2,
        window: Millis::from_secs(10),
        open: Millis::from_secs(5),
        probes: 1,
    };
    let sticky = Some(StickySessions { when_gone: WhenGone::Fail, ..StickySessions::default() });
    let scenario = two(None, BalancerPlan { breaker: Some(rule), sticky, ..lost_again() });
    let mut engine = Engine::new(&scenario, Algorithm::RoundRobin, 1);
    for _ in 0..2 {
        let id = engine.flights.add(Flight { wanted: Some(0), ..flight() });
        engine.send(id);
    }
    assert!(engine.admit().is_some());
    engine.die(0);
    assert!(engine.flights.is_empty() && engine.admit().is_none(), "it is open");
}
