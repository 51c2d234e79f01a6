use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand};
use weir_balance::Algorithm;

use crate::scenario::Scenario;
use crate::servers::Usage;

/// Measures Weir beside its rivals.
#[derive(Debug, Parser)]
#[command(name = "weir-bench", version)]
pub(crate) struct Options {
    /// Measure with the machine's own network settings, not in a namespace with Debian's
    #[arg(long, global = true)]
    pub(crate) host_network: bool,
    /// Set where this program has started itself
    #[arg(long, hide = true)]
    pub(crate) in_own_network: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Scenario by scenario against HAProxy and NGINX, with the required ratios
    Compare(Compare),
    /// The simulator beside the proxy: the same servers and traffic, once measured and once simulated
    Simulation(Simulation),
    /// The default scaling policy beside the published rule, on simulated demand
    Fleet(Fleet),
    /// Weir's load generator beside others: CPU per request at full speed, and how rates are kept
    Generators(Generators),
    /// What a round of scaling decisions costs, for 1,000 fleets with 10,000 servers
    Decisions,
    /// From a step in demand to the start of a server
    Reaction(Reaction),
    /// CPU per request with 3 and with 10,000 servers
    Servers(Servers),
    /// Mixed traffic for a long time: memory and descriptors must stay flat
    Soak(Soak),
    /// Files from storage areas beside NGINX's, uploads with a checksum and without, large directories and files
    Storage(Storage),
    /// What a fast loop of `weir watch` costs
    Watch,
    /// Says on stdout when this core stands still; this program starts it itself
    #[command(hide = true)]
    LookOut,
}

/// `compare`. The rivals' programs come from HAPROXY and NGINX (paths, several separated by commas), Weir's from WEIR.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Two short turns each: shapes, not results
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these scenarios (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<Scenario>,
    /// Only rivals whose name begins so, e.g. haproxy (several separated by commas)
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
    /// Where every sample goes; target/bench/TIME.json if not given
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Leave Weir out, e.g. to look at rivals only
    #[arg(long)]
    pub(crate) without_weir: bool,
}

impl Compare {
    /// Turns for each contestant.
    pub(crate) fn turns(&self) -> usize {
        self.repeats.unwrap_or(if self.quick { 2 } else { 7 }).max(1)
    }

    /// The measured part of a turn.
    pub(crate) fn turn(&self) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(if self.quick { 2 } else { 6 }).max(1))
    }

    /// Load before the measured part: connections to servers are made, caches are warm.
    pub(crate) fn warm_up(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// `soak`.
#[derive(Debug, Args)]
pub(crate) struct Soak {
    /// How long
    #[arg(long, default_value_t = 600)]
    pub(crate) seconds: u64,
    /// Where every sample goes; target/bench/TIME.json if not given
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

/// `simulation`.
#[derive(Debug, Args)]
pub(crate) struct Simulation {
    /// How long each algorithm is measured
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Only what ten thousand servers take, not the proxy
    #[arg(long)]
    pub(crate) only_large: bool,
}

/// `fleet`.
#[derive(Debug, Args)]
pub(crate) struct Fleet {
    /// Where seeds begin, if not behind those that settings were chosen by
    #[arg(long)]
    pub(crate) first_seed: Option<u64>,
}

/// `generators`. Those that are installed take part; Weir's program comes from WEIR.
#[derive(Debug, Args)]
pub(crate) struct Generators {
    /// Turns of each
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
    /// How long the highest rate is kept once more, by Weir's generator
    #[arg(long, default_value_t = 30)]
    pub(crate) long_seconds: u64,
    /// Where every sample goes; target/bench/TIME.json if not given
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

/// `reaction`.
#[derive(Debug, Args)]
pub(crate) struct Reaction {
    /// Turns for each step
    #[arg(long, default_value_t = 10)]
    pub(crate) repeats: u32,
}

/// `servers`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Servers {
    /// How many are many
    #[arg(long, default_value_t = 10_000)]
    pub(crate) many: usize,
    /// Client connections, and so connections to servers with a request on them, where connections are kept: with few servers
    /// as with many. Fewer where no process may open as many files
    #[arg(long, default_value_t = 10_000)]
    pub(crate) connections: u32,
    /// Turns of each
    #[arg(long, default_value_t = 3)]
    pub(crate) repeats: usize,
    /// Length of a turn
    #[arg(long, default_value_t = 2)]
    pub(crate) seconds: u64,
    /// Only these algorithms (several separated by commas); without it one of each way to choose
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<Algorithm>,
    /// Every algorithm: hours
    #[arg(long, conflicts_with = "only")]
    pub(crate) all: bool,
    /// Only with connections that are used so (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) usage: Vec<Usage>,
    /// HAProxy and NGINX beside round-robin and random with kept connections (HAPROXY and NGINX name their programs)
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(crate) rivals: bool,
}

/// `storage`. NGINX's program comes from NGINX, Weir's from WEIR. STORM is the path of StoRM WebDAV's jar, if it is to take part;
/// JAVA what runs it.
#[derive(Debug, Args)]
pub(crate) struct Storage {
    /// Turns of each
    #[arg(long, default_value_t = 5)]
    pub(crate) repeats: usize,
    /// Length of a turn, where it is not a number of files
    #[arg(long, default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Only these parts, of download, upload, listing, giant and storm (several separated by commas)
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Beside StoRM WebDAV, downloads of 1 GiB as in the published experiments, not of 256 MiB, and turns of 10 s at least
    #[arg(long)]
    pub(crate) full: bool,
}

impl Storage {
    /// Turns of each.
    pub(crate) fn turns(&self) -> usize {
        self.repeats.max(1)
    }
}
