//! Fuzzes Cedar policies: any text becomes policies or errors with a position in the text. Every decision can
//! be printed, and a permission for a whole subtree also holds at its root.

use std::sync::Arc;

use weir_access::identity::{BasicUser, Identity};
use weir_access::rule::cedar::{CedarFile, CedarPolicies};
use weir_access::rule::{AreaSpec, Circumstances, Request, decide};
use weir_access::{AccessPath, Action};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(data: &[u8]) {
    let text = crate::text_of(data);
    let file = CedarFile { name: "p.cedar".to_owned(), text: text.into() };
    let policies = match CedarPolicies::parse(&[file]) {
        Ok((policies, _)) => Arc::new(policies),
        Err(faults) => {
            assert!(!faults.is_empty());
            assert!(faults.iter().all(|fault| fault.bytes.start <= text.len() && fault.line() >= 1));
            return;
        }
    };
    let Ok(area) = AreaSpec::default().resolve("a", &["/a"]) else { return };
    let area = area.with_cedar(policies);
    let circumstances = &Circumstances::default();
    for identity in [Identity::Anonymous, Identity::Basic(BasicUser { name: "ada".to_owned() })] {
        for action in [Action::Read, Action::Create, Action::Delete] {
            let path = &AccessPath::root().join(&AccessPath::from_plain("/a/b").unwrap_or_default());
            let decision =
                decide(&area, Request { identity: &identity, action: &action, path, circumstances });
            assert!(!decision.headline().is_empty());
            assert!(decision.allowed() || !area.permits_below(&identity, &action, path));
        }
    }
}
