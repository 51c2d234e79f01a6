//! Fuzzes PROXY protocol headers: a parsed header, written again, parses to the same value. Bytes after the
//! header do not change its result.

use weir_wire::proxy::{Command, Parsed, V1_BYTES_MAX, V2_BYTES_MAX, parse, write_v2};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(bytes: &[u8]) {
    match parse(bytes) {
        Err(_) => {}
        Ok(Parsed::Incomplete) => {
            assert!(
                bytes.len() <= V1_BYTES_MAX.max(V2_BYTES_MAX),
                "more is asked for than a header can have"
            );
        }
        Ok(Parsed::Complete { command, consumed, .. }) => {
            assert!(consumed <= bytes.len());
            let alone = parse(&bytes[..consumed]).expect("the header without what follows it");
            let Parsed::Complete { command: again, .. } = alone else {
                panic!("incomplete without what follows it")
            };
            assert_eq!(command, again);
            reads_back(&command);
        }
    }
}

fn reads_back(command: &Command) {
    let mut written = Vec::new();
    write_v2(&mut written, command);
    match parse(&written) {
        Ok(Parsed::Complete { command: again, consumed, .. }) => {
            assert_eq!((&again, consumed), (command, written.len()));
        }
        other => panic!("{command:?} was written as {written:?}, which reads as {other:?}"),
    }
}
