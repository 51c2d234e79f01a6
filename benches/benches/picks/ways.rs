//! Every way to choose a server: each algorithm as it is named alone, and with the options that make it choose otherwise.

use weir_balance::{Algorithm, HashOptions, Hundredths, MeasureOptions, ResponseEnd, Scheduling};

/// One of them.
pub(crate) struct Way {
    /// The algorithm's name, and what is special.
    pub(crate) name: String,
    pub(crate) scheduling: Scheduling,
    /// Requests have what they are kept together by. Without, they go by turns, or by load.
    pub(crate) has_key: bool,
    /// All servers weigh the same.
    pub(crate) has_equal_weights: bool,
}

/// All of them, in the order of `weir algorithms`.
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
            // Only these are drawn.
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
