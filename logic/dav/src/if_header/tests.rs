//! Tests of the If header.

use proptest::prelude::*;

use super::*;
use crate::path::{DavPath, PathLimits};

/// Resources for the tests: `/a` has the tag "one" and the lock urn:a; `/a/b` has a weak tag and is covered
/// by the same lock.
struct World;

impl StateView for World {
    fn etag(&self, path: &DavPath) -> Option<EntityTag> {
        match path.href(false).as_str() {
            "/a" => EntityTag::strong("one"),
            "/a/b" => EntityTag::weak("two"),
            _ => None,
        }
    }

    fn is_locked_by(&self, path: &DavPath, token: &LockToken) -> bool {
        token.as_str() == "urn:a" && path.href(true).starts_with("/a/")
    }

    fn resolve(&self, tag: &[u8]) -> Option<DavPath> {
        let path = tag.strip_prefix(b"http://h").unwrap_or(tag);
        DavPath::parse(path, &PathLimits::default()).ok().map(|read| read.path)
    }
}

fn holds(target: &str, header: &str) -> bool {
    let target = DavPath::parse(target.as_bytes(), &PathLimits::default()).unwrap().path;
    IfHeader::parse(header.as_bytes()).unwrap().holds(&target, &World)
}

#[test]
fn lists_are_or_and_conditions_are_and() {
    for (target, header, verdict) in [
        ("/a", "(<urn:a>)", true),
        ("/a/b", "(<urn:a>)", true),
        ("/c", "(<urn:a>)", false),
        ("/a", "(<urn:b>)", false),
        ("/a", "([\"one\"])", true),
        ("/a", "([\"two\"])", false),
        ("/a", "([W/\"one\"])", false),
        ("/a/b", "([W/\"two\"])", false),
        ("/a", "(<urn:a> [\"one\"])", true),
        ("/a", "(<urn:a>[\"two\"])", false),
        ("/a", "(<urn:b>) ([\"one\"])", true),
        ("/a", "(Not <urn:b>)", true),
        ("/a", "(not<urn:a>)", false),
        ("/a", "(<urn:a> Not [\"two\"])", true),
        ("/a", "(Not <DAV:no-lock>)", true),
        ("/a", "(<DAV:no-lock>)", false),
        ("/a", "(<urn:b>)(Not <DAV:no-lock>)", true),
        ("/c", "([\"one\"])", false),
        ("/c", "(Not [\"one\"])", true),
    ] {
        assert_eq!(holds(target, header), verdict, "{target} {header}");
    }
}

#[test]
fn a_tag_turns_the_lists_after_it_to_its_resource() {
    for (header, verdict) in [
        ("</a> (<urn:a>)", true),
        ("<http://h/a> (<urn:a>)", true),
        ("<http://other/a> (<urn:a>)", false),
        ("<http://other/a> (Not <urn:a>)", true),
        ("</c> (<urn:a>) ([\"one\"])", false),
        ("</c> (<urn:a>) </a> (<urn:b>) ([\"one\"])", true),
        ("</a/../a> (<urn:a>)", false),
    ] {
        assert_eq!(holds("/c", header), verdict, "{header}");
    }
}

#[test]
fn a_token_is_submitted_wherever_it_stands() {
    let header = IfHeader::parse(b"</a> (<urn:1> Not <urn:2>) ([\"x\"]) </b> (<urn:3>)").unwrap();
    assert_eq!(
        header.submitted_tokens().map(LockToken::as_str).collect::<Vec<_>>(),
        ["urn:1", "urn:2", "urn:3"]
    );
    assert_eq!(header.single_token(), None);
    let header = IfHeader::parse(b"(<urn:1>)").unwrap();
    assert_eq!(header.single_token().map(LockToken::as_str), Some("urn:1"));
}

#[test]
fn malformed_headers_are_refused() {
    use IfHeaderError::*;
    for (text, why) in [
        ("", Malformed),
        (" ", Malformed),
        ("()", Malformed),
        ("(", Malformed),
        ("(<urn:a>", Malformed),
        ("<urn:a>", Malformed),
        ("</a>", Malformed),
        ("</a> </b> (<urn:a>)", Malformed),
        ("(<urn:a>) x", Malformed),
        ("(urn:a)", Malformed),
        ("(<nouri>)", Malformed),
        ("(<>)", Malformed),
        ("(<urn:a b>)", Malformed),
        ("([one])", Malformed),
        ("([\"one\")", Malformed),
        ("(Not)", Malformed),
        ("(Not Not <urn:a>)", Malformed),
        ("(<urn:a>), (<urn:b>)", Malformed),
        ("(<urn:a>) </a> (<urn:b>)", Mixed),
    ] {
        assert_eq!(IfHeader::parse(text.as_bytes()), Err(why), "{text}");
    }
    let many = "(<urn:a>)".repeat(IfHeader::CONDITIONS_MAX + 1);
    assert_eq!(IfHeader::parse(many.as_bytes()), Err(TooMany));
}

fn condition() -> impl Strategy<Value = (bool, bool, String)> {
    (any::<bool>(), any::<bool>(), "[a-c]")
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        groups in prop::collection::vec(prop::collection::vec(prop::collection::vec(condition(), 1..4), 1..4), 1..4),
        tagged: bool,
        blanks in prop::collection::vec(prop_oneof![Just(""), Just(" "), Just("\t ")], 1..8),
    ) {
        let groups = if tagged { groups } else { groups.into_iter().take(1).collect() };
        let mut blank = blanks.iter().cycle();
        let (mut text, mut tokens) = (String::new(), Vec::new());
        for (at, lists) in groups.iter().enumerate() {
            if tagged {
                text += &format!("</{at}>{}", blank.next().unwrap());
            }
            for list in lists {
                text += &format!("({}", blank.next().unwrap());
                for (negated, token, name) in list {
                    text += if *negated { "Not" } else { "" };
                    text += blank.next().unwrap();
                    if *token {
                        tokens.push(format!("urn:{name}"));
                        text += &format!("<urn:{name}>");
                    } else {
                        text += &format!("[\"{name}\"]");
                    }
                    text += blank.next().unwrap();
                }
                text += &format!("){}", blank.next().unwrap());
            }
        }
        let header = IfHeader::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(header.groups.len(), groups.len());
        let shape = |group: &Group| group.lists.iter().map(Vec::len).collect::<Vec<_>>();
        for (read, written) in header.groups.iter().zip(&groups) {
            prop_assert_eq!(shape(read), written.iter().map(Vec::len).collect::<Vec<_>>());
        }
        prop_assert_eq!(header.submitted_tokens().map(|token| token.to_string()).collect::<Vec<_>>(), tokens);
    }

    #[test]
    fn any_bytes_get_a_verdict(text in "[()<>\\[\\]\"a:NotW/ ]{0,30}") {
        if let Ok(header) = IfHeader::parse(text.as_bytes()) {
            header.holds(&DavPath::root(), &World);
        }
    }
}
