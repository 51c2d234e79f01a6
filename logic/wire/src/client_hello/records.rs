//! Assembly of the first handshake message from TLS records.

use std::borrow::Cow;

use super::{ClientHelloError, MESSAGE_BYTES_MAX};

/// Maximum number of records of one message: one for every 4 bytes. Legitimate clients do not send more.
pub(super) const RECORDS_MAX: usize = MESSAGE_BYTES_MAX / 4;
const RECORD_BYTES_MAX: u16 = 1 << 14;
const HANDSHAKE: u8 = 22;
pub(super) const RECORD_HEAD_BYTES: usize = 5;
const MESSAGE_HEAD_BYTES: usize = 4;

/// Returns the first handshake message without its header (RFC 8446 section 5.1), or `None` if it is not
/// complete. Copies the message only if it spans several records, and only once it is complete.
pub(super) fn message(input: &[u8]) -> Result<Option<Cow<'_, [u8]>>, ClientHelloError> {
    if input.first().is_some_and(|kind| *kind != HANDSHAKE) {
        return Err(ClientHelloError::NotTls);
    }
    let mut head = [0; MESSAGE_HEAD_BYTES];
    let mut seen = 0;
    for (index, record) in Records(input).enumerate() {
        if index >= RECORDS_MAX {
            return Err(ClientHelloError::TooManyRecords);
        }
        let fragment = record?;
        for byte in fragment.iter().take(MESSAGE_HEAD_BYTES.saturating_sub(seen)) {
            head[seen] = *byte;
            seen += 1;
            check_head(&head[..seen])?;
        }
        if seen < MESSAGE_HEAD_BYTES {
            continue;
        }
        let length = message_length(&head);
        if index == 0
            && let Some(message) = fragment.get(MESSAGE_HEAD_BYTES..MESSAGE_HEAD_BYTES + length)
        {
            return Ok(Some(Cow::Borrowed(message)));
        }
        return collect(input, length);
    }
    Ok(None)
}

fn collect(input: &[u8], length: usize) -> Result<Option<Cow<'_, [u8]>>, ClientHelloError> {
    let wanted = MESSAGE_HEAD_BYTES + length;
    let mut there = 0;
    for (index, record) in Records(input).enumerate() {
        if index >= RECORDS_MAX {
            return Err(ClientHelloError::TooManyRecords);
        }
        there += record?.len();
        if there >= wanted {
            let fragments = Records(input).map_while(Result::ok).flatten().copied();
            return Ok(Some(fragments.skip(MESSAGE_HEAD_BYTES).take(length).collect()));
        }
    }
    Ok(None)
}

fn check_head(head: &[u8]) -> Result<(), ClientHelloError> {
    const CLIENT_HELLO: u8 = 1;
    match head {
        [kind, ..] if *kind != CLIENT_HELLO => Err(ClientHelloError::NotClientHello(*kind)),
        [_, a, b, c] => {
            let length = message_length(&[0, *a, *b, *c]);
            let whole = MESSAGE_HEAD_BYTES + length;
            if whole > MESSAGE_BYTES_MAX { Err(ClientHelloError::TooLong(whole)) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

fn message_length(head: &[u8; MESSAGE_HEAD_BYTES]) -> usize {
    u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize
}

/// Iterates over the contents of the received handshake records; the last one may be incomplete.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = Result<&'a [u8], ClientHelloError>;

    fn next(&mut self) -> Option<Self::Item> {
        const MAJOR_VERSION: u8 = 3;
        match self.0 {
            [] => return None,
            [kind, ..] if *kind != HANDSHAKE => return Some(Err(ClientHelloError::RecordType(*kind))),
            [_, major, ..] if *major != MAJOR_VERSION => return Some(Err(ClientHelloError::NotTls)),
            _ => {}
        }
        let (head, rest) = self.0.split_at_checked(RECORD_HEAD_BYTES)?;
        let length = u16::from_be_bytes([head[3], head[4]]);
        if length == 0 || length > RECORD_BYTES_MAX {
            return Some(Err(ClientHelloError::RecordLength(length)));
        }
        let (fragment, rest) = rest.split_at(rest.len().min(length.into()));
        self.0 = rest;
        Some(Ok(fragment))
    }
}
