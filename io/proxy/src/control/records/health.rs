//! The health of one server.

use std::time::Duration;

use tokio::time::Instant;
use weir_config::plan::CheckPlan;
use weir_control::{AgentSnapshot, CheckCode, CheckSnapshot, Health};
use weir_health::{
    CheckState, EjectionRule, EjectionState, PoolEjections, TrafficSample, Transition, Verdict,
};

use weir_wire::agent::{AgentReply, AgentState, AgentWish};

use super::UpClock;

/// Health of one server, from checks, traffic, agent and resolver.
#[derive(Debug)]
pub(in crate::control) struct HealthRecord {
    check: Option<CheckState>,
    ejection: Option<Box<EjectionState>>,
    /// Last agent replies; `None` = no agent, or no check of it yet.
    agent: Option<Box<AgentRecord>>,
    last: Option<(CheckResult, Instant)>,
    /// Reason why the server cannot be reached, whatever its checks say.
    unreachable: Option<String>,
    clock: UpClock,
    /// Time of the last change that `clock` does not record.
    changed: Instant,
    pub(in crate::control) check_failures: u64,
    pub(in crate::control) ejections: u64,
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::control) struct CheckResult {
    pub(in crate::control) code: CheckCode,
    /// HTTP status, if there was a response.
    pub(in crate::control) status: Option<u16>,
    /// Text for operators.
    pub(in crate::control) text: String,
    pub(in crate::control) duration: Duration,
}

/// State that a server's agent has reported.
#[derive(Debug, Default)]
pub(in crate::control) struct AgentRecord {
    /// State from all replies so far.
    pub(in crate::control) state: AgentState,
    /// Remark of the last reply, or the reason why it is missing.
    remark: String,
    is_silent: bool,
    /// Processor use in the last reply. Unlike the agent's commands, a measurement expires when the agent is
    /// silent.
    cpu_percent: Option<u32>,
    at: Option<Instant>,
}

/// Effect of an agent's reply.
#[derive(Debug, Default)]
pub(in crate::control) struct AgentChange {
    pub(in crate::control) anything: bool,
    pub(in crate::control) left_maintenance: bool,
    /// Problem for the operator; logged once until it changes.
    pub(in crate::control) trouble: Option<String>,
}

/// Effect of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::control) struct HealthChange {
    pub(in crate::control) transition: Transition,
    /// Duration of the previous state.
    pub(in crate::control) lasted: Duration,
}

impl HealthRecord {
    pub(super) fn new(check: Option<&CheckPlan>, ejection: Option<&EjectionRule>, now: Instant) -> Self {
        let check = check.map(|check| CheckState::new(&check.timing));
        let is_up = check.as_ref().is_none_or(CheckState::is_up);
        Self {
            check,
            ejection: ejection.map(|_| Box::default()),
            agent: None,
            last: None,
            unreachable: None,
            clock: UpClock::new(is_up, now),
            changed: now,
            check_failures: 0,
            ejections: 0,
        }
    }

    /// Applies other rules. The known state of the server stays.
    pub(super) fn configure(
        &mut self,
        check: Option<&CheckPlan>,
        ejection: Option<&EjectionRule>,
        now: Instant,
    ) {
        match (&mut self.check, check) {
            (Some(state), Some(plan)) => state.set_timing(&plan.timing),
            (None, None) => {}
            (_, plan) => {
                self.check = plan.map(|plan| CheckState::new(&plan.timing));
                self.last = None;
            }
        }
        match (&self.ejection, ejection) {
            (None, Some(_)) => self.ejection = Some(Box::default()),
            (Some(_), None) => self.ejection = None,
            _ => {}
        }
        self.update(now);
    }

    /// Discards the agent's state.
    pub(super) fn forget_agent(&mut self, now: Instant) {
        self.agent = None;
        self.update(now);
    }

