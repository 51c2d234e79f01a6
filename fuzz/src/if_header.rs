//! Fuzzes If headers and lists of entity tags. If nothing exists, only a header with a negated condition can
//! hold.

use weir_dav::conditional::{Access, Conditions, Validators, Verdict};
use weir_dav::etag::{EntityTag, EtagList};
use weir_dav::header::LockToken;
use weir_dav::if_header::{IfHeader, StateView};
use weir_dav::path::DavPath;

/// A tree in which nothing exists (`locked: false`), or in which every resource has every lock token
/// (`locked: true`).
struct World {
    locked: bool,
}

impl StateView for World {
    fn etag(&self, _: &DavPath) -> Option<EntityTag> {
        None
    }

    fn is_locked_by(&self, _: &DavPath, _: &LockToken) -> bool {
        self.locked
    }

    fn resolve(&self, _: &[u8]) -> Option<DavPath> {
        Some(DavPath::root())
    }
}

/// Runs the target on one input; panics if a property does not hold.
pub fn run(text: &[u8]) {
    if let Ok(header) = IfHeader::parse(text) {
        let conditions = header.submitted_tokens().count();
        assert!(conditions <= IfHeader::CONDITIONS_MAX);
        let negates = text.windows(3).any(|word| word.eq_ignore_ascii_case(b"Not"));
        assert!(negates || !header.holds(&DavPath::root(), &World { locked: false }));
        let _ = header.holds(&DavPath::root(), &World { locked: true });
        for token in header.submitted_tokens() {
            assert_eq!(LockToken::parse_header(token.header().as_bytes()).as_ref(), Ok(token));
        }
    }
    if let Some(EtagList::Tags(tags)) = EtagList::parse(text) {
        let written = tags.iter().map(EntityTag::to_bytes).collect::<Vec<_>>().join(&b","[..]);
        assert_eq!(EtagList::parse(&written), Some(EtagList::Tags(tags)));
    }
    let conditions = Conditions { if_match: Some(text), ..Conditions::default() };
    assert_eq!(conditions.evaluate(Access::Other, None, 0), Verdict::Failed);
    let conditions =
        Conditions { if_range: Some(text), if_modified_since: Some(text), ..Conditions::default() };
    let _ = conditions.evaluate(Access::Get, Some(&Validators::default()), 0);
}
