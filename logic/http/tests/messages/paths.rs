//! Tests of path normalisation: rules compare the path that a server sees, in any spelling.

use proptest::prelude::*;
use weir_http::{
    AboveRoot, Action, Backslash, BadEscape, EncodedNul, EncodedSlash, HeadLimits, HeaderTable, NormalTarget,
    PathFault, PathParameters, PathPattern, PathRules, RequestKey, RequestKeyReader, RouteMatch,
    RouteRequest, RouteTable, Scheme, UriPart, parse_request,
};

/// Returns the path that rules compare and the path for the server.
fn forms(rules: &PathRules, path: &str) -> Result<(String, String), PathFault> {
    let normal = rules.normalize(path.as_bytes())?;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ok((text(normal.compared()), text(&normal.forwarded)))
}

/// Returns true if a route with `pattern` matches a request with this target.
fn takes(rules: Option<&PathRules>, pattern: PathPattern, target: &str) -> bool {
    let buf = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes();
    let mut headers = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let Ok(normal) = NormalTarget::of(&buf, &head, rules) else { return false };
    let route = RouteMatch { paths: vec![pattern], ..RouteMatch::default() };
    let table = RouteTable::compile([(&route, &Action::Pool(0))], rules).unwrap();
    let request = RouteRequest::of(&head, &buf, &headers, None, Scheme::Http, "web");
    match normal.rewritten {
        None => table.find(&request.comparing(normal.compared.as_deref())).route.is_some(),
        Some(target) => {
            let buf = NormalTarget::replace(&buf, &head, &target);
            let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
            let request = RouteRequest::of(&head, &buf, &headers, None, Scheme::Http, "web");
            table.find(&request.comparing(normal.compared.as_deref())).route.is_some()
        }
    }
}

#[test]
fn a_rule_for_a_path_holds_for_every_spelling_of_it() {
    let rules = PathRules::default();
    let admin = || PathPattern::Prefix("/admin".to_owned());
    for target in [
        "/admin",
        "/admin/",
        "/admin/x",
        "/%61dmin",
        "/%61%64%6D%69%6e",
        "//admin",
        "///admin//x",
        "/./admin",
        "/x/../admin",
        "/public/%2e%2e/admin",
        "/public/.%2E/admin",
        "/public/..//admin",
        "/%2e/admin",
        "/admin/.",
        "/admin/x/..",
        "/admin;x=1",
        "/admin%3Bx/y",
        "/admin;x/y",
        "/;x/admin",
        "/;/;/admin;",
        "http://h/x/../admin",
        "http://h//admin?q",
        "/admin?/../x",
        "/admin%2Fx/../y/../admin/",
    ] {
        let is_refused = target.contains("%2F");
        assert_eq!(takes(Some(&rules), admin(), target), !is_refused, "{target}");
    }
    for target in [
        "/",
        "/administration",
        "/x/admin",
        "/admin/..",
        "/admin/../x",
        "/Admin",
        "/%2561dmin",
        "/admi%6E%2e",
    ] {
        assert!(!takes(Some(&rules), admin(), target), "{target}");
    }
    let odata = || PathPattern::Exact("/$metadata(x)".to_owned());
    for target in ["/$metadata(x)", "/%24metadata%28x)", "/a/../%24metadata(x%29"] {
        assert!(takes(Some(&rules), odata(), target), "{target}");
    }
    let accented = || PathPattern::Prefix("/caf%c3%a9".to_owned());
    assert!(
        takes(Some(&rules), accented(), "/caf%C3%A9/x") && takes(Some(&rules), accented(), "/caf\u{e9}/x")
    );
}

#[test]
fn without_rules_paths_are_compared_as_they_were_sent() {
    let exact = |path: &str| PathPattern::Exact(path.to_owned());
    assert!(takes(None, exact("/a%20b"), "/a%20b?q"));
    assert!(!takes(None, exact("/ab"), "/%61b"));
    assert!(!takes(None, exact("/a"), "/x/../a"));
    assert!(takes(None, exact("/x/../a"), "/x/../a"));
    assert!(takes(None, exact("/%61"), "/%61"));
}

