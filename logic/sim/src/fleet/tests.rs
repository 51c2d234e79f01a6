//! Tests of demands, recordings and backtests of fleets.

use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Duration;

use weir_config::simulation::{LogFormat, LoggedTimes, Replay};
use weir_scale::forecast::Method;
use weir_scale::policy::{Predictive, Reactive};
use weir_scale::{Policy, Rules};

use super::*;
use crate::rng::{Rng, Stream};

fn rules(policy: Policy) -> Arc<Rules> {
    Arc::new(Rules { policies: vec![policy], ..Rules::by_requests(2, 13, 10.0) })
}

fn recorded(text: &str) -> Result<Demand, String> {
    let replay = Replay { file: "x".into(), format: LogFormat::Auto, speed: 1.0, times: LoggedTimes::Logged };
    Demand::recorded("x", &replay, &mut text.as_bytes()).map_err(|cause| cause.to_string())
}

fn constant(rate: f64, seconds: usize) -> Demand {
    Demand { name: "constant".to_owned(), rates_per_s: vec![rate; seconds], is_counted: true }
}

#[test]
fn the_published_pattern_is_the_published_one() {
    let demand = Demand::synthetic(Pattern::Published, 1, 1.0);
    assert_eq!(demand.rates_per_s.len(), 1_200);
    let at = |second: usize| demand.rates_per_s[second];
    let expected = [
        (0, 1.0),
        (120, 11.0),
        (180, 21.0),
        (240, 31.0),
        (300, 71.0),
        (419, 71.0),
        (420, 131.0),
        (540, 71.0),
        (600, 61.0),
        (660, 21.0),
        (899, 21.0),
        (900, 1.0),
    ];
    for (second, rate) in expected {
        assert_eq!(at(second), rate, "{second}");
    }
    assert_eq!(demand.peak_per_s(), 131.0);
}

#[test]
fn patterns_are_those_of_their_seed_and_within_what_a_fleet_can_be_asked_for() {
    for pattern in Pattern::ALL {
        let demand = |seed| Demand::synthetic(pattern, seed, 1.0);
        assert_eq!(demand(3), demand(3));
        assert_eq!(demand(3) == demand(4), pattern == Pattern::Published, "{}", pattern.name());
        assert!(demand(5).rates_per_s.iter().all(|rate| (0.0..400.0).contains(rate)), "{}", pattern.name());
    }
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let demand = Demand::synthetic(Pattern::Varied, 3, 1.0);
    let play = |seed| backtest(&rules(Policy::default()), &World::default(), &demand, seed);
    assert_eq!(play(7), play(7));
    assert_ne!(play(7), play(8));
}

#[test]
fn servers_that_suffice_are_never_overloaded_and_never_changed() {
    let outcome = backtest(&rules(Policy::default()), &World::default(), &constant(15.0, 600), 1);
    assert_eq!((outcome.overloaded_s, outcome.refused, outcome.counts.total()), (0, 0, 0));
    assert_eq!(outcome.server_s, 2.0 * outcome.seconds as f64);
    assert_eq!(outcome.requests, 15 * outcome.seconds);
}

#[test]
fn a_lack_lasts_from_the_jump_until_a_server_has_started() {
    let mut demand = constant(15.0, 600);
    demand.rates_per_s[300..].fill(45.0);
    let world = World { start_spread: 0.0, ..World::default() };
    let outcome = backtest(&rules(Policy::default()), &world, &demand, 1);
    // Two of the three servers are woken at once, the third when the step permits it; each takes 20 s.
    assert!((20..80).contains(&outcome.overloaded_s), "{outcome:?}");
    assert!(outcome.refused > 0 && outcome.waited_s >= outcome.overloaded_s, "{outcome:?}");
    assert_eq!((outcome.counts.woken, outcome.counts.created, outcome.servers_max), (3, 0, 5));
}

#[test]
fn the_published_rule_looks_once_a_minute() {
    let mut demand = constant(15.0, 1_000);
    demand.rates_per_s[300..].fill(35.0);
    let world = World { start_spread: 0.0, ..World::default() };
    let slow = backtest(&rules(Policy::Reactive(Reactive::default())), &world, &demand, 1);
    let fast = backtest(&rules(Policy::default()), &world, &demand, 1);
    assert!(slow.overloaded_s >= fast.overloaded_s + 20, "{} {}", slow.overloaded_s, fast.overloaded_s);
}

