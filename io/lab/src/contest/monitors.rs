//! Monitors on every machine of a scenario.

use std::sync::Arc;
use std::time::Duration;

use weir_config::lab::Watched;

use super::monitor::{self, Monitor};
use super::remote::Host;
use super::stage::{Network, Place};
use super::store::Sample;

/// They look from when this is made until it is asked for what they saw.
#[derive(Debug)]
pub(crate) struct Monitors {
    here: Monitor,
    there: Vec<Arc<Host>>,
}

/// What other machines do is kept under this name, each by its own.
const OTHERS: &str = "hosts";

impl Monitors {
    /// Begins with the balancer's processes and the servers', each on the machine that it is on.
    ///
    /// # Errors
    /// A machine cannot watch them.
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

    /// What they saw of a run of so many seconds, and why that says nothing.
    ///
    /// # Errors
    /// A machine cannot say.
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

/// With the name of its machine: numbers of processes are each machine's own.
fn of(host: &str, sample: Sample) -> Sample {
    match sample.source {
        "host" => Sample { source: OTHERS, subject: host.to_owned(), ..sample },
        _ => Sample { subject: format!("{host} {}", sample.subject), ..sample },
    }
}
