//! Causes trouble during a run (kills, reloads, losses) and checks that it happened. A run without its
//! planned trouble is invalid.

use std::time::{Duration, Instant};

use weir_config::lab::{Case, Rival};

use super::balancers::Balancers;
use super::flaw::RunFlaw;
use super::stage::Network;

/// Trouble of one run.
pub(crate) struct Trouble<'t> {
    case: &'t Case,
    rival: &'t Rival,
    balancers: Option<&'t mut Balancers>,
    reloads: u64,
    is_lost: bool,
    /// Time at which the server was killed.
    killed: Option<Instant>,
    back: Option<Return>,
}

/// Return of a killed server.
struct Return {
    away: Duration,
    /// True if the server was back before the last requests.
    in_time: bool,
}

/// Tolerated excess of a server's absence, in addition to a quarter of the planned time, because its start
/// takes moments.
const AWAY_MORE: Duration = Duration::from_millis(250);

/// Action on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Kill,
    Revive,
}

impl<'t> Trouble<'t> {
    pub(crate) fn new(case: &'t Case, rival: &'t Rival, balancers: Option<&'t mut Balancers>) -> Self {
        Self { case, rival, balancers, reloads: 0, is_lost: false, killed: None, back: None }
    }

    /// Makes the balancer reload its configuration if the next reload is due.
    pub(crate) fn reload(&mut self, at_s: f64) {
        let Some(every) = self.case.reload_every else { return };
        if at_s < (self.reloads + 1) as f64 * every.duration().as_secs_f64() {
            return;
        }
        self.reloads += 1;
        if let Some(balancers) = &self.balancers {
            balancers.reload(self.rival);
        }
    }

    /// Takes from the active balancer of a pair what the case requires, once.
    pub(crate) fn lose(&mut self, network: &Network) -> Result<(), String> {
        match (self.case.lose, &mut self.balancers) {
            (Some(loss), Some(balancers)) if !self.is_lost => {
                self.is_lost = true;
                balancers.lose(loss, network)
            }
            _ => Ok(()),
        }
    }

    /// Returns the action that is due now, and counts it as done. `is_half` = half of the run is over.
    pub(crate) fn due(&mut self, is_half: bool) -> Option<Due> {
        let lasts = self.case.kill_for?.duration();
        match self.killed {
            None if is_half => {
                self.killed = Some(Instant::now());
                Some(Due::Kill)
            }
            Some(at) if self.back.is_none() && at.elapsed() >= lasts => Some(Due::Revive),
            _ => None,
        }
    }

    /// Records that the server answers again; `in_time` = requests are still due.
    pub(crate) fn came_back(&mut self, in_time: bool) {
        self.back = self.killed.map(|at| Return { away: at.elapsed(), in_time });
    }

    /// Returns true if the server was killed and is not back.
    pub(crate) fn is_away(&self) -> bool {
        self.killed.is_some() && self.back.is_none()
    }

    /// Returns a flaw if the planned trouble did not happen.
    pub(crate) fn flaw(&self) -> Option<RunFlaw> {
        let text = match (self.case.kill_for, self.killed) {
            (Some(_), None) => "the run was over before the server was killed".to_owned(),
            (Some(asked), Some(_)) => self.return_flaw(asked.duration())?,
            _ if self.case.reload_every.is_some() && self.reloads == 0 => {
                "the run was over before the first reload".to_owned()
            }
            _ if self.case.lose.is_some() && !self.is_lost => {
                "the run was over before anything was lost".to_owned()
            }
            _ => return None,
        };
        Some(RunFlaw::of_lab(text))
    }

    /// Returns the reason if the server came back late, because its absence was then longer than for other
    /// rivals.
    fn return_flaw(&self, asked: Duration) -> Option<String> {
        let Some(back) = self.back.as_ref().filter(|back| back.in_time) else {
            return Some("the run was over before the server was back".to_owned());
        };
        let is_late = back.away > asked + asked / 4 + AWAY_MORE;
        is_late.then(|| {
            format!(
                "the server was away for {:.1} s, not {:.1} s",
                back.away.as_secs_f64(),
                asked.as_secs_f64()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use weir_config::Source;
    use weir_config::lab::{self, Scenario};

    use super::*;

    fn scenario(more: &str) -> Scenario {
        let text = format!("[[test]]\nrate = 10\npath = \"/\"\n{more}\n");
        lab::load(&Source::new("x", text), false, &|_| None).unwrap()
    }

    fn said(trouble: &Trouble<'_>) -> String {
        trouble.flaw().unwrap().text
    }

    #[test]
    fn a_run_that_ends_before_its_trouble_is_flawed() {
        let calm = scenario("");
        assert_eq!(Trouble::new(&calm.cases[0], &calm.rivals[0], None).flaw(), None);
        let reloads = scenario("reload-every = \"1s\"");
        let mut trouble = Trouble::new(&reloads.cases[0], &reloads.rivals[0], None);
        trouble.reload(0.9);
        assert_eq!(said(&trouble), "the run was over before the first reload");
        trouble.reload(1.1);
        assert_eq!(trouble.flaw(), None);
        let kills = scenario("kill-for = \"1ms\"");
        let mut trouble = Trouble::new(&kills.cases[0], &kills.rivals[0], None);
        assert_eq!(trouble.due(false), None);
        assert_eq!(said(&trouble), "the run was over before the server was killed");
        assert_eq!(trouble.due(true), Some(Due::Kill));
        assert_eq!(said(&trouble), "the run was over before the server was back");
        weir_testkit::wait_until("its return", weir_testkit::PATIENCE, || {
            trouble.due(true) == Some(Due::Revive)
        });
        assert!(trouble.is_away());
        trouble.came_back(true);
        assert_eq!((trouble.due(true), trouble.flaw(), trouble.is_away()), (None, None, false));
    }

    #[test]
    fn a_server_that_is_back_too_late_is_not_back() {
        let kills = scenario("kill-for = \"400ms\"");
        let away_ms = |away_ms, in_time| {
            let mut trouble = Trouble::new(&kills.cases[0], &kills.rivals[0], None);
            trouble.killed = Some(Instant::now());
            trouble.back = Some(Return { away: Duration::from_millis(away_ms), in_time });
            trouble.flaw().map(|flaw| flaw.text)
        };
        assert_eq!((away_ms(400, true), away_ms(700, true)), (None, None));
        assert_eq!(away_ms(800, true).unwrap(), "the server was away for 0.8 s, not 0.4 s");
        assert_eq!(away_ms(410, false).unwrap(), "the run was over before the server was back");
    }
}
