//! Results of turns, and their comparison.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::service::{Mode, Service};
use super::transfers::Download;
use super::ways::{Parts, Running, Services, Way};
use super::{Bench, LARGE, SMALL, SMALL_BYTES};
use crate::error::Result;
use crate::statistics::Spread;
use crate::storage::{GIB, MIB};
use crate::wrk::Load;

/// Result of one turn of one way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub(super) elapsed_s: f64,
    pub(super) transfers: u64,
    /// Bytes of all transfers.
    pub(super) bytes: u64,
    /// Median time of a transfer.
    pub(super) p50_s: f64,
    pub(super) p99_s: f64,
    pub(super) cpu_s: Parts<f64>,
    /// Memory at the end.
    pub(super) memory_bytes: Parts<u64>,
}

/// Result of a load.
pub(super) struct Loaded {
    pub(super) transfers: u64,
    pub(super) bytes: u64,
    pub(super) p50_s: f64,
    pub(super) p99_s: f64,
}

impl Turn {
    /// Measures the cost of a load by the kernel's counters before and after it.
    pub(super) fn measure(running: &Running<'_>, load: impl FnOnce() -> Result<Loaded>) -> Result<Self> {
        let (before, since) = (running.cpu_s(), Instant::now());
        let Loaded { transfers, bytes, p50_s, p99_s } = load()?;
        let elapsed_s = since.elapsed().as_secs_f64();
        let after = running.cpu_s();
        let cpu_s = Parts {
            storm: (after.storm - before.storm).max(0.0),
            front: (after.front - before.front).max(0.0),
        };
        Ok(Self { elapsed_s, transfers, bytes, p50_s, p99_s, cpu_s, memory_bytes: running.memory_bytes() })
    }

    pub(super) fn mib_per_s(&self) -> f64 {
        self.bytes as f64 / MIB as f64 / self.elapsed_s
    }

    pub(super) fn transfers_per_s(&self) -> f64 {
        self.transfers as f64 / self.elapsed_s
    }

    fn ms_a_gib(&self, cpu_s: f64) -> f64 {
        cpu_s * 1e3 / (self.bytes as f64 / GIB as f64)
    }

    /// Returns the CPU time of both programs together.
    pub(super) fn cpu_ms_a_gib(&self) -> f64 {
        self.ms_a_gib(self.cpu_s.storm + self.cpu_s.front)
    }

    pub(super) fn storm_ms_a_gib(&self) -> f64 {
        self.ms_a_gib(self.cpu_s.storm)
    }

    pub(super) fn front_ms_a_gib(&self) -> f64 {
        self.ms_a_gib(self.cpu_s.front)
    }

    /// Returns the share of a core that StoRM used, in percent.
    pub(super) fn storm_busy(&self) -> f64 {
        100.0 * self.cpu_s.storm / self.elapsed_s
    }

    pub(super) fn front_busy(&self) -> f64 {
        100.0 * self.cpu_s.front / self.elapsed_s
    }

    pub(super) fn storm_mib(&self) -> f64 {
        self.memory_bytes.storm as f64 / MIB as f64
    }

    pub(super) fn front_mib(&self) -> f64 {
        self.memory_bytes.front as f64 / MIB as f64
    }

    /// Describes the turn in one line.
    fn brief(&self) -> String {
        format!(
            "{:.0} MiB/s, {:.1} transfers/s, CPU a GiB: {:.0} ms StoRM, {:.0} ms in front",
            self.mib_per_s(),
            self.transfers_per_s(),
            self.storm_ms_a_gib(),
            self.front_ms_a_gib()
        )
    }
}

/// All turns of one way.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) way: Way,
    pub(super) name: String,
    pub(super) turns: Vec<Turn>,
}

impl Row {
    pub(super) fn median(&self, figure: impl Fn(&Turn) -> f64) -> f64 {
        Spread::of(self.turns.iter().map(figure)).map_or(0.0, |spread| spread.median)
    }

    /// Returns a figure of StoRM, or `-` if it takes no part.
    pub(super) fn of_storm(&self, figure: impl Fn(&Turn) -> f64) -> String {
        self.part(self.way.mode().is_some(), figure)
    }

