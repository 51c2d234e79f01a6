//! Options of `weir load`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use weir_lab::{Balance, units};

use super::others::{AbArgs, HttperfArgs};

/// Make load on a server, and say whether the figures can be trusted
///
/// By the clock (--rate: open loop), by connections that ask again when they are answered (--connections: closed loop), or by
/// sessions (--rate with --calls). In the open loop the schedule is kept whatever the server does, and latency counts from when
/// a request was due: a server that stalls shows its stall.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_long_help = "\
Examples:
  weir load --rate 500 --duration 30s http://10.0.0.1/
      500 requests a second, evenly spaced, for half a minute.
  weir load --rate 100..2000 --steps 20 --duration 10m --html sweep.html http://10.0.0.1/
      Twenty steps of half a minute each, and a page with curves.
  weir load --rate 50@1m,500@10s,50@1m --poisson http://10.0.0.1/
      A peak between two quiet minutes; arrivals at random, the same for the same --seed.
  weir load --connections 50 --requests 5000 --report ab http://10.0.0.1/file
      As ab does: 50 connections, each asks again when it is answered.
  weir load --rate 99.3 --calls 10 --duration 1m --report httperf http://10.0.0.1/
      As httperf does: so many connections a second, ten requests on each.
  weir load --rate 200 --mix GET=70,PUT=20,PROPFIND=10 --body-size 1MiB 'http://10.0.0.1/data/file-{i%1000}'
      A mix of methods on a thousand files; {i} is the number of the request.
  weir load --http2 --connections 10 --streams 20 -d 30s https://10.0.0.1/
      HTTP/2: ten connections with twenty requests at a time on each.
  weir load --rate 100 --targets targets.txt --output run.weir
      What a file in vegeta's format asks for; every request is kept in run.weir.
  weir load ab -n 5000 -c 50 -k http://10.0.0.1/file
  weir load httperf --server 10.0.0.1 --rate 99.3 --num-conns 6000 --num-calls 10
      The command lines of ab and httperf; `weir load ab --help` says which of their options.
  weir load report --type hdr run.weir
      Another report of a run that was kept.

The run is INVALID if it says nothing about the server: over 1% of the starts were over 1 ms late, less than 99% was sent, the
generator was out of CPU time, descriptors, ports or memory, bytes are not what was announced, or what --expect-... says is not
so. docs/guide/load.md explains each. THE SERVER FAILED if over 1% of the requests (--expect-success) were not answered as
expected: refused, reset, cut off, or with another status than --expect-status says.

Exit status:
  0  the run is valid, and the server did not fail
  1  the run is INVALID, or THE SERVER FAILED, or both
  2  the run could not be made: arguments, names, files")]
pub(crate) struct LoadArgs {
    #[command(subcommand)]
    pub(super) verb: Option<LoadVerb>,
    #[command(flatten)]
    pub(super) load: MakeArgs,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum LoadVerb {
    /// Report a run once more from the file that --output wrote
    Report(ReportArgs),
    Ab(AbArgs),
    #[command(infer_long_args = true)]
    Httperf(HttperfArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The result file; `-` = standard input.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) form: FormArgs,
}

/// Options for the report of a run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FormArgs {
    /// Write the report as this: text, json, ab, httperf, vegeta, vegeta-json, hdr, or `vegeta-hist[0,1ms,10ms]`.
    #[arg(long = "report", alias = "type", short = 't', value_name = "FORM", default_value = "text", value_parser = form)]
    pub(super) form: Form,
    /// Starts that were late because the machine was busy mark the run, and do not make it invalid.
    #[arg(long)]
    pub(super) accept_late: bool,
    /// Print for programs: the same as --report json.
    #[arg(long)]
    pub(super) json: bool,
    /// Write a page with curves to this file, too.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Write ab's file for gnuplot (its -g) to this file, too.
    #[arg(long, short = 'g', value_name = "FILE")]
    pub(super) gnuplot: Option<PathBuf>,
}

