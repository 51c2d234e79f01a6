//! Tests of storage scopes and of the WLCG profile version.

use proptest::prelude::*;
use weir_access::Action;
use weir_access::wlcg::{ProfileVersion, ScopeSet};

use crate::common::path;

fn permits(scopes: &str, action: &Action, at: &str) -> bool {
    ScopeSet::parse(scopes.split(' ')).permits(action, &path(at)).is_some()
}

#[test]
fn each_scope_permits_what_the_profile_says() {
    let to = |text: &str| Action::Rename { to: path(text) };
    let actions = [
        (Action::Read, "read"),
        (Action::Stat, "read create modify stage"),
        (Action::List, "read modify"),
        (Action::Create, "create modify"),
        (Action::MakeDirectory, "create modify"),
        (Action::Overwrite, "modify"),
        (Action::Delete, "modify"),
        (to("/foo/new"), "create modify"),
        (Action::Stage, "stage"),
        (Action::Poll, "stage poll"),
    ];
    for (action, permitting) in actions {
        for scope in ["read", "create", "modify", "stage", "poll"] {
            let expected = permitting.split(' ').any(|name| name == scope);
            let scope = format!("storage.{scope}:/foo");
            assert_eq!(permits(&scope, &action, "/foo/x"), expected, "{scope} {action}");
            assert!(!permits(&scope, &action, "/foobar"), "{scope} {action} beside it");
        }
    }
}

#[test]
fn the_profiles_own_example_holds() {
    let scope = "storage.create:/foo/bar";
    assert!(permits(scope, &Action::MakeDirectory, "/foo"), "a missing parent");
    assert!(permits(scope, &Action::MakeDirectory, "/foo/bar"));
    assert!(permits(scope, &Action::Create, "/foo/bar"));
    assert!(permits(scope, &Action::Create, "/foo/bar/qux"));
    assert!(!permits(scope, &Action::Create, "/foo"), "a file in place of the parent");
    assert!(!permits(scope, &Action::Create, "/foo/bargain"));
    assert!(!permits(scope, &Action::MakeDirectory, "/foo/bargain"));
    assert!(!permits("storage.read:/foo/bar", &Action::MakeDirectory, "/foo"));
}

#[test]
fn a_path_with_a_slash_at_its_end_is_a_directory() {
    assert!(!permits("storage.create:/foo/", &Action::Create, "/foo"));
    assert!(permits("storage.create:/foo/", &Action::MakeDirectory, "/foo"));
    assert!(permits("storage.create:/foo/", &Action::Create, "/foo/x"));
}

#[test]
fn metacharacters_and_escapes_stand_for_themselves() {
    assert!(!permits("storage.read:/a.c", &Action::Read, "/abc"));
    assert!(!permits("storage.read:/.*", &Action::Read, "/x"));
    assert!(permits("storage.read:/a%20b", &Action::Read, "/a%20b/c"));
    assert!(permits("storage.read:/%61", &Action::Read, "/a"));
    assert!(!permits("storage.read:/%2561", &Action::Read, "/a"), "decoded once");
}

#[test]
fn a_rename_stays_within_one_scope() {
    let to = Action::Rename { to: path("/b/x") };
    assert!(!permits("storage.modify:/a storage.modify:/b", &to, "/a/x"));
    assert!(permits("storage.modify:/", &to, "/a/x"));
}

#[test]
fn a_scope_without_a_usable_path_permits_nothing_and_still_limits() {
    for scope in
        ["storage.read", "storage.read:", "storage.read:foo", "storage.read:/a/../b", "storage.read:/%"]
    {
        let set = ScopeSet::parse([scope]);
        assert!(set.permits(&Action::Read, &path("/")).is_none(), "{scope}");
        assert!(!set.is_absent() && set.invalid() == 1, "{scope}");
    }
    for other in ["openid", "compute.read", "storage.write:/", "STORAGE.READ:/", "storage.readx:/"] {
        assert!(ScopeSet::parse([other]).is_absent(), "{other}");
    }
}

#[test]
fn versions_follow_their_grammar() {
    let version = |major, minor| Some(ProfileVersion { major, minor });
    for (text, expected) in [
        ("1.0", version(1, 0)),
        ("1.2", version(1, 2)),
        ("12.34", version(12, 34)),
        ("1", None),
        ("1.", None),
        (".1", None),
        ("1.0.0", None),
        ("v1.0", None),
        ("+1.0", None),
        ("1.0 ", None),
        ("1.99999999999", None),
    ] {
        assert_eq!(ProfileVersion::parse(text), expected, "{text}");
    }
}

proptest! {
    /// `storage.read:P` matches exactly P and the paths that continue P after a slash.
    #[test]
    fn a_scope_admits_whole_components_only(scope in "(/[ab.*]{1,3}){1,3}", asked in "(/[ab.*]{1,3}){1,4}") {
        prop_assume!(!format!("{scope}{asked}/").contains("/../") && !format!("{scope}{asked}/").contains("/./"));
        prop_assume!(!format!("{scope}/").contains("/../") && !format!("{scope}/").contains("/./"));
        let model = asked == scope || asked.starts_with(&format!("{scope}/"));
        prop_assert_eq!(permits(&format!("storage.read:{scope}"), &Action::Read, &asked), model);
    }

    #[test]
    fn a_scope_reads_as_it_is_printed(words in prop::collection::vec("storage\\.(read|modify):(/[a-z% é&\"]{0,4}){1,3}/?", 0..4)) {
        let set = ScopeSet::parse(words.iter().map(String::as_str));
        let printed: Vec<_> = set.scopes().iter().map(ToString::to_string).collect();
        let again = ScopeSet::parse(printed.iter().map(String::as_str));
        prop_assert_eq!(again.scopes(), set.scopes());
    }
}
