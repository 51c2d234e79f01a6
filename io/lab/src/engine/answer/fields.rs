use http::{HeaderMap, HeaderValue};
use weir_dav::digest::{Digest, Hasher, parse_digest, parse_repr_digest};

use super::super::onward::is_onward;
use super::{Answer, Reader, State};
use crate::record::Fault;
use crate::target::Verify;

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
        if !reader.server_header.is_empty()
            && let Some(name) = fields.get(reader.server_header)
        {
            self.server = reader.servers.number(name.as_bytes());
        }
        if reader.follows && is_onward(status) {
            self.location = fields.get("location").map(|value| value.as_bytes().into());
        }
        if let Some(verify) = reader.verify
            && status == 200
            && !self.is_head
        {
            let digest = match verify {
                Verify::Given(digest) => digest.clone(),
                Verify::Announced => announced(fields).ok_or(Fault::NoChecksum)?,
            };
            self.check = Some((Hasher::new(digest.algorithm()), digest));
        }
        Ok(())
    }

    /// Takes in a piece of the body.
    pub(in crate::engine) fn take(&mut self, piece: &[u8]) {
        self.body_bytes += piece.len() as u64;
        if let Some((hasher, _)) = &mut self.check {
            hasher.update(piece);
        }
    }

    /// There is no more of it.
    pub(in crate::engine) fn finish(&mut self) -> Result<(), Fault> {
        debug_assert!(matches!(self.state, State::Head), "an answer is read in one way or the other");
        self.complete()
    }
}

fn announced(fields: &HeaderMap) -> Option<Digest> {
    let values = |name: &'static str| fields.get_all(name).into_iter().map(HeaderValue::as_bytes);
    let structured = values("repr-digest").chain(values("content-digest"));
    let structured = structured.filter_map(|value| parse_repr_digest(value).ok());
    let instance = values("digest").filter_map(|value| parse_digest(value).ok());
    structured.chain(instance).flatten().next()
}
