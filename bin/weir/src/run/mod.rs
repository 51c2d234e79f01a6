//! `weir run`: the balancer as a process.
//!
//! This thread is the control plane: health checks, name resolution, commands, signals and reloads. The data
//! path runs on its own worker threads and never waits for this thread.

mod faces;
mod fleets;
mod handler;
mod limits;
mod monitor;
mod privileges;
mod process;
mod sandbox;
mod sockets;
mod state_file;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use weir_config::{Loaded, Plan};

use crate::check::{self, Depth, Refusal};
pub(crate) use monitor::monitor;
pub(crate) use privileges::{namespace_maps, user_ids};
pub(crate) use sandbox::starts_programs;

/// Options of `weir run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The config: a file, or a directory whose *.toml files are read in the order of their names
    #[arg(default_value = "/etc/weir/weir.toml", value_name = "CONFIG")]
    config: PathBuf,
}

/// Runs until a signal stops the process. Exits with 0 after an orderly stop, 1 if the config is invalid, and
/// 2 if the config cannot be read or the system refuses an operation.
pub(crate) fn run(args: &RunArgs) -> ExitCode {
    let plan = match load(&args.config) {
        Ok(plan) => plan,
        Err(LoadError::Unreadable(error)) => return complain(&error, 2),
        Err(LoadError::Wrong(error)) => return complain(&error, 1),
    };
    match process::run(&args.config, plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error, 2),
    }
}

/// The reason why no plan was loaded.
enum LoadError {
    /// A file could not be read.
    Unreadable(String),
    /// The config is invalid. The text lists every problem.
    Wrong(String),
}

fn load(path: &Path) -> Result<Plan, LoadError> {
    accept(check::prove(path, Depth::Files))
}

/// Loads the config for a reload.
fn load_again(path: &Path) -> Result<Plan, LoadError> {
    accept(check::prove_for_reload(path))
}

fn accept(proof: Result<Loaded, Refusal>) -> Result<Plan, LoadError> {
    match proof {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                eprintln!("{}", weir_config::render(warning, false));
            }
            Ok(loaded.plan)
        }
        Err(Refusal::Unreadable(error)) => Err(LoadError::Unreadable(error.to_string())),
        Err(Refusal::Wrong(problems)) => {
            let texts: Vec<_> = problems.iter().map(|problem| weir_config::render(problem, false)).collect();
            Err(LoadError::Wrong(texts.join("\n")))
        }
    }
}

fn complain(error: &str, code: u8) -> ExitCode {
    eprintln!("weir: {error}");
    ExitCode::from(code)
}
