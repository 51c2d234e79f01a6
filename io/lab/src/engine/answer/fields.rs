use http::{HeaderMap, HeaderValue};

use super::super::onward::is_onward;
use super::{Answer, Reader, State};
use crate::record::Fault;

/// An answer over HTTP/2: its head and the pieces of its body come apart already.
impl Answer {
    /// Takes in the head.
    pub(in crate::engine) fn begin(
        &mut self,
        status: u16,
        fields: &HeaderMap,
        reader: &mut Reader<'_>,
    ) -> Result<(), Fault> {
        self.status = status;
        self.keep_alive = true;
        // Before compression, with the status: what the server said, not how well it was packed.
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

    /// Takes in a piece of the body.
    pub(in crate::engine) fn take(&mut self, piece: &[u8]) {
        self.body_bytes += piece.len() as u64;
        for (hasher, _) in self.check.iter_mut().chain(&mut self.told) {
            hasher.update(piece);
        }
    }

    /// There is no more of it.
    pub(in crate::engine) fn finish(&mut self) -> Result<(), Fault> {
        debug_assert!(matches!(self.state, State::Head), "an answer is read in one way or the other");
        self.complete()
    }
}