/// The format of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
    Ab,
    Httperf,
    Vegeta,
    VegetaJson,
    /// A histogram with these buckets.
    VegetaHistogram(String),
    Hdr,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MakeArgs {
    /// What to ask for; `{i}` stands for the number of the request, `{i%100}` for its rest.
    #[arg(value_name = "URL", required_unless_present_any = ["targets"])]
    pub(super) url: Option<String>,
    /// Requests per second: 500, 30/m, a ramp 10..200, or phases 100@10s,100..500@1m. With --calls: sessions per second.
    #[arg(long, short = 'r', value_name = "RATE", help_heading = "When requests start")]
    pub(super) rate: Option<String>,
    /// For how long requests are started, where phases or --requests do not say so; 10s unless told otherwise.
    #[arg(long, short = 'd', value_name = "TIME", value_parser = units::duration, help_heading = "When requests start")]
    pub(super) duration: Option<Duration>,
    /// Go from the first rate to the last in so many equal steps.
    #[arg(long, value_name = "N", requires = "rate", value_parser = clap::value_parser!(u32).range(2..=100_000), help_heading = "When requests start")]
    pub(super) steps: Option<u32>,
    /// Arrivals at random, independent of each other, instead of evenly spaced.
    #[arg(long, requires = "rate", help_heading = "When requests start")]
    pub(super) poisson: bool,
    /// Requests as this log says: common, combined, or Weir's JSON lines; only methods that change nothing. The URL says which server.
    #[arg(long, value_name = "LOG", conflicts_with_all = ["rate", "connections", "targets", "mix"], requires = "url", help_heading = "When requests start")]
    pub(super) replay: Option<PathBuf>,
    /// Play the log so many times as fast.
    #[arg(long, value_name = "TIMES", default_value = "1", requires = "replay", value_parser = speed, help_heading = "When requests start")]
    pub(super) speed: f64,
    /// Closed loop: so many connections, each of which asks again when it is answered.
    #[arg(long, short = 'c', value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "When requests start")]
    pub(super) connections: Option<u32>,
    /// No more requests than these (with --calls: than these sessions). A closed loop then lasts as long as they take, unless --duration is given.
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000), help_heading = "When requests start")]
    pub(super) requests: Option<u64>,
    /// Sessions: each arrival is a connection of its own with so many requests, one after another.
    #[arg(long, value_name = "N", requires = "rate", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "When requests start")]
    pub(super) calls: Option<u32>,
    /// Think for so long before the next request of a connection or session.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "When requests start")]
    pub(super) pause: Option<Duration>,
    /// Where randomness begins.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "When requests start")]
    pub(super) seed: u64,

    /// The method.
    #[arg(long, short = 'm', value_name = "METHOD", default_value = "GET", help_heading = "What is sent")]
    pub(super) method: String,
    /// Several methods by weight: GET=70,PUT=20,PROPFIND=10.
    #[arg(long, value_name = "MIX", conflicts_with = "targets", help_heading = "What is sent")]
    pub(super) mix: Option<String>,
    /// A header, as in 'Depth: 1'; several times if need be.
    #[arg(long, short = 'H', value_name = "HEADER", value_parser = header, help_heading = "What is sent")]
    pub(super) header: Vec<(String, String)>,
    /// The body: a text, or @FILE.
    #[arg(long, value_name = "BODY", conflicts_with = "targets", help_heading = "What is sent")]
    pub(super) body: Option<String>,
    /// A body of so many bytes, made up.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["body", "targets"], value_parser = units::size, help_heading = "What is sent")]
    pub(super) body_size: Option<u64>,
    /// Targets from a file in vegeta's text or JSON format, one after the other or by weight; `-` = standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "url", help_heading = "What is sent")]
    pub(super) targets: Option<PathBuf>,

    /// Speak HTTP/2: over TLS as agreed on by ALPN, without TLS with prior knowledge (h2c).
    #[arg(long, help_heading = "Connections")]
    pub(super) http2: bool,
    /// HTTP/2: so many requests at the same time on each connection; unless told otherwise 100 in an open loop, and 1 in a closed one. Sessions have 1.
    #[arg(long, value_name = "N", requires = "http2", conflicts_with = "calls", value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Connections")]
    pub(super) streams: Option<u32>,
    /// A new connection for each request.
    #[arg(long, conflicts_with = "calls", help_heading = "Connections")]
    pub(super) no_keep_alive: bool,
    /// Open loop: no more connections than these at the same time.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Connections")]
    pub(super) max_connections: u32,
    /// How long a request may take.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout, help_heading = "Connections")]
    pub(super) timeout: Duration,
    /// Come from these addresses of this machine, in turn.
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', help_heading = "Connections")]
    pub(super) source: Vec<IpAddr>,
    /// Accept any certificate.
    #[arg(long, short = 'k', help_heading = "Connections")]
    pub(super) insecure: bool,
    /// Accept certificates of the authorities in this PEM file instead of the system's.
    #[arg(long, value_name = "FILE", help_heading = "Connections")]
    pub(super) ca: Option<PathBuf>,
    /// The name that is sent and verified in TLS, instead of the URL's.
    #[arg(long, value_name = "NAME", help_heading = "Connections")]
    pub(super) server_name: Option<String>,
    /// Threads that make load; unless told otherwise one for each 15,000 requests per second, and no more than half of the cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Connections")]
    pub(super) threads: Option<u32>,

    /// These statuses are what the server should answer with: 200, or 2xx for all that begin so. Every other answer is a failure.
    #[arg(long, visible_alias = "expect", value_name = "STATUSES", value_delimiter = ',', default_value = "2xx,3xx", value_parser = statuses, help_heading = "What is expected of the server")]
    pub(super) expect_status: Vec<u16>,
    /// At least so many of the requests are answered as expected; with fewer the server has failed.
    #[arg(long, value_name = "PERCENT", default_value = "99%", value_parser = percent, help_heading = "What is expected of the server")]
    pub(super) expect_success: f64,
    /// Bytes of each answer's body.
    #[arg(long, value_name = "SIZE", value_parser = units::size, help_heading = "What is expected of the server")]
    pub(super) expect_size: Option<u64>,
    /// What the server takes before it answers, at least.
    #[arg(long, value_name = "TIME", value_parser = units::duration, help_heading = "What is expected of the server")]
    pub(super) expect_think_time: Option<Duration>,
    /// How requests are spread over servers: equal, equal:3, each:3 (none without any), one (all to the same), or a=2,b=1.
    #[arg(long, value_name = "SHARES", help_heading = "What is expected of the server")]
    pub(super) expect_balance: Option<Balance>,
    /// The header by which answers tell which server they are from; with --expect-balance it is X-Origin unless told otherwise.
    #[arg(long, value_name = "NAME", help_heading = "What is expected of the server")]
    pub(super) server_header: Option<String>,
    /// Check each answer's body: against what it announces (announced), or a checksum such as adler32=0a1b2c3d, crc32c=..., sha-256=... (hexadecimal). With announced also what PUT and POST send, against the checksum by which the server says what it got; uploads of which it says none are counted as not verified.
    #[arg(long, value_name = "CHECKSUM", help_heading = "What is expected of the server")]
    pub(super) verify: Option<String>,

    /// Keep every request in this file, for `weir load report`.
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Reports")]
    pub(super) output: Option<PathBuf>,
    /// Do not show how it goes.
    #[arg(long, short = 'q', help_heading = "Reports")]
    pub(super) quiet: bool,
    #[command(flatten, next_help_heading = "Reports")]
    pub(super) form: FormArgs,
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.001..=1_000.0).contains(&speed) { Ok(speed) } else { Err("out of range: 0.001 to 1000".to_owned()) }
}

