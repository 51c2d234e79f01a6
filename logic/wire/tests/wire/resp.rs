//! Tests of RESP: commands, whole replies, and partial replies.

use proptest::prelude::*;
use weir_wire::resp::{BadReply, REPLY_BYTES_MAX, Reply, command, parse};

fn bulk(text: &str) -> Reply {
    Reply::Bulk(Some(text.as_bytes().to_vec()))
}

#[test]
fn a_command_is_a_list_of_its_words() {
    assert_eq!(command(&[b"SET", b"key", b""]), b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
}

#[test]
fn answers_of_every_kind_are_understood() {
    for (text, reply) in [
        ("+OK\r\n", Reply::Simple("OK".to_owned())),
        ("-ERR no\r\n", Reply::Error("ERR no".to_owned())),
        (":-7\r\n", Reply::Integer(-7)),
        ("$5\r\na\r\nbc\r\n", bulk("a\r\nbc")),
        ("$-1\r\n", Reply::Bulk(None)),
        ("*-1\r\n", Reply::Array(None)),
        (
            "*2\r\n:1\r\n*1\r\n$0\r\n\r\n",
            Reply::Array(Some(vec![Reply::Integer(1), Reply::Array(Some(vec![bulk("")]))])),
        ),
    ] {
        assert_eq!(parse(text.as_bytes()), Ok(Some((reply, text.len()))), "{text:?}");
        for end in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..end]), Ok(None), "{:?}", &text[..end]);
        }
    }
}

#[test]
fn what_follows_an_answer_is_left_alone() {
    assert_eq!(parse(b":1\r\n:2\r\n"), Ok(Some((Reply::Integer(1), 4))));
}

#[test]
fn what_is_no_answer_is_refused_at_once() {
    for (text, why) in [
        ("HTTP/1.1 400 Bad Request\r\n", BadReply::Kind(b'H')),
        (":x\r\n", BadReply::Number),
        ("$-2\r\n", BadReply::Number),
        ("$99999999\r\n", BadReply::TooLong),
        ("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", BadReply::TooLong),
        ("+OK\n", BadReply::LineEnd),
        ("$1\r\nabc", BadReply::LineEnd),
    ] {
        assert_eq!(parse(text.as_bytes()), Err(why), "{text:?}");
    }
    let endless = [b"+".to_vec(), vec![b'x'; REPLY_BYTES_MAX]].concat();
    assert_eq!(parse(&endless), Err(BadReply::TooLong));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(input in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(Some((_, bytes))) = parse(&input) {
            prop_assert!(bytes <= input.len());
        }
    }

    #[test]
    fn the_words_of_a_command_come_back(words in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..8)) {
        let borrowed: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let sent = command(&borrowed);
        let expected = words.into_iter().map(|word| Reply::Bulk(Some(word))).collect();
        prop_assert_eq!(parse(&sent), Ok(Some((Reply::Array(Some(expected)), sent.len()))));
    }
}
