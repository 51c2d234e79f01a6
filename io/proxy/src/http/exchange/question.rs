//! Questions about an upload whose body stays here: may it be, and is it as it should be.

use weir_http::Framing;
use weir_net::service::Publish;

use super::{ClientSide, Exchange, State};
use crate::http::response::Asked;

/// What the server of an exchange is asked.
pub(crate) enum Question {
    /// Whether there may be an upload, and where. Its body waits meanwhile.
    Before(PendingUpload),
    /// Whether what came is as it should be.
    After {
        /// Makes it visible; `None` = it is.
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
    /// The client's connection may carry another request once the body has been read.
    pub(crate) keep_alive: bool,
    /// Tells the server which of its two questions belong together.
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

    /// Whether the request has a body that nobody has read, and that nobody will if its server says no.
    pub(crate) fn leaves_body(&self) -> bool {
        match self.question.as_deref() {
            Some(Question::Before(pending)) => !matches!(pending.framing, Framing::None | Framing::Length(0)),
            _ => false,
        }
    }

    /// Bytes of an upload that were taken before its server was asked about it.
    pub(crate) fn taken_bytes(&self) -> Option<u64> {
        match self.question.as_deref() {
            Some(Question::After { bytes, .. }) => Some(*bytes),
            _ => None,
        }
    }

    /// The server has said yes, with this status.
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

    /// It is visible: now the client may know.
    #[cold]
    pub(super) fn published(&mut self, client: &ClientSide<'_>) {
        self.pool.counters().offloads.one();
        self.state = State::Running;
        self.arm(client);
    }

    /// It will never be visible. That was not up to the server, whose answer was a good one.
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
