//! Verifies the digests in a response: digests of the response itself, and digests of an uploaded body.

use weir_dav::digest::{Digest, Hasher, parse_digest, parse_repr_digest};

use super::Answer;
use crate::record::Fault;
use crate::target::Verify;

impl Answer {
    /// Reads the digests from a head with these header values, and so prepares the checks of the body.
    pub(super) fn expect<'v, V>(
        &mut self,
        verify: Option<&Verify>,
        values: impl Fn(&'static str) -> V,
    ) -> Result<(), Fault>
    where
        V: Iterator<Item = &'v [u8]>,
    {
        let Some(verify) = verify else { return Ok(()) };
        let structured = |name| values(name).filter_map(|value| parse_repr_digest(value).ok()).flatten();
        let instance = || values("digest").filter_map(|value| parse_digest(value).ok()).flatten();
        if self.is_upload {
            if (200..300).contains(&self.status) {
                self.told = structured("repr-digest").chain(instance()).map(with_hasher).collect();
            }
            // This digest always covers the content of the response, also after an upload (RFC 9530 section
            // 2).
            self.check = structured("content-digest").next().filter(|_| self.status == 200).map(with_hasher);
        } else if self.status == 200 && !self.is_head {
            let digest = match verify {
                Verify::Given(digest) => Some(digest.clone()),
                Verify::Announced => {
                    structured("repr-digest").chain(structured("content-digest")).chain(instance()).next()
                }
            };
            self.check = Some(with_hasher(digest.ok_or(Fault::NoChecksum)?));
        }
        Ok(())
    }

    /// Compares the server's digests of an upload with those of the sent body, after the response is
    /// complete.
    pub(in crate::engine) fn compare(&mut self, sent: &[Digest]) -> Result<(), Fault> {
        if !self.is_upload || !(200..300).contains(&self.status) {
            return Ok(());
        }
        let mut verified = false;
        for (hasher, told) in std::mem::take(&mut self.told) {
            let Some(sent) = sent.iter().find(|sent| sent.algorithm() == told.algorithm()) else { continue };
            if *sent == told {
                verified = true;
            } else if self.body_bytes == 0 || hasher.finish() != told {
                return Err(Fault::UploadChecksum);
            }
        }
        self.verified = Some(verified);
        Ok(())
    }
}

fn with_hasher(digest: Digest) -> (Hasher, Digest) {
    (Hasher::new(digest.algorithm()), digest)
}
