//! Options of `weir fleet backtest`.

use std::path::PathBuf;

use weir_config::simulation::SimTime;
use weir_sim::{Pattern, World};

/// Compare scaling policies on recorded or synthetic demand
///
/// Plays demand against a simulated fleet, once for each policy and seed, and says how long servers ran, for how many seconds there were
/// too few of them, what was refused and what it cost. The policies are the very code that decides about a fleet, once a
/// second. The others are compared with the one that is named first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  weir fleet backtest
      The load of the published autoscaler experiment: its rule (published) and the default policy (target).
  weir fleet backtest --pattern daily --policy published --policy target --policy predictive --seeds 5
      Two days of a web site; the forecast needs the first of them to learn.
  weir fleet backtest --pattern days --policy published --policy target --policy predictive --seeds 2
      A week of them: from the third day on the forecast is a decomposition of the days before.
  weir fleet backtest --policy published --policy 'calm={ kind = \"target\", down-after = \"2m\" }'
      A policy with other settings, as the file of rules writes them.
  weir fleet backtest --history /var/log/weir/access.log --capacity 200 --max 20 --html report.html
      Last week's requests, and a page with curves. Also a CSV with a time and a rate.
  weir fleet backtest --rules rules.toml --pattern flash
      Everything that rules can say, from a file: [rules.NAME] for each alternative.

docs/guide/scaling.md explains the policies and the figures, docs/reference/scaling.md every key of a file of rules.

Exits with 0 if it could be played, with 2 if not.")]
pub(crate) struct BacktestArgs {
    /// Play what was recorded: a history (CSV with a time and a rate, or a fleet's SQLite database) or an access log; `-` = standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "pattern")]
    pub(super) history: Option<PathBuf>,
    /// Play this demand: published, varied, steps, daily, days, flash or bursts. All but the first differ from seed to seed.
    #[arg(long, value_name = "PATTERN", value_parser = pattern, default_value = "published")]
    pub(super) pattern: Pattern,
    /// Multiply all rates.
    #[arg(long, value_name = "FACTOR", value_parser = factor, default_value = "1")]
    pub(super) scale: f64,
    /// A policy: its name, or NAME=VALUE with a value as in a file of rules. Several times for several. "published" is the
    /// published autoscaler: reactive, and one server kept stopped. Without any and without --rules: published and target.
    #[arg(long = "policy", value_name = "POLICY")]
    pub(super) policies: Vec<String>,
    /// Sets of rules from a file, after those of --policy.
    #[arg(long, value_name = "FILE")]
    pub(super) rules: Option<PathBuf>,
    /// Never fewer servers; for --policy, as all up to --standby.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) min: u32,
    /// Never more servers.
    #[arg(long, value_name = "N", default_value_t = 13)]
    pub(super) max: u32,
    /// Servers that are kept stopped when they are not needed any more; all unless told otherwise.
    #[arg(long, value_name = "N")]
    pub(super) standby: Option<u32>,
    /// Requests per second that a server does.
    #[arg(long, value_name = "N", value_parser = factor, default_value = "10")]
    pub(super) capacity: f64,
    /// Until a new server takes requests, on average.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(super) start_up: SimTime,
    /// Until a stopped one does.
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub(super) wake_up: SimTime,
    /// Starts take up to such a share more or less, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0.2")]
    start_spread: f64,
    /// Until a server that drains is empty, on average.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    drain: SimTime,
    /// A second is one with waiting if requests have waited longer at its end.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    wait: SimTime,
    /// Requests wait no longer; more are refused.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    queue: SimTime,
    /// What a server costs per hour.
    #[arg(long, value_name = "PRICE", value_parser = amount, default_value = "0.1")]
    price: f64,
    /// Watts of a server with nothing to do.
    #[arg(long, value_name = "WATTS", value_parser = amount, default_value = "60")]
    idle_watts: f64,
    /// Watts of a busy server.
    #[arg(long, value_name = "WATTS", value_parser = amount, default_value = "120")]
    busy_watts: f64,
    /// How many seeds are played.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000), default_value_t = 10)]
    pub(super) seeds: u64,
    /// The first seed: the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Print for programs.
    #[arg(long)]
    pub(super) json: bool,
    /// Write a page with curves to this file, too.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

impl BacktestArgs {
    /// Returns the simulated servers.
    pub(super) fn world(&self) -> World {
        World {
            capacity_per_s: self.capacity,
            start_up_s: self.start_up.seconds(),
            wake_up_s: self.wake_up.seconds(),
            start_spread: self.start_spread,
            drain_s: self.drain.seconds(),
            wait_s: self.wait.seconds(),
            queue_s: self.queue.seconds(),
            price_per_hour: self.price,
            idle_watts: self.idle_watts,
            busy_watts: self.busy_watts,
        }
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    let names = Pattern::ALL.map(Pattern::name);
    Pattern::ALL
        .into_iter()
        .find(|pattern| pattern.name() == text)
        .ok_or_else(|| format!("one of {}", names.join(", ")))
}

fn factor(text: &str) -> Result<f64, String> {
    number(text, 1e-3, 1e6)
}

fn share(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0)
}

fn amount(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e9)
}

fn number(text: &str, min: f64, max: f64) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (min..=max).contains(&number) { Ok(number) } else { Err(format!("out of range: {min} to {max}")) }
}
