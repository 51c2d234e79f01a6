use weir_dav::outcome::Outcome;
use weir_dav::xml::CONTENT_TYPE;
use weir_net::service::{Answer, Content};

/// An answer as threads of the disk make it: it can leave them, which an [`Answer`] cannot.
#[derive(Debug)]
pub(crate) struct Reply {
    outcome: Outcome,
    headers: Vec<(&'static str, String)>,
    xml: Option<String>,
}

impl Reply {
    /// Without body.
    pub(crate) const fn new(outcome: Outcome) -> Self {
        Self { outcome, headers: Vec::new(), xml: None }
    }

    /// With a body of XML.
    pub(crate) const fn xml(outcome: Outcome, xml: String) -> Self {
        Self { outcome, headers: Vec::new(), xml: Some(xml) }
    }

    /// With a further header line.
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
