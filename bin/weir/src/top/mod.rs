//! `weir top`: a live view of pools and servers in the terminal. It survives restarts of the Weir that it
//! watches, and always restores the terminal.

mod app;
mod draw;
mod feed;
mod lines;
mod recent;

#[cfg(test)]
pub(crate) mod picture;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use weir_admin::ControlClient;
use weir_control::NameFilter;

use crate::ctl::SOCKET;
use crate::ctl::table::Style;
use crate::ctl::tables;
use app::App;
use feed::Feed;
pub(crate) use feed::Termination;

/// Watch pools and servers live
///
/// Keys: q quit, / filter by name, s sort by the next column, r reverse, p pause, arrows and Page keys move.
#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    /// The control socket.
    #[arg(long, env = "WEIR_CONTROL", default_value = SOCKET, value_name = "PATH")]
    socket: PathBuf,
    /// Seconds between refreshes.
    #[arg(long, default_value = "1", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=60))]
    interval: u64,
    /// Show only pools and servers whose names contain this.
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    filter: String,
    /// Print one plain table and exit.
    #[arg(long)]
    once: bool,
}

/// Reason why the view could not be shown.
#[derive(Debug)]
pub(crate) enum TopError {
    /// Standard output is not a terminal.
    NoTerminal,
    /// The terminal failed.
    Terminal(io::Error),
}

/// Shows the view until the user or a signal ends it.
pub(crate) fn run(args: &TopArgs) -> ExitCode {
    if args.once {
        return once(&args.socket, &NameFilter::new(&args.filter));
    }
    let app = App { names: NameFilter::new(&args.filter), ..App::new(&args.socket) };
    match show_live(app, Duration::from_secs(args.interval)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Shows the live view of the Weir behind `socket` until the user or a signal ends it. `panel`: lines below
/// the table.
pub(crate) fn watch(socket: &Path, interval: Duration, panel: Vec<String>) -> Result<(), TopError> {
    show_live(App { panel, ..App::new(socket) }, interval)
}

fn show_live(app: App, interval: Duration) -> Result<(), TopError> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(TopError::NoTerminal);
    }
    let termination = Termination::listen().map_err(TopError::Terminal)?;
    let feed = Feed::start(&app.socket, interval);
    // After this call a panic restores the terminal, too.
    let mut terminal = ratatui::try_init().map_err(TopError::Terminal)?;
    let ended = show(&mut terminal, &feed.updates, &termination, app);
    if ratatui::try_restore().is_err() {
        // The terminal is gone. Dropping this would print an error to that terminal, and panic because it
        // cannot.
        std::mem::forget(terminal);
    }
    ended.map_err(TopError::Terminal)
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    updates: &Receiver<feed::Update>,
    termination: &Termination,
    mut app: App,
) -> io::Result<()> {
    /// Time within which a key, a new snapshot or a signal is handled.
    const TICK: Duration = Duration::from_millis(50);
    let mut changed = true;
    while !termination.came() {
        changed |= updates.try_iter().map(|update| app.update(update)).count() > 0;
        if std::mem::take(&mut changed) {
            terminal.draw(|frame| draw::draw(frame, &mut app))?;
        }
        if !wait_for_input(TICK)? {
            break;
        }
        while event::poll(Duration::ZERO)? {
            changed = true;
            if let Event::Key(key) = event::read()?
                && key.kind != KeyEventKind::Release
                && app.key(key).is_break()
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Waits until there is input, at most for `tick`. Returns false if the terminal is gone (its window was
/// closed): crossterm would read its end of file in a busy loop.
pub(crate) fn wait_for_input(tick: Duration) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let tick = Timespec::try_from(tick).map_err(io::Error::other)?;
    match poll(&mut polled, Some(&tick)) {
        Ok(_) => Ok(!polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)),
        // SIGWINCH interrupts the poll when the window changes its size, for instance.
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn once(socket: &Path, names: &NameFilter) -> ExitCode {
    match ControlClient::connect(socket).and_then(|mut client| client.snapshot()) {
        Ok(snapshot) => {
            let text = tables::snapshot(&snapshot, names, Style::of(io::stdout().is_terminal()));
            // Ignores a closed pipe: the reader needs no more.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    let _ = writeln!(io::stderr(), "weir top: {error}");
    ExitCode::from(2)
}

impl std::fmt::Display for TopError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoTerminal => f.write_str("this is no terminal; --once prints a table"),
            Self::Terminal(cause) => write!(f, "terminal: {cause}"),
        }
    }
}

impl std::error::Error for TopError {}
