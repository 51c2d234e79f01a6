//! Answers of a Redis: any bytes are read without a panic, an answer is no longer than what came, and is the same with more behind it.

use weir_wire::resp;

/// Runs the target on one input; panics when a property does not hold.
pub fn run(input: &[u8]) {
    if let Ok(Some((reply, bytes))) = resp::parse(input) {
        assert!(bytes <= input.len());
        assert_eq!(resp::parse(&input[..bytes]), Ok(Some((reply, bytes))));
    }
}
