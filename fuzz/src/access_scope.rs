//! Fuzzes scopes and paths: a permitting scope is a prefix of the path, printed values parse to the same
//! value, and no token survives redaction.

use weir_access::redact::redact_url;
use weir_access::wlcg::{Operation, ScopeSet};
use weir_access::{AccessPath, Action};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(data: &[u8]) {
    let text = crate::text_of(data);
    let (scopes, asked) = text.split_once('\n').unwrap_or((text, "/"));
    let set = ScopeSet::parse(scopes.split(' '));
    let printed: Vec<_> = set.scopes().iter().map(ToString::to_string).collect();
    let again = ScopeSet::parse(printed.iter().map(String::as_str));
    assert_eq!(again.scopes(), set.scopes());
    if let Ok(path) = AccessPath::from_encoded(asked) {
        if let Some(scope) = set.permits(&Action::Read, &path) {
            assert_eq!(scope.operation, Operation::Read);
            assert!(path.components().starts_with(scope.path.components()));
        }
        assert_eq!(AccessPath::from_plain(&path.to_string()).as_ref(), Ok(&path));
    }
    let redacted = redact_url(text).into_owned();
    assert_eq!(redact_url(&redacted), redacted, "redacting again changes nothing");
    // Replaces occurrences in the input by a character that is in no secret. With an empty replacement, the
    // text on both sides could form the secret.
    let url = format!("/a?{}&access_token=Zq9Zq8", text.replace("Zq9Zq8", "-"));
    assert!(!redact_url(&url).contains("Zq9Zq8"));
}
