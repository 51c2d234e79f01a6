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
        ("/a%ff", PathError::NotUtf8),
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
fn a_slash_at_the_end_means_a_directory_only() {
    assert!(path("/a").contains(&path("/a")) && path("/a").contains(&path("/a/")));
    assert!(!path("/a/").contains(&path("/a")) && path("/a/").contains(&path("/a/")));
    assert!(path("/a/").contains(&path("/a/b")));
    assert!(path("/").contains(&path("/")) && path("/").contains(&path("/a")));
    assert!(path("/a").is_above(&path("/a/b")) && !path("/a").is_above(&path("/a/")));
    assert!(!path("/a").is_above(&path("/ab/c")));
}

proptest! {
    /// The naive model: texts with a slash behind each component.
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
    fn no_text_does_harm(text in "\\PC{0,40}|(/|\\.|%|2|e|f|a){0,30}") {
        if let Ok(read) = AccessPath::from_encoded(&text) {
            for component in read.components() {
                prop_assert!(!matches!(component.as_str(), "" | "." | "..") && !component.contains(['/', '\\', '\0']));
            }
            // What is printed reads as the same path.
            prop_assert_eq!(&AccessPath::from_plain(&read.to_string()).unwrap(), &read);
        }
    }
}
