//! `weir demo`: runs until the user ends it, and opens `weir top` on request.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::keyboard::{self, Entered};
use super::server::{SERVERS, VICTIM};
use super::signals::Signals;
use super::stage::Stage;
use super::traffic::Traffic;
use super::{Verdict, fleet, hints, say, style, summary, watch};
use crate::top;

/// Time until the live view opens by itself for the first time: enough to read, or to copy a command.
const FIRST_PAUSE: Duration = Duration::from_secs(10);

/// Time after which a server is killed (`--kill-one`), while the live view is open.
const KILL_AFTER: Duration = Duration::from_secs(20);

/// Time limit for the live view to end after a signal.
const VIEW_END_MAX: Duration = Duration::from_secs(2);

/// Shows the live view and, before and after it, the commands to try.
pub(super) async fn show(
    stage: &mut Stage,
    traffic: &mut Traffic,
    signals: &mut Signals,
    kill_one: bool,
) -> Result<Verdict, String> {
    say(&format!("{}\n", hints::introduction(stage.facts(), traffic.rate_per_s(), style())));
    say(&to_try(stage));
    if kill_one {
        let (name, seconds) = (SERVERS[VICTIM].name, KILL_AFTER.as_secs());
        say(&format!("\nServer {name} will be killed {seconds} s after the start.\n"));
    }
    say(&format!(
        "\nThe live view (weir top) opens in {} s, or with Enter. q closes it.\n",
        FIRST_PAUSE.as_secs()
    ));
    let started = Instant::now();
    let mut waves = fleet::waves(stage);
    let mut killing = kill_one.then(|| started + KILL_AFTER);
    let mut opens_by_itself = true;
    loop {
        let entered = tokio::select! {
            entered = keyboard::line() => entered.map_err(|error| format!("standard input: {error}"))?,
            () = sleep_until(started + FIRST_PAUSE), if opens_by_itself => Entered::Go,
            () = signals.next() => Entered::End,
            error = tend(stage, &mut killing) => return Err(error),
        };
        if entered == Entered::End {
            break;
        }
        opens_by_itself = false;
        if !view(stage, signals, &mut killing).await? {
            break;
        }
        say(&format!("{}\n", so_far(stage, traffic, &waves).await));
        say(&to_try(stage));
        say("\nEnter opens the live view again; q and Enter, or Ctrl-C, ends the demo.\n");
    }
    traffic.finish().await;
    waves.finish().await;
    say(&format!("\n{}\n", so_far(stage, traffic, &waves).await));
    Ok(Verdict::of([&traffic.tally(), &waves.tally()]))
}

fn to_try(stage: &mut Stage) -> String {
    let victim_lives = stage.server_lives(VICTIM);
    hints::to_try(stage.facts(), victim_lives, style())
}

/// Opens `weir top` until the user or a signal closes it. Returns false if it was a signal.
async fn view(
    stage: &mut Stage,
    signals: &mut Signals,
    killing: &mut Option<Instant>,
) -> Result<bool, String> {
    let control = stage.facts().files.control.clone();
    let victim_lives = stage.server_lives(VICTIM);
    let panel = hints::panel(stage.facts(), victim_lives);
    let watch = move || top::watch(&control, Duration::from_secs(1), panel);
    let mut view = pin!(tokio::task::spawn_blocking(watch));
    let closed = tokio::select! {
        closed = &mut view => closed,
        () = signals.next() => {
            // The view receives the signal, too, and restores the terminal. If the terminal is gone, it may
            // never end.
            let _ = timeout(VIEW_END_MAX, view).await;
            return Ok(false);
        }
        // The error can be printed when the user has closed the view. Until then the view shows that the
        // balancer does not answer.
        error = tend(stage, killing) => {
            let _ = view.await;
            return Err(error);
        }
    };
    match closed {
        Ok(Ok(())) => Ok(true),
        Ok(Err(error)) => Err(format!("live view: {error}")),
        Err(error) => Err(format!("live view: {error}")),
    }
}

/// Looks after the children, and kills a server when it is time. Returns only if the demo itself fails.
async fn tend(stage: &mut Stage, killing: &mut Option<Instant>) -> String {
    loop {
        if let Err(error) = stage.look() {
            return error;
        }
        if killing.take_if(|time| *time <= Instant::now()).is_some()
            && let Err(error) = stage.kill_server(VICTIM)
        {
            return error;
        }
        sleep(Duration::from_millis(250)).await;
    }
}

/// Describes the state of the servers and the results of the clients.
async fn so_far(stage: &Stage, traffic: &Traffic, waves: &Traffic) -> String {
    let elapsed = traffic.elapsed();
    let control = &stage.facts().files.control;
    let (servers, retries) = match watch::pool(control).await {
        Ok(pool) => (summary::servers(&pool, elapsed, style()), summary::retries(&pool)),
        Err(error) => (format!("{error}\n"), None),
    };
    let fleet = watch::fleet(control).await.map_or_else(|error| error, |fleet| fleet::so_far(&fleet, waves));
    let total = summary::total(traffic, style());
    let retries = retries.map_or(String::new(), |retries| format!("{retries}\n"));
    format!("{servers}\n{total}\n{retries}{fleet}\n")
}
