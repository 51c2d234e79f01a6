//! Converts the options of `weir load` to a load.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use weir_config::plan::{TlsOut, TlsVersion};
use weir_lab::{
    Arrivals, Body, Expected, Load, Mode, Phases, RateError, TargetSpec, Verify, WANTED, parse_mix,
    parse_targets, read_log,
};

use super::arguments::MakeArgs;

/// Requests per second for one thread. Higher rates need more threads.
const RATE_PER_THREAD: f64 = 15_000.0;

/// Default time during which requests are started.
const DURATION: Duration = Duration::from_secs(10);

/// Returns the load that `args` describe. Adds notes for the user to `notes`.
pub(super) fn load(args: &MakeArgs, notes: &mut Vec<String>) -> Result<Load, String> {
    let mut log = Vec::new();
    let mut targets = targets(args)?;
    let pause_s = args.pause.map_or(0.0, |pause| pause.as_secs_f64());
    let arrivals = if args.poisson { Arrivals::Poisson { seed: args.seed } } else { Arrivals::Even };
    let mode = match (&args.rate, &args.replay) {
        (Some(rate), _) => {
            let phases = phases(args, rate).map_err(|cause| format!("--rate: {cause}"))?;
            match args.calls {
                Some(calls) => Mode::Sessions { phases, arrivals, calls, pause_s },
                None if pause_s > 0.0 => {
                    return Err("--pause: in an open loop the rate says when requests come; it goes with --connections or --calls".to_owned());
                }
                None => Mode::Open { phases, arrivals },
            }
        }
        (None, Some(path)) => {
            let base = targets.pop().unwrap_or_default();
            let name = path.display().to_string();
            let file = File::open(path).map_err(|cause| format!("{name}: {cause}"))?;
            let logged = read_log(&mut BufReader::new(file), args.speed, args.seed)
                .map_err(|cause| format!("{name}: {cause}"))?;
            if logged.skipped > 0 {
                notes.push(format!(
                    "{} lines of {name} are no requests that can be sent again",
                    logged.skipped
                ));
            }
            let server = server_of(&base.url);
            targets = logged
                .targets
                .into_iter()
                .map(|(method, path)| TargetSpec { method, url: format!("{server}{path}"), ..base.clone() })
                .collect();
            log = logged.requests;
            Mode::Replay { log: name, speed: args.speed }
        }
        (None, None) => {
            let connections = args.connections.ok_or(
                "say when requests start: --rate 500 (open loop), --connections 50 (closed loop) or --replay LOG",
            )?;
            Mode::Closed { connections: connections as usize, pause_s }
        }
    };
    let verify = args.verify.as_deref().map(verify).transpose()?;
    if verify == Some(Verify::Announced) {
        for target in &mut targets {
            let wants = |(name, _): &(String, String)| name.to_ascii_lowercase().starts_with("want-");
            if !target.headers.iter().any(wants) {
                target.headers.push(("Want-Digest".to_owned(), WANTED.to_owned()));
            }
        }
    }
    let is_closed = matches!(mode, Mode::Closed { .. });
    let server_header = match (&args.server_header, &args.expect_balance) {
        (Some(name), _) => name.clone(),
        (None, Some(_)) => "X-Origin".to_owned(),
        (None, None) => String::new(),
    };
    Ok(Load {
        threads: threads(args, &mode),
        ahead: false,
        targets,
        mode,
        log,
        requests_max: args.requests,
        duration: args.duration.or(args.requests.is_none().then_some(DURATION)).filter(|_| is_closed),
        seed: args.seed,
        streams: args.http2.then(|| streams(args, is_closed)),
        keep_alive: !args.no_keep_alive,
        connections_max: args.max_connections as usize,
        timeout: args.timeout,
        sources: args.source.clone(),
        tls: TlsOut {
            verify: !args.insecure,
            ca: args.ca.clone(),
            server_name: args.server_name.clone(),
            client_certificate: None,
            version_min: TlsVersion::V1_2,
        },
        verify,
        server_header,
        follow: Vec::new(),
        expected: Expected {
            statuses: args.expect_status.clone(),
            success_min_percent: args.expect_success,
            body_bytes: args.expect_size,
            think_ns: args.expect_think_time.map(|time| time.as_nanos() as u64),
            balance: args.expect_balance.clone(),
            accept_late: args.form.accept_late,
        },
        output: args.output.clone(),
    })
}

