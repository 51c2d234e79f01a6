//! Monitors of balancer, servers and host during a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_config::lab::Watched;

use super::store::Sample;
use crate::watch::{
    Disks, Energy, Host, Interfaces, Moment, Processes, Source, Tcp, Watch, WatchError, Which,
};

/// Sources of samples: processes of the balancer and of the servers, TCP of their networks, and the machine.
/// A scenario may add disks, interfaces and energy.
pub(crate) const SOURCES: [&str; 8] =
    ["balancer", "servers", "balancer-tcp", "servers-tcp", "host", "disks", "interfaces", "energy"];

/// Thread that takes samples at regular intervals, at the beginning and at the end.
#[derive(Debug)]
pub(crate) struct Monitor {
    stop: Sender<()>,
    thread: JoinHandle<Result<Vec<Sample>, WatchError>>,
}

impl Monitor {
    /// Starts the monitor.
    pub(crate) fn start(
        every: Duration,
        further: Vec<Watched>,
        balancer: Vec<u32>,
        servers: Vec<u32>,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let look = move || {
            let tcp = tcp(&balancer, &servers);
            let further = further.into_iter().map(|what| Ok((what.name(), watch(source(what, &balancer)?))));
            let further = further.collect::<Result<Vec<_>, WatchError>>()?;
            let mut watches = [("balancer", balancer), ("servers", servers)]
                .into_iter()
                .filter(|(_, pids)| !pids.is_empty())
                .map(|(name, pids)| (name, watch(processes(&pids))))
                .collect::<Vec<_>>();
            watches.extend(tcp.into_iter().chain(further));
            watches.push(("host", watch(Box::new(Host::new()?))));
            let mut samples = Vec::new();
            loop {
                for (name, watch) in &mut watches {
                    add(&mut samples, name, &watch.read()?);
                }
                let _ = ready.send(());
                match stopped.recv_timeout(every) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            // Reads the machine first at the end, and last at the beginning. The cost of reading processes is
            // therefore outside the measured interval.
            for (name, watch) in watches.iter_mut().rev() {
                add(&mut samples, name, &watch.read()?);
            }
            Ok(samples)
        };
        let thread = std::thread::Builder::new().name("monitor".to_owned()).spawn(look)?;
        // Waits for the first sample before the first request. `finish` reports a failure of the first
        // sample.
        let _ = is_ready.recv();
        Ok(Self { stop, thread })
    }

    /// Takes the last sample and returns all of them.
    pub(crate) fn finish(self) -> Result<Vec<Sample>, String> {
        let _ = self.stop.send(());
        let seen = self.thread.join().map_err(|_| "it has panicked".to_owned())?;
        seen.map_err(|cause| cause.to_string())
    }
}

/// Returns a source. Without a balancer, the interfaces are those of the machine.
fn source(what: Watched, balancer: &[u32]) -> Result<Box<dyn Source>, WatchError> {
    Ok(match what {
        Watched::Disks => Box::new(Disks::new(Vec::new())?),
        Watched::Interfaces => match balancer.iter().find_map(|pid| Interfaces::of(*pid).ok()) {
            Some(interfaces) => Box::new(interfaces),
            None => Box::new(Interfaces::new(Vec::new())?),
        },
        Watched::Energy => Box::new(Energy::new()?),
    })
}

fn watch(source: Box<dyn Source>) -> Watch {
    Watch::new(vec![source])
}

/// Returns TCP sources for the networks of these processes, each network once.
fn tcp(balancer: &[u32], servers: &[u32]) -> Vec<(&'static str, Watch)> {
    let network = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let of = |pids: &[u32]| pids.iter().find_map(|pid| Some((Tcp::of(*pid).ok()?, network(pid)?)));
    let (balancer, servers) = (of(balancer), of(servers));
    let is_one = matches!((&balancer, &servers), (Some((_, one)), Some((_, other))) if one == other);
    [("balancer-tcp", balancer), ("servers-tcp", servers.filter(|_| !is_one))]
        .into_iter()
        .filter_map(|(name, found)| Some((name, watch(Box::new(found?.0)))))
        .collect()
}

/// Watches the processes that still exist. The id of an ended process may belong to another one.
fn processes(pids: &[u32]) -> Box<dyn Source> {
    let is_there = |pid: &&u32| Path::new("/proc").join(pid.to_string()).exists();
    Box::new(Processes::new(pids.iter().filter(is_there).map(|pid| Which::Pid(*pid)).collect()))
}

fn add(samples: &mut Vec<Sample>, source: &'static str, moment: &Moment) {
    for reading in &moment.readings {
        for (row, derived) in &reading.rows {
            let names =
                reading.columns.iter().map(|it| it.name).chain(reading.derived.iter().map(|it| it.name));
            let values = row.values.iter().chain(derived);
            let known = names.zip(values).filter_map(|(figure, value)| Some((figure, (*value)?)));
            samples.extend(known.map(|(figure, value)| Sample {
                at_s: moment.elapsed.as_secs_f64(),
                source,
                subject: row.subject.clone(),
                figure,
                value,
            }));
        }
    }
}

/// Returns the CPU seconds that all subjects of a source used between the first sample and the last.
pub(crate) fn cpu_seconds(samples: &[Sample], source: &str) -> Option<f64> {
    let mut ends: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for sample in samples.iter().filter(|it| it.source == source && it.figure == "cpu_s") {
        ends.entry(sample.subject.as_str())
            .and_modify(|(_, last)| *last = sample.value)
            .or_insert((sample.value, sample.value));
    }
    (!ends.is_empty()).then(|| ends.values().map(|(first, last)| last - first).sum())
}

/// Returns the CPU seconds of the whole machine between the first sample and the last: all time of its
/// processors minus idle, I/O wait and steal time. Does not sum the busy modes, because kernels count those
/// per tick, but idle time to the microsecond.
pub(crate) fn machine_cpu_seconds(samples: &[Sample], processors: usize) -> Option<f64> {
    let spent = |figure: &str| {
        let mut own = samples.iter().filter(|it| it.source == "host" && it.figure == figure);
        let first = own.next()?;
        let last = own.next_back()?;
        Some((last.value - first.value, last.at_s - first.at_s))
    };
    let (idle_s, seconds) = spent("cpu_idle_s")?;
    // Old kernels do not report these two.
    let others = ["cpu_iowait_s", "cpu_steal_s"].into_iter().filter_map(spent).map(|(spent_s, _)| spent_s);
    (processors > 0).then(|| (seconds * processors as f64 - idle_s - others.sum::<f64>()).max(0.0))
}

/// Returns the number of processors of the machine, whether this program may use them or not. 0 = unknown.
pub(crate) fn processors() -> usize {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let is_one = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    text.lines().filter(is_one).count()
}

/// Returns the memory of all subjects of a source in the last sample. Shared pages count once.
pub(crate) fn memory_bytes(samples: &[Sample], source: &str) -> Option<f64> {
    let mut last: BTreeMap<&str, f64> = BTreeMap::new();
    for figure in ["resident_bytes", "proportional_bytes"] {
        let own = samples.iter().filter(|it| it.source == source && it.figure == figure);
        // Proportional memory is more exact, if it can be read.
        last.extend(own.map(|sample| (sample.subject.as_str(), sample.value)));
    }
    (!last.is_empty()).then(|| last.values().sum())
}

/// Returns a reason if the samples do not cover a run of `seconds` seconds.
pub(crate) fn flaw(samples: &[Sample], seconds: f64, every: Duration) -> Option<String> {
    let mut looks: Vec<f64> =
        samples.iter().filter(|sample| sample.source == "host").map(|it| it.at_s).collect();
    looks.dedup();
    let expected = (seconds / every.as_secs_f64()).floor();
    if looks.len() < 2 || (looks.len() as f64) < expected * 0.5 {
        return Some(format!("monitors looked {} times, not {expected:.0}", looks.len()));
    }
    // Samples begin just before the load and end just after it.
    let outside = looks.iter().filter(|at| **at > seconds + 2.0).count();
    (outside > 0).then(|| format!("{outside} of {} looks of monitors lie outside of the run", looks.len()))
}

/// Returns a process that reached its limit of file descriptors. Its figures then do not show its speed.
pub(crate) fn out_of_descriptors(samples: &[Sample]) -> Option<String> {
    let most = |subject: &str, figure: &str| {
        let own = samples.iter().filter(|it| it.subject == subject && it.figure == figure);
        own.map(|it| it.value).reduce(f64::max)
    };
    let of_processes = samples.iter().filter(|it| ["balancer", "servers"].contains(&it.source));
    let subjects: BTreeSet<&str> = of_processes.map(|it| it.subject.as_str()).collect();
    subjects.into_iter().find_map(|subject| {
        let (open, limit) = most(subject, "descriptors").zip(most(subject, "descriptor_limit"))?;
        (open >= limit).then(|| {
            format!("{subject} was out of descriptors: it had {open} open, and may have {limit} (ulimit -n)")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_of_the_machine_is_whatever_was_not_without_work() {
        let sample = |at_s, figure, value| Sample {
            at_s,
            source: "host",
            subject: "machine".to_owned(),
            figure,
            value,
        };
        let figures = [("cpu_idle_s", 100.0, 102.5), ("cpu_iowait_s", 7.0, 7.25), ("cpu_steal_s", 0.0, 0.5)];
        let first = figures.map(|(figure, value, _)| sample(0.5, figure, value));
        let last = figures.map(|(figure, _, value)| sample(2.5, figure, value));
        let samples = [first, last].concat();
        assert_eq!(machine_cpu_seconds(&samples, 2), Some(0.75));
        assert_eq!(machine_cpu_seconds(&samples, 0), None);
        assert_eq!(machine_cpu_seconds(&samples[..3], 2), None);
        assert!(processors() > 0);
    }

    #[test]
    fn who_has_as_many_descriptors_as_it_may_is_out_of_them() {
        let sample = |source, subject: &str, figure, value| Sample {
            at_s: 1.0,
            source,
            subject: subject.to_owned(),
            figure,
            value,
        };
        let of = |open: f64| {
            [
                sample("balancer", "haproxy[7]", "descriptors", 12.0),
                sample("balancer", "haproxy[7]", "descriptor_limit", 1_024.0),
                sample("balancer", "haproxy[7]", "descriptors", open),
                sample("servers", "nginx[8]", "descriptors", 9_999.0),
                sample("host", "machine", "descriptors", 5.0),
            ]
        };
        assert_eq!(out_of_descriptors(&of(1_023.0)), None);
        let said = out_of_descriptors(&of(1_024.0)).unwrap();
        assert_eq!(
            said,
            "haproxy[7] was out of descriptors: it had 1024 open, and may have 1024 (ulimit -n)"
        );
    }

    #[test]
    fn looks_that_lie_outside_of_the_run_are_a_flaw() {
        let look = |at_s| Sample {
            at_s,
            source: "host",
            subject: "machine".to_owned(),
            figure: "cpu_idle_s",
            value: 1.0,
        };
        let every = Duration::from_secs(1);
        // The last sample comes after the run, on a busy machine a moment later.
        assert_eq!(flaw(&[0.0, 1.0, 2.0, 3.0, 3.5].map(look), 3.0, every), None);
        let said = flaw(&[0.0, 1.0, 2.0, 3.0, 3.5, 7.0, 8.0].map(look), 3.0, every).unwrap();
        assert_eq!(said, "2 of 7 looks of monitors lie outside of the run");
    }

    #[test]
    fn the_cpu_of_a_process_is_counted_from_the_first_look_to_the_last() {
        let own = std::process::id();
        let further = Watched::ALL.to_vec();
        let monitor =
            Monitor::start(Duration::from_millis(10), further, vec![own, u32::MAX], Vec::new()).unwrap();
        let start = std::time::Instant::now();
        let mut sum = 0_u64;
        while start.elapsed() < Duration::from_millis(120) {
            sum = (0..100_000).fold(sum, u64::wrapping_add);
        }
        let samples = monitor.finish().unwrap();
        let cpu = cpu_seconds(&samples, "balancer").unwrap();
        assert!(cpu > 0.0, "{cpu} {sum}");
        assert_eq!(cpu_seconds(&samples, "servers"), None);
        assert!(memory_bytes(&samples, "balancer").unwrap() > 1e5);
        let is_seen =
            |source| samples.iter().any(|it| it.source == source && it.figure == "listen_overflows");
        assert!(is_seen("balancer-tcp") && !is_seen("servers-tcp"));
        let of = |source, figure: &str| samples.iter().any(|it| it.source == source && it.figure == figure);
        assert!(of("interfaces", "received_bytes"));
        assert!(of("energy", "energy_j") || of("energy", "cpu_seconds"));
        assert_eq!(flaw(&samples, 0.12, Duration::from_millis(60)), None);
        assert!(flaw(&samples, 1_000.0, Duration::from_secs(1)).unwrap().contains("looked"));
        assert!(flaw(&[], 1.0, Duration::from_secs(1)).is_some());
    }
}
