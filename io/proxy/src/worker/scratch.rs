//! A worker's read buffer.

use weir_net::PageBuffer;

/// A worker's read buffer. It is borrowed within one poll, never across an await.
///
/// Messages are read behind a gap. The rewritten head, which may be longer than the original, is placed in
/// front of the body bytes that were read with it, so that one call sends both.
#[derive(Debug)]
pub(crate) struct Scratch {
    bytes: PageBuffer,
}

impl Scratch {
    /// Number of bytes by which a head may grow without copying the body bytes behind it.
    const HEADROOM: usize = 4 * 1024;
    const BODY: usize = 256 * 1024;

    pub(crate) fn new() -> Self {
        Self { bytes: PageBuffer::zeroed(Self::HEADROOM + Self::BODY) }
    }

    /// Returns the buffer to read messages into.
    pub(crate) fn body(&mut self) -> &mut [u8] {
        &mut self.bytes[Self::HEADROOM..]
    }

    /// Places `head` right before the bytes `from..to` of [`Scratch::body`], over the `from` bytes there and
    /// the headroom. Returns head and body bytes together, or `None` if the head does not fit.
    pub(crate) fn splice_head(&mut self, head: &[u8], from: usize, to: usize) -> Option<&[u8]> {
        let end_of_head = Self::HEADROOM + from;
        let start = end_of_head.checked_sub(head.len())?;
        self.bytes.get_mut(start..end_of_head)?.copy_from_slice(head);
        self.bytes.get(start..Self::HEADROOM + to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_head_goes_into_the_headroom_and_the_body_stays_where_it_is() {
        let mut scratch = Scratch::new();
        scratch.body()[..9].copy_from_slice(b"head:body");
        assert_eq!(scratch.splice_head(b"a-longer-head:", 5, 9), Some(&b"a-longer-head:body"[..]));
        assert_eq!(scratch.splice_head(&vec![b'x'; Scratch::HEADROOM + 6], 5, 9), None);
    }
}
