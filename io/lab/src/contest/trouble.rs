//! What happens during a run besides its load, and whether it did: a run without the trouble that it is about says nothing.

use std::time::{Duration, Instant};

use weir_config::lab::{Case, Rival};

use super::balancers::Balancers;
use super::flaw::RunFlaw;
use super::stage::Network;

/// Of one run.
pub(crate) struct Trouble<'t> {
    case: &'t Case,
    rival: &'t Rival,
    balancers: Option<&'t mut Balancers>,
    reloads: u64,
    is_lost: bool,
    /// When the server was.
    killed: Option<Instant>,
    back: Option<Return>,
}

/// A server's that was killed.
struct Return {
    away: Duration,
    /// Requests still came that could be sent to it.
    in_time: bool,
}

/// So much longer than asked for it may be away, and a quarter of that besides: it takes moments to start.
const AWAY_MORE: Duration = Duration::from_millis(250);

/// What is to be done to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Kill,
    Revive,
}

impl<'t> Trouble<'t> {
    pub(crate) fn new(case: &'t Case, rival: &'t Rival, balancers: Option<&'t mut Balancers>) -> Self {
        Self { case, rival, balancers, reloads: 0, is_lost: false, killed: None, back: None }
    }

    /// Tells the balancer to read its configuration again if it is time to do so once more.
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

    /// Takes from the active one of a pair what the case wants it to lose, once.
    pub(crate) fn lose(&mut self, network: &Network) -> Result<(), String> {
        match (self.case.lose, &mut self.balancers) {
            (Some(loss), Some(balancers)) if !self.is_lost => {
                self.is_lost = true;
                balancers.lose(loss, network)
            }
            _ => Ok(()),
        }
    }

    /// What is due now; `is_half` = half of the run is over. It counts as done.
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

    /// The server answers again; `in_time` = while requests come.
    pub(crate) fn came_back(&mut self, in_time: bool) {
        self.back = self.killed.map(|at| Return { away: at.elapsed(), in_time });
    }

    /// It was killed, and is not there again.
    pub(crate) fn is_away(&self) -> bool {
        self.killed.is_some() && self.back.is_none()
    }

    /// Why the run was not what it is about; none if it was.
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

    /// A server that comes back late has been lost for longer than others' were.
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
