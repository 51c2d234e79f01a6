//! Tests large and hostile input.

use std::fmt::Write;

use super::{load_text, messages};

#[test]
fn ten_thousand_servers_load() {
    let mut text = String::from("[listener.web]\nbind = ':80'\npool = 'web'\n[pool.web]\nservers = [\n");
    for number in 0..10_000 {
        let (high, low) = (number / 250, number % 250);
        writeln!(
            text,
            "{{ name = \"s{number}\", address = \"10.0.{high}.{low}:8080\", weight = {} }},",
            number % 257
        )
        .unwrap();
    }
    text.push_str("]\n");
    let plan = load_text(&text).unwrap().plan;
    assert_eq!(plan.pools[0].servers.len(), 10_000);
    assert_eq!(plan.pools[0].servers[9_999].name.as_str(), "s9999");
}

#[test]
fn ten_thousand_pools_with_routes_load() {
    let mut text = String::from("[listener.web]\nbind = ':80'\n");
    for number in 0..10_000 {
        writeln!(text, "[pool.p{number}]\nservers = \"10.0.0.1:80\"\n[[route]]\nhost = \"h{number}\"\npool = \"p{number}\"").unwrap();
    }
    assert_eq!(load_text(&text).unwrap().plan.pools.len(), 10_000);
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for open in ["[", "{a=", "{a=[", "[["] {
        let nested = format!("x = {}", open.repeat(100_000));
        assert!(!messages(&nested).is_empty());
    }
    for (open, close) in [("[", "]"), ("{a=", "}")] {
        let closed = format!("x = {}1{}", open.repeat(10_000), close.repeat(10_000));
        assert!(!messages(&closed).is_empty());
    }
    assert!(!messages(&format!("[{}a]", "a.".repeat(100_000))).is_empty());
    assert!(!messages(&format!("{}a = 1", "a.".repeat(100_000))).is_empty());
}

#[test]
fn a_file_beyond_all_bounds_is_refused_before_it_is_parsed() {
    assert!(messages(&"#".repeat((64 << 20) + 1))[0].contains("bytes"));
}

#[test]
fn huge_numbers_are_out_of_range() {
    for number in [
        "99999999999999999999999",
        "-99999999999999999999999",
        "9223372036854775807",
        "0xffffffffffffffffff",
        "-1",
    ] {
        let messages = messages(&super::with(&format!("[weir]\nmax-connections = {number}")));
        assert!(messages.iter().any(|message| message.contains("out of range")), "{number}: {messages:?}");
    }
    for text in ["99999999999999999999s", "9999999999999d", "1.5s", "-1s", "inf"] {
        assert!(!messages(&super::with(&format!("[weir]\ndrain-timeout = \"{text}\""))).is_empty(), "{text}");
    }
}

mod laws {
    use proptest::prelude::*;

    use super::super::{complaints, load_text};

    /// Returns fragments of configs, so that random texts get past the TOML parser.
    fn piece() -> impl Strategy<Value = String> {
        let fixed = [
            "[",
            "]",
            "{",
            "}",
            "=",
            ",",
            "\n",
            "\"",
            "'",
            ".",
            "[[",
            "]]",
            "#",
            "$",
            "${",
            "\\",
            "\u{e9}",
            "\t",
            "\r\n",
            "[listener.a]\n",
            "[pool.a]\n",
            "[[route]]\n",
            "[pool.a.check]\n",
            "[listener.a.tls]\n",
            "bind = ",
            "servers = ",
            "pool = ",
            "\"a\"",
            "\"10.0.0.1:80\"",
            "\":80\"",
            "check = ",
            "\"GET /\"",
            "http = ",
            "interval = ",
            "\"2s\"",
            "when = ",
            "path = ",
            "\"/a\"",
            "host = ",
            "header = ",
            "weight = ",
            "5",
            "-1",
            "1.5",
            "true",
            "false",
            "1979-05-27",
            "{}",
            "[]",
            "name = ",
            "address = ",
            "\"${X}\"",
            "\"${X:-1}\"",
            "redirect = ",
            "status = ",
            "set = ",
            "request-headers = ",
            "expect = ",
            "tls = ",
            "certificates = ",
            "eject = ",
            "sni = ",
            "mode = \"tcp\"\n",
        ];
        prop_oneof![4 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
    }

    /// Returns a text with some characters removed, duplicated or replaced.
    fn mutated(text: &str, edits: &[(prop::sample::Index, usize, u8, char)]) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        for (at, length, kind, c) in edits {
            if chars.is_empty() {
                break;
            }
            let start = at.index(chars.len());
            let end = (start + length).min(chars.len());
            match kind {
                0 => drop(chars.drain(start..end)),
                1 => {
                    let part = chars[start..end].to_vec();
                    chars.splice(start..start, part);
                }
                _ => chars[start] = *c,
            }
        }
        chars.into_iter().collect()
    }

    proptest! {
        #[test]
        fn a_damaged_config_makes_no_panic(
            edits in prop::collection::vec((any::<prop::sample::Index>(), 1..30_usize, 0..3_u8, any::<char>()), 1..6)
        ) {
            let text = mutated(include_str!("every_key.toml"), &edits);
            match load_text(&text) {
                Ok(loaded) => super::super::print::assert_round_trip_of(&loaded.plan),
                Err(errors) => prop_assert!(errors.iter().all(|error| !error.to_string().is_empty())),
            }
        }

        #[test]
        fn no_text_makes_loading_panic_and_every_refusal_says_why(pieces in prop::collection::vec(piece(), 0..40)) {
            let text = pieces.concat();
            match load_text(&text) {
                Ok(loaded) => prop_assert!(!loaded.plan.listeners.is_empty()),
                Err(errors) => {
                    prop_assert!(!errors.is_empty());
                    prop_assert!(!complaints(&text).is_empty());
                    for place in errors.iter().flat_map(|error| &error.places) {
                        prop_assert!(place.line >= 1 && place.column >= 1 && place.column_end >= place.column);
                    }
                }
            }
        }
    }
}
