//! What happens when a try fails: another one where that is safe, else the client learns of it.

use std::rc::Rc;

use weir_http::Progress;

use super::{ClientSide, Exchange, State, Upload};
use crate::http::outcome::{Cut, End, Fault};
use crate::pump::PumpError;

impl Exchange {
    /// A try has failed before the head of its response was there: tries again if that is safe, permitted and useful. `None` = it does.
    #[cold]
    pub(super) fn failed(
        &mut self,
        fault: Fault,
        progress: Progress,
        client: &ClientSide<'_>,
    ) -> Option<End> {
        let is_connect = matches!(fault, Fault::Connect(_) | Fault::ConnectTimeout);
        if fault.speaks_against_server() {
            self.count_failure(!is_connect);
        }
        self.connection = None;
        if self.go_on_with_hedge(client) {
            return None;
        }
        let plan = &self.pool.shared.plan.retry;
        let failed = weir_http::FailedTry {
            progress,
            certainly_unprocessed: false,
            body_replayable: self.upload.bytes_read == self.upload_in_head,
        };
        let safe = weir_http::may_retry(&self.request.method, &failed) && fault.is_worth_a_retry();
        if !safe || self.retries >= plan.attempts {
            return Some(self.give_up(fault));
        }
        // The one before is over.
        self.retrying = None;
        self.retrying = self.pool.shared.take_retry_of_lost(client.worker.now());
        if self.retrying.is_none() {
            self.pool.counters().retries_denied.one();
            return Some(self.give_up(fault));
        }
        self.retries += 1;
        self.pool.counters().retries.one();
        if let Some(lease) = self.lease.take() {
            lease.server.counters().retries.one();
            if is_connect {
                lease.server.counters().connect_retries.one();
            }
            // A connection that had gone stale says nothing against its server; but the next may be stale as well.
            self.fresh_only = true;
            let stays = self.bond.as_ref().is_some_and(|bond| bond.is_faithful());
            let was_stale = self.reused && !self.timing.first_byte_came();
            if !was_stale && !stays {
                self.tried.push(lease.server.shared.slot);
                self.left = Some(Rc::clone(&lease.server));
            }
        }
        self.head_sent = 0;
        self.upload_state = Upload::Sending;
        self.partial.clear();
        self.state = State::Choose;
        None
    }

    pub(super) fn progress(&self) -> Progress {
        match (self.head_sent, self.passed_on) {
            (_, true) => Progress::PassedOn,
            (0, _) => Progress::NothingWritten,
            _ => Progress::Written,
        }
    }

    /// An answer, if none has begun; else the response is cut. An interim head may have gone out in part.
    #[cold]
    pub(super) fn give_up(&mut self, fault: Fault) -> End {
        self.connection = None;
        let begun = self.download.is_some() || !self.unsent.is_empty();
        if begun { End::Cut(Cut::Fault(fault)) } else { End::Answer(fault) }
    }

    #[cold]
    pub(super) fn upload_failed(&mut self, error: PumpError) -> End {
        match error {
            PumpError::Framing(error) => self.give_up(Fault::BodyFraming(error)),
            PumpError::TooLarge => self.give_up(Fault::BodyTooLarge),
            _ => End::Cut(Cut::ClientGone),
        }
    }

    /// Notes for passive ejection that this server failed. A connection that was not opened is counted as such, and not as a
    /// response that did not come as well.
    #[cold]
    pub(super) fn count_failure(&self, is_response: bool) {
        let Some(lease) = &self.lease else { return };
        // A kept connection that its server has closed is the server's right.
        if self.reused && !self.timing.first_byte_came() {
            return;
        }
        if is_response {
            lease.server.counters().response_errors.one();
        }
        self.pool.server_failed(lease);
    }
}