fn phases(args: &MakeArgs, rate: &str) -> Result<Phases, RateError> {
    let duration = match (args.duration, args.requests) {
        (Some(duration), _) => duration,
        (None, None) => DURATION,
        // The time that this number of requests takes at the rate.
        (None, Some(requests)) => {
            let per_s = Phases::parse(rate, Duration::from_secs(1), args.steps)?.requests();
            Duration::try_from_secs_f64(requests as f64 / per_s).unwrap_or(Duration::MAX)
        }
    };
    Phases::parse(rate, duration, args.steps)
}

/// Returns the number of concurrent streams on each connection. In a closed loop the default is one, as in
/// ab, wrk and h2load.
fn streams(args: &MakeArgs, is_closed: bool) -> usize {
    const STREAMS: usize = 100;
    let is_one = is_closed || args.calls.is_some();
    args.streams.map_or(if is_one { 1 } else { STREAMS }, |streams| streams as usize)
}

fn threads(args: &MakeArgs, mode: &Mode) -> usize {
    if let Some(threads) = args.threads {
        return threads as usize;
    }
    let half = thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
    match mode {
        Mode::Open { phases, .. } | Mode::Sessions { phases, .. } => {
            half.min((phases.rate_max_per_s() / RATE_PER_THREAD) as usize + 1)
        }
        Mode::Replay { .. } => 1,
        Mode::Closed { connections, .. } => half.min(*connections),
    }
}

fn targets(args: &MakeArgs) -> Result<Vec<TargetSpec>, String> {
    if let Some(path) = &args.targets {
        let mut targets = read_targets(path)?;
        for target in &mut targets {
            target.headers.extend(args.header.iter().cloned());
        }
        return Ok(targets);
    }
    let base = TargetSpec {
        method: args.method.clone(),
        url: args.url.clone().unwrap_or_default(),
        headers: args.header.clone(),
        body: body(args)?,
        weight: None,
    };
    match &args.mix {
        Some(mix) => parse_mix(mix, &base).map_err(|cause| format!("--mix: {cause}")),
        None => Ok(vec![base]),
    }
}

fn read_targets(path: &Path) -> Result<Vec<TargetSpec>, String> {
    let mut text = String::new();
    let (name, read) = if path == Path::new("-") {
        ("standard input".to_owned(), std::io::stdin().lock().read_to_string(&mut text).map(drop))
    } else {
        (path.display().to_string(), fs::read_to_string(path).map(|read| text = read))
    };
    read.map_err(|cause| format!("{name}: {cause}"))?;
    let directory = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    parse_targets(&text, &directory).map_err(|cause| format!("{name}: {cause}"))
}

fn body(args: &MakeArgs) -> Result<Body, String> {
    match (&args.body, args.body_size) {
        (Some(text), _) => match text.strip_prefix('@') {
            Some(path) => Body::file(Path::new(path)).map_err(|cause| format!("--body: {cause}")),
            None => Ok(Body::Bytes(Arc::from(text.as_bytes()))),
        },
        (None, Some(bytes)) => Ok(Body::Generated { bytes }),
        (None, None) => Ok(Body::Empty),
    }
}

fn verify(text: &str) -> Result<Verify, String> {
    text.parse().map_err(|cause| format!("--verify: {cause}"))
}

/// Returns the `http://host:port` part of a URL.
fn server_of(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url[authority..].find(['/', '?']).map_or(url.len(), |at| authority + at);
    &url[..end]
}