fn timeout(text: &str) -> Result<Duration, String> {
    match units::duration(text)? {
        Duration::ZERO => Err("must be more than 0".to_owned()),
        timeout => Ok(timeout),
    }
}

/// Parses a status, or a class such as `2xx` to its first digit (see `Expected`).
fn statuses(text: &str) -> Result<u16, String> {
    let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
    match (class, text.parse::<u16>()) {
        (Some(digit), _) => digit.parse().ok().filter(|class| (2..=9).contains(class)),
        (None, status) => status.ok().filter(|status| (200..=999).contains(status)),
    }
    .ok_or_else(|| "write statuses from 200 to 999 or classes, as in 2xx,404".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).trim().parse::<f64>().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "write 0% to 100%, as in 99.5%".to_owned())
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a header is NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn form(text: &str) -> Result<Form, String> {
    Ok(match text {
        "text" => Form::Text,
        "json" => Form::Json,
        "ab" => Form::Ab,
        "httperf" => Form::Httperf,
        "vegeta" => Form::Vegeta,
        "vegeta-json" => Form::VegetaJson,
        "hdr" => Form::Hdr,
        _ => match text.strip_prefix("vegeta-hist").and_then(|rest| rest.strip_prefix('[')) {
            Some(buckets) => Form::VegetaHistogram(buckets.trim_end_matches(']').to_owned()),
            None => {
                return Err(
                    "one of text, json, ab, httperf, vegeta, vegeta-json, hdr, vegeta-hist[0,1ms,10ms]"
                        .to_owned(),
                );
            }
        },
    })
}
