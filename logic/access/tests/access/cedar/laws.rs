//! Properties that hold for all Cedar policies.

use proptest::prelude::*;
use weir_access::Action;
use weir_access::identity::Identity;

use super::{area, may, user};
use crate::common::{bearer, member, path};

/// Generates the policies that the properties are tested on.
fn policy() -> impl Strategy<Value = String> {
    let principal = prop::sample::select(vec![
        "principal",
        "principal == User::\"ada\"",
        "principal is User",
        "principal is Anonymous",
        "principal in Group::\"https://tokens.example/cms#/a\"",
        "principal is User in Group::\"https://tokens.example/cms#/b\"",
    ]);
    let action = prop::sample::select(vec![
        "action",
        "action == Action::\"read\"",
        "action in Action::\"read\"",
        "action in [Action::\"write\", Action::\"stat\"]",
    ]);
    let resource = prop::sample::select(vec![
        "resource",
        "resource is Path",
        "resource in Area::\"data\"",
        "resource in Area::\"other\"",
        "resource in Directory::\"/\"",
        "resource in Directory::\"/a\"",
        "resource is Path in Directory::\"/a/b\"",
        "resource == Path::\"/a\"",
        "resource == Path::\"/\"",
    ]);
    let condition = prop::sample::select(vec![
        "",
        "",
        " when { resource.name == \"a\" }",
        " unless { resource.directory }",
        " when { principal is User && principal.groups.contains(\"/a\") }",
        " when { 9223372036854775807 + (if resource.name == \"x\" then 0 else 1) > 0 }",
    ]);
    (any::<bool>(), principal, action, resource, condition).prop_map(
        |(permit, principal, action, resource, condition)| {
            let effect = if permit { "permit" } else { "forbid" };
            format!("{effect}({principal}, {action}, {resource}){condition};\n")
        },
    )
}

fn somebody() -> impl Strategy<Value = Identity> {
    prop::sample::select(vec![
        Identity::Anonymous,
        user("ada"),
        user("eve"),
        bearer("", &["/a"]),
        bearer("", &["/a", "/b"]),
        member("cms", &[]),
    ])
}

fn action() -> impl Strategy<Value = Action> {
    prop::sample::select(vec![Action::Read, Action::Stat, Action::List, Action::Create, Action::Delete])
}

const PLACES: [&str; 7] = ["/d", "/d/a", "/d/a/", "/d/a/b", "/d/a/b/c", "/d/b", "/alias/a/x"];

proptest! {
    /// A decision for a path and everything below it holds for each path below it.
    #[test]
    fn what_holds_below_holds_for_each(
        policies in prop::collection::vec(policy(), 1..5),
        who in somebody(),
        action in action(),
        at in prop::sample::select(PLACES.to_vec()),
        open: bool,
    ) {
        let rules = if open { "anonymous-read = true" } else { "" };
        let area = area(rules, &policies.concat());
        if area.permits_below(&who, &action, &path(at)) {
            for below in ["", "/a", "/x", "/a/", "/b", "/b/c", "/b/c/d/"] {
                let there = format!("{}{below}", at.trim_end_matches('/'));
                prop_assert!(may(&area, &who, &action, &there), "{} {} {}", who, action, there);
            }
        }
    }

    /// An additional `forbid` only removes rights, and an additional `permit` only adds rights, in any order.
    #[test]
    fn policies_have_no_order_and_forbids_only_take_away(
        policies in prop::collection::vec(policy(), 1..5),
        one_more in policy(),
        who in somebody(),
        action in action(),
        at in prop::sample::select(PLACES.to_vec()),
    ) {
        let before = may(&area("", &policies.concat()), &who, &action, at);
        let mut more = policies.clone();
        more.push(one_more.clone());
        let after = may(&area("", &more.concat()), &who, &action, at);
        if one_more.starts_with("forbid") {
            prop_assert!(before || !after, "{} gave something", one_more);
        } else {
            prop_assert!(after || !before, "{} took something away", one_more);
        }
        more.reverse();
        prop_assert_eq!(may(&area("", &more.concat()), &who, &action, at), after);
    }
}
