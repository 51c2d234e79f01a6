//! `weir lab`: reliable comparisons of load balancers. `weir_lab::contest` runs, stores and judges them.

mod arguments;
mod capacity;
mod capacity_file;
mod files;
mod progress;
mod regression;
mod run;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::ExitCode;

pub(crate) use arguments::LabArgs;
use arguments::LabVerb;
use weir_lab::contest::{Ledger, SHIPPED, serve_lab};

use crate::check::print_out;

/// Runs the subcommand.
pub(crate) fn run(args: &LabArgs) -> ExitCode {
    let told = match &args.verb {
        LabVerb::Run(args) => run::run(args),
        LabVerb::Report(args) => files::report(args),
        LabVerb::Export { file } => files::export(file),
        LabVerb::Compare(args) => regression::run(args),
        LabVerb::FindCapacity(args) => capacity::run(args),
        LabVerb::List => Ok(print_out(&list())),
        LabVerb::Show { name } => files::shipped(name).map(|shipped| print_out(shipped.text)),
        LabVerb::Clean => Ok(clean()),
        LabVerb::Agent => agent(),
    };
    told.unwrap_or_else(|message| {
        // Ignores the error if standard error is closed.
        let _ = writeln!(io::stderr(), "weir lab: {message}");
        ExitCode::from(2)
    })
}

fn list() -> String {
    let width = SHIPPED.iter().map(|shipped| shipped.name.len()).max().unwrap_or(0);
    SHIPPED.iter().map(|shipped| format!("{:width$}  {}\n", shipped.name, shipped.about())).collect()
}

fn clean() -> ExitCode {
    let cleaned = Ledger::clean(&Ledger::directory());
    print_out(&match cleaned.is_nothing() {
        true => "nothing was left behind\n".to_owned(),
        false => progress::cleaned(cleaned) + "\n",
    })
}

/// Runs the remote side of `kind = "ssh"`.
fn agent() -> Result<ExitCode, String> {
    let own = std::env::current_exe().map_err(|cause| format!("its own program: {cause}"))?;
    serve_lab(&own, io::stdin().lock(), io::stdout().lock()).map(|()| ExitCode::SUCCESS)
}
