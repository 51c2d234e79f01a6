//! What need not be found out anew for each request for a file, as long as the file is kept open.

use std::sync::{Arc, OnceLock};

use weir_dav::conditional::Validators;
use weir_dav::date::http_date;
use weir_dav::path::DavPath;
use weir_net::service::{Answer, Value};
use weir_storage::Metadata;

use crate::clock::unix_now_s;
use crate::headers::validators;

/// Of one file, as it was when it was opened.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Everybody may read it by this path: the rules of an area stay as they are, and nothing but the path matters to them then.
    public: OnceLock<DavPath>,
    marks: OnceLock<Marks>,
    /// All lines of an answer with the whole of it, for who does not say who they are.
    lines: OnceLock<Vec<(&'static str, Value)>>,
}

/// What the file can be recognised by.
#[derive(Debug)]
pub(crate) struct Marks {
    pub(crate) validators: Validators,
    /// As header lines have them.
    etag: Option<Value>,
    last_modified: Option<Value>,
}

impl Known {
    /// Remembers that every client may read the file by this path. By another path it may be known already.
    pub(crate) fn set_public(&self, path: &DavPath) {
        let _ = self.public.set(path.clone());
    }

    /// Whether it is known that everybody may read the file by this path.
    pub(crate) fn is_public(&self, path: &DavPath) -> bool {
        self.public.get() == Some(path)
    }

    /// All lines of an answer with the whole of it, for who does not say who they are, as `make` makes them.
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
            // This is kept for a second or longer: a time that is still to come would have to be told as another one each time.
            let past = validators.last_modified_s.filter(|at| *at <= unix_now_s().cast_signed());
            let last_modified = past.map(|at| shared(http_date(at).into_bytes()));
            Marks { validators, etag, last_modified }
        })
    }
}

impl Marks {
    /// An answer with ETag and Last-Modified before further lines.
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
