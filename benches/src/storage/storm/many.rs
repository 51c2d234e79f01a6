//! Many concurrent transfers, with and without offloaded GETs: published experiment 4.

use std::fmt::Write as _;

use super::figures::{CLIENTS, Loaded, Row, Turn, rounds, wrk};
use super::transfers::Download;
use super::ways::Way;
use super::{Bench, LARGE, SMALL_BYTES};
use crate::error::Result;
use crate::rivals::Product;
use crate::storage::MIB;

const WAYS: [Way; 4] = [Way::Storm, Way::Offloaded(Product::Nginx), Way::Offloaded(Product::Weir), Way::Weir];

/// Published results that the tables reproduce.
pub(super) const PUBLISHED: &str = "Published, without files and clients: behind NGINX with offload about 1.10 of StoRM's throughput and half its \
                         memory; StoRM about 10% busy, NGINX 0.1%.\n";

/// Concurrent downloads of the large file.
const LARGE_CLIENTS: usize = 4;

/// Size of the files, and the kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// Kept connections request the file again and again.
    Small,
    /// Some clients download one file each.
    Large,
}

/// Load that each way gets in turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfers {
    files: Files,
    tls: bool,
}

/// Loads of the tables. Grid transfers use TLS; the plain one shows the benefit of sending files by the
/// kernel.
pub(super) const LOADS: [Transfers; 3] = [
    Transfers { files: Files::Small, tls: true },
    Transfers { files: Files::Small, tls: false },
    Transfers { files: Files::Large, tls: true },
];

/// Measures one load. Returns its table.
pub(super) fn run(bench: &Bench<'_>, load: Transfers) -> Result<String> {
    let Transfers { files, tls } = load;
    let large_bytes = bench.large_bytes();
    let title = title(load, large_bytes / MIB);
    let rows = rounds(bench, &title, &WAYS, tls, |running| match files {
        Files::Small => {
            let report = wrk(running.address, tls, bench.seconds()).run()?;
            Ok(Loaded {
                transfers: report.requests,
                bytes: report.requests * SMALL_BYTES,
                p50_s: report.p50_us / 1e6,
                p99_s: report.p99_us / 1e6,
            })
        }
        Files::Large => {
            let download = Download {
                address: running.address,
                path: LARGE,
                tls,
                bytes: large_bytes,
                clients: LARGE_CLIENTS,
            };
            let took_s = download.run()?;
            let transfers = took_s.len() as u64;
            Ok(Loaded {
                transfers,
                bytes: transfers * large_bytes,
                p50_s: quantile(&took_s, 0.5),
                p99_s: quantile(&took_s, 0.99),
            })
        }
    })?;
    Ok(table(&title, &rows))
}

fn title(load: Transfers, large_mib: u64) -> String {
    let (mib, clients) = match load.files {
        Files::Small => (SMALL_BYTES / MIB, CLIENTS as usize),
        Files::Large => (large_mib, LARGE_CLIENTS),
    };
    format!("{clients} clients, {mib} MiB, {}", if load.tls { "TLS 1.3" } else { "plain" })
}

/// Returns a quantile (nearest rank) of ascending values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn table(title: &str, rows: &[Row]) -> String {
    let mut table = format!(
        "## StoRM WebDAV: {title}\n\n\
         | | MiB/s | to StoRM's own: median (min..max) | transfers/s | ms: p50, p99 | CPU a GiB, ms: all \
         | to StoRM's own: median (min..max) | StoRM | in front | busy, %: StoRM | in front | memory, MiB: StoRM | in front |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    let Some(base) = rows.iter().find(|row| row.way == Way::Storm) else {
        return table;
    };
    for row in rows {
        let _ = writeln!(
            table,
            "| {} | {:.0} | {} | {:.1} | {:.1}, {:.1} | {:.0} | {} | {} | {} | {} | {} | {} | {} |",
            row.name,
            row.median(Turn::mib_per_s),
            row.ratio(base, Turn::mib_per_s),
            row.median(Turn::transfers_per_s),
            row.median(|turn| turn.p50_s * 1e3),
            row.median(|turn| turn.p99_s * 1e3),
            row.median(Turn::cpu_ms_a_gib),
            row.ratio(base, Turn::cpu_ms_a_gib),
            row.of_storm(Turn::storm_ms_a_gib),
            row.of_front(Turn::front_ms_a_gib),
            row.of_storm(Turn::storm_busy),
            row.of_front(Turn::front_busy),
            row.of_storm(Turn::storm_mib),
            row.of_front(Turn::front_mib),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::{row, turn};
    use super::*;

    #[test]
    fn offload_stands_beside_what_it_replaces() {
        let rows = [
            row(Way::Storm, vec![turn(4.0, 4.0, 0.0)]),
            row(Way::Offloaded(Product::Weir), vec![turn(2.0, 0.2, 1.0)]),
        ];
        let table = table(&title(LOADS[2], 256), &rows);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "## StoRM WebDAV: 4 clients, 256 MiB, TLS 1.3");
        assert_eq!(
            lines[4..],
            [
                "| Storm | 256 | 1 | 1.0 | 2000.0, 4000.0 | 4000 | 1 | 4000 | - | 100 | - | 512 | - |",
                "| Offloaded(Weir) | 512 | 2.00 (2.00..2.00) | 2.0 | 1000.0, 2000.0 | 1200 | 0.30 (0.30..0.30) | 200 | 1000 \
                 | 10 | 50 | 512 | 16 |",
            ]
        );
    }

    #[test]
    fn quantiles_are_times_that_were_measured() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.99), 4.0);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
