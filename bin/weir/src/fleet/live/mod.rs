//! Subcommands of `weir fleet` for a running Weir, over its control socket.
//!
//! Each one exits with 0, with 1 if Weir refused the command, and with 2 if Weir could not be reached.

pub(super) mod show;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use serde::Serialize;
use weir_admin::{ClientError, ControlClient};
use weir_control::{Answer, Command, FleetSnapshot, What};
use weir_fleet::History;
use weir_model::Name;
use weir_scale::history::{ABOUT_BEFORE, HEADING, HEADINGS_BEFORE, Reader, Row};
use weir_scale::plot;

use crate::check::print_out;
use crate::ctl::SOCKET;
use crate::ctl::table::Style;

/// Options that select a fleet of a running Weir.
#[derive(Debug, Args)]
pub(super) struct OneArgs {
    /// The fleet; not needed where there is only one, and for `status`.
    #[arg(value_parser = name)]
    fleet: Option<Name>,
    #[command(flatten)]
    how: HowArgs,
}

/// Options of the connection to Weir, and of the output.
#[derive(Debug, Args)]
struct HowArgs {
    /// The control socket.
    #[arg(long, env = "WEIR_CONTROL", default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Print for programs.
    #[arg(long)]
    json: bool,
}

/// Options of `weir fleet scale`.
#[derive(Debug, Args)]
pub(super) struct ScaleArgs {
    /// A number within the fleet's bounds, 0 to drain and delete all of its machines, or `auto`.
    servers: Servers,
    #[command(flatten)]
    of: OneArgs,
}

/// Show what a fleet has measured and done: as CSV, or as a picture
#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    #[command(flatten)]
    of: OneArgs,
    /// At most so many rows: the latest.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    rows: u32,
    /// Read this file, CSV or SQLite, and ask nobody.
    #[arg(long, value_name = "FILE", conflicts_with = "fleet")]
    file: Option<PathBuf>,
    /// Draw rate and servers needed, wanted, starting, draining and active over time into this file (SVG).
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
struct Servers(Option<u32>);

impl FromStr for Servers {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self(None)),
            number => {
                number.parse().map(|number| Self(Some(number))).map_err(|_| "a number, or auto".to_owned())
            }
        }
    }
}

fn name(text: &str) -> Result<Name, String> {
    Name::new(text).map_err(|cause| cause.to_string())
}

/// A failure: the exit code and the message.
struct Failure(u8, String);

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self(if matches!(error, ClientError::Refused(_)) { 1 } else { 2 }, error.to_string())
    }
}

pub(super) fn status(args: &OneArgs) -> ExitCode {
    answer(|| {
        let fleets = fleets(&args.how)?;
        let chosen: Vec<FleetSnapshot> = match &args.fleet {
            Some(_) => vec![one(fleets, args.fleet.as_ref())?],
            None => fleets,
        };
        if args.how.json { json(&chosen) } else { Ok(show::status(&chosen, style())) }
    })
}

pub(super) fn explain(args: &OneArgs) -> ExitCode {
    answer(|| {
        let fleet = one(fleets(&args.how)?, args.fleet.as_ref())?;
        if args.how.json { json(&fleet) } else { Ok(show::explain(&fleet, style())) }
    })
}

pub(super) fn plan(args: &OneArgs) -> ExitCode {
    answer(|| {
        let fleet = one(fleets(&args.how)?, args.fleet.as_ref())?;
        if args.how.json { json(&fleet.actions) } else { Ok(show::plan(&fleet)) }
    })
}

pub(super) fn scale(args: &ScaleArgs) -> ExitCode {
    let Servers(servers) = args.servers;
    change(
        &args.of,
        |fleet| Command::FleetScale { fleet, servers },
        |fleet| match servers {
            Some(0) => {
                format!(
                    "{fleet}: all machines are drained and deleted, stopped ones too, until `weir fleet scale auto {fleet}`"
                )
            }
            Some(servers) => format!("{fleet}: {servers} servers, whatever demand says"),
            None => format!("{fleet}: as many servers as demand calls for"),
        },
    )
}

pub(super) fn pause(args: &OneArgs, paused: bool) -> ExitCode {
    change(
        args,
        |fleet| Command::FleetPause { fleet, paused },
        |fleet| match paused {
            true => format!("{fleet}: decides, and does nothing"),
            false => format!("{fleet}: does what is decided"),
        },
    )
}

