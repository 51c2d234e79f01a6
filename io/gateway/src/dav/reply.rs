//! Response that a disk thread can build.

use weir_dav::outcome::Outcome;
use weir_dav::xml::CONTENT_TYPE;
use weir_net::service::{Answer, Content};

/// A response built on a disk thread. Unlike an [`Answer`], it can be sent between threads.
#[derive(Debug)]
pub(crate) struct Reply {
    outcome: Outcome,
    headers: Vec<(&'static str, String)>,
    xml: Option<String>,
}

impl Reply {
    /// Creates a response without body.
    pub(crate) const fn new(outcome: Outcome) -> Self {
        Self { outcome, headers: Vec::new(), xml: None }
    }

    /// Creates a response with an XML body.
    pub(crate) const fn xml(outcome: Outcome, xml: String) -> Self {
        Self { outcome, headers: Vec::new(), xml: Some(xml) }
    }

    /// Adds a header line.
    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        let mut answer = Self::new(reply.outcome.status());
        for (name, value) in reply.headers {
            answer = answer.with(name, value);
        }
        match reply.xml {
            Some(xml) => answer.content(CONTENT_TYPE, Content::Bytes(xml.into_bytes())),
            None => answer,
        }
    }
}
