//! Handles a failed try: retries if that is safe, and otherwise reports the failure to the client.

use std::rc::Rc;

use weir_http::Progress;

use super::{ClientSide, Exchange, State, Upload};
use crate::http::outcome::{Cut, End, Fault};
use crate::pump::PumpError;

impl Exchange {
    /// Handles a failure before the response head was complete: retries if that is safe, permitted and
    /// useful. Returns `None` if it does.
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
        // The former retry is over.
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
            // A stale connection says nothing against its server; but the next one may be stale too.
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

    /// Ends the exchange with an error response, or cuts the response if one has begun. An interim head may
    /// have been sent in part.
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

    /// Records for passive ejection that this server failed. A failed connect does not also count as a
    /// missing response.
    #[cold]
    pub(super) fn count_failure(&self, is_response: bool) {
        let Some(lease) = &self.lease else { return };
        // A server may close an idle connection at any time.
        if self.reused && !self.timing.first_byte_came() {
            return;
        }
        if is_response {
            lease.server.counters().response_errors.one();
        }
        self.pool.server_failed(lease);
    }
}
