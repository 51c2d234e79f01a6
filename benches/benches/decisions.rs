//! What a round of decisions costs: a thousand fleets of ten servers each, every policy, in one thread. It should stay below
//! 10 ms: a round comes once a second.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use weir_model::Name;
use weir_scale::policy::{Predictive, Reactive, Target};
use weir_scale::{Now, Policy, Rules, Sample, Scaler, Server, ServerState};

const FLEETS: usize = 1_000;
const SERVERS: usize = 10;

fn servers() -> Vec<Server> {
    let server = |at: usize| {
        Some(Server {
            name: Name::new(&format!("s{at}")).ok()?,
            flavour: None,
            zone: None,
            created: Duration::from_secs(at as u64),
            cost_per_hour: 0.1,
            active: at as u64,
            state: ServerState::Active,
        })
    };
    (0..SERVERS).filter_map(server).collect()
}

fn policies() -> Vec<(&'static str, Vec<Policy>)> {
    let target = || Policy::Target(Target::default());
    // A season short enough that its forecast is at work.
    let predictive = Predictive {
        season: Duration::from_secs(600),
        step: Duration::from_secs(10),
        ..Predictive::default()
    };
    vec![
        ("reactive", vec![Policy::Reactive(Reactive::default())]),
        ("target", vec![target()]),
        ("predictive", vec![Policy::Predictive(predictive)]),
        ("all", vec![Policy::Reactive(Reactive::default()), target(), Policy::Predictive(predictive)]),
    ]
}

fn rounds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("round of 1000 fleets with 10000 servers");
    group.sample_size(10);
    for (name, policies) in policies() {
        let rules = Arc::new(Rules { policies, ..Rules::by_requests(2, 20, 10.0) });
        let mut fleets: Vec<(Scaler, Vec<Server>, u64)> =
            (0..FLEETS).map(|_| (Scaler::new(Arc::clone(&rules)), servers(), 0)).collect();
        let mut second = 0_u64;
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                second += 1;
                let now = Duration::from_secs(second);
                for (at, (scaler, servers, requests)) in fleets.iter_mut().enumerate() {
                    // Between 60 and 140 requests, another number for each: some fleets want more, some fewer.
                    *requests += 60 + (at as u64 * 7 + second * 13) % 80;
                    scaler.observe(now, &Sample::of_requests(*requests));
                    black_box(scaler.decide(Now::at(now), servers));
                }
            });
        });
    }
    group.finish();
}

fn brief() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2))
}

criterion_group! {
    name = benches;
    config = brief();
    targets = rounds
}
criterion_main!(benches);
