//! What happens during a run besides its load, and whether it did: a run without the trouble that it is about says nothing.

use std::time::Instant;

use weir_config::lab::{Case, Rival};

use super::balancers::Balancers;
use super::stage::Network;

/// Of one run.
pub(crate) struct Trouble<'t> {
    case: &'t Case,
    rival: &'t Rival,
    balancers: Option<&'t mut Balancers>,
    reloads: u64,
    is_lost: bool,
    /// When the server was.
    pub(crate) killed: Option<Instant>,
    /// Before the run ended.
    pub(crate) is_back: bool,
}

/// What is to be done to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Kill,
    Revive,
}

impl<'t> Trouble<'t> {
    pub(crate) fn new(case: &'t Case, rival: &'t Rival, balancers: Option<&'t mut Balancers>) -> Self {
        Self { case, rival, balancers, reloads: 0, is_lost: false, killed: None, is_back: false }
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
            Some(at) if !self.is_back && at.elapsed() >= lasts => Some(Due::Revive),
            _ => None,
        }
    }

    /// Why the run was not what it is about; none if it was.
    pub(crate) fn flaw(&self) -> Option<String> {
        let flaw = match (self.case.kill_for, self.killed, self.case.reload_every) {
            (Some(_), None, _) => "the run was over before the server was killed",
            (Some(_), Some(_), _) if !self.is_back => "the run was over before the server was back",
            (_, _, Some(_)) if self.reloads == 0 => "the run was over before the first reload",
            _ if self.case.lose.is_some() && !self.is_lost => "the run was over before anything was lost",
            _ => return None,
        };
        Some(flaw.to_owned())
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

    #[test]
    fn a_run_that_ends_before_its_trouble_is_flawed() {
        let calm = scenario("");
        assert_eq!(Trouble::new(&calm.cases[0], &calm.rivals[0], None).flaw(), None);
        let reloads = scenario("reload-every = \"1s\"");
        let mut trouble = Trouble::new(&reloads.cases[0], &reloads.rivals[0], None);
        trouble.reload(0.9);
        assert_eq!(trouble.flaw().unwrap(), "the run was over before the first reload");
        trouble.reload(1.1);
        assert_eq!(trouble.flaw(), None);
        let kills = scenario("kill-for = \"1ms\"");
        let mut trouble = Trouble::new(&kills.cases[0], &kills.rivals[0], None);
        assert_eq!(trouble.due(false), None);
        assert_eq!(trouble.flaw().unwrap(), "the run was over before the server was killed");
        assert_eq!(trouble.due(true), Some(Due::Kill));
        assert_eq!(trouble.flaw().unwrap(), "the run was over before the server was back");
        weir_testkit::wait_until("its return", weir_testkit::PATIENCE, || {
            trouble.due(true) == Some(Due::Revive)
        });
        trouble.is_back = true;
        assert_eq!((trouble.due(true), trouble.flaw()), (None, None));
    }
}
