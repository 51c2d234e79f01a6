//! Subrequests about an upload whose body stays in this process: one asks for permission, the other for
//! confirmation.

use weir_http::Framing;
use weir_net::service::Publish;

use super::{ClientSide, Exchange, State};
use crate::http::response::Asked;

/// Subrequest to the server of an exchange.
pub(crate) enum Question {
    /// Asks for permission and for the path of an upload. The body waits meanwhile.
    Before(PendingUpload),
    /// Asks for confirmation of the received upload.
    After {
        /// Makes the upload visible; `None` = it is visible.
        publish: Option<Publish>,
        /// Bytes of the body, framing included.
        bytes: u64,
    },
}

/// A body that waits for permission.
#[derive(Debug, Clone)]
pub(crate) struct PendingUpload {
    pub(crate) framing: Framing,
    pub(crate) expects_continue: bool,
    /// True if the client's connection may carry another request once the body has been read.
    pub(crate) keep_alive: bool,
    /// Id by which the server matches the two subrequests.
    pub(crate) id: String,
}

impl Exchange {
    pub(crate) fn asking(mut self, question: Question) -> Self {
        self.question = Some(Box::new(question));
        self
    }

    pub(super) fn asked(&self) -> Asked {
        match self.question.as_deref() {
            None => Asked::Nothing,
            Some(Question::Before(_)) => Asked::Before,
            Some(Question::After { publish, .. }) => Asked::After { visible: publish.is_none() },
        }
    }

    /// Returns true if the request has an unread body that will not be read if the server refuses it.
    pub(crate) fn leaves_body(&self) -> bool {
        match self.question.as_deref() {
            Some(Question::Before(pending)) => !matches!(pending.framing, Framing::None | Framing::Length(0)),
            _ => false,
        }
    }

    /// Returns the bytes of an upload that were received before its server was asked to confirm it.
    pub(crate) fn taken_bytes(&self) -> Option<u64> {
        match self.question.as_deref() {
            Some(Question::After { bytes, .. }) => Some(*bytes),
            _ => None,
        }
    }

    /// Makes the upload visible, after the server has accepted it with this status.
    #[cold]
    pub(super) fn publish(&mut self, status: u16) {
        if let Some(Question::After { publish, .. }) = self.question.as_deref_mut()
            && let Some(publish) = publish.take()
        {
            self.state = State::Publishing(publish(), status);
        }
    }

    pub(super) fn is_publishing(&self) -> bool {
        matches!(self.state, State::Publishing(..))
    }

    /// Continues with the response, because the upload is visible.
    #[cold]
    pub(super) fn published(&mut self, client: &ClientSide<'_>) {
        self.pool.counters().offloads.one();
        self.state = State::Running;
        self.arm(client);
    }

    /// Counts an upload that cannot be made visible. That is not the server's fault, so its response counts
    /// as a success.
    #[cold]
    pub(super) fn unpublished(&mut self, status: u16, client: &ClientSide<'_>) {
        self.pool.counters().offloads_failed.one();
        if let Some(lease) = &self.lease {
            lease.answered(client.worker.now(), self.timing.server().unwrap_or_default(), status);
            lease.server.counters().responses.count(status);
        }
        self.head_came(status, client);
    }

    pub(super) fn take_pending(&mut self) -> Option<PendingUpload> {
        match self.question.take().map(|question| *question) {
            Some(Question::Before(pending)) => Some(pending),
            _ => None,
        }
    }
}
