//! Command line of the benchmarks. Doc comments of options are their help texts.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use weir_balance::Algorithm;

use crate::connection_use::Usage;
use crate::scenario::Scenario;

/// Compares Weir with its rivals.
#[derive(Debug, Parser)]
#[command(name = "weir-bench", version)]
pub(crate) struct Options {
    /// Measure with the machine's own network settings, not in a namespace with Debian's
    #[arg(long, global = true)]
    pub(crate) host_network: bool,
    /// Set by this program when it starts itself again
    #[arg(long, hide = true)]
    pub(crate) in_own_network: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare with HAProxy and NGINX, scenario by scenario, and check the required ratios
    Compare(Compare),
    /// The simulator beside the proxy: the same servers and traffic, measured and simulated
    Simulation(Simulation),
    /// The default scaling policy beside the published rule, on simulated demand
    Fleet(Fleet),
    /// Weir's load generator beside others: CPU per request at full speed, and accuracy of rates
    Generators(Generators),
    /// Cost of a round of scaling decisions, for 1,000 fleets with 10,000 servers
    Decisions,
    /// Time from a step in demand to the start of a server
    Reaction(Reaction),
    /// CPU per request with 3 and with 10,000 servers
    Servers(Servers),
    /// Mixed traffic for a long time: memory and descriptors must stay flat
    Soak(Soak),
    /// Files from storage areas beside NGINX's, uploads with and without a checksum, large directories and
    /// files
    Storage(Storage),
    /// Cost of a fast loop of `weir watch`
    Watch,
    /// Print the stalls of this core on stdout; this program starts it itself
    #[command(hide = true)]
    LookOut,
}

/// `compare`. The variables HAPROXY and NGINX name the rivals' programs (paths, several separated by commas),
/// and WEIR names Weir's.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Two short turns each, to see the shape of the results
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these scenarios (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<Scenario>,
    /// Only rivals whose names begin with this, e.g. haproxy (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) rivals: Vec<String>,
    /// Turns for each contestant in each scenario
    #[arg(long)]
    pub(crate) repeats: Option<usize>,
    /// Length of a turn
    #[arg(long)]
    pub(crate) seconds: Option<u64>,
    /// Client connections of the closed loop
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: u32,
    /// Idle connections of the memory scenarios
    #[arg(long, default_value_t = 10_000)]
    pub(crate) idle: usize,
    /// File for all samples; target/bench/TIME.json if not given
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Leave Weir out, e.g. to compare rivals only
    #[arg(long)]
    pub(crate) without_weir: bool,
}

impl Compare {
    /// Returns the number of turns for each contestant.
    pub(crate) fn turns(&self) -> usize {
        self.repeats.unwrap_or(if self.quick { 2 } else { 7 }).max(1)
    }

    /// Returns the length of the measured part of a turn.
    pub(crate) fn turn(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(if self.quick { 2 } else { 6 }).max(1))
    }

    /// Returns the length of the warm-up, which opens connections to servers and fills caches.
    pub(crate) fn warm_up(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// `soak`: a long run with mixed traffic.
#[derive(Debug, Args)]
pub(crate) struct Soak {
    /// Length of the run in seconds
    #[arg(long, default_value_t = 600)]
    pub(crate) seconds: u64,
    /// File for all samples; target/bench/TIME.json if not given
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

/// `simulation`: the simulator beside the proxy.
#[derive(Debug, Args)]
pub(crate) struct Simulation {
    /// Length of each algorithm's measurement in seconds
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Only simulate ten thousand servers, without the proxy
    #[arg(long)]
    pub(crate) only_large: bool,
}

/// `fleet`: the default scaling policy beside the published rule.
#[derive(Debug, Args)]
pub(crate) struct Fleet {
    /// First seed; by default the first one that was not used to choose settings
    #[arg(long)]
    pub(crate) first_seed: Option<u64>,
}

/// `generators`. All installed generators take part; the variable WEIR names Weir's program.
#[derive(Debug, Args)]
pub(crate) struct Generators {
    /// Turns of each generator
    #[arg(long, default_value_t = 7)]
    pub(crate) repeats: usize,
    /// Length of a turn
    #[arg(long, default_value_t = 5)]
    pub(crate) seconds: u64,
    /// Only these generators beside Weir's (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Connections at full speed
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: u32,
    /// Rates to be kept, per second (several separated by commas)
    #[arg(long, value_delimiter = ',', default_values_t = [2_000, 20_000])]
    pub(crate) rates: Vec<u32>,
    /// Length in seconds of a further run of Weir's generator at the highest rate
    #[arg(long, default_value_t = 30)]
    pub(crate) long_seconds: u64,
    /// File for all samples; target/bench/TIME.json if not given
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

/// `reaction`: the time from a step in demand to the start of a server.
#[derive(Debug, Args)]
pub(crate) struct Reaction {
    /// Turns for each step
    #[arg(long, default_value_t = 10)]
    pub(crate) repeats: u32,
}

/// `servers`: CPU per request with few and with many servers.
#[derive(Debug, Clone, Args)]
pub(crate) struct Servers {
    /// Number of servers in the case with many
    #[arg(long, default_value_t = 10_000)]
    pub(crate) many: usize,
    /// Client connections where connections are kept, and so the busy connections to servers, whether there
    /// are few or many servers. Fewer if a process may not open as many files
    #[arg(long, default_value_t = 10_000)]
    pub(crate) connections: u32,
    /// Turns of each contestant
    #[arg(long, default_value_t = 3)]
    pub(crate) repeats: usize,
    /// Length of a turn
    #[arg(long, default_value_t = 2)]
    pub(crate) seconds: u64,
    /// Only these algorithms (several separated by commas); by default one of each way to choose
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<Algorithm>,
    /// Every algorithm, which takes hours
    #[arg(long, conflicts_with = "only")]
    pub(crate) all: bool,
    /// Only these uses of connections (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) usage: Vec<Usage>,
    /// Measure HAProxy and NGINX beside round-robin and random with kept connections (the variables HAPROXY
    /// and NGINX name their programs)
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(crate) rivals: bool,
}

/// `storage`. The variable NGINX names NGINX's program, and WEIR names Weir's. STORM is the path of StoRM
/// WebDAV's jar, if it takes part, and JAVA is the Java program that runs it.
#[derive(Debug, Args)]
pub(crate) struct Storage {
    /// Turns of each contestant
    #[arg(long, default_value_t = 5)]
    pub(crate) repeats: usize,
    /// Length of a turn in seconds, unless it is a number of files
    #[arg(long, default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Only these parts, of download, upload, listing, giant and storm (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// For StoRM WebDAV, download 1 GiB as in the published experiments, instead of 256 MiB, with turns of at
    /// least 10 s
    #[arg(long)]
    pub(crate) full: bool,
}

impl Storage {
    /// Returns the number of turns of each contestant.
    pub(crate) fn turns(&self) -> usize {
        self.repeats.max(1)
    }
}
