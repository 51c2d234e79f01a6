//! Reports the result of a round: in the snapshot, in the log, and as a row of the history.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_control::{FleetDone, FleetPolicySnapshot, FleetServerSnapshot, FleetSnapshot};
use weir_fleet::live::{Balancer, Done, Live, Round};
use weir_scale::history::Row;
use weir_scale::{Decision, ServerState};

use super::desk::Desk;

/// Remembers the last report, so that the log has only news.
pub(super) struct Teller {
    desk: Arc<Desk>,
    /// Time and value of the last request count.
    counted: Option<(Duration, u64)>,
    /// Number of servers wanted in the last round.
    wanted: Option<u32>,
    alarms: Vec<String>,
    silence: Vec<String>,
    troubles: Vec<String>,
    remarks: Vec<String>,
}

impl Teller {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        Self {
            desk,
            counted: None,
            wanted: None,
            alarms: Vec::new(),
            silence: Vec::new(),
            troubles: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Reports a round that began `at` this time after the first one. Returns the row for the history, or
    /// `None` if there was no decision.
    pub(super) fn tell<B: Balancer>(&mut self, at: Duration, round: &Round, live: &Live<B>) -> Option<Row> {
        for settled in &round.settled {
            self.desk
                .tell(format!("what was cut off is settled: {:?}: {:?}", settled.action, settled.outcome));
        }
        self.news(&round.troubles, |teller| &mut teller.troubles, "");
        if round.decision.is_some() {
            self.news(&round.remarks, |teller| &mut teller.remarks, "the list of machines: ");
        }
        let (start_up, wake_up) = (live.scaler().expected(false), live.scaler().expected(true));
        let silent: Option<String> = round.silent.as_ref().map(ToString::to_string);
        self.news(silent.as_slice(), |teller| &mut teller.silence, "alarm: ");
        let capacity = live.scaler().capacities().into_iter().map(|(flavour, why)| match flavour {
            Some(flavour) => format!("{why} (flavour {flavour})"),
            None => why,
        });
        let capacity = capacity.collect();
        self.desk.show(true, |snapshot| {
            snapshot.leads = true;
            snapshot.looks += 1;
            snapshot.troubles.clone_from(&round.troubles);
            snapshot.done.failed += u64::from(!round.troubles.is_empty());
            snapshot.start_up_ms = millis(start_up);
            snapshot.wake_up_ms = millis(wake_up);
            snapshot.capacity = capacity;
            add(&mut snapshot.done, &round.done);
            if let Some(decision) = &round.decision {
                show(snapshot, decision, round);
            }
            if silent.is_some() {
                // The values of earlier rounds are no longer valid.
                snapshot.demand = None;
                snapshot.alarms = silent.into_iter().collect();
            }
        });
        let decision = round.decision.as_ref()?;
        let alarms: Vec<String> = decision.alarms.iter().map(ToString::to_string).collect();
        self.news(&alarms, |teller| &mut teller.alarms, "alarm: ");
        let did = if round.carried_out { joined(&actions(decision)) } else { String::new() };
        let before = self.wanted.replace(decision.wanted);
        if !did.is_empty() {
            self.desk.tell(format!("{did} ({} wanted; {})", decision.wanted, decision.reason));
        } else if before.is_some_and(|before| before != decision.wanted) {
            // For example, the fleet is paused, or the servers are already starting.
            self.desk.tell(format!("{} wanted; {}", decision.wanted, decision.reason));
        }
        let row = self.row(at, round, decision, did, &alarms);
        Some(match live.scaler().held_rate() {
            // Forecasts after a restart must not use rejected rates.
            Some(rate) => Row { requests: None, rate_per_s: Some(rate), rate_peak_per_s: Some(rate), ..row },
            None => row,
        })
    }

