//! WebSocket frames (RFC 6455), as far as a proxy must know them: the end of each frame, and the Close frame.

/// Finds the ends of frames in one direction, in pieces of any size. Looks only at lengths and at the Close
/// opcode, so extensions do not matter.
#[derive(Debug, Clone, Default)]
pub struct FrameScanner {
    /// Header bytes read so far; 0 = between frames, or within a payload.
    header_read: u8,
    /// Header length up to the end of the length field, and with the mask. Known after the second byte.
    length_end: u8,
    header_bytes: u8,
    /// Length field read so far while the header is incomplete; then the remaining payload bytes.
    payload_left: u64,
    closes: bool,
    /// True after an invalid length (section 5.2): the start of the next frame is unknown.
    is_lost: bool,
}

impl FrameScanner {
    /// Scans the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !self.is_lost {
            let payload = usize::try_from(self.unread_max()).unwrap_or(usize::MAX).min(rest.len());
            self.skip(payload as u64);
            let Some((byte, behind)) = rest[payload..].split_first() else { return };
            self.header_byte(*byte);
            rest = behind;
        }
    }

    /// Returns the number of bytes that the caller may move without reading them: the rest of a payload, or
    /// everything once the frame boundaries are unknown.
    pub fn unread_max(&self) -> u64 {
        match (self.is_lost, self.header_read) {
            (true, _) => u64::MAX,
            (false, 0) => self.payload_left,
            (false, _) => 0,
        }
    }

    /// Counts `bytes` that the caller has moved without reading, at most [`Self::unread_max`].
    pub fn skip(&mut self, bytes: u64) {
        if self.header_read == 0 {
            self.payload_left = self.payload_left.saturating_sub(bytes);
        }
    }

    /// Returns true if a Close frame may follow the scanned bytes: they end with a complete frame, and no
    /// frame was a Close.
    pub fn may_close(&self) -> bool {
        self.is_between_frames() && !self.closes
    }

    /// Returns true if the last frame was a Close and is complete.
    pub fn has_closed(&self) -> bool {
        self.is_between_frames() && self.closes
    }

    fn is_between_frames(&self) -> bool {
        !self.is_lost && self.header_read == 0 && self.payload_left == 0
    }

    fn header_byte(&mut self, byte: u8) {
        match self.header_read {
            0 => self.closes |= byte & 0x0f == CLOSE,
            1 => {
                let (length_bytes, length) = match byte & 0x7f {
                    126 => (2, 0),
                    127 => (8, 0),
                    length => (0, length),
                };
                self.payload_left = length.into();
                self.length_end = 2 + length_bytes;
                self.header_bytes = self.length_end + if byte & MASKED == 0 { 0 } else { 4 };
            }
            at if at < self.length_end => self.payload_left = (self.payload_left << 8) | u64::from(byte),
            _ => {}
        }
        self.header_read += 1;
        if self.header_read > 1 && self.header_read == self.header_bytes {
            self.header_read = 0;
            self.is_lost = self.payload_left > i64::MAX as u64;
        }
    }
}

const CLOSE: u8 = 8;
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;

/// Status 1001, "going away" (section 7.4.1).
const GOING_AWAY: [u8; 2] = 1001u16.to_be_bytes();

/// Returns the unmasked Close frame with status 1001, as servers send it.
pub fn going_away() -> Vec<u8> {
    [[FIN | CLOSE, 2], GOING_AWAY].concat()
}

