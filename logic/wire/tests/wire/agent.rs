//! Tests of HAProxy's agent-check protocol.

use proptest::prelude::*;
use weir_wire::agent::{AgentCondition, AgentReply, AgentWish, REPLY_BYTES_MAX, is_complete, parse};

fn reply(text: &str) -> AgentReply {
    parse(text.as_bytes()).unwrap_or_else(|| panic!("nothing in {text:?}"))
}

#[test]
fn words_come_in_any_order_and_case_divided_by_spaces_tabs_or_commas() {
    let expected = AgentReply {
        weight_percent: Some(75),
        connections_max: Some(30),
        wish: Some(AgentWish::Ready),
        condition: Some(AgentCondition::Up),
        ..AgentReply::default()
    };
    for text in ["up ready 75% maxconn:30\n", "MAXCONN:30,75%,Ready,\tUp\r\n", "75%\tready  up,, maxconn:30"]
    {
        assert_eq!(reply(text), expected, "{text:?}");
    }
}

#[test]
fn each_word_says_its_part_and_nothing_else() {
    for (text, condition) in [
        ("up", AgentCondition::Up),
        ("down", AgentCondition::Down),
        ("fail", AgentCondition::Failed),
        ("stopped", AgentCondition::Stopped),
    ] {
        assert_eq!(reply(text), AgentReply { condition: Some(condition), ..AgentReply::default() });
        assert_eq!(condition.word(), text);
    }
    for (text, wish) in
        [("ready", AgentWish::Ready), ("drain", AgentWish::Drain), ("maint", AgentWish::Maintenance)]
    {
        assert_eq!(reply(text), AgentReply { wish: Some(wish), ..AgentReply::default() });
        assert_eq!(wish.word(), text);
    }
    assert_eq!(reply("0%").weight_percent, Some(0));
    assert_eq!(reply("250%").weight_percent, Some(250));
}

#[test]
fn a_load_of_processors_is_no_weight() {
    let expected = AgentReply { cpu_percent: Some(63), weight_percent: Some(75), ..AgentReply::default() };
    assert_eq!(reply("75% CPU:63%"), expected);
    assert_eq!(reply("cpu:63% 75%"), expected);
    for wrong in ["cpu:", "cpu:%", "cpu:63", "cpu:-1%", "cpu:0.5%"] {
        assert_eq!(reply(wrong).unknown.as_deref(), Some(wrong));
        assert_eq!(reply(wrong).cpu_percent, None);
    }
}

#[test]
fn what_follows_the_sharp_is_for_people() {
    let reply = reply("down 10% # disk full: up again soon\n");
    assert_eq!(reply.condition, Some(AgentCondition::Down));
    assert_eq!(reply.weight_percent, Some(10));
    assert_eq!(reply.remark, "disk full: up again soon");
}

#[test]
fn only_the_first_line_with_something_on_it_counts() {
    assert_eq!(reply("drain\nready\n").wish, Some(AgentWish::Drain));
    assert_eq!(reply("\r\n\n50%\n").weight_percent, Some(50));
    for nothing in ["", "\n", " \t \r\n"] {
        assert_eq!(parse(nothing.as_bytes()), None, "{nothing:?}");
    }
}

#[test]
fn a_word_that_means_nothing_is_named_and_the_others_count() {
    for (text, word) in [
        ("up 75", "75"),
        ("up -5%", "-5%"),
        ("up +5%", "+5%"),
        ("up 4294967296%", "4294967296%"),
        ("up maxconn: 30", "maxconn:"),
        ("up maxconn:x", "maxconn:x"),
        ("up %", "%"),
        ("up upp downn", "upp"),
    ] {
        let reply = reply(text);
        assert_eq!(reply.unknown.as_deref(), Some(word), "{text}");
        assert_eq!(reply.condition, Some(AgentCondition::Up), "{text}");
        assert_eq!((reply.weight_percent, reply.connections_max), (None, None), "{text}");
    }
}

#[test]
fn of_two_words_about_the_same_thing_the_latter_counts() {
    let reply = reply("up down 10% 20% ready maint maxconn:1 maxconn:2");
    assert_eq!(reply.condition, Some(AgentCondition::Down));
    assert_eq!(reply.wish, Some(AgentWish::Maintenance));
    assert_eq!((reply.weight_percent, reply.connections_max), (Some(20), Some(2)));
}

#[test]
fn a_line_without_end_is_cut_off() {
    let endless = [b"up ".repeat(REPLY_BYTES_MAX), b"down".to_vec()].concat();
    assert!(is_complete(&endless));
    assert!(!is_complete(b"up 75%"));
    assert!(is_complete(b"up 75%\n"));
    assert_eq!(parse(&endless).and_then(|reply| reply.condition), Some(AgentCondition::Up));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_what_is_shown_is_short_and_printable(
        input in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..3_000),
            prop::collection::vec(
                prop::sample::select(vec!["up", "down", "75%", "maxconn:", "9", "99999999999", "#", " ", ",", "\n", "\u{1b}[2J", "\u{fffd}"]),
                0..200,
            ).prop_map(|pieces| pieces.concat().into_bytes()),
        ]
    ) {
        if let Some(reply) = parse(&input) {
            for text in [Some(reply.remark), reply.unknown].into_iter().flatten() {
                prop_assert!(text.chars().count() <= 200 && !text.chars().any(char::is_control));
            }
        }
    }

    #[test]
    fn what_is_written_is_read(percent in prop::option::of(any::<u32>()), max in prop::option::of(any::<u32>())) {
        let words: Vec<String> = percent.map(|percent| format!("{percent}%")).into_iter()
            .chain(max.map(|max| format!("maxconn:{max}"))).collect();
        let read = parse(words.join(" ").as_bytes()).unwrap_or_default();
        prop_assert_eq!(read, AgentReply { weight_percent: percent, connections_max: max, ..AgentReply::default() });
    }
}
