//! `weir storage transfers`: shows the copies between a running Weir's storage areas and other servers.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use weir_admin::ControlClient;
use weir_control::{Answer, Command, What};

use crate::check::print_out;
use crate::ctl::table::Style;
use crate::ctl::{SOCKET, show};

/// Show the copies between storage areas and other servers that are under way
///
/// Asks a running Weir. Exits with 0, or with 2 if it could not be asked.
#[derive(Debug, Args)]
pub(super) struct TransfersArgs {
    /// The control socket.
    #[arg(long, env = "WEIR_CONTROL", default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Print for programs: the `transfers` of `/status.json`.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &TransfersArgs) -> ExitCode {
    let command = Command::Show { what: What::Transfers, pool: None };
    let answer = ControlClient::connect(&args.socket).and_then(|mut client| client.send(&command));
    let transfers = match answer {
        Ok(Answer::Snapshot(snapshot)) => snapshot.transfers,
        Ok(_) => return super::fail("the answer is not one to this question"),
        Err(error) => return super::fail(&error.to_string()),
    };
    if args.json {
        return match serde_json::to_string_pretty(&transfers) {
            Ok(json) => print_out(&format!("{json}\n")),
            Err(error) => super::fail(&error.to_string()),
        };
    }
    print_out(&show::transfers(&transfers.live, Style::of(io::stdout().is_terminal())))
}
