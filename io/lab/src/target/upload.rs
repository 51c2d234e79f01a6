//! Digests of uploaded bodies.

use std::sync::{Arc, OnceLock};

use weir_dav::digest::{Algorithm, Digest, Hasher};

use super::{Body, TargetSpec};

/// Algorithms that the server is asked for by default, in the syntax of Want-Digest (RFC 3230 section 4.3.1).
pub const WANTED: &str = "adler32, crc32c, sha-256";

/// Digests of an uploaded body. They are computed while the body is sent, because it may be larger than
/// memory. They are compared with the server's digests of the received bytes.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    /// Algorithms to compute. Empty = the server's digest does not cover the sent body.
    algorithms: Vec<Algorithm>,
    /// Digests of a body that is the same in every request, after it has been sent once.
    known: Option<Arc<OnceLock<Arc<[Digest]>>>>,
}

/// State of the digests of a body that is being sent.
#[derive(Debug, Default)]
pub(crate) enum Sending {
    /// No digests are computed.
    #[default]
    Unasked,
    /// The body has not been sent completely.
    Part(Vec<Hasher>, Option<Arc<OnceLock<Arc<[Digest]>>>>),
    /// The final digests.
    Known(Arc<[Digest]>),
}

/// Returns true if the method carries content that the server stores or processes (RFC 9110 section 9.3, RFC
/// 5789).
pub(crate) fn is_upload(method: &str) -> bool {
    ["POST", "PUT", "PATCH"].contains(&method)
}

impl Upload {
    /// Returns the upload of a target; `None` = the target uploads nothing.
    pub(super) fn of(spec: &TargetSpec) -> Option<Self> {
        if !is_upload(&spec.method) {
            return None;
        }
        // For a partial upload, the server reports the digest of the whole content.
        let is_part = spec.method == "PATCH"
            || spec.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-range"));
        let is_lasting = !matches!(spec.body, Body::File { .. });
        Some(Self {
            algorithms: if is_part { Vec::new() } else { wanted(&spec.headers) },
            known: is_lasting.then(Arc::default),
        })
    }

    /// Starts the digests of a body of `bytes` bytes.
    pub(crate) fn begin(&self, bytes: u64) -> Sending {
        if let Some(known) = self.known.as_ref().and_then(|known| known.get()) {
            return Sending::Known(Arc::clone(known));
        }
        let hashers = self.algorithms.iter().copied().map(Hasher::new).collect();
        let mut sending = Sending::Part(hashers, self.known.clone());
        if bytes == 0 {
            sending.end();
        }
        sending
    }
}

impl Sending {
    /// Adds the next bytes; `is_last` = the body ends with them.
    pub(crate) fn add(&mut self, bytes: &[u8], is_last: bool) {
        let Self::Part(hashers, _) = self else { return };
        hashers.iter_mut().for_each(|hasher| hasher.update(bytes));
        if is_last {
            self.end();
        }
    }

    fn end(&mut self) {
        let Self::Part(hashers, known) = std::mem::take(self) else { return };
        let digests: Arc<[Digest]> = hashers.into_iter().map(Hasher::finish).collect();
        if let Some(known) = known {
            // Another request may have set the digests meanwhile. They are the same.
            let _ = known.set(Arc::clone(&digests));
        }
        *self = Self::Known(digests);
    }

    /// Returns the digests of the whole body. Empty before its end.
    pub(crate) fn digests(&self) -> &[Digest] {
        match self {
            Self::Known(digests) => digests,
            Self::Unasked | Self::Part(..) => &[],
        }
    }
}

/// Returns the algorithms that Want-Digest, Want-Repr-Digest and Want-Content-Digest name. If these headers
/// name none, returns the default ones.
fn wanted(headers: &[(String, String)]) -> Vec<Algorithm> {
    let of = |text: &str| -> Vec<Algorithm> {
        let names = text.split(',').filter_map(|one| one.split([';', '=']).next()).map(str::trim);
        let known = |name: &str| {
            Algorithm::from_name(name.as_bytes()).or_else(|| Algorithm::from_key(name.as_bytes()))
        };
        names.filter_map(known).collect()
    };
    let is_wish = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.starts_with("want-") && name.ends_with("-digest")
    };
    let mut wishes = headers.iter().filter(|(name, _)| is_wish(name)).peekable();
    if wishes.peek().is_none() {
        return of(WANTED);
    }
    let mut algorithms: Vec<_> = wishes.flat_map(|(_, value)| of(value)).collect();
    algorithms.sort_unstable();
    algorithms.dedup();
    algorithms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(method: &str, headers: &[(&str, &str)], body: Body) -> TargetSpec {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        TargetSpec { method: method.to_owned(), headers: headers.collect(), body, ..TargetSpec::default() }
    }

    fn algorithms(headers: &[(&str, &str)]) -> Vec<Algorithm> {
        Upload::of(&spec("PUT", headers, Body::Empty)).unwrap().algorithms
    }

    #[test]
    fn what_is_asked_for_is_what_is_computed() {
        use Algorithm::{Adler32, Crc32c, Md5, Sha256};
        assert_eq!(algorithms(&[]), [Adler32, Crc32c, Sha256]);
        assert_eq!(algorithms(&[("want-digest", "MD5;q=0.5, adler32, unknown")]), [Adler32, Md5]);
        assert_eq!(algorithms(&[("Want-Repr-Digest", "sha-256=10, adler=1")]), [Adler32, Sha256]);
        assert!(algorithms(&[("Content-Range", "bytes 0-1/9")]).is_empty());
        assert!(Upload::of(&spec("PATCH", &[], Body::Empty)).unwrap().algorithms.is_empty());
        assert!(Upload::of(&spec("GET", &[], Body::Empty)).is_none());
    }

    #[test]
    fn digests_are_known_at_the_end_and_of_a_body_that_lasts_from_then_on() {
        let body = Body::Bytes(Arc::from(&b"hello"[..]));
        let upload = Upload::of(&spec("PUT", &[("Want-Digest", "adler32")], body)).unwrap();
        let mut sending = upload.begin(5);
        sending.add(b"he", false);
        assert!(sending.digests().is_empty() && upload.begin(5).digests().is_empty());
        sending.add(b"llo", true);
        assert_eq!(sending.digests()[0].to_hex(), "062c0215");
        assert_eq!(upload.begin(5).digests(), sending.digests());
        let nothing = Upload::of(&spec("PUT", &[("Want-Digest", "adler32")], Body::Empty)).unwrap();
        assert_eq!(nothing.begin(0).digests()[0].to_hex(), "00000001");
    }

    #[test]
    fn a_file_may_be_another_one_next_time() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let upload = Upload::of(&spec("PUT", &[], Body::File { file, bytes: 1 })).unwrap();
        let mut sending = upload.begin(1);
        sending.add(b"a", true);
        assert_eq!(sending.digests().len(), 3);
        assert!(upload.begin(1).digests().is_empty());
    }
}
