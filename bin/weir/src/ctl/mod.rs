//! `weir ctl`: sends commands to a running Weir over its control socket, and shows its state.

mod arguments;
pub(crate) mod show;
pub(crate) mod table;
pub(crate) mod tables;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use weir_admin::{ClientError, ControlClient};
use weir_control::{Answer, Reply};

use arguments::CtlCommand;
use table::Style;

/// Default path of the control socket.
pub(crate) const SOCKET: &str = "/run/weir/control.sock";

/// Look at a running Weir, and change it: take servers in and out, shift weight, reload
///
/// Changes made here win over the config, also after a reload or a restart, until `weir ctl reset` takes
/// them back.
///
/// Exits with 0 if it was done, with 1 if Weir refused, and with 2 if Weir could not be asked.
#[derive(Debug, clap::Args)]
pub(crate) struct CtlArgs {
    /// The control socket.
    #[arg(long, global = true, env = "WEIR_CONTROL", default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Print for programs.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: CtlCommand,
}

/// Sends the command and prints the result.
pub(crate) fn run(args: &CtlArgs) -> ExitCode {
    let style = Style::of(io::stdout().is_terminal());
    let Output { code, out, err } = execute(args, style);
    // Ignores a closed pipe: the reader needs no more.
    let _ = io::stdout().write_all(out.as_bytes());
    let _ = io::stderr().write_all(err.as_bytes());
    ExitCode::from(code)
}

/// Texts to print, and the exit code.
#[derive(Debug, Default, PartialEq, Eq)]
struct Output {
    code: u8,
    out: String,
    err: String,
}

fn execute(args: &CtlArgs, style: Style) -> Output {
    let command = args.command.command();
    let answer = ControlClient::connect(&args.socket).and_then(|mut client| client.send(&command));
    match answer {
        Ok(answer) if args.json => json(&answer),
        Ok(answer) => Output { out: text(&args.command, &answer, style), ..Output::default() },
        Err(ClientError::Refused(refusal)) if args.json => Output { code: 1, ..json(&Reply::Error(refusal)) },
        Err(error @ ClientError::Refused(_)) => {
            Output { code: 1, err: format!("weir ctl: {error}\n"), ..Output::default() }
        }
        Err(error) => Output { code: 2, err: format!("weir ctl: {error}\n"), ..Output::default() },
    }
}

/// Prints the reply without its outer object: a snapshot then equals `/status.json`.
fn json(value: &impl serde::Serialize) -> Output {
    let unwrapped = serde_json::to_value(value).map(|value| match value {
        serde_json::Value::Object(object) if object.len() == 1 && !object.contains_key("error") => {
            object.into_iter().next().map_or(serde_json::Value::Null, |(_, inner)| inner)
        }
        other => other,
    });
    match unwrapped {
        Ok(value) => Output { out: format!("{value}\n"), ..Output::default() },
        Err(cause) => Output { code: 2, err: format!("weir ctl: {cause}\n"), ..Output::default() },
    }
}

fn text(command: &CtlCommand, answer: &Answer, style: Style) -> String {
    match answer {
        Answer::Snapshot(snapshot) => show::snapshot(snapshot, command.what(), style),
        Answer::Runtime(state) => show::runtime(state, style),
        Answer::FleetHistory { rows } => rows.iter().map(|row| format!("{row}\n")).collect(),
        // Reply to `weir storage unlock`.
        Answer::Locks { locks } => locks.iter().map(|lock| format!("{}\n", lock.path)).collect(),
        Answer::Done { changed, notes } => {
            let done =
                if *changed { command.done() } else { format!("{}: it was so already", command.done()) };
            let notes = notes.iter().map(|note| format!("note: {note}\n"));
            std::iter::once(format!("{done}\n")).chain(notes).collect()
        }
    }
}