#[test]
fn a_server_gets_no_dot_segment_and_otherwise_what_the_client_sent() {
    let rules = PathRules::default();
    for (sent, compared, forwarded) in [
        ("/", "/", "/"),
        ("/a//b///", "/a/b/", "/a/b/"),
        ("/a/./b/.", "/a/b/", "/a/b/"),
        ("/a/b/..", "/a/", "/a/"),
        ("/a/..", "/", "/"),
        ("/a/b/../../c", "/c", "/c"),
        ("/a//../b", "/b", "/b"),
        ("/%61/%7e/%2D", "/a/~/-", "/%61/%7e/%2D"),
        ("/%7E%2e%2e/x%2e", "/~../x.", "/%7E%2e%2e/x%2e"),
        ("/%24%2b%40", "/$+@", "/%24%2b%40"),
        ("/a%20b%c3%a9", "/a%20b%C3%A9", "/a%20b%c3%a9"),
        ("/a|b{c}", "/a%7Cb%7Bc%7D", "/a|b{c}"),
        ("/a;v=1/b;w", "/a/b", "/a;v=1/b;w"),
        ("/a%3Bv", "/a", "/a%3Bv"),
        ("/x/%2e%2e/a;v", "/a", "/a;v"),
        ("/%252e%252e/a", "/%252e%252e/a", "/%252e%252e/a"),
        ("/...", "/...", "/..."),
        ("*", "*", "*"),
    ] {
        assert_eq!(forms(&rules, sent), Ok((compared.to_owned(), forwarded.to_owned())), "{sent}");
    }
}

#[test]
fn what_is_ambiguous_is_refused_unless_a_rule_says_how_to_read_it() {
    let default = PathRules::default();
    for (sent, fault) in [
        ("/a%2fb", PathFault::EncodedSlash),
        ("/public/%2e%2e%2Fadmin", PathFault::EncodedSlash),
        ("/a%00", PathFault::Nul),
        ("/a%", PathFault::BadEscape),
        ("/a%4", PathFault::BadEscape),
        ("/a%4g", PathFault::BadEscape),
        ("/%u002e/a", PathFault::BadEscape),
        ("/..", PathFault::AboveRoot),
        ("/%2e%2e/a", PathFault::AboveRoot),
        ("/a/../../b", PathFault::AboveRoot),
        ("/public/..;/admin", PathFault::Parameters),
        ("/public/%2e%2E;x=1/admin", PathFault::Parameters),
        ("/.;/admin", PathFault::Parameters),
        ("/public/;/../admin", PathFault::Parameters),
        ("/public/..%3b/admin", PathFault::Parameters),
        ("/public/.%2E%3Bx/admin", PathFault::Parameters),
    ] {
        assert_eq!(forms(&default, sent), Err(fault), "{sent}");
    }
    let read = |rules: PathRules, sent: &str| forms(&rules, sent).unwrap();
    let both = |compared: &str, forwarded: &str| (compared.to_owned(), forwarded.to_owned());
    let keep = PathRules { encoded_slash: EncodedSlash::Keep, ..default };
    assert_eq!(read(keep, "/a%2fb/../c%2fd"), both("/c%2Fd", "/c%2fd"));
    let decode = PathRules { encoded_slash: EncodedSlash::Decode, ..default };
    assert_eq!(read(decode, "/public/..%2Fadmin%2f"), both("/admin/", "/admin/"));
    assert_eq!(forms(&decode, "/%2F..%2f.."), Err(PathFault::AboveRoot));
    let keep = PathRules { backslash: Backslash::Keep, ..default };
    assert_eq!(read(keep, "/a\\b%5cc"), both("/a%5Cb%5Cc", "/a%5Cb%5cc"));
    let slash = PathRules { backslash: Backslash::Slash, ..default };
    assert_eq!(read(slash, "/public/..\\%5c/admin"), both("/admin", "/admin"));
    let stay = PathRules { above_root: AboveRoot::Stay, ..default };
    assert_eq!(read(stay, "/a/../../..//b"), both("/b", "/b"));
    let keep = PathRules { bad_escape: BadEscape::Keep, ..default };
    assert_eq!(read(keep, "/100%/%zz%61"), both("/100%25/%25zza", "/100%/%zz%61"));
    let keep = PathRules { nul: EncodedNul::Keep, ..default };
    assert_eq!(read(keep, "/a%00.png"), both("/a%00.png", "/a%00.png"));
    let keep = PathRules { parameters: PathParameters::Keep, ..default };
    assert_eq!(read(keep, "/a;b/..;/c"), both("/a;b/..;/c", "/a;b/..;/c"));
    let refuse = PathRules { parameters: PathParameters::Refuse, ..default };
    assert_eq!(forms(&refuse, "/a;b"), Err(PathFault::Parameters));
    assert_eq!(forms(&refuse, "/a%3bb"), Err(PathFault::Parameters));
    let separate = PathRules { merge_slashes: false, ..default };
    assert_eq!(read(separate, "//a//./b/.."), both("//a//", "//a//"));
    assert_eq!(read(separate, "/a//../b"), both("/a/b", "/a/b"));
    assert_eq!(read(separate, "/;x/a"), both("//a", "/;x/a"));
}

#[test]
fn a_backslash_is_known_to_those_who_may_have_it() {
    let refused = |sent: &str| PathRules::default().normalize(sent.as_bytes()).unwrap().has_refused_backslash;
    assert!(refused("/a\\b") && refused("/a%5cb") && !refused("/a%255cb"));
    let keep = PathRules { backslash: Backslash::Keep, ..PathRules::default() };
    assert!(!keep.normalize(b"/a\\b").unwrap().has_refused_backslash);
}