#[test]
fn energy_and_server_minutes_are_those_of_the_servers_that_ran() {
    let world = World { idle_watts: 100.0, busy_watts: 200.0, ..World::default() };
    let outcome = backtest(&rules(Policy::default()), &world, &constant(10.0, 3_600), 1);
    let hours = outcome.seconds as f64 / 3_600.0;
    // Two servers, each busy for half of its time.
    assert!((outcome.energy_wh - 2.0 * 150.0 * hours).abs() < 1.0, "{outcome:?}");
    assert!((outcome.server_minutes() - 120.0 * hours).abs() < 0.1);
}

#[test]
fn a_history_is_read_by_the_names_of_its_columns() {
    let demand = recorded(
        "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason\n\
         100,0,0,,,2,2,2,,\n160,60,600,600,10,2,2,2,,\n163,63,900,300,100,9,2,2,\"create 7\",\"a, b\"\n170,70,,,,9,9,2,,\n",
    )
    .unwrap();
    assert_eq!(demand.rates_per_s.len(), 70);
    assert_eq!((demand.rates_per_s[0], demand.rates_per_s[59]), (10.0, 10.0));
    assert_eq!((demand.rates_per_s[60], demand.rates_per_s[62]), (100.0, 100.0));
    // Without a measurement, the previous rate continues.
    assert_eq!(demand.rates_per_s[69], 100.0);
    assert_eq!(recorded("time_s,requests\n0,0\n10,50\n").unwrap().rates_per_s, [5.0; 10]);
}

#[test]
fn rows_that_tell_of_their_last_second_alone_are_played_by_their_counter() {
    let heading = "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason";
    let rows =
        "100,0,1000,,,2,2,2,,\n110,10,1922,6,6,2,2,2,,\n120,0,5000,,,2,2,2,,\n130,10,5020,1,1,2,2,2,,\n";
    let before = recorded(&format!("{heading}\n{rows}")).unwrap();
    assert_eq!((before.rates_per_s[0], before.rates_per_s[29]), (92.2, 2.0));
    // Another process, with another counter.
    assert_eq!(before.rates_per_s[15], 92.2);
    let today = format!("{heading},demand,date,wanted\n{}", rows.replace(",,\n", ",,,,,2\n"));
    let today = recorded(&today).unwrap();
    assert_eq!((today.rates_per_s[0], today.rates_per_s[29]), (6.0, 1.0));
}

#[test]
fn a_history_goes_on_where_whoever_wrote_it_has_begun_again() {
    let demand =
        recorded("timestamp,elapsed_s,rate_per_s\n100,0,\n110,10,5\n115,0.5,\n120,5.5,7\n2026-01-01,6.5,8\n")
            .unwrap();
    assert_eq!(demand.rates_per_s[..15], [5.0; 15]);
    assert_eq!(demand.rates_per_s[15..], [7.0, 7.0, 7.0, 7.0, 7.0, 8.0]);
    // It cannot continue if the duration of the interruption is unknown.
    for text in
        ["timestamp,elapsed_s,rate_per_s\nx,0,\nx,10,5\nx,1,5\n", "elapsed_s,rate_per_s\n0,1\n10,5\n1,5\n"]
    {
        assert!(recorded(text).unwrap_err().contains("line 4: 1 s is not after 10 s"));
    }
}

#[test]
fn an_access_log_is_counted_second_by_second() {
    let demand = recorded("arrival_s\n5\n5.5\n5.9\n7.1\n").unwrap();
    assert_eq!(demand.rates_per_s, [3.0, 0.0, 1.0]);
    assert!(demand.is_counted);
}

#[test]
fn what_cannot_be_a_recording_is_told_with_its_line() {
    for (text, cause) in [
        ("", "nothing in it"),
        ("elapsed_s,rate_per_s\n", "nothing in it"),
        ("elapsed_s,rate_per_s\n0,1\n0,2\n", "line 3: 0 s is not after 0 s"),
        ("elapsed_s,rate_per_s\n0,1\n5,x\n", "line 3: \"x\" is no number"),
        ("elapsed_s,rate_per_s\n0,1\n5,-1\n", "line 3: -1 is out of range"),
        ("elapsed_s,rate_per_s\n0,1\n5,inf\n", "line 3: inf is out of range"),
        ("elapsed_s,rate_per_s\n0,1\n5\n", "line 3: has 1 fields only"),
        ("elapsed_s,rate_per_s\n0,1\n99999999999,1\n", "goes on for more than 92 days"),
        ("arrival_s\n0\n99999999\n", "goes on for more than 92 days"),
        ("what is this\n", "looks like none of the formats"),
    ] {
        let error = recorded(text).unwrap_err();
        assert!(error.contains(cause), "{text:?}: {error}");
    }
}

