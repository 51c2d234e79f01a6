//! `weir demo`: runs web servers of unequal speed, two storage nodes, a fleet that follows its load, a
//! balancer in front of them, traffic and a live view.
//!
//! Each part is a child process on loopback with free ports. All files are in one temporary directory.
//! Children and files are gone when the demo ends. If the demo is killed, its children die with it, and the
//! next demo removes its directory. The demo does not know how balancing works: it uses only the config, the
//! control socket and HTTP.

mod child;
mod config;
mod directory;
mod facts;
mod fleet;
mod hints;
mod keyboard;
mod leash;
mod live;
mod once;
mod panic;
#[cfg(test)]
mod picture;
mod server;
mod signals;
mod stage;
mod storage;
mod summary;
mod traffic;
mod watch;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use tokio::task::LocalSet;

use crate::ctl::table::Style;
use signals::Signals;
use stage::Stage;
use traffic::{Pace, Tally, Traffic};

/// See it work: web servers of unequal speed, a balancer in front of them, traffic, and a live view of it
///
/// Exits with 0 if every request was answered, with 1 if one failed, and with 2 if the demo could not be run.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Run for some seconds, print one summary, and exit.
    #[arg(long)]
    once: bool,
    /// Kill one of the servers in the middle.
    #[arg(long)]
    kill_one: bool,
    /// Requests per second.
    #[arg(long, default_value = "200", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2_000))]
    rate: u32,
    // Used by `leash`.
    #[arg(long, hide = true, value_name = "PID")]
    leashed_to: Option<i32>,
    // Used by `fleet`.
    #[arg(long, hide = true, value_name = "PID", conflicts_with = "leashed_to")]
    while_lives: Option<i32>,
    #[arg(last = true, hide = true)]
    child: Vec<OsString>,
}

/// Runs the demo until the user or a signal ends it.
pub(crate) fn run(args: &DemoArgs) -> ExitCode {
    if let Some(owner) = args.while_lives {
        return fleet::serve(owner, &args.child);
    }
    let outcome = match args.leashed_to {
        Some(parent) => Err(leash::become_child(parent, &args.child)),
        None => perform(args),
    };
    match outcome {
        Ok(Verdict::NothingFailed) => ExitCode::SUCCESS,
        Ok(Verdict::SomethingFailed) => ExitCode::FAILURE,
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

/// Result of a demo that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    NothingFailed,
    SomethingFailed,
}

fn perform(args: &DemoArgs) -> Result<Verdict, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("event loop: {error}"))?;
    let outcome = LocalSet::new().block_on(&runtime, play(args));
    // A thread may still wait for a reply of the balancer.
    runtime.shutdown_timeout(Duration::from_millis(200));
    outcome
}

async fn play(args: &DemoArgs) -> Result<Verdict, String> {
    // Comes before any process is started, because an unhandled signal would leave that behind.
    let mut signals = Signals::install().map_err(|error| format!("signals: {error}"))?;
    let once = args.once || !has_terminal();
    if once && !args.once {
        complain("this is no terminal, where a live view could be shown: as with --once");
    }
    let mut stage = tokio::select! {
        stage = Stage::start() => stage?,
        () = signals.next() => return Err(INTERRUPTED.to_owned()),
    };
    let mut traffic = Traffic::start(stage.facts().balancer.site, Pace::Steady(args.rate));
    let outcome = if once {
        tokio::select! {
            outcome = once::show(&mut stage, &mut traffic, args.kill_one) => outcome,
            () = signals.next() => Err(INTERRUPTED.to_owned()),
        }
    } else {
        live::show(&mut stage, &mut traffic, &mut signals, args.kill_one).await
    };
    drop(traffic);
    stage.stop().await;
    outcome
}

const INTERRUPTED: &str = "interrupted";

fn has_terminal() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// Prints. Ignores a closed pipe or terminal.
fn say(text: &str) {
    let mut stdout = io::stdout();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

fn complain(error: &str) {
    let _ = writeln!(io::stderr(), "weir demo: {error}");
}

fn style() -> Style {
    Style::of(io::stdout().is_terminal())
}

impl Verdict {
    /// Returns the verdict about all traffic.
    fn of(tallies: [&Tally; 2]) -> Self {
        let all_served = tallies.iter().all(|tally| tally.not_served() == 0);
        if all_served { Self::NothingFailed } else { Self::SomethingFailed }
    }
}