fn rewritten(target: &[u8], rules: Option<&PathRules>) -> Option<String> {
    let buf = [b"GET ", target, b" HTTP/1.1\r\nHost: h\r\n\r\nbody"].concat();
    let mut headers = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let target = NormalTarget::of(&buf, &head, rules).unwrap().rewritten?;
    let buf = NormalTarget::replace(&buf, &head, &target);
    let line = format!("GET {} HTTP/1.1\r\n", String::from_utf8(target.clone()).unwrap());
    assert_eq!(buf, [line.as_bytes(), b"Host: h\r\n\r\nbody"].concat());
    Some(String::from_utf8(target).unwrap())
}

#[test]
fn a_target_is_replaced_only_where_it_cannot_stay() {
    let rules = PathRules::default();
    let of = |target: &[u8]| rewritten(target, Some(&rules));
    assert_eq!(of(b"/a%20b?x//../%2F\\;"), None);
    assert_eq!(of(b"http://h?x"), None);
    assert_eq!(of(b"/a/../b?c/../d").as_deref(), Some("/b?c/../d"));
    assert_eq!(of(b"http://h:80/x//y?").as_deref(), Some("http://h:80/x/y?"));
    // No URI has bytes from 0x80 (RFC 3986 section 2), with or without path rules.
    assert_eq!(of(b"/caf\xe9/\xc3\xa9?q=\xff").as_deref(), Some("/caf%E9/%C3%A9?q=%FF"));
    assert_eq!(of(b"/?q=\xff").as_deref(), Some("/?q=%FF"));
    assert_eq!(rewritten(b"/x/../\xe9?\xe9", None).as_deref(), Some("/x/../%E9?%E9"));
    assert_eq!(rewritten(b"/x/../a", None), None);
}

#[test]
fn another_spelling_is_no_other_key() {
    let key = |key: RequestKey, target: &str| {
        let rules = PathRules::default();
        let buf = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes();
        let mut headers = HeaderTable::new();
        let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
        let normal = NormalTarget::of(&buf, &head, Some(&rules)).unwrap();
        assert_eq!(normal.rewritten, None, "{target}");
        let request = RouteRequest::of(&head, &buf, &headers, None, Scheme::Http, "web");
        let request = request.comparing(normal.compared.as_deref());
        let reader = RequestKeyReader::compile(&key).unwrap();
        let found = reader.read(&request, head.target.span.of(&buf)).unwrap().to_vec();
        String::from_utf8(found).unwrap()
    };
    let uri = |part| RequestKey::Uri(part);
    let whole = UriPart { whole: true, ..UriPart::default() };
    assert_eq!(key(RequestKey::Path, "/%61;s=1/b?c"), "/a/b");
    assert_eq!(key(uri(UriPart::default()), "/%61;s=1/b?c"), "/a/b");
    assert_eq!(key(uri(whole), "/%61/b?%61"), "/a/b?%61");
    assert_eq!(key(uri(whole), "http://h:1/%61?b"), "http://h:1/a?b");
    assert_eq!(key(RequestKey::Expression("path".to_owned()), "/%61/b"), "/a/b");
}

/// Returns the segments of the path as a server interprets it: decodes once, resolves dot segments and merges
/// slashes. Some servers drop parameters, before or after the decoding.
fn names(path: &[u8], leaves_out_parameters: bool) -> Vec<Vec<u8>> {
    let mut decoded = Vec::new();
    for segment in path.split(|byte| *byte == b'/') {
        let mut rest = segment;
        decoded.push(b'/');
        while let Some((byte, tail)) = rest.split_first() {
            let escape = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
            let value = escape.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *byte == b'%');
            if leaves_out_parameters && value.unwrap_or(*byte) == b';' {
                break;
            }
            decoded.push(value.unwrap_or(*byte));
            rest = if value.is_some() { &tail[2..] } else { tail };
        }
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for name in decoded.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            name => names.push(name.to_vec()),
        }
    }
    names
}

fn any_path() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(&b"/"[..]),
        2 => prop::sample::select(vec![&b"a"[..], b"admin", b"x1", b"~", b"caf\xe9", b"|", b"+", b"*"]),
        2 => prop::sample::select(vec![&b"."[..], b"..", b"%2e", b"%2E%2e", b".%2e", b"/../", b"/./"]),
        2 => prop::sample::select(vec![&b"%61"[..], b"%41", b"%20", b"%e9", b"%24", b"%25", b"%2B", b"%3b", b"%7C"]),
        1 => prop::sample::select(vec![&b";"[..], b";x=1", b"\\", b"%5c", b"%2f", b"%00", b"%", b"%zz", b"%252f"]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| [b"/", pieces.concat().as_slice()].concat())
}

