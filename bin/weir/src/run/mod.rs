//! `weir run`: the balancer as a process.
//!
//! This thread is the control plane: checks, names, commands, signals, reloads. The data path runs on worker threads of
//! its own, and nothing that happens here holds them up.

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

/// Runs until a signal ends it. Exits with 0 after an orderly stop, 1 if the config is wrong, 2 if it could not be read
/// or the system refused something.
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

/// Why there is no plan.
enum LoadError {
    /// The files could not be read.
    Unreadable(String),
    /// They are wrong: everything that is, for people to read.
    Wrong(String),
}

fn load(path: &Path) -> Result<Plan, LoadError> {
    accept(check::prove(path, Depth::Files))
}

/// The config of a reload.
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
