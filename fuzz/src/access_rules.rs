//! Fuzzes access policies: any TOML becomes rules or an error, and every decision can be printed.

use weir_access::identity::Identity;
use weir_access::rule::{AreaSpec, Circumstances, PathGlob, Request, decide};
use weir_access::{AccessPath, Action};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(data: &[u8]) {
    let text = crate::text_of(data);
    let (first, rules) = text.split_once('\n').unwrap_or((text, ""));
    let path = AccessPath::from_encoded(first).unwrap_or_else(|_| AccessPath::root());
    if let Ok(glob) = PathGlob::parse(first) {
        assert_eq!(PathGlob::parse(&glob.to_string()), Ok(glob.clone()));
    }
    let Ok(spec) = toml::from_str::<AreaSpec>(rules) else { return };
    let Ok(area) = spec.resolve("a", &["/a"]) else { return };
    for action in [Action::Read, Action::Create, Action::Delete, Action::Rename { to: path.clone() }] {
        let circumstances = &Circumstances::default();
        let request = Request { identity: &Identity::Anonymous, action: &action, path: &path, circumstances };
        let decision = decide(&area, request);
        assert!(!decision.allowed() || area.holds(&path));
        assert!(!decision.headline().is_empty());
    }
}
