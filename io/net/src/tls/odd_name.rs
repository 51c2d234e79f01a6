//! Server names that rustls rejects with an alert: too long, with an empty label, in brackets, with a space.
//!
//! OpenSSL's servers treat such a name as unknown, and clients rely on that. rustls has no option for it. So
//! before rustls parses the ClientHello, this module changes the extension's type to a private one, which
//! rustls ignores. The hash of the handshake must cover the bytes that the client sent:
//! [`transcript`](super::transcript) restores the type there.

use std::borrow::Cow;

use rustls::pki_types::ServerName;

/// Content type of a record with handshake messages (RFC 8446 section 5.1).
const HANDSHAKE: u8 = 22;
/// Content type of a record with a ChangeCipherSpec.
const CHANGE_CIPHER_SPEC: u8 = 20;
/// Type of a ClientHello message (RFC 8446 section 4).
const CLIENT_HELLO: u8 = 1;
const RECORD_HEADER: usize = 5;
const MESSAGE_HEADER: usize = 4;
/// Type of the server_name extension (RFC 6066 section 3).
const SERVER_NAME: [u8; 2] = [0, 0];
/// Type from the range for private use, unknown to rustls.
const HIDDEN: [u8; 2] = [0xff, 0xee];

/// Hides the server name in a ClientHello at the start of `received` if rustls would reject it. Returns true
/// if it did. Leaves a ClientHello that is incomplete or spans several records.
pub(super) fn hide(received: &mut [u8]) -> bool {
    let mut received = received;
    // A second ClientHello, which the server has requested, follows a dummy message (RFC 8446 appendix D.4).
    while let [CHANGE_CIPHER_SPEC, _, _, 0, 1, _, ..] = *received {
        received = &mut received[RECORD_HEADER + 1..];
    }
    let [HANDSHAKE, _, _, high, low, CLIENT_HELLO, a, b, c, ..] = *received else { return false };
    let record = usize::from(u16::from_be_bytes([high, low]));
    let message = MESSAGE_HEADER + u32::from_be_bytes([0, a, b, c]) as usize;
    if message > record {
        return false;
    }
    let Some(hello) = received.get_mut(RECORD_HEADER..RECORD_HEADER + message) else { return false };
    if find(hello, HIDDEN).is_some() {
        return false;
    }
    let Some(Extension { at, content }) = find(hello, SERVER_NAME) else { return false };
    if !is_odd(content) {
        return false;
    }
    hello[at..at + 2].copy_from_slice(&HIDDEN);
    true
}

/// Returns the handshake message at the start of `messages` as the client sent it, with a hidden name
/// restored. The message may be truncated, as for the binders of a resumed session.
pub(super) fn restore(messages: &[u8]) -> Cow<'_, [u8]> {
    if messages.first() != Some(&CLIENT_HELLO) {
        return Cow::Borrowed(messages);
    }
    let Some(at) = find(messages, HIDDEN).map(|extension| extension.at) else {
        return Cow::Borrowed(messages);
    };
    let mut messages = messages.to_vec();
    messages[at..at + 2].copy_from_slice(&SERVER_NAME);
    Cow::Owned(messages)
}

/// An extension of a ClientHello.
struct Extension<'a> {
    /// Offset of its type.
    at: usize,
    content: &'a [u8],
}

/// Returns the first extension of this type in a ClientHello, which may be truncated.
fn find(hello: &[u8], kind: [u8; 2]) -> Option<Extension<'_>> {
    // Skips the version and the random bytes.
    let mut at = MESSAGE_HEADER + 2 + 32;
    // Skips the session, the cipher suites and the compression methods.
    at += 1 + usize::from(*hello.get(at)?);
    at += 2 + length(hello, at)?;
    at += 1 + usize::from(*hello.get(at)?);
    let end = hello.len().min(at + 2 + length(hello, at)?);
    at += 2;
    while at < end {
        let next = at + 4 + length(hello, at + 2)?;
        if hello.get(at..at + 2)? == kind {
            return Some(Extension { at, content: hello.get(at + 4..next)? });
        }
        at = next;
    }
    None
}