pub(super) fn history(args: &HistoryArgs) -> ExitCode {
    answer(|| {
        let (title, lines) = match &args.file {
            Some(path) => (path.display().to_string(), lines_of(path, args.rows as usize)?),
            None => {
                let mut client = ControlClient::connect(&args.of.how.socket)?;
                let fleet = named(&mut client, args.of.fleet.as_ref())?;
                let title = format!("fleet {fleet}");
                match client.send(&Command::FleetHistory { fleet, rows: args.rows })? {
                    Answer::FleetHistory { rows } => (title, rows),
                    _ => return Err(Failure(2, "the answer is not one to this question".to_owned())),
                }
            }
        };
        if lines.first().is_some_and(|heading| HEADINGS_BEFORE.contains(&heading.as_str())) {
            eprintln!("weir fleet: {title}: {ABOUT_BEFORE}");
        }
        let mut reader = Reader::default();
        let mut rows = || lines.iter().filter_map(|line| reader.read(line)).collect::<Vec<Row>>();
        match (&args.svg, args.of.how.json) {
            (Some(path), _) => {
                std::fs::write(path, plot::svg(&title, &rows()))
                    .map_err(|cause| Failure(2, format!("{}: {cause}", path.display())))?;
                Ok(String::new())
            }
            (None, true) => json(&rows().into_iter().map(show::Shown::from).collect::<Vec<_>>()),
            // Prints CSV with the columns of this version.
            (None, false) if lines.first().is_some_and(|heading| heading != HEADING) => {
                Ok(lined(&csv(&rows())))
            }
            (None, false) => Ok(lined(&lines)),
        }
    })
}

/// Returns the last rows of a history file as lines of CSV.
fn lines_of(path: &Path, rows: usize) -> Result<Vec<String>, Failure> {
    let failure = |why: String| Failure(2, why);
    let found = History::of_database(path, rows).map_err(|cause| failure(cause.to_string()))?;
    if let Some(found) = found {
        return Ok(csv(&found));
    }
    let text =
        std::fs::read_to_string(path).map_err(|cause| failure(format!("{}: {cause}", path.display())))?;
    Ok(latest(&text, rows))
}

fn csv(rows: &[Row]) -> Vec<String> {
    std::iter::once(HEADING.to_owned()).chain(rows.iter().map(ToString::to_string)).collect()
}

/// Returns the heading and the last rows.
fn latest(text: &str, rows: usize) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    let heading = all.first().filter(|line| Row::parse(line).is_none());
    let skipped = all.len().saturating_sub(rows).max(usize::from(heading.is_some()));
    heading.into_iter().chain(all.iter().skip(skipped)).map(|line| (*line).to_owned()).collect()
}

fn lined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Sends a command about a fleet and prints its result.
fn change(
    args: &OneArgs,
    command: impl FnOnce(Name) -> Command,
    done: impl FnOnce(&Name) -> String,
) -> ExitCode {
    answer(|| {
        let mut client = ControlClient::connect(&args.how.socket)?;
        let fleet = named(&mut client, args.fleet.as_ref())?;
        let answer = client.send(&command(fleet.clone()))?;
        if args.how.json {
            return json(&answer);
        }
        let Answer::Done { changed, notes } = answer else {
            return Err(Failure(2, "the answer is not one to this question".to_owned()));
        };
        let already = if changed { "" } else { ": it was so already" };
        let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
        Ok(format!("{}{already}\n{notes}", done(&fleet)))
    })
}

fn fleets(how: &HowArgs) -> Result<Vec<FleetSnapshot>, Failure> {
    all(&mut ControlClient::connect(&how.socket)?)
}

fn all(client: &mut ControlClient) -> Result<Vec<FleetSnapshot>, Failure> {
    match client.send(&Command::Show { what: What::Fleets, pool: None })? {
        Answer::Snapshot(snapshot) => Ok(snapshot.fleets),
        _ => Err(Failure(2, "the answer is not one to this question".to_owned())),
    }
}

/// Returns the name of the fleet: the given one, or that of the only fleet.
fn named(client: &mut ControlClient, name: Option<&Name>) -> Result<Name, Failure> {
    match name {
        Some(name) => Ok(name.clone()),
        None => {
            let fleet = one(all(client)?, None)?;
            Name::new(&fleet.name).map_err(|cause| Failure(2, cause.to_string()))
        }
    }
}

/// Returns the fleet with this name, or the only fleet.
fn one(mut fleets: Vec<FleetSnapshot>, name: Option<&Name>) -> Result<FleetSnapshot, Failure> {
    let names: Vec<String> = fleets.iter().map(|fleet| fleet.name.clone()).collect();
    let found = match name {
        Some(name) => fleets.iter().position(|fleet| fleet.name == name.as_str()),
        None => Some(0).filter(|_| fleets.len() == 1),
    };
    match (found, name) {
        (Some(at), _) => Ok(fleets.swap_remove(at)),
        (None, _) if names.is_empty() => Err(Failure(1, "there is no fleet".to_owned())),
        (None, Some(name)) => {
            Err(Failure(1, format!("there is no fleet {name}: there are {}", names.join(", "))))
        }
        (None, None) => Err(Failure(1, format!("which fleet? One of {}", names.join(", ")))),
    }
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|cause| Failure(2, cause.to_string()))?;
    Ok(format!("{text}\n"))
}

fn style() -> Style {
    Style::of(io::stdout().is_terminal())
}

fn answer(ask: impl FnOnce() -> Result<String, Failure>) -> ExitCode {
    match ask() {
        Ok(text) => print_out(&text),
        Err(Failure(code, why)) => {
            eprintln!("weir fleet: {why}");
            ExitCode::from(code)
        }
    }
}