    /// Returns a figure of the program in front of StoRM or in its place, or `-` if there is none.
    pub(super) fn of_front(&self, figure: impl Fn(&Turn) -> f64) -> String {
        self.part(self.way != Way::Storm, figure)
    }

    fn part(&self, takes_part: bool, figure: impl Fn(&Turn) -> f64) -> String {
        if takes_part { format!("{:.0}", self.median(figure)) } else { "-".to_owned() }
    }

    /// Compares with another row of the same rounds, turn by turn. Returns median and extremes of the ratio.
    pub(super) fn ratio(&self, base: &Row, figure: impl Fn(&Turn) -> f64) -> String {
        if base.way == self.way {
            return "1".to_owned();
        }
        let pairs = self.turns.iter().zip(&base.turns);
        Spread::of(pairs.map(|(own, theirs)| figure(own) / figure(theirs))).map_or_else(
            || "-".to_owned(),
            |Spread { min, median, max }| format!("{median:.2} ({min:.2}..{max:.2})"),
        )
    }
}

/// Length of one part of a warm-up in seconds. A Java program compiles itself while it runs. Before the first
/// turn, each StoRM is loaded in such parts until it gets no faster; [`WARM_UPS`] limits their number.
const WARM_UP_S: u64 = 4;
const WARM_UPS: std::ops::RangeInclusive<usize> = 3..=15;

