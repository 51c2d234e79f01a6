//! Options of `weir lab`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use weir_lab::units;

use crate::check;

/// Compare balancers: the same servers, load and turns for each, and a verdict of what is significant
///
/// Exits with 0, with 1 if the answer is no (`run`: no run is valid; `compare`: significantly worse, more failures, or something is
/// missing; `find-capacity`: no rate keeps the goal), with 2 if it could not be done, or not with all (`run`: a rival did not start and was
/// left out; `compare`: too few runs are measured to say).
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(super) verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub(super) enum LabVerb {
    Run(RunArgs),
    Report(ReportArgs),
    /// Print the data of a report as JSON that is small enough to keep
    ///
    /// It has the values, flaws and servers of every run, the verdict, and facts about scenario, rivals and machine. `report` and
    /// `compare` read it like the SQLite file. It has no histograms and no samples of monitors, so its reports have no plots over time.
    Export {
        /// The file of a run, or an export of one.
        file: PathBuf,
    },
    Compare(CompareArgs),
    FindCapacity(CapacityArgs),
    /// List the scenarios that come with Weir
    List,
    /// Print a scenario that comes with Weir
    Show {
        /// Its name.
        name: String,
    },
    /// Take away what a lab that was killed has left: processes, namespaces, files
    ///
    /// The next run does so by itself.
    Clean,
    /// Do what a lab on another machine asks on standard input
    #[command(hide = true)]
    Agent,
}

/// Play a scenario, or go on with it
///
/// Everything that comes of it goes into one SQLite file. Started again with the same file, it plays what is missing.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// A file, or the name of a scenario that comes with Weir (`weir lab list`).
    #[arg(value_name = "SCENARIO")]
    pub(super) scenario: String,
    /// Play its quick form, of a few minutes.
    #[arg(long)]
    pub(super) quick: bool,
    /// Where results are kept [default: the scenario's name and .sqlite].
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Do not tell how it goes.
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) forms: FormArgs,
}

/// Report results that are kept
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The file of a run, or an export of one.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) forms: FormArgs,
}

#[derive(Debug, Args)]
pub(super) struct FormArgs {
    /// Write the report as a page.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Write the report as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// Write a line for each run, with its figures.
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
    /// Print the comparisons for programs.
    #[arg(long)]
    pub(super) json: bool,
}

/// Say whether results are worse than others: a gate for changes
///
/// Worse is a figure that is so beyond chance, more failed requests, and whatever the first file has and the second has not. Runs that
/// are invalid by the lab's own fault are not measured: they are listed, and count for nothing.
#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// The file of a run before, or an export of one.
    #[arg(value_name = "BEFORE")]
    pub(super) before: PathBuf,
    /// The file of a run after, or an export of one.
    #[arg(value_name = "AFTER")]
    pub(super) after: PathBuf,
    /// Differences up to this, in percent, are none.
    #[arg(long, default_value = "2", value_name = "PERCENT", value_parser = percent)]
    pub(super) tolerance: f64,
    /// Print for programs.
    #[arg(long)]
    pub(super) json: bool,
}

/// Find the highest rate that keeps a latency, and the knee before it
///
/// Rates are doubled until one misses the goal, then narrowed down; each is asked until so many answers agree (--votes). Then both ends are
/// asked anew, until it is shown that the capacity is between them with the wanted --confidence: the rate at which such loads keep the
/// goal as often as not.
#[derive(Debug, Args)]
pub(super) struct CapacityArgs {
    /// What is asked for; `{i}` is the number of the request.
    #[arg(value_name = "URL")]
    pub(super) url: String,
    /// The latency to be kept.
    #[arg(long, default_value = "100ms", value_name = "TIME", value_parser = units::duration)]
    pub(super) latency: Duration,
    /// By so many percent of the requests.
    #[arg(long, default_value = "99", value_name = "PERCENT", value_parser = percent)]
    pub(super) quantile: f64,
    /// So many percent must be answered as expected.
    #[arg(long, default_value = "99", value_name = "PERCENT", value_parser = percent)]
    pub(super) success: f64,
    /// The first rate, in requests a second.
    #[arg(long, default_value = "10", value_name = "RATE", value_parser = rate)]
    pub(super) start: f64,
    /// The highest.
    #[arg(long, default_value = "100000", value_name = "RATE", value_parser = rate)]
    pub(super) max: f64,
    /// How near the answer is, in percent.
    #[arg(long, default_value = "5", value_name = "PERCENT", value_parser = percent)]
    pub(super) precision: f64,
    /// How long each rate is asked each time.
    #[arg(long = "for", default_value = "5s", value_name = "TIME", value_parser = units::duration)]
    pub(super) duration: Duration,
    /// A rate is decided by so many answers that agree.
    #[arg(long, default_value = "2", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(super) votes: u32,
    /// How surely the capacity lies between the two rates that are told, in percent: 50 to 99.99.
    #[arg(long, default_value = "95", value_name = "PERCENT", value_parser = confidence)]
    pub(super) confidence: f64,
    /// Write what was found into the config, as the capacity of this fleet (`[fleet.NAME]`); it counts after the next reload.
    #[arg(long, value_name = "NAME")]
    pub(super) fleet: Option<String>,
    /// The config with the fleet: a file, or a directory.
    #[arg(long, default_value = check::CONFIG, value_name = "CONFIG", requires = "fleet")]
    pub(super) config: PathBuf,
    /// Header lines of each request, `NAME: VALUE`.
    #[arg(short = 'H', long, value_name = "HEADER", value_parser = header)]
    pub(super) header: Vec<(String, String)>,
    /// Do not verify certificates.
    #[arg(long)]
    pub(super) insecure: bool,
    /// Print for programs.
    #[arg(long)]
    pub(super) json: bool,
    /// Do not tell how it goes.
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
}

/// Parses a percentage. Returns a share from 0 to 1.
fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').parse().map_err(|_| format!("{text:?} is no number"))?;
    if (0.0..=100.0).contains(&number) { Ok(number / 100.0) } else { Err("0 to 100".to_owned()) }
}

/// Parses a confidence in percent. Returns a share from 0 to 1.
fn confidence(text: &str) -> Result<f64, String> {
    percent(text).ok().filter(|share| (0.5..=0.9999).contains(share)).ok_or_else(|| "50 to 99.99".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches("/s").parse().map_err(|_| format!("{text:?} is no rate"))?;
    if (0.1..=1e6).contains(&number) { Ok(number) } else { Err("0.1 to 1000000 a second".to_owned()) }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or_else(|| format!("{text:?}: write NAME: VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
