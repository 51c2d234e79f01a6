//! All measured ways to choose a server: each algorithm alone, and with the options that change its choice.

use weir_balance::{Algorithm, HashOptions, Hundredths, MeasureOptions, ResponseEnd, Scheduling};

/// One way to choose a server.
pub(crate) struct Way {
    /// Name of the algorithm and its special option.
    pub(crate) name: String,
    pub(crate) scheduling: Scheduling,
    /// True if requests have the key that the algorithm uses. Without a key, it chooses in turn or by load.
    pub(crate) has_key: bool,
    /// True if all servers have the same weight.
    pub(crate) has_equal_weights: bool,
}

/// Returns all ways, in the order of `weir algorithms`.
pub(crate) fn ways() -> Vec<Way> {
    Algorithm::ALL.into_iter().flat_map(of).collect()
}

fn of(algorithm: Algorithm) -> Vec<Way> {
    let alone = Scheduling::from(algorithm);
    let way = |what: &str, scheduling| Way {
        name: format!("{algorithm}{what}"),
        scheduling,
        has_key: true,
        has_equal_weights: false,
    };
    let measuring = |what, measure: MeasureOptions| way(what, Scheduling { measure, ..alone });
    let hashing = |what, hash: HashOptions| way(what, Scheduling { hash, ..alone });
    let Scheduling { measure, hash, .. } = alone;
    let mut ways = vec![way("", alone)];
    match algorithm {
        Algorithm::Random => {
            ways.push(measuring("/distinct", MeasureOptions { distinct: true, ..measure }));
            ways.push(measuring("/8 draws", MeasureOptions { draws: 8, ..measure }));
        }
        Algorithm::LeastRequest => {
            ways.push(measuring("/bias", MeasureOptions { bias: Some(Hundredths(150)), ..measure }));
            // This algorithm draws servers at random only if their weights are equal.
            ways.push(Way { has_equal_weights: true, ..way("/equal weights", alone) });
        }
        Algorithm::LeastResponseTime => {
            let until = ResponseEnd::LastByte;
            ways.push(measuring("/inflight", MeasureOptions { until, inflight: true, ..measure }));
            ways.push(measuring("/drawn", MeasureOptions { drawn: Some(2), ..measure }));
        }
        _ => {}
    }
    if matches!(algorithm, Algorithm::Random | Algorithm::Ring | Algorithm::Ketama) {
        ways.push(hashing("/bounded", HashOptions { bounded_load_percent: Some(150), ..hash }));
    }
    if algorithm.takes_key() {
        ways.push(Way { has_key: false, ..way("/without a key", alone) });
    }
    let has_fallback =
        !matches!(algorithm, Algorithm::Ketama | Algorithm::NginxHash | Algorithm::NginxIpHash);
    if algorithm.goes_by_key() && has_fallback {
        ways.push(hashing("/no fallback", HashOptions { fallback: false, ..hash }));
    }
    ways
}
