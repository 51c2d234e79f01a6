//! Paired measurements: Weir, HAProxy and NGINX take turns with the same load on the same core. Ratios within
//! a turn are compared. The README.md of this crate says how to read the results.
//!
//! These are not tests: they do not decide whether a change is accepted. They need two cores that nothing
//! else uses.

mod awake;
mod comparison;
mod connection_use;
mod cpu;
mod decisions;
mod error;
mod fleet;
mod generators;
mod idle;
mod large_simulation;
mod latency;
mod machine;
mod network;
mod openloop;
mod options;
mod origin;
mod peak;
mod priority;
mod process;
mod reaction;
mod report;
mod results;
mod rivals;
mod scenario;
mod servers;
mod simulation;
mod soak;
mod stalls;
mod statistics;
mod storage;
mod syscalls;
mod watching;
mod workshop;
mod wrk;

use std::process::ExitCode;

use clap::Parser;

use options::{Command, Options};

fn main() -> ExitCode {
    run(&Options::parse()).unwrap_or_else(|error| {
        eprintln!("weir-bench: {error}");
        ExitCode::from(2)
    })
}

fn run(options: &Options) -> error::Result<ExitCode> {
    if matches!(options.command, Command::LookOut) {
        stalls::look_out()?;
    }
    if options.in_own_network {
        network::settle()?;
    } else if !options.host_network {
        return network::run_inside();
    }
    let kept = match &options.command {
        Command::Compare(options) => comparison::run(options),
        Command::Simulation(options) => simulation::run(options),
        Command::Fleet(options) => fleet::run(options),
        Command::Generators(options) => generators::run(options),
        Command::Decisions => decisions::run(),
        Command::Reaction(options) => reaction::run(options),
        Command::Servers(options) => servers::run(options),
        Command::Soak(options) => soak::run(options),
        Command::Storage(options) => storage::run(options),
        Command::Watch => watching::run(),
        Command::LookOut => Ok(true),
    };
    // Exit status 1: a ratio or a limit was not kept.
    kept.map(|kept| ExitCode::from(u8::from(!kept)))
}
