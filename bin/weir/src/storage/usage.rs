//! `weir storage usage`: shows the space that the files of a running Weir's storage areas use.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use weir_admin::ControlClient;
use weir_control::{StorageSnapshot, Tone, human};

use crate::check::print_out;
use crate::ctl::SOCKET;
use crate::ctl::table::{Align, Cell, Style, Table};

/// Say what the files of storage areas take up, and what was asked of them
///
/// Asks a running Weir. Exits with 0, or with 2 if it could not be asked.
#[derive(Debug, Args)]
pub(super) struct UsageArgs {
    /// The control socket.
    #[arg(long, env = "WEIR_CONTROL", default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Print for programs: the `storage` of `/status.json`.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &UsageArgs) -> ExitCode {
    let areas = match ControlClient::connect(&args.socket).and_then(|mut client| client.snapshot()) {
        Ok(snapshot) => snapshot.storage,
        Err(error) => return super::fail(&error.to_string()),
    };
    if args.json {
        return match serde_json::to_string_pretty(&areas) {
            Ok(json) => print_out(&format!("{json}\n")),
            Err(error) => super::fail(&error.to_string()),
        };
    }
    if areas.is_empty() {
        return print_out("there are no storage areas\n");
    }
    print_out(&table(&areas, Style::of(io::stdout().is_terminal())))
}

fn table(areas: &[StorageSnapshot], style: Style) -> String {
    const COLUMNS: [(&str, Align); 9] = [
        ("AREA", Align::Left),
        ("USED", Align::Right),
        ("QUOTA", Align::Right),
        ("AVAILABLE", Align::Right),
        ("FILES", Align::Right),
        ("REQUESTS", Align::Right),
        ("ERRORS", Align::Right),
        ("IN", Align::Right),
        ("OUT", Align::Right),
    ];
    let mut table = Table::new(&COLUMNS);
    for area in areas {
        let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), human::bytes);
        let sum = |of: fn(&weir_control::MethodsSnapshot) -> u64| area.methods.iter().map(of).sum::<u64>();
        let full = area.available.filter(|_| area.quota.is_some()) == Some(0);
        table.row(vec![
            area.name.as_str().into(),
            bytes(area.used).into(),
            bytes(area.quota).into(),
            if full { Cell::toned(bytes(area.available), Tone::Bad) } else { bytes(area.available).into() },
            area.files.map_or_else(|| "-".to_owned(), human::count).into(),
            human::count(sum(|methods| methods.responses.counts().iter().sum())).into(),
            Cell::fault(sum(|methods| methods.responses.server_error)),
            human::bytes(sum(|methods| methods.request_bytes)).into(),
            human::bytes(sum(|methods| methods.response_bytes)).into(),
        ]);
    }
    table.render("", style)
}

#[cfg(test)]
mod tests {
    use weir_control::{MethodsSnapshot, Responses};

    use super::*;

    #[test]
    fn what_was_not_counted_is_not_said_to_be_nothing() {
        let methods = MethodsSnapshot {
            kind: "read".to_owned(),
            responses: Responses { success: 12, server_error: 1, ..Responses::default() },
            request_bytes: 5,
            response_bytes: 2_048,
            ..MethodsSnapshot::default()
        };
        let counted = StorageSnapshot {
            name: "data".to_owned(),
            used: Some(1 << 40),
            files: Some(12_345),
            quota: Some(10_000_000_000_000),
            available: Some(0),
            methods: vec![methods],
            ..StorageSnapshot::default()
        };
        let other = StorageSnapshot { name: "site".to_owned(), ..StorageSnapshot::default() };
        insta::assert_snapshot!(table(&[counted, other], Style::Plain));
    }
}
