//! Tests of the actions, their order, and the alarms.

use std::time::Duration;

use crate::support::{Fleet, s};
use weir_model::Name;
use weir_scale::policy::{Reactive, Target};
use weir_scale::{
    Action, Alarm, Capacity, CoolDown, Decision, Leaver, P95, Policy, Rules, Sample, ServerState, SignalKind,
    SignalRule, Standby, Successor, Unusable,
};

/// Creates rules with a policy that reacts fast and in one step, so that the tests see the actions.
fn rules(min: u32, max: u32) -> Rules {
    let eager =
        Target { up_after: s(6), down_after: s(4), hysteresis: 0.0, step_up: None, ..Target::default() };
    Rules { policies: vec![Policy::Target(eager)], ..Rules::by_requests(min, max, 10.0) }
}

fn told(decision: &Decision) -> String {
    decision.actions.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_jump_is_answered_within_two_seconds() {
    let mut fleet = Fleet::new(Rules::by_requests(2, 13, 10.0), 2, s(60));
    fleet.seconds(30, 1.0);
    let decisions: Vec<String> = (0..2).map(|_| told(&fleet.second(Some(100.0)))).collect();
    assert!(decisions.iter().any(|told| told.starts_with("create ")), "{decisions:?}");
}

#[test]
fn what_is_on_its_way_is_not_ordered_again() {
    let mut fleet = Fleet::new(rules(2, 13), 2, s(60));
    fleet.seconds(40, 95.0);
    assert_eq!((fleet.running(), fleet.servers.len()), (10, 10));
}

#[test]
fn servers_that_are_overdue_are_not_waited_for() {
    let mut fleet = Fleet::new(rules(2, 13), 2, s(60));
    fleet.seconds(20, 35.0);
    assert_eq!(fleet.states(), "active active creating creating");
    fleet.stuck = Some(fleet.name(3));
    // It is due after a minute; after another minute it is overdue.
    assert_eq!(fleet.seconds(90, 35.0).alarms, []);
    let decision = fleet.seconds(45, 35.0);
    assert_eq!(decision.alarms, [Alarm::Overdue(1)]);
    assert_eq!(fleet.states(), "active active active creating creating");
    // Its successor runs, so the overdue server is no longer needed.
    fleet.seconds(60, 35.0);
    assert_eq!(fleet.states(), "active active active active");
}

#[test]
fn who_drains_is_called_back_before_anybody_is_woken_or_made() {
    let mut fleet = Fleet::new(rules(1, 13), 3, s(60));
    let (a, b) = (fleet.name(1), fleet.name(2));
    fleet.set(&a, ServerState::Stopped);
    fleet.set(&b, ServerState::Draining { since: s(0) });
    fleet.servers[2].active = 5;
    let all: Vec<String> =
        (0..20).map(|_| told(&fleet.second(Some(38.0)))).filter(|told| !told.is_empty()).collect();
    assert_eq!(all.join("; "), "call s3 back; wake s2; create 1");
}

#[test]
fn a_server_drains_before_it_stops_and_only_so_many_are_kept() {
    let standby = Standby { keep: 1, prepare: 0 };
    let mut fleet = Fleet::new(Rules { leaver: Leaver::Oldest, standby, ..rules(1, 13) }, 4, s(60));
    fleet.servers[1].created = s(1);
    fleet.servers.iter_mut().for_each(|server| server.active = 3);
    let first =
        (0..60).map(|_| fleet.second(Some(25.0))).find(|decision| !decision.actions.is_empty()).unwrap();
    assert_eq!(told(&first), "drain s1");
    // A server with requests keeps draining.
    fleet.seconds(100, 25.0);
    assert_eq!(fleet.states(), "draining active active active");
    fleet.servers[0].active = 0;
    assert_eq!(told(&fleet.second(Some(25.0))), "stop s1");
    // No further server is kept stopped.
    fleet.seconds(120, 1.0);
    fleet.servers.iter_mut().for_each(|server| server.active = 0);
    fleet.seconds(60, 1.0);
    assert_eq!(fleet.states(), "stopped active");
}

#[test]
fn where_only_the_last_can_go_the_last_is_drained_and_those_before_wait_for_it() {
    let rules = Rules { leaver: Leaver::Last, standby: Standby::default(), ..rules(1, 13) };
    let mut fleet = Fleet::new(rules, 4, s(60));
    // Any other rule would remove this server first.
    let ill = fleet.name(0);
    fleet.set(&ill, ServerState::Unhealthy { since: s(0) });
    fleet.servers[3].active = 5;
    let first =
        (0..60).map(|_| fleet.second(Some(15.0))).find(|decision| !decision.actions.is_empty()).unwrap();
    assert_eq!(told(&first), "drain s4");
    fleet.set(&ill, ServerState::Active);
    let next =
        (0..60).map(|_| fleet.second(Some(15.0))).find(|decision| !decision.actions.is_empty()).unwrap();
    assert_eq!(told(&next), "drain s3");
    assert_eq!(told(&fleet.second(Some(15.0))), "", "s3 is empty, and comes before one that is not");
    fleet.servers[3].active = 0;
    assert_eq!(told(&fleet.second(Some(15.0))), "delete s4; delete s3");
    assert_eq!(fleet.states(), "active active");
}

#[test]
fn a_drain_that_takes_too_long_is_cut_off_and_said_so() {
    let mut fleet = Fleet::new(Rules { drain_deadline: s(30), ..rules(1, 13) }, 2, s(60));
    fleet.servers.iter_mut().for_each(|server| server.active = 3);
    let cut = (0..120).map(|_| told(&fleet.second(Some(1.0)))).find(|told| told.starts_with("stop")).unwrap();
    assert_eq!(cut, "stop s1, cutting off 3 requests");
}

#[test]
fn those_still_on_their_way_go_before_healthy_ones() {
    let mut fleet = Fleet::new(rules(1, 13), 2, s(60));
    fleet.seconds(15, 45.0);
    assert_eq!(fleet.states(), "active active creating creating creating");
    fleet.seconds(60, 15.0);
    assert_eq!(fleet.states(), "active active");
}

#[test]
fn one_that_stays_ill_is_replaced_but_not_everybody_at_once() {
    let mut fleet = Fleet::new(Rules { replace_after: s(10), ..rules(6, 13) }, 6, s(60));
    fleet.seconds(5, 1.0);
    for at in 0..6 {
        let name = fleet.name(at);
        let since = fleet.now;
        fleet.set(&name, ServerState::Unhealthy { since });
    }
    // In the meantime, the failed servers get no successors.
    assert_eq!(told(&fleet.seconds(8, 1.0)), "");
    let decision = fleet.seconds(3, 1.0);
    let replaced = |decision: &Decision| {
        decision.actions.iter().filter(|action| matches!(action, Action::Replace { .. })).count()
    };
    assert!(replaced(&decision) <= 2, "{decision:?}");
    assert_eq!(fleet.states().matches("creating").count(), 2, "{}", fleet.states());
}

#[test]
fn one_that_is_shunned_for_long_is_made_up_for_and_never_replaced() {
    let mut fleet = Fleet::new(Rules { replace_after: s(10), ..rules(2, 13) }, 2, s(5));
    fleet.seconds(5, 15.0);
    let (name, since) = (fleet.name(1), fleet.now);
    fleet.set(&name, ServerState::Shunned { since });
    assert_eq!(told(&fleet.seconds(8, 15.0)), "");
    fleet.seconds(300, 15.0);
    assert_eq!(fleet.states(), "active shunned active");
    // After its recovery, it would be surplus.
    fleet.set(&name, ServerState::Active);
    fleet.seconds(300, 15.0);
    assert_eq!(fleet.running(), 2);
}

#[test]
fn the_quota_makes_room_by_deleting_first() {
    let mut all = rules(2, 3);
    all.replace_after = s(5);
    all.bounds.quota = Some(2);
    all.bounds.max = 2;
    let mut fleet = Fleet::new(all, 2, s(60));
    fleet.seconds(3, 1.0);
    let ill = fleet.name(1);
    let since = fleet.now;
    fleet.set(&ill, ServerState::Unhealthy { since });
    fleet.servers[1].active = 4;
    let actions =
        (0..10).find_map(|_| Some(fleet.second(Some(1.0)).actions).filter(|list| !list.is_empty())).unwrap();
    let by = Successor::Created(None);
    assert_eq!(actions, [Action::Replace { server: ill, by, delete_first: true, cut: 4 }]);
    assert_eq!(actions[0].to_string(), "replace s2 by a new one, cutting off 4 requests");
}

#[test]
fn prepared_servers_are_made_in_advance_and_woken_when_needed() {
    let standby = Standby { keep: 2, prepare: 2 };
    let mut fleet = Fleet::new(Rules { standby, ..rules(2, 13) }, 2, s(5));
    assert_eq!(told(&fleet.second(Some(1.0))), "create 2 to be kept stopped");
    fleet.seconds(20, 1.0);
    assert_eq!(fleet.states(), "active active stopped stopped");
    let woken = (0..20).map(|_| told(&fleet.second(Some(35.0)))).find(|told| !told.is_empty()).unwrap();
    assert!(woken.starts_with("wake s"), "{woken}");
}

#[test]
fn a_counter_that_begins_anew_is_no_drop_in_demand() {
    let mut fleet = Fleet::new(rules(2, 13), 2, s(5));
    fleet.seconds(60, 95.0);
    assert_eq!(fleet.running(), 10);
    for _ in 0..10 {
        fleet.requests = 0;
        let decision = fleet.seconds(6, 95.0);
        assert_eq!((decision.wanted, fleet.running()), (10, 10), "{decision:?}");
        assert!(decision.alarms.is_empty());
    }
}

#[test]
fn blindness_is_said_and_alarms() {
    let mut fleet = Fleet::new(rules(2, 13), 2, s(5));
    fleet.seconds(60, 95.0);
    let decision = (0..30).map(|_| fleet.second(None)).last().unwrap();
    assert_eq!(decision.alarms, [Alarm::Blind(Unusable::Stale(SignalKind::Requests))]);
    assert_eq!(decision.reason, "requests: the measurement is too old: held");
}

#[test]
fn what_is_partly_measured_may_call_for_more_but_not_for_fewer() {
    let mut all = rules(2, 13);
    all.signals.push(SignalRule::latest(SignalKind::Cpu, 0.5));
    let mut fleet = Fleet::new(all, 5, s(5));
    let decision = fleet.seconds(60, 1.0);
    assert_eq!((decision.wanted, fleet.running()), (5, 5), "{decision:?}");
    assert!(fleet.seconds(10, 95.0).wanted > 5);
}

#[test]
fn latency_of_which_only_the_least_is_known_may_call_for_more_but_not_for_fewer() {
    let by_latency = SignalRule::latest(SignalKind::Latency, 0.2);
    let mut fleet = Fleet::new(Rules { signals: vec![by_latency], ..rules(2, 13) }, 5, s(5));
    let mut seconds = |count, p95| {
        let second = |_| {
            fleet.scaler.observe(fleet.now + s(1), &Sample { p95: Some(p95), ..Sample::default() });
            fleet.second(None)
        };
        (0..count).map(second).last().unwrap()
    };
    let failing = seconds(60, P95::AtLeast(Duration::from_millis(1)));
    assert_eq!(failing.wanted, 5, "{failing:?}");
    assert_eq!(failing.alarms, [Alarm::Blind(Unusable::AtLeast(SignalKind::Latency))]);
    let overloaded = seconds(60, P95::AtLeast(Duration::from_millis(800)));
    assert_eq!(overloaded.wanted, 13, "{overloaded:?}");
    let well = seconds(600, P95::Is(Duration::from_millis(1)));
    assert_eq!(well.wanted, 2, "{well:?}");
}

#[test]
fn more_than_max_is_said() {
    let mut fleet = Fleet::new(rules(2, 4), 2, s(5));
    let decision = fleet.seconds(20, 100.0);
    assert_eq!(decision.wanted, 4);
    assert_eq!(decision.alarms, [Alarm::Bounded { wanted: 10, most: 4 }]);
}

#[test]
fn what_is_needed_knows_no_bounds_no_pauses_and_no_operator() {
    let mut fleet = Fleet::new(rules(2, 4), 2, s(5));
    let numbers = |decision: &Decision| (decision.needed, decision.wanted);
    assert_eq!(numbers(&fleet.seconds(20, 100.0)), (10, 4));
    assert_eq!(numbers(&fleet.seconds(600, 25.0)), (3, 3));
    assert_eq!(numbers(&fleet.seconds(600, 5.0)), (1, 2));
    fleet.scaler.pin(Some(3));
    assert_eq!(numbers(&fleet.seconds(60, 5.0)), (1, 3));

    let reactive = Policy::Reactive(Reactive { period: s(10), baseline: 0 });
    let cool_down = CoolDown { up: s(100), down: s(200) };
    let mut fleet = Fleet::new(Rules { policies: vec![reactive], cool_down, ..rules(2, 4) }, 2, s(5));
    fleet.seconds(20, 25.0);
    assert_eq!(numbers(&fleet.seconds(20, 131.0)), (14, 3));
}

#[test]
fn changes_keep_their_distance() {
    let reactive = Policy::Reactive(Reactive { period: s(10), baseline: 0 });
    let cool_down = CoolDown { up: s(100), down: s(200) };
    let mut fleet = Fleet::new(Rules { policies: vec![reactive], cool_down, ..rules(1, 13) }, 1, s(0));
    let mut changes = Vec::new();
    let mut last = 1;
    for second in 0..1_000_u64 {
        let rate = if second % 40 < 20 { 35.0 } else { 5.0 };
        let wanted = fleet.second(Some(rate)).wanted;
        if wanted != last {
            changes.push((second, wanted > last));
            last = wanted;
        }
    }
    assert!(changes.len() > 2, "{changes:?}");
    for pair in changes.windows(2) {
        let distance = pair[1].0 - pair[0].0;
        assert!(distance >= if pair[1].1 { 0 } else { 200 }, "{changes:?}");
    }
    let ups: Vec<u64> = changes.iter().filter(|(_, up)| *up).map(|(at, _)| *at).collect();
    assert!(ups.windows(2).all(|pair| pair[1] - pair[0] >= 100), "{changes:?}");
}

#[test]
fn a_fleet_loses_no_more_at_once_than_a_step() {
    let mut fleet = Fleet::new(rules(1, 20), 16, s(5));
    fleet.seconds(2, 155.0);
    let at_least = [(14, 8), (14, 4)];
    for (seconds, least) in at_least {
        fleet.seconds(seconds, 1.0);
        assert!(fleet.running() >= least, "{}", fleet.states());
    }
    fleet.seconds(120, 1.0);
    assert_eq!(fleet.running(), 1);
}

#[test]
fn an_operator_goes_before_policies_but_not_beyond_bounds() {
    let mut fleet = Fleet::new(rules(2, 13), 2, s(5));
    fleet.seconds(5, 1.0);
    fleet.scaler.pin(Some(7));
    assert_eq!(fleet.seconds(1, 1.0).reason, "7 were asked for by hand");
    assert_eq!(fleet.running(), 7);
    fleet.scaler.pin(Some(99));
    assert_eq!(fleet.seconds(1, 1.0).wanted, 13);
    fleet.scaler.pin(None);
    assert_eq!(fleet.seconds(120, 1.0).wanted, 2);
}

#[test]
fn kinds_of_servers_count_for_what_they_can_do() {
    let name = |text: &str| Some(Name::new(text).unwrap());
    let mut all = rules(1, 13);
    all.capacity.flavour = name("small");
    all.capacity.others = vec![(Name::new("large").unwrap(), Capacity::Given(40.0))];
    let mut fleet = Fleet::new(all, 2, s(5));
    fleet.servers[0].flavour = name("large");
    fleet.servers[1].flavour = name("small");
    let decision = fleet.seconds(1, 1.0);
    assert_eq!(decision.fleet.healthy, 5.0);
    // Work for 6 servers: one small server is missing, not four.
    fleet.seconds(60, 58.0);
    assert_eq!(fleet.states(), "active active active");
}

#[test]
fn the_target_leaves_headroom() {
    let target = Target { utilisation: 0.5, ..Target::default() };
    let mut fleet = Fleet::new(Rules { policies: vec![Policy::Target(target)], ..rules(1, 13) }, 1, s(5));
    assert_eq!(fleet.seconds(100, 29.0).wanted, 6);
}

#[test]
fn what_a_throttled_server_does_not_take_is_made_up_for() {
    let mut fleet = Fleet::new(rules(1, 13), 3, s(60));
    fleet.seconds(60, 25.0);
    let name = fleet.name(0);
    // Its share stays at one half.
    fleet.set(&name, ServerState::Warming { ready: s(0), share: 0.5 });
    let decision = fleet.second(Some(25.0));
    assert_eq!(told(&decision), "create 1");
    assert_eq!((decision.fleet.healthy, decision.fleet.coming), (2.5, 0.0));
}

#[test]
fn a_rate_over_a_gap_does_not_count_unless_looks_are_always_so_far_apart() {
    let mut scaler = weir_scale::Scaler::new(rules(1, 13).into());
    let mut look = |at: u64, requests: u64| {
        scaler.observe(s(at), &weir_scale::Sample::of_requests(requests));
        scaler.decide(weir_scale::Now::at(s(at)), &[]).demand
    };
    assert_eq!((look(1, 0), look(2, 50)), (None, Some(5.0)));
    assert_eq!((look(602, 60), look(603, 110)), (None, Some(5.0)));
    assert_eq!((look(633, 1_610), look(663, 3_110)), (None, Some(5.0)));
}

#[test]
fn one_absurd_figure_orders_no_server_and_is_told() {
    let mut fleet = Fleet::new(rules(2, 13), 3, s(5));
    fleet.seconds(60, 25.0);
    let absurd = fleet.second(Some(1e6));
    assert_eq!((absurd.wanted, absurd.needed, told(&absurd).as_str()), (3, 3, ""));
    let expected = Unusable::Jump { kind: SignalKind::Requests, measured: 1e6, lately: 25.0 };
    assert_eq!(absurd.alarms, [Alarm::Blind(expected)]);
    assert_eq!(
        absurd.alarms[0].to_string(),
        "requests: 1000000.0 at once, after 25.0 at most, is not believed before it lasts: the last value counts: no server is let go"
    );
    assert_eq!((absurd.demand, fleet.scaler.held_rate()), (Some(2.5), Some(25.0)));
    let after = fleet.seconds(30, 25.0);
    assert_eq!((after.wanted, after.alarms, fleet.scaler.held_rate()), (3, vec![], None));
    // An impossible rate is not recorded either.
    let impossible = fleet.second(Some(5e9));
    assert_eq!(impossible.alarms, [Alarm::Blind(Unusable::Absurd(SignalKind::Requests))]);
    assert_eq!((impossible.wanted, fleet.scaler.held_rate()), (3, Some(25.0)));
    fleet.seconds(30, 25.0);
    // A lasting level takes effect two looks late.
    let lasting = fleet.seconds(3, 2_000.0);
    assert_eq!(lasting.wanted, 13, "{lasting:?}");
}

#[test]
fn a_counter_that_stands_still_lets_no_server_go_until_that_has_lasted() {
    let mut all = rules(2, 13);
    all.standby.keep = 0;
    let mut scaler = weir_scale::Scaler::new(all.into());
    let servers = Fleet::new(rules(2, 13), 6, s(5)).servers;
    let mut second = 0;
    let mut look = |requests: u64, active: u64| {
        second += 1;
        scaler.observe(
            s(second),
            &Sample { active: Some(active), queued: Some(0), ..Sample::of_requests(requests) },
        );
        scaler.decide(weir_scale::Now::at(s(second)), &servers)
    };
    (1..=60).for_each(|at| drop(look(at * 55, 5)));
    // The source has stopped: no value changes, although requests are in progress.
    for _ in 0..59 {
        let frozen = look(60 * 55, 5);
        assert_eq!((frozen.wanted, told(&frozen).as_str()), (6, ""), "{frozen:?}");
        assert_eq!(frozen.alarms, [Alarm::Blind(Unusable::Standstill(SignalKind::Requests))]);
        assert_eq!(frozen.demand, Some(5.5));
    }
    let believed = (0..60).map(|_| look(60 * 55, 5)).last().unwrap();
    assert_eq!((believed.wanted, believed.demand), (2, Some(0.0)));
}

#[test]
fn traffic_that_ends_is_believed_at_once_where_other_figures_say_so() {
    let mut scaler = weir_scale::Scaler::new(rules(2, 13).into());
    let servers = Fleet::new(rules(2, 13), 6, s(5)).servers;
    let mut second = 0;
    let mut look = |requests: u64, active: u64| {
        second += 1;
        scaler.observe(
            s(second),
            &Sample { active: Some(active), queued: Some(0), ..Sample::of_requests(requests) },
        );
        scaler.decide(weir_scale::Now::at(s(second)), &servers)
    };
    (1..=60).for_each(|at| drop(look(at * 55, 5)));
    // The last requests end one after the other.
    for active in (0..5).rev() {
        let ended = look(60 * 55, active);
        assert_eq!((ended.demand, ended.alarms), (Some(0.0), vec![]));
    }
}

#[test]
fn a_fleet_that_is_to_have_no_server_lets_all_go_in_order() {
    let mut fleet = Fleet::new(rules(2, 5), 2, s(5));
    fleet.make(ServerState::Stopped);
    fleet.seconds(60, 15.0);
    fleet.scaler.pin(Some(0));
    let first = fleet.second(Some(15.0));
    assert_eq!((first.wanted, told(&first).as_str()), (0, "drain s1; drain s2; delete s3"));
    assert!(first.reason.contains("all machines are drained and deleted"), "{}", first.reason);
    fleet.seconds(30, 15.0);
    assert_eq!(fleet.states(), "");
    // The policies decide again.
    fleet.scaler.pin(None);
    fleet.seconds(60, 15.0);
    assert_eq!(fleet.states(), "active active");
}
