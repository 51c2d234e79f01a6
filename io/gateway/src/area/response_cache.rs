//! Values cached with an open file, so that they are not computed for each request.

use std::sync::{Arc, OnceLock};

use weir_dav::conditional::Validators;
use weir_dav::date::http_date;
use weir_dav::path::DavPath;
use weir_net::service::{Answer, Value};
use weir_storage::Metadata;

use crate::clock::unix_now_s;
use crate::headers::validators;

/// Cached values of one open file, valid for the state in which it was opened.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Path by which every client may read the file. The rules of an area never change, and such a permission
    /// depends only on the path.
    public: OnceLock<DavPath>,
    marks: OnceLock<Marks>,
    /// All header lines of a full response to an anonymous client.
    lines: OnceLock<Vec<(&'static str, Value)>>,
}

/// Validators of the file.
#[derive(Debug)]
pub(crate) struct Marks {
    pub(crate) validators: Validators,
    /// The ETag as a header value.
    etag: Option<Value>,
    last_modified: Option<Value>,
}

impl Known {
    /// Remembers that every client may read the file by this path. Keeps an earlier path if there is one.
    pub(crate) fn set_public(&self, path: &DavPath) {
        let _ = self.public.set(path.clone());
    }

    /// Returns true if every client is known to be permitted to read the file by this path.
    pub(crate) fn is_public(&self, path: &DavPath) -> bool {
        self.public.get() == Some(path)
    }

    /// Returns all header lines of a full response to an anonymous client; `make` builds them at the first
    /// call.
    pub(crate) fn lines_for_anybody(
        &self,
        metadata: &Metadata,
        make: impl FnOnce(&Marks) -> Vec<(&'static str, Value)>,
    ) -> Vec<(&'static str, Value)> {
        let lines = self.lines.get_or_init(|| {
            let lines = make(self.marks(metadata));
            lines.into_iter().map(|(name, value)| (name, value.shared())).collect()
        });
        lines.clone()
    }

    pub(crate) fn marks(&self, metadata: &Metadata) -> &Marks {
        self.marks.get_or_init(|| {
            let validators = validators(metadata);
            let shared = |bytes: Vec<u8>| Value::from(Arc::<[u8]>::from(bytes));
            let etag = validators.etag.as_ref().map(|etag| shared(etag.to_bytes()));
            // Last-Modified must not be later than Date. A file time in the future would need a different
            // value at each request, so it is not cached.
            let past = validators.last_modified_s.filter(|at| *at <= unix_now_s().cast_signed());
            let last_modified = past.map(|at| shared(http_date(at).into_bytes()));
            Marks { validators, etag, last_modified }
        })
    }
}

impl Marks {
    /// Builds a response with ETag and Last-Modified before `lines`.
    pub(crate) fn answer(&self, status: u16, mut lines: Vec<(&'static str, Value)>) -> Answer {
        if let Some(date) = &self.last_modified {
            lines.insert(0, ("Last-Modified", date.clone()));
        }
        if let Some(etag) = &self.etag {
            lines.insert(0, ("ETag", etag.clone()));
        }
        Answer { headers: lines, ..Answer::new(status) }
    }
}
