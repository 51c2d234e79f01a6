//! Parses the command line and runs the verb.

#[cfg(not(all(feature = "lab", feature = "simulate")))]
mod absent;
mod algorithms;
mod check;
mod completion;
mod config_files;
mod convert;
mod ctl;
mod demo;
mod explain;
mod features;
mod fleet;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "lab")]
mod load;
mod origin;
mod run;
mod service;
#[cfg(feature = "simulate")]
mod simulate;
mod storage;
mod top;
#[cfg(feature = "lab")]
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(not(feature = "simulate"))]
use absent::simulate;
#[cfg(not(feature = "lab"))]
use absent::{lab, load, watch};

/// A load balancer for HTTP and TCP.
///
/// Start with `weir demo`, or write a config of a few lines and give it to `weir check` and `weir run`.
#[derive(Debug, Parser)]
#[command(name = "weir", version = features::version(), propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Demo(demo::DemoArgs),
    /// Balance, by a config, until told to stop
    ///
    /// SIGTERM and SIGINT drain and exit, SIGHUP reads the config again, SIGUSR1 opens log files anew.
    Run(run::RunArgs),
    Check(check::CheckArgs),
    Explain(explain::ExplainArgs),
    Ctl(ctl::CtlArgs),
    Top(top::TopArgs),
    Simulate(simulate::SimulateArgs),
    Load(Box<load::LoadArgs>),
    Watch(watch::WatchArgs),
    Lab(lab::LabArgs),
    Fleet(fleet::FleetArgs),
    Storage(storage::StorageArgs),
    Convert(convert::ConvertArgs),
    Algorithms(algorithms::AlgorithmsArgs),
    Completion(completion::CompletionArgs),
    #[command(hide = true)]
    Start(service::ServiceArgs),
    #[command(hide = true)]
    Stop(service::ServiceArgs),
    #[command(hide = true)]
    Reload(service::ServiceArgs),
    #[command(hide = true)]
    Restart(service::ServiceArgs),
    #[command(hide = true)]
    Status(service::ServiceArgs),
    /// Keep rights of root for `weir run`, which starts it
    #[command(hide = true)]
    Monitor,
    /// Serve as a test web server
    #[command(hide = true)]
    Origin(origin::OriginArgs),
}

fn main() -> ExitCode {
    match Cli::parse().verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Check(args) => check::run(args),
        Verb::Explain(args) => explain::run(args),
        Verb::Ctl(args) => ctl::run(&args),
        Verb::Top(args) => top::run(&args),
        Verb::Simulate(args) => simulate::run(&args),
        Verb::Load(args) => load::run(&args),
        Verb::Watch(args) => watch::run(&args),
        Verb::Lab(args) => lab::run(&args),
        Verb::Fleet(args) => fleet::run(&args),
        Verb::Storage(args) => storage::run(&args),
        Verb::Convert(args) => convert::run(&args),
        Verb::Algorithms(args) => algorithms::run(&args),
        Verb::Completion(args) => completion::run::<Cli>(&args),
        Verb::Start(_) => service::hint("start"),
        Verb::Stop(_) => service::hint("stop"),
        Verb::Reload(_) => service::hint("reload"),
        Verb::Restart(_) => service::hint("restart"),
        Verb::Status(_) => service::hint("status"),
        Verb::Monitor => run::monitor(),
        Verb::Origin(args) => origin::run(&args),
    }
}
