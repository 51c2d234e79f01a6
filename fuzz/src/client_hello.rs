//! Fuzzes TLS ClientHellos: bytes after the message do not change its result.

use weir_wire::client_hello::{BYTES_MAX, Parsed, parse};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(bytes: &[u8]) {
    match parse(bytes) {
        Err(_) => {}
        Ok(Parsed::Incomplete) => {
            assert!(bytes.len() < BYTES_MAX, "more is asked for than a message can have")
        }
        Ok(Parsed::Complete(hello)) => {
            let mut longer = bytes.to_vec();
            longer.extend_from_slice(b"what follows");
            assert_eq!(parse(&longer), Ok(Parsed::Complete(hello)));
        }
    }
}
