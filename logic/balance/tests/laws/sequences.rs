//! Compares picks with recordings of HAProxy and NGINX, for requests that start and end.
//! `tests/golden/record-sequences` made the recordings.
//!
//! Where Weir's order differs on purpose, the tests compare the properties that are the same.

use std::sync::Arc;

use weir_balance::{Algorithm, HashOptions, Pick, PickInput, Picker, RingPoints, Scheduling};

use crate::pool::{Pool, counts};

/// The contents of one column of a file.
struct Recorded {
    /// For each request, its server, the earlier requests that ended before it arrived, and its key.
    steps: Vec<(usize, Vec<usize>, Option<&'static str>)>,
}

impl Recorded {
    fn read(text: &'static str, column: &str) -> Self {
        let (columns, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("# "));
        let index = columns.iter().position(|line| line[2..] == *column).unwrap();
        assert_eq!(lines.len(), 1_000);
        let step = |line: &'static str| {
            let (line, key) = line.split_once(" / ").map_or((line, None), |(line, key)| (line, Some(key)));
            let mut words = line.split_whitespace();
            let digit = words.next().unwrap().as_bytes()[index];
            (usize::from(digit - b'0'), words.map(|number| number.parse().unwrap()).collect(), key)
        };
        Self { steps: lines.into_iter().map(step).collect() }
    }

    fn slots(&self) -> Vec<usize> {
        self.steps.iter().map(|(slot, _, _)| *slot).collect()
    }

    /// Calls `judge` for each request with its number, Weir's pick, the recorded slot, and the requests of
    /// each server then. The recorded server gets the request.
    fn follow(&self, pool: &Pool, judge: impl Fn(usize, Pick, usize, &[u32])) {
        let roster = pool.roster();
        let mut picker = Picker::new(0);
        for (number, (slot, ended, key)) in self.steps.iter().enumerate() {
            for earlier in ended {
                let slot = self.steps[*earlier].0;
                roster.end(slot, &pool.candidates[slot].load);
            }
            let key = key.map(|key| roster.scheduling().hash.key_of(key.as_bytes()));
            let active: Vec<u32> = pool.candidates.iter().map(|server| server.load.active()).collect();
            let picked =
                picker.pick(&roster, &PickInput { key, random: number as u64, ..PickInput::default() });
            judge(number, picked, *slot, &active);
            assert!(roster.begin(*slot));
        }
    }

    /// Asserts that Weir picks the same servers.
    fn assert_same(&self, pool: &Pool, what: &str) {
        self.follow(pool, |number, picked, recorded, active| {
            assert_eq!(picked, Pick::Server(recorded), "{what}: request {number}, {active:?} under way");
        });
    }
}

const WEIGHTS: [u32; 5] = [1, 2, 3, 1, 5];
const EQUAL: [u32; 5] = [1; 5];

const HAPROXY_ARRIVALS: &str = include_str!("../golden/haproxy-arrivals.txt");
const HAPROXY_DEPARTURES: &str = include_str!("../golden/haproxy-departures.txt");
const NGINX_ARRIVALS: &str = include_str!("../golden/nginx-arrivals.txt");
const NGINX_DEPARTURES: &str = include_str!("../golden/nginx-departures.txt");

#[test]
fn static_rr_goes_round_as_haproxys_does() {
    for text in [HAPROXY_ARRIVALS, HAPROXY_DEPARTURES] {
        let recorded = Recorded::read(text, "static-rr / 1 2 3 1 5");
        recorded.assert_same(&Pool::new(Algorithm::StaticRr, &WEIGHTS), "static-rr");
    }
}

#[test]
fn first_fills_servers_as_haproxys_does() {
    for (text, connections_max) in [(HAPROXY_ARRIVALS, 210), (HAPROXY_DEPARTURES, 8)] {
        let mut pool = Pool::new(Algorithm::First, &WEIGHTS);
        pool.candidates.iter_mut().for_each(|candidate| candidate.connections_max = Some(connections_max));
        Recorded::read(text, "first / 1 2 3 1 5").assert_same(&pool, "first");
    }
}

#[test]
fn round_robin_goes_round_as_nginxs_does() {
    for text in [NGINX_ARRIVALS, NGINX_DEPARTURES] {
        let mut pool = Pool::new(Algorithm::RoundRobin, &WEIGHTS);
        Recorded::read(text, "round robin / 1 2 3 1 5").assert_same(&pool, "round-robin");
        pool.candidates.iter_mut().for_each(|candidate| candidate.load = Arc::default());
        pool.candidates[4].eligible = false;
        Recorded::read(text, "round robin / 1 2 3 1 0").assert_same(&pool, "round-robin with a server down");
    }
}

