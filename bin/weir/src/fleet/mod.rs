//! `weir fleet`: shows and changes the number of servers of a running Weir's fleets, or simulates policies.

#[cfg(feature = "simulate")]
mod backtest;
mod live;

pub(crate) use live::show::status;

use std::process::ExitCode;

use clap::{Args, Subcommand};

#[cfg(not(feature = "simulate"))]
use crate::absent::backtest;

/// Ask and tell the fleets of a running Weir, or try policies out
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// Show how many servers fleets have, and how many they should have
    Status(live::OneArgs),
    /// Say why a fleet has as many servers as it has
    Explain(live::OneArgs),
    /// Show what is to be done; where the fleet is paused, what would be
    Plan(live::OneArgs),
    /// Have so many servers, whatever demand says; 0 = none, not even stopped ones; `auto` = as demand says again
    Scale(live::ScaleArgs),
    /// Go on deciding, but do nothing
    Pause(live::OneArgs),
    /// Do again what is decided
    Resume(live::OneArgs),
    History(live::HistoryArgs),
    Backtest(Box<backtest::BacktestArgs>),
}

/// Runs the subcommand.
pub(crate) fn run(args: &FleetArgs) -> ExitCode {
    match &args.question {
        Question::Status(args) => live::status(args),
        Question::Explain(args) => live::explain(args),
        Question::Plan(args) => live::plan(args),
        Question::Scale(args) => live::scale(args),
        Question::Pause(args) => live::pause(args, true),
        Question::Resume(args) => live::pause(args, false),
        Question::History(args) => live::history(args),
        Question::Backtest(args) => backtest::run(args),
    }
}