    /// Applies an agent's reply, or the reason why there is none.
    pub(in crate::control) fn on_agent(
        &mut self,
        answer: &Result<AgentReply, String>,
        now: Instant,
    ) -> AgentChange {
        let agent = self.agent.get_or_insert_default();
        agent.at = Some(now);
        let reply = match answer {
            Ok(reply) => reply,
            Err(why) => {
                let told = (!agent.is_silent).then(|| format!("{why}; what it said before holds"));
                agent.is_silent = true;
                agent.cpu_percent = None;
                agent.remark.clone_from(why);
                return AgentChange { trouble: told, ..AgentChange::default() };
            }
        };
        let strange = reply.unknown.as_ref().map(|word| format!("{word:?} means nothing"));
        let remark = strange.clone().unwrap_or_else(|| reply.remark.clone());
        let trouble = strange.filter(|_| remark != agent.remark);
        agent.is_silent = false;
        agent.cpu_percent = reply.cpu_percent;
        agent.remark = remark;
        let was_away = agent.state.wish() == AgentWish::Maintenance;
        let anything = agent.state.on_reply(reply);
        let left_maintenance = was_away && agent.state.wish() != AgentWish::Maintenance;
        if anything {
            self.changed = now;
            self.update(now);
        }
        AgentChange { anything, left_maintenance, trouble }
    }

    pub(in crate::control) fn agent(&self) -> Option<&AgentRecord> {
        self.agent.as_deref()
    }

    /// Returns the agent's state for snapshots.
    pub(in crate::control) fn last_agent(&self, now: Instant) -> Option<AgentSnapshot> {
        let agent = self.agent()?;
        Some(AgentSnapshot {
            says: agent.state.words(),
            remark: agent.remark.clone(),
            is_silent: agent.is_silent,
            weight_percent: Some(agent.state.weight_percent()).filter(|percent| *percent != 100),
            // The caller sets this, because the operator's state is unknown here.
            keeps_out: false,
            cpu_percent: agent.cpu_percent,
            ms_ago: now.saturating_duration_since(agent.at?).as_millis() as u64,
        })
    }

    /// Resets the check state after maintenance, because there were no checks meanwhile.
    pub(in crate::control) fn restart(&mut self, check: Option<&CheckPlan>, now: Instant) {
        self.check = check.map(|check| CheckState::new(&check.timing));
        self.last = None;
        self.update(now);
    }

    /// Applies the result of a check.
    pub(in crate::control) fn on_check(&mut self, result: CheckResult, now: Instant) -> Option<HealthChange> {
        let counts = result.code != CheckCode::SocketError;
        let passed = result.code.passed();
        self.last = Some((result, now));
        if !counts {
            return None;
        }
        if !passed {
            self.check_failures += 1;
        }
        let transition = self.check.as_mut()?.on_outcome(passed);
        let lasted = self.update(now);
        Some(HealthChange { transition: transition?, lasted: lasted.unwrap_or_default() })
    }

    /// Sets the reason why the server cannot be reached; `None` = it can.
    pub(super) fn set_unreachable(&mut self, why: Option<String>, now: Instant) {
        self.unreachable = why;
        self.update(now);
    }

    /// Takes over the check state of the same server under another name. Traffic counts start from 0.
    pub(super) fn inherit(&mut self, before: Self, now: Instant) {
        (self.check, self.last, self.clock) = (before.check, before.last, before.clock);
        self.update(now);
    }

    /// Judges the server by its traffic. `since_start` is the time since any fixed start.
    pub(in crate::control) fn judge(
        &mut self,
        rule: &EjectionRule,
        since_start: Duration,
        sample: TrafficSample,
        pool: PoolEjections,
        now: Instant,
    ) -> Verdict {
        let Some(ejection) = &mut self.ejection else { return Verdict::Stay };
        let verdict = ejection.judge(rule, since_start, sample, pool);
        match verdict {
            Verdict::Stay => {}
            Verdict::Probe | Verdict::Return => self.changed = now,
            Verdict::Eject { .. } => {
                self.changed = now;
                self.ejections += 1;
            }
        }
        verdict
    }

