//! Tests that the benchmark of picks covers every algorithm.

#[path = "../benches/picks/ways.rs"]
mod ways;

use std::collections::HashSet;

use weir_balance::{ALGORITHMS, Algorithm, Scheduling};

use ways::ways;

#[test]
fn every_algorithm_that_is_listed_has_its_row_and_each_row_its_own_name() {
    let ways = ways();
    for entry in ALGORITHMS {
        let own = ways.iter().find(|way| way.name == entry.algorithm.name());
        assert_eq!(own.map(|way| way.scheduling), Some(Scheduling::from(entry.algorithm)));
    }
    let names: HashSet<_> = ways.iter().map(|way| way.name.as_str()).collect();
    assert_eq!(names.len(), ways.len());
}

#[test]
fn what_chooses_otherwise_with_an_option_or_without_a_key_has_a_row_for_that() {
    let ways = ways();
    let has = |algorithm: Algorithm, is_so: &dyn Fn(&ways::Way) -> bool| {
        ways.iter().any(|way| way.scheduling.algorithm == algorithm && is_so(way))
    };
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.takes_key()) {
        assert!(has(algorithm, &|way| !way.has_key), "{algorithm}");
    }
    assert!(has(Algorithm::Random, &|way| way.scheduling.measure.distinct));
    assert!(has(Algorithm::LeastRequest, &|way| way.has_equal_weights));
    assert!(has(Algorithm::LeastRequest, &|way| way.scheduling.measure.bias.is_some()));
    assert!(has(Algorithm::LeastResponseTime, &|way| way.scheduling.measure.drawn.is_some()));
    for algorithm in [Algorithm::Random, Algorithm::Ring, Algorithm::Ketama] {
        assert!(has(algorithm, &|way| way.scheduling.hash.bounded_load_percent.is_some()), "{algorithm}");
    }
}