/// HAProxy's roundrobin uses a tree of its own: a server's next turn is its last one plus the total over its
/// weight, rounded.
#[test]
fn round_robin_gives_each_server_as_many_of_a_round_as_haproxys_does_in_another_order() {
    let recorded = Recorded::read(HAPROXY_ARRIVALS, "roundrobin / 1 2 3 1 5").slots();
    let own = crate::pool::slots(
        &mut Picker::new(0),
        &Pool::new(Algorithm::RoundRobin, &WEIGHTS).roster(),
        recorded.len(),
    );
    let round = WEIGHTS.iter().sum::<u32>() as usize;
    for (theirs, own) in recorded.chunks_exact(round).zip(own.chunks_exact(round)) {
        assert_eq!(counts(theirs, 5), counts(own, 5));
    }
    assert_ne!(recorded, own);
}

/// Computes HAProxy's key of leastconn.
fn leastconn(active: u32, weight: u32) -> u32 {
    if active == 0 { 0 } else { (active + 1) * 4_096 / (16 * weight) }
}

#[test]
fn least_connections_spreads_requests_that_stay_as_haproxys_leastconn_does() {
    for weights in [WEIGHTS, EQUAL] {
        let column = format!("leastconn / {}", weights.map(|weight| weight.to_string()).join(" "));
        let recorded = Recorded::read(HAPROXY_ARRIVALS, &column);
        recorded.assert_same(&Pool::new(Algorithm::LeastConnections, &weights), &column);
    }
}

/// Of equal keys HAProxy takes the one that changed longest ago, including changes by a request's end. Weir
/// takes the server chosen longest ago.
#[test]
fn least_connections_picks_servers_with_the_key_of_those_that_haproxys_leastconn_picks() {
    for weights in [WEIGHTS, EQUAL] {
        let column = format!("leastconn / {}", weights.map(|weight| weight.to_string()).join(" "));
        let pool = Pool::new(Algorithm::LeastConnections, &weights);
        Recorded::read(HAPROXY_DEPARTURES, &column).follow(&pool, |number, picked, recorded, active| {
            let Pick::Server(slot) = picked else { panic!("{picked:?}") };
            let key = |slot: usize| leastconn(active[slot], weights[slot]);
            assert_eq!(key(slot), key(recorded), "{column}: request {number}, {active:?} under way");
        });
    }
}

/// NGINX's least_conn compares requests over weight without the new request, like IPVS's wlc. Of equals it
/// takes the next in smooth round robin.
#[test]
fn ipvs_wlc_picks_servers_as_little_loaded_as_those_that_nginxs_least_conn_picks() {
    for (text, weights) in
        [NGINX_ARRIVALS, NGINX_DEPARTURES].into_iter().flat_map(|text| [(text, WEIGHTS), (text, EQUAL)])
    {
        let column = format!("least_conn / {}", weights.map(|weight| weight.to_string()).join(" "));
        let pool = Pool::new(Algorithm::IpvsWlc, &weights);
        Recorded::read(text, &column).follow(&pool, |number, picked, recorded, active| {
            let Pick::Server(slot) = picked else { panic!("{picked:?}") };
            let crosswise = |slot: usize, other: usize| active[slot] * weights[other];
            assert_eq!(
                crosswise(slot, recorded),
                crosswise(recorded, slot),
                "{column}: request {number}, {active:?} under way"
            );
        });
    }
}

/// NGINX's counters change only when servers are equally loaded, so the order within a round differs each
/// time.
#[test]
fn least_connections_gives_each_of_equal_servers_one_request_of_a_round_as_nginxs_least_conn_does() {
    let recorded = Recorded::read(NGINX_ARRIVALS, "least_conn / 1 1 1 1 1").slots();
    let pool = Pool::new(Algorithm::LeastConnections, &EQUAL);
    let (roster, mut picker) = (pool.roster(), Picker::new(0));
    let mut one = |number: usize| {
        let picked = crate::pool::pick(&mut picker, &roster, number as u64);
        let Pick::Server(slot) = picked else { panic!("{picked:?}") };
        assert!(roster.begin(slot));
        slot
    };
    let own: Vec<usize> = (0..recorded.len()).map(&mut one).collect();
    for (theirs, own) in recorded.chunks_exact(5).zip(own.chunks_exact(5)) {
        assert_eq!((counts(theirs, 5), counts(own, 5)), (vec![1; 5], vec![1; 5]));
    }
}

#[test]
fn a_bounded_load_passes_over_the_servers_that_haproxys_hash_balance_factor_does() {
    let text = include_str!("../golden/haproxy-bounded.txt");
    for factor in [101, 125, 200, 400] {
        let column = format!("hash-balance-factor {factor} / 1 2 3 1 5");
        let hash = HashOptions {
            points: RingPoints::Position,
            bounded_load_percent: Some(factor),
            ..HashOptions::of(Algorithm::Ring)
        };
        let pool = Pool::new(Scheduling { hash, ..Algorithm::Ring.into() }, &WEIGHTS);
        Recorded::read(text, &column).assert_same(&pool, &column);
    }
}
