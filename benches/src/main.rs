//! Paired measurements: Weir, HAProxy and NGINX take turns with the same load on the same core, and what is compared are
//! ratios within a turn. README.md beside this crate says how to read the results.
//!
//! Not a test: nothing here decides whether a change may go in. Needs two cores, and nobody else on them.

mod comparison;
mod cpu;
mod error;
mod idle;
mod latency;
mod machine;
mod openloop;
mod options;
mod origin;
mod process;
mod report;
mod results;
mod rivals;
mod scenario;
mod soak;
mod statistics;
mod syscalls;
mod workshop;
mod wrk;

use std::process::ExitCode;

use clap::Parser;

use options::{Command, Options};

fn main() -> ExitCode {
    let done = match Options::parse().command {
        Command::Compare(options) => comparison::run(&options),
        Command::Soak(options) => soak::run(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        // The answer is no: a ratio or a limit was not kept.
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("weir-bench: {error}");
            ExitCode::from(2)
        }
    }
}
