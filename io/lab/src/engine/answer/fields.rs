//! Reads HTTP/2 responses.

use http::{HeaderMap, HeaderValue};

use super::super::onward::is_onward;
use super::{Answer, Reader, State};
use crate::record::Fault;

/// Reading of an HTTP/2 response, whose head and body pieces are already separate.
impl Answer {
    /// Reads the head.
    pub(in crate::engine) fn begin(
        &mut self,
        status: u16,
        fields: &HeaderMap,
        reader: &mut Reader<'_>,
    ) -> Result<(), Fault> {
        self.status = status;
        self.keep_alive = true;
        // The size before compression, with the status, so that the figure does not depend on the
        // compression.
        let bytes: usize = fields.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        self.head_bytes = u32::try_from(bytes + ":status200".len()).unwrap_or(u32::MAX);
        reader.note_software(|_| {
            fields.get("server").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        if !reader.server_header.is_empty()
            && let Some(name) = fields.get(reader.server_header)
        {
            self.server = reader.servers.number(name.as_bytes());
        }
        if reader.follows && is_onward(status) {
            self.location = fields.get("location").map(|value| value.as_bytes().into());
        }
        let values = |name: &'static str| fields.get_all(name).into_iter().map(HeaderValue::as_bytes);
        self.expect(reader.verify, values)
    }

    /// Adds a piece of the body.
    pub(in crate::engine) fn take(&mut self, piece: &[u8]) {
        self.body_bytes += piece.len() as u64;
        for (hasher, _) in self.check.iter_mut().chain(&mut self.told) {
            hasher.update(piece);
        }
    }

    /// Handles the end of the body.
    pub(in crate::engine) fn finish(&mut self) -> Result<(), Fault> {
        debug_assert!(matches!(self.state, State::Head), "an answer is read in one way or the other");
        self.complete()
    }
}
