//! Fuzzes chunked bodies: the end is found at the same place however the body is split. The first byte of the
//! input is the size of the pieces. A response body without its chunk extensions passes the strict parser.

use weir_http::{ChunkScanner, Dechunker};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(input: &[u8]) {
    let Some((step, body)) = input.split_first() else { return };
    let mut at_once = ChunkScanner::new();
    let whole = at_once.feed(body);
    let mut in_pieces = ChunkScanner::new();
    let mut dechunker = Dechunker::new();
    let (mut taken, mut data_bytes) = (Ok(0), 0);
    for piece in body.chunks(usize::from(*step).max(1)) {
        let here = in_pieces.feed(piece);
        assert_eq!(dechunker.feed(piece, |data| data_bytes += data.len() as u64), here);
        taken = here.and_then(|here| taken.map(|before| before + here));
        if here.is_err() {
            break;
        }
    }
    assert_eq!(taken, whole);
    if whole.is_ok() {
        assert_eq!(at_once.is_done(), in_pieces.is_done());
        assert_eq!(at_once.payload_bytes(), in_pieces.payload_bytes());
        assert_eq!(at_once.payload_bytes(), data_bytes);
    }

    let (mut lenient, mut strict) = (ChunkScanner::of_response(), ChunkScanner::new());
    for piece in body.chunks(usize::from(*step).max(1)) {
        let Ok(taken) = lenient.feed(piece) else { return };
        let piece = &piece[..taken];
        let left = lenient.canonical(piece).unwrap_or_else(|| piece.to_vec());
        assert_eq!(strict.feed(&left), Ok(left.len()));
        assert_eq!((lenient.is_done(), lenient.payload_bytes()), (strict.is_done(), strict.payload_bytes()));
    }
}
