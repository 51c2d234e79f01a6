//! `weir check`: checks a config. `weir_config` checks the text. This module checks the files and addresses
//! that the text names.

mod admin;
mod files;
mod fleet;
mod holder;
mod permissions;
mod plaintext;
mod ports;
mod privileges;
mod report;
mod sticky;
mod storage;
mod tls;
mod token_endpoint;
mod unreadable;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use weir_config::{Diagnostic, Flawed, Loaded, Outside, Severity, Source};

use crate::config_files::{self, ReadError};
use report::Report;
pub(crate) use report::{print_diagnostics, print_out};
pub(crate) use unreadable::prove_for_reload;

/// Default path of the config.
pub(crate) const CONFIG: &str = "/etc/weir/weir.toml";

/// Prove a config: every error at once, with its line and what to do about it
///
/// Exits with 0 if the config can be used, with 1 if it cannot, and with 2 if it cannot be read.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The file, or a directory whose *.toml files are taken together in the order of their names.
    #[arg(default_value = CONFIG, value_name = "CONFIG")]
    config: PathBuf,
    /// Print the plan: the config with every default filled in. Secrets in headers, and texts from
    /// environment variables where a secret may stand, are printed as ********.
    #[arg(long)]
    plan: bool,
    /// Print the secrets of the plan, too.
    #[arg(long, requires = "plan")]
    secrets: bool,
    /// Print for programs.
    #[arg(long)]
    json: bool,
    /// Print the JSON Schema of the config file, and check nothing.
    #[arg(long, conflicts_with_all = ["plan", "json"])]
    schema: bool,
    /// Do not try whether the listeners' addresses are free.
    #[arg(long)]
    no_ports: bool,
    /// Ask the providers of fleets, too: credentials, images, flavors, permissions, quotas.
    #[arg(long)]
    online: bool,
}

/// Scope of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Checks the text and the files that it names.
    Files,
    /// Also checks whether the listeners' addresses are free.
    FilesAndPorts,
}

/// Reason why a config cannot be used.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The config cannot be read.
    Unreadable(ReadError),
    /// The config is wrong. Holds all errors, then the warnings.
    Wrong(Vec<Diagnostic>),
}

/// Runs the verb.
pub(crate) fn run(args: CheckArgs) -> ExitCode {
    if args.schema {
        return report::print_out(&format!("{:#}\n", weir_config::schema()));
    }
    let depth = if args.no_ports { Depth::Files } else { Depth::FilesAndPorts };
    let proof = unreadable::prove(&args.config, depth).and_then(|loaded| match args.online {
        true => asked(loaded),
        false => Ok(loaded),
    });
    Report { config: &args.config, plan: args.plan, secrets: args.secrets, json: args.json }.print(proof)
}

/// Asks the providers of fleets about a config that has no other errors.
fn asked(loaded: Loaded) -> Result<Loaded, Refusal> {
    let found = fleet::ask(&loaded);
    judged(loaded, found)
}

/// Adds diagnostics to a config. Returns an error if one of them is an error.
fn judged(mut loaded: Loaded, found: Vec<Diagnostic>) -> Result<Loaded, Refusal> {
    let (errors, warnings): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|diagnostic| diagnostic.severity == Severity::Error);
    loaded.warnings.extend(warnings);
    if errors.is_empty() {
        return Ok(loaded);
    }
    Err(Refusal::Wrong(errors.into_iter().chain(loaded.warnings).collect()))
}

/// Reads a config and plans it. Blocks on the disk.
pub(crate) fn load(config: &Path) -> Result<Loaded, Refusal> {
    let sources = config_files::read(config).map_err(Refusal::Unreadable)?;
    load_sources(&sources).map_err(Refusal::Wrong)
}

/// Plans a config from texts. Blocks on the disk, because the texts may name files.
pub(crate) fn load_sources(sources: &[Source]) -> Result<Loaded, Vec<Diagnostic>> {
    examine(sources).map_err(|flawed| flawed.diagnostics)
}

fn examine(sources: &[Source]) -> Result<Loaded, Flawed> {
    let outside = Outside { env: &|name| std::env::var(name).ok(), file: &files::read };
    weir_config::examine(sources, outside)
}

/// Reads a config and checks everything that can be checked without running it. Blocks on the disk.
pub(crate) fn prove(config: &Path, depth: Depth) -> Result<Loaded, Refusal> {
    prove_by(config, depth, |found| found)
}

/// Does the same as [`prove`], but lets `judge` change the diagnostics about files and addresses.
fn prove_by(
    config: &Path,
    depth: Depth,
    judge: impl Fn(Vec<Diagnostic>) -> Vec<Diagnostic>,
) -> Result<Loaded, Refusal> {
    let sources = config_files::read(config).map_err(Refusal::Unreadable)?;
    let loaded = match examine(&sources) {
        Ok(loaded) => loaded,
        Err(flawed) => return Err(Refusal::Wrong(judge(with_the_rest(flawed, config, depth)))),
    };
    let found = judge(look_around(&loaded, config, depth));
    judged(loaded, found)
}

/// Checks everything outside the text that a config names.
fn look_around(loaded: &Loaded, config: &Path, depth: Depth) -> Vec<Diagnostic> {
    let mut found = files::check(loaded);
    found.extend(admin::check(loaded));
    found.extend(tls::check(loaded));
    found.extend(sticky::check(loaded));
    found.extend(storage::check(loaded));
    found.extend(token_endpoint::check(loaded));
    found.extend(fleet::check(loaded));
    found.extend(permissions::check(loaded, config));
    found.extend(plaintext::check(loaded));
    found.extend(privileges::check(loaded));
    if depth == Depth::FilesAndPorts {
        found.extend(ports::check(loaded, config));
    }
    found
}

/// Adds the diagnostics about files and addresses to those about a text that has errors. Sorts errors before
/// warnings.
fn with_the_rest(flawed: Flawed, config: &Path, depth: Depth) -> Vec<Diagnostic> {
    let Flawed { diagnostics: mut all, rest } = flawed;
    let found = rest.map(|rest| look_around(&rest, config, depth)).unwrap_or_default();
    // A diagnostic without a place may be a consequence of the errors in the text.
    all.extend(found.into_iter().filter(|diagnostic| !diagnostic.places.is_empty()));
    // The sort is stable: diagnostics of one severity stay in order.
    all.sort_by_key(|diagnostic| diagnostic.severity);
    all
}
