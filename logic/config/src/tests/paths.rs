//! Tests the path rules of listeners, and paths of routes that no request can match.

use weir_http::{AboveRoot, Backslash, BadEscape, EncodedNul, EncodedSlash, PathParameters, PathRules};

use super::print::assert_round_trip;
use super::{load_text, messages};
use crate::diff::diff;
use crate::plan::Mode;

fn listener(keys: &str) -> String {
    format!("[listener.web]\nbind = ':80'\npool = 'app'\n{keys}\n[pool.app]\nservers = '10.0.0.1:80'\n")
}

fn rules(text: &str) -> Option<PathRules> {
    match &load_text(text).unwrap().plan.listeners[0].mode {
        Mode::Http(http) => http.paths,
        Mode::Tcp(_) => panic!("HTTP is the default"),
    }
}

#[test]
fn paths_are_normalised_unless_a_listener_says_otherwise() {
    assert_eq!(rules(&listener("")), Some(PathRules::default()));
    assert_eq!(rules(&listener("paths = false")), None);
    assert_eq!(rules(&listener("paths = {}")), Some(PathRules::default()));
    let one = rules(&listener("paths = { encoded-slash = 'keep' }"));
    assert_eq!(one, Some(PathRules { encoded_slash: EncodedSlash::Keep, ..PathRules::default() }));
    let all = "paths = { merge-slashes = false, encoded-slash = 'decode', backslash = 'slash', parameters = 'refuse', \
               above-root = 'stay', bad-escape = 'keep', nul = 'keep' }";
    let expected = PathRules {
        merge_slashes: false,
        encoded_slash: EncodedSlash::Decode,
        backslash: Backslash::Slash,
        parameters: PathParameters::Refuse,
        above_root: AboveRoot::Stay,
        bad_escape: BadEscape::Keep,
        nul: EncodedNul::Keep,
    };
    assert_eq!(rules(&listener(all)), Some(expected));
    for keys in ["", "paths = false", all] {
        assert_round_trip(&listener(keys));
    }
    let plan = |keys: &str| load_text(&listener(keys)).unwrap().plan;
    let changed = format!("{:?}", diff(&plan(""), &plan("paths = false")));
    assert!(changed.contains("Paths"), "{changed}");
}

#[test]
fn what_is_wrong_is_said() {
    let found = messages(&listener("paths = { encoded-slash = 'allow' }"));
    assert!(found[0].contains("encoded-slash") && found[0].contains("decode"), "{found:?}");
    let found = messages(&listener("paths = true"));
    assert!(found[0].contains("paths"), "{found:?}");
    let tcp = "[listener.web]\nbind = ':80'\nmode = 'tcp'\npool = 'app'\npaths = {}\n[pool.app]\nservers = '10.0.0.1:80'\n";
    assert_eq!(messages(tcp), ["listener web: paths: a listener with mode = \"tcp\" has none"]);
}

#[test]
fn a_path_that_no_request_can_have_is_an_error() {
    let route = |keys: &str, route: &str| format!("{}\n[[route]]\nname = 'r'\n{route}\n", listener(keys));
    for (keys, path, part) in [
        ("", "path = '//admin'", "route r: path: //admin matches no request of listener web"),
        ("", "path = '//admin'", "write \"/admin\""),
        ("", "path = '=/x/../a'", "write \"/a\""),
        ("", "path = '/a;v=1'", "parameters"),
        ("", "path = '/a%2fb'", "encoded slash"),
        ("", "path = '/*//b'", "repeated slashes"),
        ("", "path = '/a'\nrewrite = { prefix = '/a/./b', to = '/' }", "route r: rewrite"),
        ("paths = { parameters = 'refuse' }", "path = '/a;v=1'", "parameters"),
    ] {
        let found = messages(&route(keys, &format!("{path}\npool = 'app'")));
        assert!(found.iter().any(|found| found.contains(part)), "{path}: {found:#?}");
    }
    for (keys, path) in [
        ("", "path = ['/a%20b', '/%61', '/.well-known/x', '/**.png']"),
        ("paths = false", "path = ['//admin', '/x/../a', '/a;v=1', '/a%2fb']"),
        (
            "paths = { merge-slashes = false, encoded-slash = 'keep', parameters = 'keep' }",
            "path = ['//a', '/a%2Fb', '/a;b']",
        ),
    ] {
        assert_eq!(load_text(&route(keys, &format!("{path}\npool = 'app'"))).unwrap().warnings, [], "{path}");
    }
}

#[test]
fn a_path_that_only_some_listeners_can_have_is_a_warning() {
    let text = format!(
        "{}\n[listener.raw]\nbind = ':81'\npool = 'app'\npaths = false\n\n[[route]]\nname = 'r'\npath = '//admin'\nrespond = 403\n",
        listener("")
    );
    let loaded = load_text(&text).unwrap();
    assert_eq!(loaded.warnings.len(), 1, "{:#?}", loaded.warnings);
    let warning = loaded.warnings[0].to_string();
    assert!(warning.contains("no request of listener web") && warning.contains("//admin"), "{warning}");
}

#[test]
fn a_glob_that_grows_too_long_by_encoding_is_an_error_of_its_route() {
    let text =
        format!("[listener.web]\nbind = ':80'\n[[route]]\npath = '/*{}'\nrespond = 403\n", "|".repeat(85));
    let told = messages(&text);
    assert!(told.len() == 1 && told[0].starts_with("route 1: path: ") && told[0].contains("255"), "{told:?}");
}
