//! `weir fleet`: questions about fleets of servers.

mod backtest;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Ask how many servers a fleet should have
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    Backtest(Box<backtest::BacktestArgs>),
}

/// Runs the verb.
pub(crate) fn run(args: &FleetArgs) -> ExitCode {
    match &args.question {
        Question::Backtest(args) => backtest::run(args),
    }
}
