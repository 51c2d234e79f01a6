//! Defines the command line of `weir watch`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use weir_lab::units;
use weir_lab::watch::Figures;

/// Watch what the machine, its processes, disks and network do
///
/// Without a choice of its own: the machine as a whole, network interfaces, TCP, disks, and energy, for which
/// CPU-seconds stand in where the machine does not count it. Figures are the kernel's; what follows from them
/// (rates, shares, times) is said beside them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_long_help = "\
Examples:
  weir watch
      The machine, on the screen, until q or Ctrl-C.
  weir watch --process haproxy --process weir --every 200ms --for 1m --output run1
      Two programs for a minute, five times a second, into run1/processes.csv.
  weir watch --disks --once --output /var/log/disks
      Every field of /proc/diskstats, a line for each disk, for cron: the file's header is written once.
  weir watch --disks=sda,sdb --every 10s --figures all --output disks
      Two disks, also as reads and writes a second, times and utilisation.
  weir watch --host --json | jq .host[0].busy
      A line of JSON every second.
  weir watch --process weir --for 10m --sqlite run.sqlite --svg plots
      Ten minutes in a database, and as plots: plots/processes.svg.
  weir watch plot run.sqlite --svg plots
      The same plots, later.
  weir watch --listen 127.0.0.1:9101
      For Prometheus: http://127.0.0.1:9101/metrics

What is listed and is not there is named on standard error, and recorded from when it comes.
Exits with 0, or with 2 if something cannot be watched or nothing of what was listed was there.")]
pub(crate) struct WatchArgs {
    #[command(subcommand)]
    pub(super) verb: Option<WatchVerb>,
    #[command(flatten)]
    pub(super) watch: LookArgs,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum WatchVerb {
    /// Draw plots of what --sqlite has kept
    Plot(PlotArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct PlotArgs {
    /// The database.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Write an SVG file for each kind of thing into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) svg: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LookArgs {
    /// Processes of a program, by its name; also those that come later.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "What is watched")]
    pub(super) process: Vec<String>,
    /// Processes by number.
    #[arg(long, value_name = "PID", value_delimiter = ',', help_heading = "What is watched")]
    pub(super) pid: Vec<u32>,
    /// Control groups (version 2), below /sys/fs/cgroup: system.slice/weir.service; also what their processes
    /// have.
    #[arg(long, value_name = "PATH", value_delimiter = ',', help_heading = "What is watched")]
    pub(super) cgroup: Vec<String>,
    /// The machine as a whole: processors by mode, load, memory, pressure, interrupts.
    #[arg(long, help_heading = "What is watched")]
    pub(super) host: bool,
    /// Each processor.
    #[arg(long, help_heading = "What is watched")]
    pub(super) processors: bool,
    /// Network interfaces, all or these.
    #[arg(long, value_name = "NAME", num_args = 0.., require_equals = true, value_delimiter = ',', help_heading = "What is watched")]
    pub(super) network: Option<Vec<String>>,
    /// TCP: retransmissions, overflows of listeners, resets.
    #[arg(long, help_heading = "What is watched")]
    pub(super) tcp: bool,
    /// Disks, all or these.
    #[arg(long, value_name = "NAME", num_args = 0.., require_equals = true, value_delimiter = ',', help_heading = "What is watched")]
    pub(super) disks: Option<Vec<String>>,
    /// Energy (RAPL); where the machine does not count it, CPU-seconds in its place.
    #[arg(long, help_heading = "What is watched")]
    pub(super) energy: bool,

    /// How often.
    #[arg(long, short = 'e', value_name = "TIME", default_value = "1s", value_parser = interval, help_heading = "When")]
    pub(super) every: Duration,
    /// For how long; until told to stop unless this, --count or --once is given.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration, help_heading = "When")]
    pub(super) duration: Option<Duration>,
    /// So many times.
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u64).range(1..), help_heading = "When")]
    pub(super) count: Option<u64>,
    /// Once, and no more: for cron.
    #[arg(long, conflicts_with_all = ["duration", "count"], help_heading = "When")]
    pub(super) once: bool,

    /// Write a CSV file for each kind of thing into this directory; files that are there are continued.
    #[arg(long, short = 'o', value_name = "DIRECTORY", help_heading = "Where figures go")]
    pub(super) output: Option<PathBuf>,
    /// What CSV files have: figures as the kernel has them (raw), what follows from them (derived), or all.
    #[arg(long, value_name = "WHICH", default_value = "raw", value_parser = figures, requires = "output", help_heading = "Where figures go")]
    pub(super) figures: Figures,
    /// Write all figures into this SQLite database, a table for each kind of thing; one that is there is
    /// continued.
    #[arg(long, value_name = "FILE", help_heading = "Where figures go")]
    pub(super) sqlite: Option<PathBuf>,
    /// Draw an SVG file for each kind of thing into this directory: each minute, and at the end.
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["once"], help_heading = "Where figures go")]
    pub(super) svg: Option<PathBuf>,
    /// Print a line of JSON each time.
    #[arg(long, help_heading = "Where figures go")]
    pub(super) json: bool,
    /// Answer Prometheus at this address.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["once"], help_heading = "Where figures go")]
    pub(super) listen: Option<SocketAddr>,
}

/// Shortest interval between two readings.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

fn interval(text: &str) -> Result<Duration, String> {
    let every = units::duration(text)?;
    if every < INTERVAL_MIN { Err("10ms at least".to_owned()) } else { Ok(every) }
}

fn figures(text: &str) -> Result<Figures, String> {
    match text {
        "raw" => Ok(Figures::Raw),
        "derived" => Ok(Figures::Derived),
        "all" => Ok(Figures::All),
        _ => Err("one of raw, derived, all".to_owned()),
    }
}
