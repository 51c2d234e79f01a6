//! Fuzzes Redis replies: a reply is no longer than the input, and bytes after it do not change it.

use weir_wire::resp;

/// Runs the target on one input; panics if a property does not hold.
pub fn run(input: &[u8]) {
    if let Ok(Some((reply, bytes))) = resp::parse(input) {
        assert!(bytes <= input.len());
        assert_eq!(resp::parse(&input[..bytes]), Ok(Some((reply, bytes))));
    }
}