fn any_rules() -> impl Strategy<Value = PathRules> {
    let slash = prop::sample::select(vec![EncodedSlash::Refuse, EncodedSlash::Keep, EncodedSlash::Decode]);
    let backslash = prop::sample::select(vec![Backslash::Refuse, Backslash::Keep, Backslash::Slash]);
    let parameters =
        prop::sample::select(vec![PathParameters::Ignore, PathParameters::Keep, PathParameters::Refuse]);
    (any::<[bool; 4]>(), slash, backslash, parameters).prop_map(
        |(flags, encoded_slash, backslash, parameters)| {
            let [merge_slashes, stays, keeps_escapes, keeps_nul] = flags;
            PathRules {
                merge_slashes,
                encoded_slash,
                backslash,
                parameters,
                above_root: if stays { AboveRoot::Stay } else { AboveRoot::Refuse },
                bad_escape: if keeps_escapes { BadEscape::Keep } else { BadEscape::Refuse },
                nul: if keeps_nul { EncodedNul::Keep } else { EncodedNul::Refuse },
            }
        },
    )
}

/// Generates a path of ordinary names, and another spelling of it.
fn two_spellings() -> impl Strategy<Value = (String, String)> {
    let name = prop::collection::vec((prop::sample::select(b"abc.-~$+@!()'".to_vec()), any::<bool>()), 1..5);
    let before = prop::sample::select(vec!["/", "//", "/./", "/x/../", "/%2e/", "/y//%2E./", "/;p/"]);
    let behind = prop::sample::select(vec!["", "", ";", ";p=%61"]);
    prop::collection::vec((before, name, behind), 1..5).prop_filter_map("names, not dots", |segments| {
        let (mut plain, mut spelled) = (String::new(), String::new());
        for (before, name, behind) in segments {
            let bare: String = name.iter().map(|(byte, _)| char::from(*byte)).collect();
            if [".", ".."].contains(&bare.as_str()) {
                return None;
            }
            plain.push('/');
            plain.push_str(&bare);
            spelled.push_str(before);
            for (byte, is_encoded) in name {
                match is_encoded {
                    true => spelled.push_str(&format!("%{byte:02x}")),
                    false => spelled.push(char::from(byte)),
                }
            }
            spelled.push_str(behind);
        }
        Some((plain, spelled))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_normal_form_is_its_own_normal_form(path in any_path(), rules in any_rules()) {
        if let Ok(normal) = rules.normalize(&path) {
            let again = rules.normalize(&normal.forwarded).unwrap();
            prop_assert_eq!(&again.forwarded, &normal.forwarded);
            prop_assert_eq!(again.compared(), normal.compared());
            prop_assert!(normal.forwarded.is_ascii() && normal.compared().is_ascii());
        }
    }

    #[test]
    fn rules_compare_what_a_server_comes_to(path in any_path()) {
        let rules = PathRules::default();
        if let Ok(normal) = rules.normalize(&path) {
            let compared = names(normal.compared(), false);
            prop_assert_eq!(names(&normal.forwarded, true), compared.clone());
            // A server would interpret the path as sent in the same way.
            prop_assert_eq!(names(&path, true), compared);
            // Nothing is left to resolve.
            let left = |segment: &[u8]| names(&[b"/", segment].concat(), false).is_empty();
            let mut segments: Vec<_> = normal.compared().split(|byte| *byte == b'/').skip(1).collect();
            segments.pop_if(|last| last.is_empty());
            prop_assert!(!segments.into_iter().any(left), "{}", normal.compared().escape_ascii());
        }
    }

    #[test]
    fn every_spelling_of_a_path_is_compared_alike((plain, spelled) in two_spellings()) {
        let rules = PathRules::default();
        let compared = |path: &str| forms(&rules, path).map(|(compared, _)| compared);
        prop_assert_eq!(compared(&spelled), compared(&plain));
        prop_assert_eq!(compared(&plain), Ok(plain));
    }

    #[test]
    fn the_quick_look_and_the_thorough_one_agree(path in any_path(), rules in any_rules()) {
        let buf = [b"GET ", path.as_slice(), b" HTTP/1.1\r\nHost: h\r\n\r\n"].concat();
        let mut headers = HeaderTable::new();
        let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
        match (NormalTarget::of(&buf, &head, Some(&rules)), rules.normalize(&path)) {
            (Ok(target), Ok(normal)) => {
                let forwarded = target.rewritten.as_deref().unwrap_or(&path);
                prop_assert_eq!(forwarded, &*normal.forwarded);
                prop_assert_eq!(target.compared.as_deref().unwrap_or(forwarded), normal.compared());
            }
            (target, normal) => prop_assert_eq!(target.err(), normal.err()),
        }
    }
}