/// Returns the Close frame with status 1001 in the masked form of clients; the key must be fresh (section
/// 5.3).
pub fn going_away_masked(key: [u8; 4]) -> Vec<u8> {
    let payload = [GOING_AWAY[0] ^ key[0], GOING_AWAY[1] ^ key[1]];
    [&[FIN | CLOSE, MASKED | 2], &key[..], &payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a frame with a payload of `length` bytes that look like headers.
    fn frame(first: u8, is_masked: bool, length: usize) -> Vec<u8> {
        let mask = if is_masked { MASKED } else { 0 };
        let mut frame = vec![first];
        match length {
            0..126 => frame.push(mask | length as u8),
            126..0x1_0000 => {
                frame.push(mask | 126);
                frame.extend_from_slice(&(length as u16).to_be_bytes());
            }
            _ => {
                frame.push(mask | 127);
                frame.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(if is_masked { &[0x88; 4] } else { &[] });
        frame.extend(std::iter::repeat_n(0x88, length));
        frame
    }

    fn fed(pieces: &[&[u8]]) -> FrameScanner {
        let mut scanner = FrameScanner::default();
        pieces.iter().for_each(|piece| scanner.feed(piece));
        scanner
    }

    #[test]
    fn a_close_may_follow_at_the_end_of_each_frame_and_nowhere_else_however_the_bytes_come() {
        let lengths = [0, 1, 2, 125, 126, 127, 300, 0, 1];
        let frames: Vec<Vec<u8>> = lengths
            .into_iter()
            .enumerate()
            // Text, a continuation, a Ping and extension bits: the kind of frame does not matter.
            .map(|(number, length)| frame([0x81, 0x00, 0x89, 0xf2][number % 4], number % 2 == 0, length))
            .collect();
        let wire = frames.concat();
        let mut ends = vec![0];
        for frame in &frames {
            ends.push(ends[ends.len() - 1] + frame.len());
        }
        for end in 0..=wire.len() {
            let whole = fed(&[&wire[..end]]);
            assert_eq!(whole.may_close(), ends.contains(&end), "after {end} bytes");
            assert!(!whole.has_closed());
            for split in (0..=end).step_by(7) {
                let in_two = fed(&[&wire[..split], &wire[split..end]]);
                assert_eq!(in_two.may_close(), whole.may_close(), "{split} and then {}", end - split);
                assert_eq!(in_two.unread_max(), whole.unread_max(), "{split} and then {}", end - split);
            }
        }
        let mut byte_by_byte = FrameScanner::default();
        let at_ends: Vec<usize> = (1..=wire.len())
            .filter(|end| {
                byte_by_byte.feed(&wire[end - 1..*end]);
                byte_by_byte.may_close()
            })
            .collect();
        assert_eq!(at_ends, ends[1..]);
    }

    #[test]
    fn the_rest_of_a_payload_can_be_moved_unread() {
        for (length, is_masked) in [(100, true), (70_000, false), (70_000, true)] {
            let wire = frame(0x82, is_masked, length);
            let header_bytes = wire.len() - length;
            for end in 0..header_bytes {
                assert_eq!(fed(&[&wire[..end]]).unread_max(), 0, "within the header");
            }
            let mut scanner = fed(&[&wire[..header_bytes + 10]]);
            assert_eq!(scanner.unread_max(), length as u64 - 10);
            scanner.skip(length as u64 - 11);
            assert!(!scanner.may_close());
            scanner.skip(1);
            assert!(scanner.may_close() && scanner.unread_max() == 0);
            scanner.feed(&frame(0x82, is_masked, length));
            assert!(scanner.may_close());
        }
    }

    #[test]
    fn no_close_follows_another() {
        for close in [going_away(), going_away_masked([1, 2, 3, 4]), vec![0x88, 0]] {
            let wire = [frame(0x81, false, 3), close.clone()].concat();
            for end in 6..wire.len() {
                let scanner = fed(&[&wire[..end]]);
                assert!(!scanner.may_close() && !scanner.has_closed(), "after {end} bytes of {wire:?}");
            }
            let scanner = fed(&[&wire]);
            assert!(!scanner.may_close() && scanner.has_closed(), "{close:?}");
        }
    }

    #[test]
    fn after_a_length_that_no_frame_has_everything_is_moved_unread() {
        let mut longest = vec![0x82, 127];
        longest.extend_from_slice(&(u64::MAX >> 1).to_be_bytes());
        assert_eq!(fed(&[&longest]).unread_max(), u64::MAX >> 1);
        let mut scanner = fed(&[&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], b"x"]);
        assert_eq!(scanner.unread_max(), u64::MAX);
        scanner.skip(1 << 40);
        assert!(!scanner.may_close() && !scanner.has_closed() && scanner.unread_max() == u64::MAX);
    }

    #[test]
    fn the_close_frames_are_those_of_the_standard() {
        assert_eq!(going_away(), [0x88, 0x02, 0x03, 0xe9]);
        assert_eq!(going_away_masked([1, 2, 3, 4]), [0x88, 0x82, 1, 2, 3, 4, 0x02, 0xeb]);
    }
}
