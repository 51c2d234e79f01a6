use std::sync::{Arc, OnceLock};

use weir_dav::digest::{Algorithm, Digest, Hasher};

use super::{Body, TargetSpec};

/// What servers are asked for where nothing else is said, as Want-Digest writes it (RFC 3230 section 4.3.1).
pub const WANTED: &str = "adler32, crc32c, sha-256";

/// Digests of a body that is uploaded: computed while it is sent, since it may be larger than memory, and compared with those by which
/// the server says what it got.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    /// Empty = what the server says is not of what is sent.
    algorithms: Vec<Algorithm>,
    /// Of a body that is the same in every request, once one has been sent.
    known: Option<Arc<OnceLock<Arc<[Digest]>>>>,
}

/// What is known of the digests of a body that is being sent.
#[derive(Debug, Default)]
pub(crate) enum Sending {
    /// Nobody asks.
    #[default]
    Unasked,
    /// It has not been sent to its end.
    Part(Vec<Hasher>, Option<Arc<OnceLock<Arc<[Digest]>>>>),
    /// They are these.
    Known(Arc<[Digest]>),
}

/// Whether the method brings content that the server is to keep or to work on (RFC 9110 section 9.3, RFC 5789).
pub(crate) fn is_upload(method: &str) -> bool {
    ["POST", "PUT", "PATCH"].contains(&method)
}

impl Upload {
    /// Of a target; `None` = it uploads nothing.
    pub(super) fn of(spec: &TargetSpec) -> Option<Self> {
        if !is_upload(&spec.method) {
            return None;
        }
        // What is told of a part is the digest of the whole that it is put into.
        let is_part = spec.method == "PATCH"
            || spec.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-range"));
        let is_lasting = !matches!(spec.body, Body::File { .. });
        Some(Self {
            algorithms: if is_part { Vec::new() } else { wanted(&spec.headers) },
            known: is_lasting.then(Arc::default),
        })
    }

    /// Before the first byte of a body of so many.
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
    /// Takes in what comes next; `is_last` = it is the end.
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
            // Another one may have been sent meanwhile: theirs are the same.
            let _ = known.set(Arc::clone(&digests));
        }
        *self = Self::Known(digests);
    }

    /// Of all of it; none before its end.
    pub(crate) fn digests(&self) -> &[Digest] {
        match self {
            Self::Known(digests) => digests,
            Self::Unasked | Self::Part(..) => &[],
        }
    }
}

/// The algorithms that Want-Digest, Want-Repr-Digest and Want-Content-Digest name; none of these, and it is the usual ones.
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