    /// Reports the texts of `now` that were not there before.
    fn news(&mut self, now: &[String], before: fn(&mut Self) -> &mut Vec<String>, prefix: &str) {
        let known = std::mem::replace(before(self), now.to_vec());
        // A text that differs only in its numbers is not news.
        let plain = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        for text in now.iter().filter(|text| !known.iter().any(|other| plain(other) == plain(text))) {
            self.desk.tell(format!("{prefix}{text}"));
        }
    }

    fn row(
        &mut self,
        now: Duration,
        round: &Round,
        decision: &Decision,
        did: String,
        alarms: &[String],
    ) -> Row {
        let total = round.sample.requests;
        let before = self.counted.take();
        self.counted = total.map(|total| (now, total));
        let since = before.zip(total).and_then(|((at, counted), total)| {
            let passed = now.saturating_sub(at).as_secs_f64();
            Some((total.checked_sub(counted)?, passed)).filter(|_| passed > 0.0)
        });
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let powered = round.servers.iter().filter(|server| server.state.is_powered()).count();
        let in_balancer =
            |state: ServerState| matches!(state, ServerState::Active | ServerState::Warming { .. });
        let balanced = round.servers.iter().filter(|server| in_balancer(server.state)).count();
        let rate_per_s = since.map(|(requests, passed)| (requests as f64 / passed * 1e3).round() / 1e3);
        let demand = decision.demand.map(|demand| (demand * 1e3).round() / 1e3);
        Row {
            timestamp: thousandths(wall),
            elapsed_s: thousandths(now),
            requests_total: total,
            requests: since.map(|(requests, _)| requests),
            rate_per_s,
            needed: decision.needed,
            active_cloud: u32::try_from(powered).unwrap_or(u32::MAX),
            active_balancer: u32::try_from(balanced).unwrap_or(u32::MAX),
            decision: did,
            reason: decision.reason.clone(),
            demand,
            wanted: decision.wanted,
            // A row of a single round has no spread.
            rate_peak_per_s: rate_per_s,
            demand_peak: demand,
            needed_mean: Some(f64::from(decision.needed)),
            needed_peak: Some(decision.needed),
            starting: Some(decision.fleet.coming_servers),
            draining: Some(decision.fleet.draining_servers),
            alarms: joined(alarms),
        }
    }
}

fn show(snapshot: &mut FleetSnapshot, decision: &Decision, round: &Round) {
    (snapshot.wanted, snapshot.needed) = (decision.wanted, decision.needed);
    snapshot.reason.clone_from(&decision.reason);
    snapshot.demand = decision.demand;
    snapshot.policies = decision
        .parts
        .iter()
        .map(|part| FleetPolicySnapshot {
            policy: part.policy.to_owned(),
            wanted: part.wanted,
            reason: part.reason.clone(),
        })
        .collect();
    snapshot.active = decision.fleet.healthy_servers;
    snapshot.coming = decision.fleet.coming_servers;
    snapshot.draining = decision.fleet.draining_servers;
    snapshot.stopped = decision.fleet.stopped_servers;
    snapshot.servers_total = decision.fleet.servers;
    snapshot.actions = actions(decision);
    snapshot.alarms = decision.alarms.iter().map(ToString::to_string).collect();
    snapshot.servers = round
        .servers
        .iter()
        .map(|server| FleetServerSnapshot {
            name: server.name.to_string(),
            state: server.state.name().to_owned(),
            active: server.active,
        })
        .collect();
}

fn actions(decision: &Decision) -> Vec<String> {
    decision.actions.iter().map(ToString::to_string).collect()
}

fn add(total: &mut FleetDone, done: &Done) {
    total.created += done.created;
    total.woken += done.woken;
    total.drained += done.drained;
    total.recalled += done.recalled;
    total.stopped += done.stopped;
    total.deleted += done.deleted;
    total.replaced += done.replaced;
    total.cut += done.cut;
}

fn joined(texts: &[String]) -> String {
    texts.join(", ")
}

/// Seconds, down to milliseconds.
fn thousandths(span: Duration) -> f64 {
    millis(span) as f64 / 1e3
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
