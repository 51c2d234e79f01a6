#![no_main]
//! Answers of a Redis: any bytes are read without a panic, an answer is no longer than what came, and is the same with more behind it.

use libfuzzer_sys::fuzz_target;
use weir_wire::resp;

fuzz_target!(|input: &[u8]| {
    if let Ok(Some((reply, bytes))) = resp::parse(input) {
        assert!(bytes <= input.len());
        assert_eq!(resp::parse(&input[..bytes]), Ok(Some((reply, bytes))));
    }
});
