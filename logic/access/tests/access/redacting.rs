//! Tests of the removal of secrets from URLs.

use proptest::prelude::*;
use weir_access::redact::{REDACTED, redact_url};

#[test]
fn secrets_go_and_the_rest_stays() {
    for (url, expected) in [
        ("/a?access_token=abc", "/a?access_token=REDACTED"),
        ("/a?x=1&access_token=abc&y=2#z", "/a?x=1&access_token=REDACTED&y=2#z"),
        ("/a?ACCESS_TOKEN=abc;y=2", "/a?access_token=REDACTED;y=2"),
        ("access_token=abc", "access_token=REDACTED"),
        ("/a?%61ccess%5Ftoken=abc", "/a?access_token=REDACTED"),
        ("/a?access_token%3Dabc", "/a?access_token=REDACTED"),
        ("/a?%2561ccess_token=abc&b", "/a?access_token=REDACTED&b"),
        ("/a?to=https%3A%2F%2Fb%2F%3Faccess_token%3Dabc&y=2", "/a?access_token=REDACTED&y=2"),
        ("/a?access_token=abc/def?ghi&y", "/a?access_token=REDACTED&y"),
        ("/a?authz=Bearer%20abc", "/a?authz=REDACTED"),
        ("/a%3Faccess_token=abc", "/access_token=REDACTED"),
        ("/access_token/b?c=d", "/access_token/b?c=d"),
        ("/a?my_access_token_count=5", "/a?my_access_token_count=5"),
        ("/a?b=100%&c=%zz", "/a?b=100%&c=%zz"),
        ("/%E4?b=%FF", "/%E4?b=%FF"),
        ("", ""),
    ] {
        assert_eq!(redact_url(url), expected, "{url}");
    }
    let beyond_reason = format!("/a?%{}41ccess_token=b", "25".repeat(20));
    assert_eq!(redact_url(&beyond_reason), "/a?access_token=REDACTED");
}

/// Percent-encodes some characters of a text, `layers` times.
fn encoded(text: &str, choices: &[bool], layers: usize) -> String {
    let mut text = text.to_owned();
    let mut choices = choices.iter().cycle();
    for _ in 0..layers {
        let encode = |c: char| match c == '%' || *choices.next().unwrap_or(&false) {
            true => format!("%{:02x}", c as u32),
            false => c.to_string(),
        };
        text = text.chars().map(encode).collect();
    }
    text
}

proptest! {
    #[test]
    fn no_encoding_hides_a_token(
        before in "(/[a-z%]{0,5}){0,3}\\?([a-z]{1,3}=[a-z0-9%]{0,4}&){0,3}",
        after in "(&[a-z]{1,3}=[a-z0-9]{0,4}){0,3}",
        choices in prop::collection::vec(any::<bool>(), 1..40),
        layers in 0_usize..5,
        assigned_plainly: bool,
    ) {
        const SECRET: &str = "Zq9.Zq8-Zq7";
        let assignment = if assigned_plainly {
            format!("{}={}", encoded("access_token", &choices, layers), encoded(SECRET, &choices, layers))
        } else {
            encoded(&format!("access_token={SECRET}"), &choices, layers)
        };
        let url = format!("{before}{assignment}{after}");
        let redacted = redact_url(&url).into_owned();
        prop_assert!(redacted.contains(REDACTED), "{}", redacted);
        let mut plain = redacted.clone();
        for _ in 0..8 {
            prop_assert!(!plain.contains("Zq"), "{} -> {}", url, redacted);
            plain = decoded(&plain);
        }
        prop_assert!(redacted.ends_with(&after), "{} -> {}", url, redacted);
    }

    #[test]
    fn no_text_does_harm(text in "\\PC{0,60}") {
        let once = redact_url(&text).into_owned();
        prop_assert_eq!(redact_url(&once).into_owned(), once.clone(), "redacting again changes nothing");
    }
}

fn decoded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 3..];
            }
            None => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}
