//! Cost of a round of scaling decisions: a thousand fleets of ten servers each, every policy, in one thread.
//! There is one round a second. In each round, one of the fleets computes its forecast again, from eight
//! seasons of 288 steps each.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_model::Name;
use weir_scale::policy::{Predictive, Reactive, Target};
use weir_scale::{Now, Policy, Rules, Sample, Scaler, Server, ServerState};

use crate::error::{Context, Result};
use crate::statistics::quantile;

const FLEETS: usize = 1_000;
const SERVERS: usize = 10;
const ROUNDS: u64 = 500;
/// Rounds before the measurement, which warm the caches.
const ROUNDS_BEFORE: u64 = 100;
/// Length of a forecast's step in seconds, steps of a season, and steps known at the start.
const STEP_S: i64 = 10;
const SEASON_STEPS: i64 = 288;
const STEPS_KNOWN: i64 = 8 * SEASON_STEPS;
const MEDIAN_MAX: Duration = Duration::from_millis(10);

/// Runs `decisions`. Returns whether the median time of a round is within its limit for all policies.
pub(crate) fn run() -> Result<bool> {
    let mut table = format!(
        "\n## A round of scaling decisions\n\n{FLEETS} fleets with {} servers, one thread, {ROUNDS} rounds.\n\n\
         | policies | median | p99 | required | |\n|---|---|---|---|---|\n",
        FLEETS * SERVERS
    );
    let mut all_kept = true;
    for (name, policies) in policies() {
        let took_ns = rounds(policies)?;
        let (median, p99) = (quantile(&took_ns, 0.5), quantile(&took_ns, 0.99));
        let is_kept = u128::from(median) < MEDIAN_MAX.as_nanos();
        all_kept &= is_kept;
        let ms = |ns: u64| ns as f64 / 1e6;
        let _ = writeln!(
            table,
            "| {name} | {:.2} ms | {:.2} ms | median < {} ms | {} |",
            ms(median),
            ms(p99),
            MEDIAN_MAX.as_millis(),
            if is_kept { "kept" } else { "**missed**" }
        );
    }
    println!("{table}");
    Ok(all_kept)
}

/// Returns the times of the rounds, ascending, in nanoseconds.
fn rounds(policies: Vec<Policy>) -> Result<Vec<u64>> {
    let rules = Arc::new(Rules { policies, ..Rules::by_requests(2, 20, 10.0) });
    let mut fleets = Vec::with_capacity(FLEETS);
    for fleet in 0..FLEETS {
        let mut scaler = Scaler::new(Arc::clone(&rules));
        for step in -STEPS_KNOWN..0 {
            let of_season = step.rem_euclid(SEASON_STEPS) as f64 / SEASON_STEPS as f64;
            let chance = ((step * 31 + fleet as i64) % 7) as f64 / 10.0;
            scaler.remember(step * STEP_S, 7.0 + 3.0 * (std::f64::consts::TAU * of_season).sin() + chance);
        }
        fleets.push((scaler, servers()?, 0_u64));
    }
    let mut took_ns = Vec::with_capacity(ROUNDS as usize);
    for second in 1..=ROUNDS_BEFORE + ROUNDS {
        let now = Duration::from_secs(second);
        let began = Instant::now();
        for (at, (scaler, servers, requests)) in fleets.iter_mut().enumerate() {
            // Between 60 and 140 requests, different for each fleet, so that some fleets grow and some
            // shrink.
            *requests += 60 + (at as u64 * 7 + second * 13) % 80;
            scaler.observe(now, &Sample::of_requests(*requests));
            black_box(scaler.decide(Now::at(now), servers));
        }
        if let Some((scaler, ..)) = fleets.get_mut(second as usize % FLEETS) {
            black_box(scaler.refit());
        }
        if second > ROUNDS_BEFORE {
            took_ns.push(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
    }
    took_ns.sort_unstable();
    Ok(took_ns)
}

fn servers() -> Result<Vec<Server>> {
    let server = |at: usize| -> Result<Server> {
        Ok(Server {
            name: Name::new(&format!("s{at}")).context("a server's name")?,
            flavour: None,
            zone: None,
            created: Duration::from_secs(at as u64),
            cost_per_hour: 0.1,
            active: at as u64,
            state: ServerState::Active,
        })
    };
    (0..SERVERS).map(server).collect()
}

fn policies() -> Vec<(&'static str, Vec<Policy>)> {
    let target = || Policy::Target(Target::default());
    // The step is short enough that some steps end during the measurement.
    let seconds = |seconds: i64| Duration::from_secs(seconds.unsigned_abs());
    let predictive =
        Predictive { season: seconds(STEP_S * SEASON_STEPS), step: seconds(STEP_S), ..Predictive::default() };
    vec![
        ("reactive", vec![Policy::Reactive(Reactive::default())]),
        ("target", vec![target()]),
        ("predictive", vec![Policy::Predictive(predictive)]),
        ("all three", vec![Policy::Reactive(Reactive::default()), target(), Policy::Predictive(predictive)]),
    ]
}