#[test]
fn a_season_that_is_known_is_provided_for_before_it_comes() {
    let mut demand = Demand::synthetic(Pattern::Published, 1, 0.9);
    demand.rates_per_s = demand.rates_per_s.repeat(8);
    let play = |policy: Policy| backtest(&rules(policy), &World::default(), &demand, 1);
    let published = play(Policy::Reactive(Reactive::default()));
    let following = play(Policy::default());
    for forecast in [Method::Auto, Method::Mstl] {
        let predictive = Predictive {
            season: Duration::from_secs(1_200),
            step: Duration::from_secs(30),
            forecast,
            ..Predictive::default()
        };
        let outcome = play(Policy::Predictive(predictive));
        // There is no data to forecast the first two seasons.
        let (ours, theirs) = (outcome.overloaded_s, following.overloaded_s.min(published.overloaded_s));
        assert!(ours * 3 < theirs, "{forecast:?}: {ours} {theirs}");
        assert!(outcome.refused <= following.refused.min(published.refused), "{outcome:?} {following:?}");
        assert!(outcome.server_s < 1.3 * published.server_s, "{} {}", outcome.server_s, published.server_s);
        assert_eq!(outcome, play(Policy::Predictive(predictive)));
    }
}

/// Returns days of two hours that differ only by random variation, which comes and goes within minutes.
fn short_days(seed: u64, days: usize) -> Demand {
    const DAY: usize = 7_200;
    let mut rng = Rng::new(seed, Stream::Demand);
    let (low, high) = (5.0 + 10.0 * rng.unit(), 80.0 + 25.0 * rng.unit());
    let mut drift = 0.0;
    let rate = |second: usize| {
        drift += -drift / 300.0 + rng.normal() * 0.05 * (2.0_f64 / 300.0).sqrt();
        let day = (1.0 - (TAU * second as f64 / DAY as f64).cos()) / 2.0;
        ((low + (high - low) * day) * (1.0 + drift)).max(0.0)
    };
    Demand {
        name: "short days".to_owned(),
        rates_per_s: (0..days * DAY).map(rate).collect(),
        is_counted: false,
    }
}

#[test]
fn on_days_that_nobody_has_seen_a_forecast_halves_what_the_published_rule_lacks_at_a_bounded_price() {
    for seed in 101..=104 {
        let demand = short_days(seed, 5);
        let play = |policy: Policy| backtest(&rules(policy), &World::default(), &demand, seed);
        let published = play(Policy::Reactive(Reactive::default()));
        let predictive = play(Policy::Predictive(Predictive {
            season: Duration::from_secs(7_200),
            step: Duration::from_secs(60),
            ..Predictive::default()
        }));
        let (ours, theirs) = (predictive.overloaded_s, published.overloaded_s);
        assert!(ours * 2 < theirs, "{seed}: {ours} {theirs}");
        assert!(predictive.refused <= published.refused, "{seed}: {predictive:?} {published:?}");
        let (ours, theirs) = (predictive.server_s, published.server_s);
        // A reliable forecast needs spare servers: a margin around five servers on average.
        assert!(ours < 1.15 * theirs, "{seed}: {ours} {theirs}");
    }
}

#[test]
fn the_others_are_compared_with_the_first() {
    let world = World::default();
    let play = |policy: Policy| -> Vec<Outcome> {
        let one = |seed| {
            backtest(&rules(policy.clone()), &world, &Demand::synthetic(Pattern::Varied, seed, 1.0), seed)
        };
        (1..=3).map(one).collect()
    };
    let reactive = Policy::Reactive(Reactive::default());
    let results = vec![("reactive".to_owned(), play(reactive)), ("<b>".to_owned(), play(Policy::default()))];
    let report = FleetReport::new(&Demand::synthetic(Pattern::Varied, 1, 1.0), &world, 1, results);
    assert!(report.policies[0].versus.is_none());
    assert!(report.policies[1].versus.is_some());
    assert_eq!(report.verdict.len(), 1);
    let page = fleet_html(&report);
    assert!(
        page.contains("&lt;b&gt;") && !page.contains("<b>") && page.matches("<svg").count() == 4,
        "{page}"
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["policies"][0]["outcomes"].as_array().map(Vec::len), Some(3));
}
