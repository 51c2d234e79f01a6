//! Logs failures of route expressions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use weir_model::{ListenerName, RouteName};

use super::Controller;
use super::phrase::count;
use super::records::Records;
use crate::state::ModeState;

const TICK: Duration = Duration::from_secs(1);

/// Minimum interval between two lines about one route.
const LINES_APART: Duration = Duration::from_secs(60);

/// Logs routes whose expressions fail: the first failure within a second, further failures once a minute.
pub(super) async fn keep_reporting(controller: Arc<Controller>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported = HashMap::new();
    loop {
        ticks.tick().await;
        let lines = lines(&controller.records(), &mut reported, Instant::now());
        lines.iter().for_each(|line| controller.log.line(line));
    }
}

/// Time of each route's last log line, if it is recent.
type Reported = HashMap<(ListenerName, RouteName), Instant>;

fn lines(records: &Records, reported: &mut Reported, now: Instant) -> Vec<String> {
    reported.retain(|_, last| now.saturating_duration_since(*last) < LINES_APART);
    let mut lines = Vec::new();
    for listener in records.listeners.iter() {
        let ModeState::Http(http) = &listener.state.mode else { continue };
        let name = &listener.state.plan.name;
        for route in &http.routes {
            let key = || (name.clone(), route.plan.name.clone());
            if !reported.is_empty() && reported.contains_key(&key()) {
                continue;
            }
            let Some((requests, cause)) = route.failures.take() else { continue };
            reported.insert(key(), now);
            let effect = match route.plan.action.denies() {
                true => "the route denies, so it refused",
                false => "the route did not take them",
            };
            lines.push(format!(
                "listener {name}, route {}: when: the expression failed for {} ({cause}); {effect}",
                route.plan.name,
                count(requests, "request", "requests")
            ));
        }
    }
    lines
}
