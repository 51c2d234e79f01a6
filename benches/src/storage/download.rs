//! Downloads from Weir and NGINX.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::server::{FileServer, WeirSetup, root_on_disk, start_nginx, start_weir};
use super::{GIB, MIB, Outcome, verdict};
use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::options::Storage;
use crate::statistics::Spread;
use crate::workshop::Workshop;
use crate::wrk::Load;

/// One kind of download.
#[derive(Clone, Copy)]
struct Scenario {
    name: &'static str,
    path: &'static str,
    bytes: u64,
    tls: bool,
    how: How,
    /// Highest accepted ratio of Weir's CPU to NGINX's.
    required: Option<f64>,
}

#[derive(Clone, Copy)]
enum How {
    /// This number of connections, each of which sends one request after the other.
    Wrk(u32),
    /// This number of downloads by curl, one after the other.
    Curl(usize),
}

const SCENARIOS: [Scenario; 5] = [
    Scenario { name: "1 MB", path: "/1m", bytes: MIB, tls: false, how: How::Wrk(16), required: Some(1.0) },
    Scenario {
        name: "1 MB, TLS",
        path: "/1m",
        bytes: MIB,
        tls: true,
        how: How::Wrk(16),
        required: Some(1.0),
    },
    Scenario { name: "1 GB", path: "/1g", bytes: GIB, tls: false, how: How::Curl(3), required: Some(1.0) },
    Scenario {
        name: "1 GB, TLS",
        path: "/1g",
        bytes: GIB,
        tls: true,
        how: How::Curl(2),
        required: Some(1.0),
    },
    Scenario {
        name: "4 KB, 1,000 clients",
        path: "/4k",
        bytes: 4096,
        tls: false,
        how: How::Wrk(1000),
        required: None,
    },
];

/// Cost of one turn.
struct Turn {
    cpu_ns_per_mib: f64,
    mib_per_s: f64,
}

/// Compares the cost of downloads with NGINX's.
pub(super) fn run(options: &Storage) -> Result<Outcome> {
    let workshop = Workshop::open()?;
    let root = root_on_disk()?;
    fill(root.path())?;
    let mut kept = true;
    let mut table = "## Downloads, from the page cache\n\n| file | Weir, CPU a GiB | NGINX | ratio: median (min..max) | MiB/s: Weir, NGINX | |\n|---|---|---|---|---|---|\n".to_owned();
    for scenario in SCENARIOS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for turn in 0..options.turns() {
            let order = if turn % 2 == 0 { [true, false] } else { [false, true] };
            for is_weir in order {
                let server = if is_weir {
                    start_weir(&workshop, root.path(), WeirSetup { tls: scenario.tls, ..WeirSetup::PLAIN })?
                } else {
                    start_nginx(&workshop, root.path(), scenario.tls)?
                };
                let cost = measure(&server, scenario, options)?;
                let who = if is_weir { "weir" } else { "nginx" };
                eprintln!(
                    "{}: {who}, turn {}: {:.0} ms a GiB, {:.0} MiB/s",
                    scenario.name,
                    turn + 1,
                    cost.cpu_ns_per_mib * 1024.0 / 1e6,
                    cost.mib_per_s
                );
                if is_weir { ours.push(cost) } else { theirs.push(cost) }
            }
        }
        let ratios =
            ours.iter().zip(&theirs).map(|(ours, theirs)| ours.cpu_ns_per_mib / theirs.cpu_ns_per_mib);
        let Some(Spread { min, median: ratio, max }) = Spread::of(ratios) else { continue };
        let median = |turns: &[Turn], figure: fn(&Turn) -> f64| {
            Spread::of(turns.iter().map(figure)).map_or(0.0, |spread| spread.median)
        };
        let cpu = |turns: &[Turn]| median(turns, |turn| turn.cpu_ns_per_mib) * 1024.0 / 1e6;
        let rate = |turns: &[Turn]| median(turns, |turn| turn.mib_per_s);
        let word = scenario.required.map_or("", |most| {
            kept &= ratio <= most;
            verdict(ratio <= most)
        });
        let _ = writeln!(
            table,
            "| {} | {:.0} ms | {:.0} ms | {ratio:.2} ({min:.2}..{max:.2}) | {:.0}, {:.0} | {word} |",
            scenario.name,
            cpu(&ours),
            cpu(&theirs),
            rate(&ours),
            rate(&theirs),
        );
    }
    Ok(Outcome { table, kept })
}

fn measure(server: &FileServer, scenario: Scenario, options: &Storage) -> Result<Turn> {
    let load = |seconds, connections| Load {
        address: server.address,
        path: scenario.path,
        tls: scenario.tls,
        closes: false,
        connections,
        duration: Duration::from_secs(seconds),
    };
    match scenario.how {
        How::Wrk(connections) => drop(load(1, connections).run()?),
        How::Curl(_) => download(server.address, scenario, 1)?,
    }
    let before = cpu::cpu_time(server.process.pid());
    let since = std::time::Instant::now();
    let downloads = match scenario.how {
        How::Wrk(connections) => load(options.seconds.max(1), connections).run()?.requests,
        How::Curl(times) => {
            download(server.address, scenario, times)?;
            times as u64
        }
    };
    let elapsed = since.elapsed();
    let spent = cpu::cpu_time(server.process.pid()).saturating_sub(before);
    let mib = (downloads * scenario.bytes) as f64 / MIB as f64;
    Ok(Turn { cpu_ns_per_mib: spent.as_nanos() as f64 / mib, mib_per_s: mib / elapsed.as_secs_f64() })
}

/// Downloads the file `times` times over one connection.
fn download(address: SocketAddr, scenario: Scenario, times: usize) -> Result<()> {
    let scheme = if scenario.tls { "https" } else { "http" };
    let url = format!("{scheme}://{address}{}", scenario.path);
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--fail", "--insecure"]);
    for _ in 0..times {
        curl.args(["--output", "/dev/null", &url]);
    }
    let output = curl.output().context("curl")?;
    if !output.status.success() {
        return Err(Error::new(format!("curl {url}: {}", String::from_utf8_lossy(&output.stderr).trim())));
    }
    Ok(())
}

/// Creates the files; their content is in the page cache afterwards.
fn fill(root: &Path) -> Result<()> {
    let block: Vec<u8> = (0..MIB).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
    for (name, bytes) in [("4k", 4096), ("1m", MIB), ("1g", GIB)] {
        let path = root.join(name);
        let mut file = File::create(&path).context(path.display())?;
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(MIB);
            file.write_all(&block[..piece as usize]).context(path.display())?;
            left -= piece;
        }
        file.sync_all().context(path.display())?;
    }
    Ok(())
}
