//! Tests of resource paths.

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<RequestPath, PathError> {
    DavPath::parse(text.as_bytes(), &PathLimits::default())
}

fn path(text: &str) -> DavPath {
    parse(text).unwrap().path
}

#[test]
fn a_path_is_decoded_once() {
    assert_eq!(path("/a%20b/%C3%A9").relative_bytes(), "a b/é".as_bytes());
    assert_eq!(path("/%252e%252e").relative_bytes(), b"%2e%2e");
    assert_eq!(path("/%ff%FE").relative_bytes(), b"\xff\xfe");
    assert_eq!(path("/a+b").relative_bytes(), b"a+b");
}

#[test]
fn empty_segments_are_merged_and_the_slash_at_the_end_is_remembered() {
    for (text, href, slash) in [
        ("/", "/", true),
        ("//", "/", true),
        ("/a", "/a", false),
        ("/a/", "/a", true),
        ("//a///b//", "/a/b", true),
    ] {
        let read = parse(text).unwrap();
        assert_eq!((read.path.href(false).as_str(), read.trailing_slash), (href, slash), "{text}");
    }
}

#[test]
fn unsound_paths_are_refused() {
    use PathError::*;
    for (text, why) in [
        ("", NotAbsolute),
        ("a/b", NotAbsolute),
        ("http://h/a", NotAbsolute),
        ("/a%2Fb", EncodedSlash),
        ("/a%2fb", EncodedSlash),
        ("/a%00", Nul),
        ("/a\0", Nul),
        ("/%", Escape),
        ("/%4", Escape),
        ("/%zz", Escape),
        ("/%4/a", Escape),
        ("/a/./b", DotSegment),
        ("/a/..", DotSegment),
        ("/a/%2e%2E/b", DotSegment),
        ("/.%2e", DotSegment),
        ("/%2e", DotSegment),
        ("/a?b", NotPath),
        ("/a#b", NotPath),
    ] {
        assert_eq!(parse(text), Err(why), "{text:?}");
    }
}

#[test]
fn names_that_only_look_like_dot_segments_are_names() {
    for text in ["/...", "/.a", "/a.", "/..a", "/.%20", "/%2e%2e%2e"] {
        assert!(parse(text).is_ok(), "{text}");
    }
}

#[test]
fn length_and_depth_are_bounded() {
    let limits = PathLimits { bytes_max: 20, name_bytes_max: 8, depth_max: 3 };
    let parse = |text: &str| DavPath::parse(text.as_bytes(), &limits).map(|read| read.path.depth());
    assert_eq!(parse("/aaaaaaaa/%61%61%61%61%61%61%61%61/b"), Ok(3));
    assert_eq!(parse("/aaaaaaaaa"), Err(PathError::NameTooLong));
    assert_eq!(parse("/aaaaaaaa/bbbbbbbb/cc"), Err(PathError::TooLong));
    assert_eq!(parse("/a/b/c/d"), Err(PathError::TooDeep));
    assert_eq!(parse(&"/".repeat(61)), Err(PathError::TooLong));
    assert_eq!(parse(&"/".repeat(60)), Ok(0));
}

#[test]
fn prefixes_match_whole_segments() {
    for (long, prefix, rest) in [
        ("/sa", "/sa", Some("/")),
        ("/sa/x", "/sa", Some("/x")),
        ("/sab", "/sa", None),
        ("/sab/x", "/sa", None),
        ("/s", "/sa", None),
        ("/sa/x", "/", Some("/sa/x")),
        ("/", "/", Some("/")),
        ("/", "/sa", None),
        ("/%73a/x", "/sa", Some("/x")),
    ] {
        let rest = rest.map(path);
        assert_eq!(path(long).strip_prefix(&path(prefix)), rest, "{long} {prefix}");
        assert_eq!(path(long).starts_with(&path(prefix)), rest.is_some());
    }
    assert!(path("/a/b").is_below(&path("/a")) && !path("/a").is_below(&path("/a")));
}

#[test]
fn parents_and_names_lead_to_the_root() {
    let deep = path("/a/b/c");
    assert_eq!(deep.name(), Some(&b"c"[..]));
    assert_eq!(deep.ancestors().map(|path| path.href(true)).collect::<Vec<_>>(), ["/a/b/", "/a/", "/"]);
    assert_eq!((DavPath::root().name(), DavPath::root().parent()), (None, None));
    assert_eq!(DavPath::root().join(b"a/b"), Err(PathError::EncodedSlash));
    assert_eq!(DavPath::root().join(b".."), Err(PathError::DotSegment));
    assert_eq!(DavPath::root().join(b""), Err(PathError::EmptyName));
}

#[test]
fn an_href_is_fit_for_xml_and_headers() {
    let odd = DavPath::root().join(b"a &<>\"'%?#\n\xff~!$()*+,;=:@").unwrap();
    assert_eq!(odd.href(false), "/a%20%26%3C%3E%22%27%25%3F%23%0A%FF~!$()*+,;=:@");
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let any = prop::collection::vec(any::<u8>(), 1..12);
    any.prop_map(|name| {
        name.into_iter().map(|byte| if byte == 0 || byte == b'/' { b'.' } else { byte }).collect()
    })
    .prop_filter("not . or ..", |name: &Vec<u8>| name != b"." && name != b"..")
}

fn any_path() -> impl Strategy<Value = DavPath> {
    prop::collection::vec(name(), 0..6)
        .prop_map(|names| names.iter().fold(DavPath::root(), |path, name| path.join(name).unwrap()))
}

proptest! {
    #[test]
    fn an_href_reads_back_whatever_bytes_the_names_have(path in any_path(), collection: bool) {
        let href = path.href(collection);
        let read = parse(&href).unwrap();
        prop_assert_eq!(&read.path, &path);
        prop_assert_eq!(read.trailing_slash, collection || path.is_root());
        let json = serde_json::to_string(&path).unwrap();
        prop_assert_eq!(serde_json::from_str::<DavPath>(&json).unwrap(), path);
    }

    #[test]
    fn any_bytes_get_a_verdict_and_a_sound_path_has_sound_segments(
        text in prop::collection::vec(prop_oneof![Just(b'/'), Just(b'%'), Just(b'2'), Just(b'e'), any::<u8>()], 0..40),
    ) {
        if let Ok(read) = DavPath::parse(&[b"/", text.as_slice()].concat(), &PathLimits::default()) {
            for segment in read.path.segments() {
                prop_assert!(!segment.is_empty() && segment != b"." && segment != b"..");
                prop_assert!(!segment.contains(&b'/') && !segment.contains(&0));
            }
        }
    }

    #[test]
    fn appending_and_stripping_undo_each_other(a in any_path(), b in any_path()) {
        let both = a.append(&b);
        prop_assert_eq!(both.strip_prefix(&a), Some(b.clone()));
        prop_assert_eq!(both.depth(), a.depth() + b.depth());
        prop_assert_eq!(both.is_below(&a), !b.is_root());
    }

    #[test]
    fn what_is_below_a_path_is_one_range(a in any_path(), b in any_path()) {
        let (from, to) = a.range_below();
        prop_assert_eq!((from..to).contains(&b), b.is_below(&a));
    }

    #[test]
    fn a_member_knows_its_parent(path in any_path(), name in name()) {
        let member = path.join(&name).unwrap();
        prop_assert_eq!(member.name(), Some(name.as_slice()));
        prop_assert_eq!(member.parent(), Some(path));
    }
}
