//! Servers that come and go with demand: the assignment of a balancer, the number of servers, and their end.

use std::fs;
use std::path::Path;

use weir_config::lab::{Case, FleetSetup, Product, Rival};
use weir_scale::history::Row;

use super::rivals::FleetAssignment;
use super::servers::service;
use super::stage::{FAMILY_VARIABLE, Ledger};
use super::store::Sample;
use super::turn::Ring;

/// File that a fleet writes in the directory of its balancer.
pub(crate) const HISTORY: &str = "fleet.csv";

impl Ring<'_> {
    /// Returns the assignment of a balancer for its fleet.
    pub(crate) fn fleet(&self, setup: &FleetSetup) -> FleetAssignment {
        let servers = &self.scenario.servers;
        let words = ["origin", "--bind", "{address}:{port}", "--name", "{machine}"].map(str::to_owned);
        let mut command = vec![self.park.own().display().to_string()];
        command.extend(words);
        // All servers are alike.
        command.extend(service(servers, 0));
        if setup.boot.0 > 0 {
            let sleep = format!("sleep {}; exec \"$0\" \"$@\"", setup.boot.duration().as_secs_f64());
            command.splice(0..0, ["/bin/sh".to_owned(), "-c".to_owned(), sleep]);
        }
        let environment = (FAMILY_VARIABLE.to_owned(), Ledger::family_name());
        FleetAssignment { setup: setup.clone(), command, environment }
    }

    /// Returns the mean number of running servers. If one rival has a fleet, all rivals have this figure.
    pub(crate) fn servers_that_ran(
        &self,
        case: &Case,
        rival: &Rival,
        samples: &[Sample],
        seconds: f64,
    ) -> Option<f64> {
        if rival.fleet.is_some() {
            return mean(samples, seconds);
        }
        let is_asked = self.scenario.rivals.iter().any(|rival| rival.fleet.is_some());
        (is_asked && rival.product != Product::None).then_some(f64::from(case.servers))
    }
}

/// Reads the file of the fleet in this directory, for a run with this start and duration.
pub(crate) fn samples(directory: &Path, started_unix_s: f64, seconds: f64) -> Vec<Sample> {
    let text = fs::read_to_string(directory.join(HISTORY)).unwrap_or_default();
    let rows: Vec<(f64, Row)> = text
        .lines()
        .filter_map(Row::parse)
        .map(|row| (row.timestamp - started_unix_s, row))
        .filter(|(at_s, _)| *at_s <= seconds)
        .collect();
    // The last line before the start of the run has the state at the start.
    let first = rows.iter().rposition(|(at_s, _)| *at_s <= 0.0).unwrap_or(0);
    let sample = |at_s: f64, figure, value: f64| Sample {
        at_s: at_s.max(0.0),
        source: "fleet",
        subject: String::new(),
        figure,
        value,
    };
    rows.iter()
        .skip(first)
        .flat_map(|(at_s, row)| {
            let servers =
                [("needed", row.needed), ("running", row.active_cloud), ("in_use", row.active_balancer)];
            let servers = servers.map(|(figure, value)| sample(*at_s, figure, f64::from(value)));
            let rate = row.rate_per_s.map(|rate| sample(*at_s, "rate_per_s", rate));
            servers.into_iter().chain(rate)
        })
        .collect()
}

/// Returns the mean number of running servers. Each number holds until the next one.
fn mean(samples: &[Sample], seconds: f64) -> Option<f64> {
    let running: Vec<(f64, f64)> = samples
        .iter()
        .filter(|sample| sample.source == "fleet" && sample.figure == "running")
        .map(|sample| (sample.at_s, sample.value))
        .collect();
    let ends = running.iter().skip(1).map(|(at_s, _)| *at_s).chain([seconds]);
    let area: f64 = running.iter().zip(ends).map(|((from, value), to)| value * (to - from).max(0.0)).sum();
    let from = running.first()?.0;
    (seconds > from).then(|| area / (seconds - from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_counted_by_how_long_they_ran_within_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let row = |timestamp: f64, running| Row { timestamp, active_cloud: running, ..Row::default() };
        let rows = [row(990.0, 1), row(998.0, 2), row(1_004.0, 6), row(1_006.0, 4), row(1_030.0, 9)];
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        fs::write(directory.path().join(HISTORY), format!("timestamp\n{lines}")).unwrap();
        let seen = samples(directory.path(), 1_000.0, 10.0);
        // 2 servers for 4 s, 6 for 2 s, 4 for 4 s.
        assert_eq!(mean(&seen, 10.0), Some((8.0 + 12.0 + 16.0) / 10.0));
        assert_eq!(mean(&samples(Path::new("/nowhere"), 0.0, 1.0), 1.0), None);
    }
}
