//! One client and one large file: published experiment 3.

use std::fmt::Write as _;

use super::figures::{Loaded, Row, Turn, rounds};
use super::transfers::Download;
use super::ways::Way;
use super::{Bench, LARGE};
use crate::error::Result;
use crate::rivals::Product;
use crate::statistics::Spread;
use crate::storage::MIB;

/// Ways of the publication, followed by further ones.
const WAYS: [Way; 7] = [
    Way::Storm,
    Way::Proxied(Product::Nginx),
    Way::Proxied(Product::HaProxy),
    Way::Proxied(Product::Weir),
    Way::Offloaded(Product::Nginx),
    Way::Offloaded(Product::Weir),
    Way::Weir,
];

/// Returns the published time for 1 GB, with its ratio to StoRM's own time.
fn published(way: Way) -> &'static str {
    match way {
        Way::Storm => "3.87 s; StoRM 62% busy",
        Way::Proxied(Product::Nginx) => "8.95 s (2.31); NGINX 100% busy",
        Way::Proxied(Product::HaProxy) => "3.59 s (0.93); HAProxy 95% busy",
        _ => "",
    }
}

/// Measures one download. It uses TLS as published: to the balancer, and again to StoRM, unless another
/// program sends StoRM's files.
pub(super) fn run(bench: &Bench<'_>) -> Result<String> {
    let bytes = bench.large_bytes();
    let rows = rounds(bench, "one download", &WAYS, true, |running| {
        let download = Download { address: running.address, path: LARGE, tls: true, bytes, clients: 1 };
        let took_s = download.run()?[0];
        Ok(Loaded { transfers: 1, bytes, p50_s: took_s, p99_s: took_s })
    })?;
    Ok(table(&rows, bytes / MIB))
}

fn table(rows: &[Row], mib: u64) -> String {
    let mut table = format!(
        "## StoRM WebDAV: one download of {mib} MiB by curl, TLS 1.3\n\n\
         | | seconds: median (min..max) | to StoRM's own: median (min..max) | MiB/s | CPU a GiB, ms: all | StoRM | in front \
         | busy, %: StoRM | in front | published, 1 GB |\n|---|---|---|---|---|---|---|---|---|---|\n"
    );
    let Some(base) = rows.iter().find(|row| row.way == Way::Storm) else {
        return table;
    };
    for row in rows {
        let Some(Spread { min, median, max }) = Spread::of(row.turns.iter().map(|turn| turn.p50_s)) else {
            continue;
        };
        let _ = writeln!(
            table,
            "| {} | {median:.2} ({min:.2}..{max:.2}) | {} | {:.0} | {:.0} | {} | {} | {} | {} | {} |",
            row.name,
            row.ratio(base, |turn| turn.p50_s),
            mib as f64 / median,
            row.median(Turn::cpu_ms_a_gib),
            row.of_storm(Turn::storm_ms_a_gib),
            row.of_front(Turn::front_ms_a_gib),
            row.of_storm(Turn::storm_busy),
            row.of_front(Turn::front_busy),
            published(row.way),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::figures::tests::{row, turn};
    use super::*;

    #[test]
    fn each_way_stands_beside_its_published_figure() {
        let rows = [
            row(Way::Storm, vec![turn(4.0, 2.0, 0.0)]),
            row(Way::Proxied(Product::Nginx), vec![turn(8.0, 2.0, 6.0)]),
            row(Way::Weir, vec![turn(2.0, 0.0, 1.0)]),
        ];
        let table = table(&rows, 1024);
        let lines: Vec<&str> = table.lines().skip(4).collect();
        assert_eq!(
            lines,
            [
                "| Storm | 2.00 (2.00..2.00) | 1 | 512 | 2000 | 2000 | - | 50 | - | 3.87 s; StoRM 62% busy |",
                "| Proxied(Nginx) | 4.00 (4.00..4.00) | 2.00 (2.00..2.00) | 256 | 8000 | 2000 | 6000 | 25 | 75 \
                 | 8.95 s (2.31); NGINX 100% busy |",
                "| Weir | 1.00 (1.00..1.00) | 0.50 (0.50..0.50) | 1024 | 1000 | - | 1000 | - | 50 |  |",
            ]
        );
    }
}
