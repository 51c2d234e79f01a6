//! Tests of paths and of file names in rules.

use proptest::prelude::*;
use weir_access::{AccessPath, PathError};

use crate::common::path;

#[test]
fn what_two_readers_could_take_for_two_paths_is_refused() {
    for (text, error) in [
        ("a", PathError::NotAbsolute),
        ("", PathError::NotAbsolute),
        ("/a/../b", PathError::ParentReference),
        ("/a/%2e%2E/b", PathError::ParentReference),
        ("/..", PathError::ParentReference),
        ("/a%2fb", PathError::EncodedSlash),
        ("/a%5cb", PathError::Character),
        ("/a\\b", PathError::Character),
        ("/a%00", PathError::Character),
        ("/a%0a", PathError::Character),
        ("/a%", PathError::Escape),
        ("/a%2", PathError::Escape),
        ("/a%zz", PathError::Escape),
        ("/a%+1", PathError::Escape),
    ] {
        assert_eq!(AccessPath::from_encoded(text), Err(error), "{text}");
    }
    assert_eq!(AccessPath::from_encoded(&format!("/{}", "a".repeat(8192))), Err(PathError::TooLong));
}

#[test]
fn it_is_decoded_once_and_normalised() {
    assert_eq!(path("//a/./%62//c").to_string(), "/a/b/c");
    assert_eq!(path("/%2561").to_string(), "/%61", "once");
    assert_eq!(path("/a/.").to_string(), "/a/");
    assert_eq!(path("/").to_string(), "/");
    assert_eq!(AccessPath::from_plain("/100%/a").unwrap().to_string(), "/100%/a");
}

#[test]
fn no_two_names_are_written_alike() {
    let cases: [(&[u8], &str); 8] = [
        (b"caf\xE9", "caf%E9"),
        (b"caf%E9", "caf%25E9"),
        (b"caf%25E9", "caf%2525E9"),
        (b"caf%e9", "caf%e9"),
        (b"%\xE9%4\xE9%", "%%E9%4%E9%"),
        (b"a\\b\x07", "a%5Cb%07"),
        (b"a%20b 100%", "a%20b 100%"),
        ("caf\u{e9}".as_bytes(), "caf\u{e9}"),
    ];
    for (name, written) in cases {
        assert_eq!(AccessPath::name(name), written);
    }
    // In URLs and scopes, these names also remain different.
    assert_eq!(path("/caf%E9").to_string(), "/caf%E9");
    assert_eq!(path("/caf%25E9").to_string(), "/caf%25E9");
    assert_eq!(path("/caf%C3%A9").to_string(), "/caf\u{e9}");
}

#[test]
fn a_slash_at_the_end_means_a_directory_only() {
    assert!(path("/a").contains(&path("/a")) && path("/a").contains(&path("/a/")));
    assert!(!path("/a/").contains(&path("/a")) && path("/a/").contains(&path("/a/")));
    assert!(path("/a/").contains(&path("/a/b")));
    assert!(path("/").contains(&path("/")) && path("/").contains(&path("/a")));
    assert!(path("/a").is_above(&path("/a/b")) && !path("/a").is_above(&path("/a/")));
    assert!(!path("/a").is_above(&path("/ab/c")));
}

proptest! {
    /// Compares with the naive model: texts with a slash after each component.
    #[test]
    fn containing_is_having_the_same_first_components(
        left in prop::collection::vec("[ab]{1,2}", 0..4),
        right in prop::collection::vec("[ab]{1,2}", 0..4),
    ) {
        let text = |parts: &[String]| parts.iter().map(|part| format!("/{part}")).collect::<String>();
        let (left, right) = (text(&left), text(&right));
        let whole = |text: &str| path(if text.is_empty() { "/" } else { text });
        let model = format!("{right}/").starts_with(&format!("{left}/"));
        prop_assert_eq!(whole(&left).contains(&whole(&right)), model);
        prop_assert_eq!(whole(&left).is_above(&whole(&right)), model && left != right);
    }

    #[test]
    fn names_of_any_bytes_are_told_apart(
        one in "([%2E59Fa\\\\]|\u{e9}){0,8}", other in "([%2E59Fa\\\\]|\u{e9}){0,8}", cut in 0_usize..4,
    ) {
        // A text that is cut within a character is not UTF-8.
        let bytes = |text: &str| text.as_bytes()[cut.min(text.len())..].to_vec();
        let (one, other) = (bytes(&one), bytes(&other));
        prop_assert_eq!(AccessPath::name(&one) == AccessPath::name(&other), one == other);
    }

    #[test]
    fn no_text_does_harm(text in "\\PC{0,40}|(/|\\.|%|2|e|f|a){0,30}") {
        if let Ok(read) = AccessPath::from_encoded(&text) {
            for component in read.components() {
                prop_assert!(!matches!(component.as_str(), "" | "." | "..") && !component.contains(['/', '\\', '\0']));
            }
            // A printed path parses to the same path.
            prop_assert_eq!(&AccessPath::from_plain(&read.to_string()).unwrap(), &read);
        }
    }
}
