//! Monitors on every machine of a scenario.

use std::sync::Arc;
use std::time::Duration;

use weir_config::lab::Watched;

use super::monitor::{self, Monitor};
use super::remote::Host;
use super::stage::{Network, Place};
use super::store::Sample;

/// Monitors that run from creation until their samples are collected.
#[derive(Debug)]
pub(crate) struct Monitors {
    here: Monitor,
    there: Vec<Arc<Host>>,
}

/// Source name of samples from other machines.
const OTHERS: &str = "hosts";

impl Monitors {
    /// Starts with the processes of the balancer and of the servers, each on its own machine.
    ///
    /// # Errors
    /// If a machine cannot watch them.
    pub(crate) fn start(
        network: &Network,
        (every, further): (Duration, &[Watched]),
        balancer: Vec<u32>,
        servers: Vec<(Place, Vec<u32>)>,
    ) -> Result<Self, String> {
        let Some(hosts) = network.hosts() else {
            let servers = servers.into_iter().flat_map(|(_, members)| members).collect();
            let here = Monitor::start(every, further.to_vec(), balancer, servers)
                .map_err(|cause| cause.to_string())?;
            return Ok(Self { here, there: Vec::new() });
        };
        let mut there = Vec::new();
        for host in hosts.each() {
            let is_here = |place| hosts.at(place).is_some_and(|other| Arc::ptr_eq(other, host));
            let balancer = if is_here(Place::Balancer) { balancer.clone() } else { Vec::new() };
            let servers = servers.iter().filter(|(place, _)| is_here(*place));
            host.watch(
                (every, further),
                balancer,
                servers.flat_map(|(_, members)| members).copied().collect(),
            )?;
            there.push(Arc::clone(host));
        }
        let here = Monitor::start(every, further.to_vec(), Vec::new(), Vec::new())
            .map_err(|cause| cause.to_string())?;
        Ok(Self { here, there })
    }

    /// Returns the samples of a run of `seconds` seconds, and the reasons why they are not valid.
    ///
    /// # Errors
    /// If a machine cannot return its samples.
    pub(crate) fn finish(self, seconds: f64, every: Duration) -> Result<(Vec<Sample>, Vec<String>), String> {
        let mut samples = self.here.finish()?;
        let mut flaws: Vec<String> = monitor::flaw(&samples, seconds, every).into_iter().collect();
        for host in self.there {
            let seen = host.seen()?;
            let flaw = monitor::flaw(&seen, seconds, every);
            flaws.extend(flaw.map(|flaw| format!("{}: {flaw}", host.name)));
            samples.extend(seen.into_iter().map(|sample| of(&host.name, sample)));
        }
        flaws.extend(monitor::out_of_descriptors(&samples));
        Ok((samples, flaws))
    }
}

/// Adds the name of the machine to the subject, because process ids are unique only per machine.
fn of(host: &str, sample: Sample) -> Sample {
    match sample.source {
        "host" => Sample { source: OTHERS, subject: host.to_owned(), ..sample },
        _ => Sample { subject: format!("{host} {}", sample.subject), ..sample },
    }
}