    /// Records that another property has changed.
    pub(super) fn touch(&mut self, now: Instant) {
        self.changed = now;
    }

    /// Returns true if checks, agent and resolver permit requests.
    pub(in crate::control) fn is_up(&self) -> bool {
        self.clock.is_up()
    }

    pub(in crate::control) fn is_ejected(&self) -> bool {
        self.ejection.as_ref().is_some_and(|ejection| ejection.ejected_until().is_some())
    }

    pub(in crate::control) fn unreachable(&self) -> Option<&str> {
        self.unreachable.as_deref()
    }

    /// Returns true if the server is half open: after an ejection it gets a few requests only.
    pub(in crate::control) fn is_half_open(&self) -> bool {
        self.ejection.as_ref().is_some_and(|ejection| ejection.is_half_open())
    }

    pub(in crate::control) fn clock(&self) -> &UpClock {
        &self.clock
    }

    /// Returns the time since the last change of state.
    pub(in crate::control) fn unchanged_for(&self, now: Instant) -> Duration {
        self.clock.lasts(now).min(now.saturating_duration_since(self.changed))
    }

    /// Returns the wait before the next check, or before the first; `None` = the server is not checked.
    pub(in crate::control) fn wait(&self, is_first: bool, random: u64) -> Option<Duration> {
        let check = self.check.as_ref()?;
        Some(if is_first { check.first_wait(random) } else { check.next_wait(random) })
    }

    /// Returns the health in one word for snapshots.
    pub(in crate::control) fn health(&self, since_start: Duration) -> Health {
        let ejected_until = self.ejection.as_ref().and_then(|ejection| ejection.ejected_until());
        if self.agent.as_ref().is_some_and(|agent| !agent.state.is_up()) {
            return Health::Down;
        }
        let Some(check) = self.check.as_ref().filter(|_| self.unreachable.is_none()) else {
            return match (&self.unreachable, ejected_until) {
                (Some(_), _) => Health::Down,
                (None, Some(until)) => Self::ejected(until, since_start),
                (None, None) => Health::NoCheck,
            };
        };
        // Before the first result it is also about to change, but no check has failed yet.
        let is_changing = check.is_changing() && self.last.is_some();
        let (steps, of) = check.progress();
        match (check.is_up(), ejected_until) {
            (true, Some(until)) => Self::ejected(until, since_start),
            (true, None) if is_changing => Health::GoingDown { failures: of.saturating_sub(steps), fall: of },
            (true, None) => Health::Up,
            (false, _) if is_changing => Health::GoingUp { successes: steps, rise: of },
            (false, _) => Health::Down,
        }
    }

    /// Returns the last check, or the reason why there can be none.
    pub(in crate::control) fn last_check(&self, now: Instant) -> Option<CheckSnapshot> {
        if let Some(why) = &self.unreachable {
            let code = CheckCode::SocketError;
            let ms_ago = self.clock.lasts(now).as_millis() as u64;
            return Some(CheckSnapshot { code, status: None, text: why.clone(), duration_us: 0, ms_ago });
        }
        self.check.as_ref()?;
        let Some((last, at)) = &self.last else {
            return Some(CheckSnapshot { code: CheckCode::Initializing, ..CheckSnapshot::default() });
        };
        Some(CheckSnapshot {
            code: last.code,
            status: last.status,
            text: last.text.clone(),
            duration_us: last.duration.as_micros() as u64,
            ms_ago: now.saturating_duration_since(*at).as_millis() as u64,
        })
    }

    fn update(&mut self, now: Instant) -> Option<Duration> {
        let agent_lets = self.agent.as_ref().is_none_or(|agent| agent.state.is_up());
        let is_up =
            self.unreachable.is_none() && agent_lets && self.check.as_ref().is_none_or(CheckState::is_up);
        self.clock.set(is_up, now)
    }

    fn ejected(until: Duration, since_start: Duration) -> Health {
        Health::Ejected { remaining_ms: until.saturating_sub(since_start).as_millis() as u64 }
    }
}