/// Measures `load` for all ways, turn by turn; each round begins with another way.
pub(super) fn rounds(
    bench: &Bench<'_>,
    title: &str,
    ways: &[Way],
    tls: bool,
    load: impl Fn(&Running<'_>) -> Result<Loaded>,
) -> Result<Vec<Row>> {
    let services = Services::start(bench, ways)?;
    for (mode, service) in services.all() {
        warm_up(bench, service, mode, tls)?;
    }
    let row = |&way: &Way| Ok(Row { way, name: way.name(services.of(way))?, turns: Vec::new() });
    let mut rows = ways.iter().map(row).collect::<Result<Vec<_>>>()?;
    let turns = bench.options.turns();
    for turn in 0..turns {
        for place in 0..rows.len() {
            let at = (place + turn) % rows.len();
            let row = &mut rows[at];
            let measure = || one_turn(bench, &services, row.way, tls, &load);
            let label = format!("{title}: {}, turn {}/{turns}", row.name, turn + 1);
            // Repeats a failed turn once. One failed request may be the machine's fault; two failed turns are
            // not.
            let measured = measure().or_else(|error| {
                eprintln!("{label}: {error}; once more");
                measure()
            })?;
            eprintln!("{label}: {}", measured.brief());
            row.turns.push(measured);
        }
    }
    Ok(rows)
}

fn one_turn(
    bench: &Bench<'_>,
    services: &Services,
    way: Way,
    tls: bool,
    load: impl Fn(&Running<'_>) -> Result<Loaded>,
) -> Result<Turn> {
    let running = Running::start(bench, services, way, tls)?;
    // Warms the fresh server up, and checks that it sends whole files, because wrk would also count empty
    // responses.
    Download { address: running.address, path: SMALL, tls, bytes: SMALL_BYTES, clients: 1 }.run()?;
    wrk(running.address, tls, 1).run()?;
    Turn::measure(&running, || load(&running))
}

fn warm_up(bench: &Bench<'_>, service: &Service, mode: Mode, tls: bool) -> Result<()> {
    let tls = tls && mode == Mode::Sends;
    let address = if tls { service.tls } else { service.plain };
    if mode == Mode::Sends {
        // The large download comes first: Java compiles its ciphers only after some hundreds of MiB, and
        // until then small files are slow.
        let bytes = bench.large_bytes();
        Download { address, path: LARGE, tls, bytes, clients: 2 }.run()?;
    }
    let mut rates = Vec::new();
    while !is_warm(&rates) {
        rates.push(wrk(address, tls, WARM_UP_S).run()?.requests_per_s);
    }
    eprintln!("StoRM WebDAV {}: loaded for {} s", service.version, rates.len() as u64 * WARM_UP_S);
    Ok(())
}

/// Returns whether the last part of a warm-up was less than 5% faster than the best before it, or the limit
/// is reached.
fn is_warm(rates: &[f64]) -> bool {
    let Some((last, before)) = rates.split_last() else {
        return false;
    };
    let best = before.iter().copied().fold(0.0, f64::max);
    rates.len() >= *WARM_UPS.end() || rates.len() >= *WARM_UPS.start() && *last < best * 1.05
}

/// Number of connections that request the small file again and again.
pub(super) const CLIENTS: u32 = 16;

/// Returns a load of [`CLIENTS`] connections that request the small file.
pub(super) fn wrk(address: SocketAddr, tls: bool, seconds: u64) -> Load {
    Load {
        address,
        path: SMALL,
        tls,
        closes: false,
        connections: CLIENTS,
        duration: Duration::from_secs(seconds),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::rivals::Product;

    /// Returns a turn with round figures: 1 GiB in `elapsed_s`, four transfers.
    pub(in super::super) fn turn(elapsed_s: f64, storm_cpu_s: f64, front_cpu_s: f64) -> Turn {
        Turn {
            elapsed_s,
            transfers: 4,
            bytes: GIB,
            p50_s: elapsed_s / 2.0,
            p99_s: elapsed_s,
            cpu_s: Parts { storm: storm_cpu_s, front: front_cpu_s },
            memory_bytes: Parts { storm: 512 * MIB, front: 16 * MIB },
        }
    }

    pub(in super::super) fn row(way: Way, turns: Vec<Turn>) -> Row {
        Row { way, name: format!("{way:?}"), turns }
    }

    #[test]
    fn both_programs_count_towards_the_cost_of_a_transfer() {
        let turn = turn(2.0, 0.5, 1.0);
        assert_eq!(
            (turn.cpu_ms_a_gib(), turn.storm_ms_a_gib(), turn.front_ms_a_gib()),
            (1500.0, 500.0, 1000.0)
        );
        assert_eq!((turn.storm_busy(), turn.front_busy()), (25.0, 50.0));
        assert_eq!((turn.mib_per_s(), turn.transfers_per_s()), (512.0, 2.0));
    }

    #[test]
    fn a_warm_up_lasts_until_it_brings_nothing_more() {
        assert!(!is_warm(&[]));
        assert!(!is_warm(&[100.0, 90.0]));
        assert!(!is_warm(&[100.0, 90.0, 110.0]));
        assert!(is_warm(&[100.0, 200.0, 209.0]));
        let always_faster: Vec<f64> = (0..15).map(|part| 2.0_f64.powi(part)).collect();
        assert!(is_warm(&always_faster) && !is_warm(&always_faster[..14]));
    }

    #[test]
    fn ratios_compare_turns_of_the_same_round() {
        let base = row(Way::Storm, vec![turn(1.0, 1.0, 0.0), turn(4.0, 1.0, 0.0), turn(2.0, 1.0, 0.0)]);
        let other = row(
            Way::Offloaded(Product::Nginx),
            vec![turn(2.0, 0.1, 1.0), turn(2.0, 0.1, 1.0), turn(2.0, 0.1, 1.0)],
        );
        assert_eq!(other.ratio(&base, |turn| turn.elapsed_s), "1.00 (0.50..2.00)");
        assert_eq!(base.ratio(&base, |turn| turn.elapsed_s), "1");
    }

    #[test]
    fn who_takes_no_part_has_no_figure() {
        let direct = row(Way::Storm, vec![turn(1.0, 1.0, 0.0)]);
        let own = row(Way::Weir, vec![turn(1.0, 0.0, 0.25)]);
        assert_eq!(
            (direct.of_storm(Turn::storm_busy), direct.of_front(Turn::front_busy)),
            ("100".into(), "-".into())
        );
        assert_eq!(
            (own.of_storm(Turn::storm_busy), own.of_front(Turn::front_busy)),
            ("-".into(), "25".into())
        );
    }
}
