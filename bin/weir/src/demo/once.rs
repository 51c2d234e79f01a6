//! `weir demo --once`: runs a few seconds of traffic and prints one summary.

use std::time::Duration;

use tokio::time::sleep;
use weir_control::PoolSnapshot;

use super::server::{SERVERS, VICTIM};
use super::stage::Stage;
use super::traffic::Traffic;
use super::{Verdict, fleet, say, storage, style, summary, watch};

/// Duration of the traffic, unless an expected event takes longer.
const DURATION: Duration = Duration::from_secs(3);

/// Time after which a server is killed (`--kill-one`).
const KILL_AFTER: Duration = Duration::from_secs(1);

/// Time limit for an expected event on a machine under heavy load.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes traffic until [`DURATION`] is over, every server has answered a request, and the fleet has grown and
/// shrunk. Prints the results.
pub(super) async fn show(
    stage: &mut Stage,
    traffic: &mut Traffic,
    kill_one: bool,
) -> Result<Verdict, String> {
    let facts = stage.facts();
    let (servers, nodes) = (facts.servers.len(), facts.nodes.len());
    say(&format!("{servers} web servers, {nodes} storage nodes, a fleet and the balancer run\n"));
    say(&format!("files: http://{}{} until the end\n", facts.balancer.site, storage::PLACE));
    let mut complaints = Vec::new();
    let mut notes = Vec::new();
    if reached(stage, traffic, everybody_has_answered).await?.is_none() {
        complaints.push(format!("not every server answered a request within {} s", PATIENCE.as_secs()));
    }
    match storage::prove(stage.facts().balancer.site, &stage.facts().nodes).await {
        Ok(note) => notes.push(note),
        Err(complaint) => complaints.push(complaint),
    }
    if kill_one {
        match kill(stage, traffic).await? {
            Ok(note) => notes.push(note),
            Err(complaint) => complaints.push(complaint),
        }
    }
    let (risen_and_fallen, rush) = fleet::prove(stage).await?;
    match risen_and_fallen {
        Ok(note) => notes.push(note),
        Err(complaint) => complaints.push(complaint),
    }
    sleep(DURATION.saturating_sub(traffic.elapsed())).await;
    traffic.finish().await;
    stage.look()?;
    let pool = watch::pool(&stage.facts().files.control).await?;
    let style = style();
    say(&format!("\n{}\n", summary::servers(&pool, traffic.elapsed(), style)));
    say(&format!("{}\n", summary::total(traffic, style)));
    notes.extend(summary::retries(&pool));
    notes.iter().chain(&complaints).for_each(|line| say(&format!("{line}\n")));
    Ok(if complaints.is_empty() {
        Verdict::of([&traffic.tally(), &rush.tally()])
    } else {
        Verdict::SomethingFailed
    })
}

/// Kills a server and waits until the balancer has noticed. Returns a message about success or failure.
async fn kill(stage: &mut Stage, traffic: &Traffic) -> Result<Result<String, String>, String> {
    sleep(KILL_AFTER.saturating_sub(traffic.elapsed())).await;
    let name = SERVERS[VICTIM].name;
    let killed = traffic.elapsed();
    stage.kill_server(VICTIM)?;
    let has_left =
        |pool: &PoolSnapshot| watch::server(pool, name).is_none_or(|server| !server.takes_requests());
    Ok(match reached(stage, traffic, has_left).await? {
        Some(left) => {
            let (killed, took) = (killed.as_secs_f64(), (left - killed).as_secs_f64());
            Ok(format!("server {name} was killed after {killed:.1} s, and had left {took:.1} s later"))
        }
        None => Err(format!("server {name} was killed, and had not left {} s later", PATIENCE.as_secs())),
    })
}

/// Returns when the condition was first seen to hold, counted as in [`Traffic::elapsed`]. Returns `None` if
/// that takes too long.
async fn reached(
    stage: &mut Stage,
    traffic: &Traffic,
    condition: impl Fn(&PoolSnapshot) -> bool,
) -> Result<Option<Duration>, String> {
    let deadline = traffic.elapsed() + PATIENCE;
    while traffic.elapsed() < deadline {
        stage.look()?;
        if condition(&watch::pool(&stage.facts().files.control).await?) {
            return Ok(Some(traffic.elapsed()));
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(None)
}

fn everybody_has_answered(pool: &PoolSnapshot) -> bool {
    SERVERS.iter().all(|known| watch::server(pool, known.name).is_some_and(watch::has_answered))
}
