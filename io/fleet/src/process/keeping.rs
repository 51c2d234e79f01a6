//! Periodic maintenance of processes: restarts those that ended by themselves, and ends those that should
//! end.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use super::record::{Life, Wanted};
use super::settings::Restart;
use super::{Process, ProcessProvider, launch, log, millis, signal};
use crate::Token;

/// Time after which a process counts as stable, in milliseconds.
const STEADY_MS: u64 = 60_000;

const RESTART_PAUSE_MAX: Duration = Duration::from_secs(60);

impl ProcessProvider {
    /// Does the due maintenance of each process. An error of one does not affect the others.
    pub(super) fn keep(&self) -> io::Result<()> {
        let tokens: Vec<Token> = self.processes.borrow().keys().cloned().collect();
        let mut trouble = Ok(());
        for token in tokens {
            if let Err(cause) = self.keep_one(&token) {
                trouble = Err(cause);
            }
        }
        trouble
    }

    fn keep_one(&self, token: &Token) -> io::Result<()> {
        let mut processes = self.processes.borrow_mut();
        let Some(process) = processes.get_mut(token) else { return Ok(()) };
        let alive = process.is_alive();
        log::cut(&self.records.log(token), self.settings.log_bytes_max)?;
        match process.record.wanted {
            Wanted::Running if alive => self.steady(process),
            Wanted::Running => {
                if process.record.life.process.is_some() || process.child.is_some() {
                    self.ended_by_itself(process)?;
                }
                let due = process.record.life.restart_at_ms.is_none_or(|at| at <= self.now_ms());
                if process.record.wanted == Wanted::Running && due {
                    let kept = process.record.port;
                    if !launch::is_free(self.settings.address, kept) {
                        let other = self.port(&processes).map_err(io::Error::other)?;
                        if let Some(process) = processes.get_mut(token) {
                            process.record.port = other;
                        }
                    }
                    let Some(process) = processes.get_mut(token) else { return Ok(()) };
                    if let Err(cause) = self.launch(process) {
                        self.schedule(process, cause.to_string())?;
                    }
                }
                Ok(())
            }
            Wanted::Stopped | Wanted::Gone if alive => self.help_to_end(process),
            Wanted::Stopped => {
                if process.record.life.process.is_some() || process.child.is_some() {
                    self.over(process);
                    process.record.life = Life::default();
                    self.records.save(&process.record)?;
                    self.steps.reached("a stop is recorded");
                }
                Ok(())
            }
            Wanted::Gone => {
                self.over(process);
                self.records.remove(token)?;
                self.steps.reached("a record is removed");
                processes.remove(token);
                Ok(())
            }
        }
    }

    fn steady(&self, process: &mut Process) -> io::Result<()> {
        let ran_ms = self.now_ms().saturating_sub(process.record.life.started_ms);
        if process.record.restarts > 0 && ran_ms >= STEADY_MS {
            process.record.restarts = 0;
            self.records.save(&process.record)?;
        }
        Ok(())
    }

    fn help_to_end(&self, process: &mut Process) -> io::Result<()> {
        let Some(mark) = process.record.life.process else { return Ok(()) };
        if !process.record.life.asked {
            signal::ask_to_end(mark);
            self.steps.reached("a process is asked to end");
            // A crash between here and the save would send the signal twice, which is better than never.
            process.record.life.asked = true;
            return self.records.save(&process.record);
        }
        if process.record.life.end_by_ms.is_none_or(|by| by <= self.now_ms()) {
            signal::end(mark, &self.name_of(&process.record.token));
        }
        Ok(())
    }

    /// Handles a process that ended without a request.
    fn ended_by_itself(&self, process: &mut Process) -> io::Result<()> {
        let status = self.over(process);
        let good = status.is_some_and(|status| status.success());
        let end = status
            .map_or_else(|| "nobody saw how: it was not our child".to_owned(), |status| status.to_string());
        let again = match self.settings.restart {
            Restart::Always => true,
            Restart::OnFailure => !good,
            Restart::Never => false,
        };
        if again {
            return self.schedule(process, end);
        }
        process.record.last_end = Some(end);
        process.record.wanted = Wanted::Stopped;
        process.record.given_up = !good;
        process.record.life = Life::default();
        self.records.save(&process.record)
    }

    fn schedule(&self, process: &mut Process, end: String) -> io::Result<()> {
        let record = &mut process.record;
        let doubled = 1_u32.checked_shl(record.restarts).unwrap_or(u32::MAX);
        let pause = self.settings.restart_pause.saturating_mul(doubled).min(RESTART_PAUSE_MAX);
        record.last_end = Some(end);
        record.restarts = record.restarts.saturating_add(1);
        record.life = Life { restart_at_ms: Some(self.now_ms() + millis(pause)), ..Life::default() };
        self.records.save(record)
    }

    /// Cleans up after a process that ended. Ends its child processes, too, because they would occupy the
    /// port.
    fn over(&self, process: &mut Process) -> Option<ExitStatus> {
        if process.record.life.process.is_some() || process.child.is_some() {
            signal::end_rest(&self.name_of(&process.record.token));
        }
        process.child.take()?.try_wait().unwrap_or_default()
    }
}