fn length(bytes: &[u8], at: usize) -> Option<usize> {
    let pair = bytes.get(at..at + 2)?;
    Some(usize::from(u16::from_be_bytes([pair[0], pair[1]])))
}

/// Returns true if a server_name extension is well formed but has a name that rustls rejects. rustls itself
/// rejects malformed extensions (two names of one type, wrong lengths).
fn is_odd(content: &[u8]) -> bool {
    let name = || -> Option<&[u8]> {
        let (list, names) = (length(content, 0)?, content.get(2..)?);
        let name = names.get(3..)?;
        let is_one_name = list == names.len() && *names.first()? == 0 && length(names, 1)? == name.len();
        (is_one_name && !name.is_empty()).then_some(name)
    };
    name().is_some_and(|name| ServerName::try_from(name).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a record with a ClientHello with these extensions.
    fn hello(extensions: &[([u8; 2], Vec<u8>)]) -> Vec<u8> {
        let with_length =
            |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
        let extensions: Vec<u8> = extensions
            .iter()
            .flat_map(|(kind, content)| [&kind[..], &with_length(content)].concat())
            .collect();
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend(with_length(&extensions));
        let message = [&[CLIENT_HELLO, 0][..], &with_length(&body)].concat();
        [&[HANDSHAKE, 3, 1][..], &with_length(&message)].concat()
    }

    fn name(text: &str) -> ([u8; 2], Vec<u8>) {
        let length = u16::try_from(text.len()).unwrap();
        let mut content = (length + 3).to_be_bytes().to_vec();
        content.push(0);
        content.extend(length.to_be_bytes());
        content.extend(text.as_bytes());
        (SERVER_NAME, content)
    }

    const OTHER: ([u8; 2], Vec<u8>) = ([0, 10], Vec::new());

    #[test]
    fn only_a_name_that_is_refused_is_hidden_and_the_transcript_has_it_again() {
        let long = format!("{}.org", "x".repeat(300));
        for (text, odd) in [
            ("a.example.org", false),
            ("127.0.0.1", false),
            ("my_host", false),
            ("[foo]", true),
            ("foo..bar", true),
            ("a b", true),
            (&long, true),
        ] {
            let sent = hello(&[OTHER, name(text), ([0, 43], vec![2, 3, 4])]);
            let mut received = sent.clone();
            assert_eq!(hide(&mut received), odd, "{text}");
            assert_eq!(received != sent, odd, "{text}");
            let message = &received[RECORD_HEADER..];
            assert_eq!(*restore(message), sent[RECORD_HEADER..], "{text}");
            // A prefix that ends in a later extension.
            let cut = message.len() - 2;
            assert_eq!(*restore(&message[..cut]), sent[RECORD_HEADER..][..cut], "{text}");
        }
    }

    #[test]
    fn what_has_no_form_or_has_not_all_come_is_left_to_rustls() {
        let two = (SERVER_NAME, [name("a b").1, name("a b").1].concat());
        let cut = (SERVER_NAME, vec![0, 9, 0, 0, 1]);
        for extension in [two, cut, (SERVER_NAME, Vec::new()), (SERVER_NAME, vec![0, 3, 0, 0, 0])] {
            let sent = hello(&[extension]);
            let mut received = sent.clone();
            assert!(!hide(&mut received) && received == sent);
        }
        let whole = hello(&[name("a b")]);
        for length in 0..whole.len() {
            assert!(!hide(&mut whole[..length].to_vec()), "{length}");
        }
        // A second ClientHello.
        let second = [&[CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1][..], &hello(&[name("a b")])].concat();
        assert!(hide(&mut second.clone()));
        let genuine = hello(&[name("a b"), (HIDDEN, vec![1])]);
        assert!(!hide(&mut genuine.clone()));
    }
}
