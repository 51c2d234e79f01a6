//! A chaos server that follows the script in each request's path.

use std::io;

use weir_testkit::Peer;

use crate::random::Random;
use crate::script::{Fault, Framing, Script};

/// Responds to each request of a connection as its path says.
pub(crate) fn serve(peer: &mut Peer) -> io::Result<()> {
    loop {
        let Ok(head) = peer.head() else { return Ok(()) };
        let line = String::from_utf8_lossy(&head);
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let script = Script::of_path(&path).unwrap_or_else(|| panic!("the server received {line:?}"));
        if !script.early && !read_body(peer, &head, &script)? {
            return Ok(());
        }
        match script.fault {
            Fault::Silent => return Ok(()),
            Fault::Garbage => return peer.send("220 what do you want?\r\n\r\n"),
            _ => {}
        }
        let mut wire = script.wire();
        let mut random = Random::new(script.pieces);
        match script.fault {
            Fault::Cut { .. } => wire.truncate(random.below(wire.len() as u64) as usize),
            Fault::Surplus => {
                wire.extend_from_slice(b"HTTP/1.1 200 OK\r\nX-Id: 0\r\nContent-Length: 6\r\n\r\nforged")
            }
            _ => {}
        }
        // If the surplus came after the next request was sent, it would be indistinguishable from the
        // response.
        send_in_pieces(peer, &wire, &mut random, script.fault == Fault::Surplus)?;
        if let Fault::Cut { reset } = script.fault {
            if reset {
                peer.reset();
            }
            return Ok(());
        }
        let ends = script.fault == Fault::Close || script.framing == Framing::Close;
        if ends && script.early {
            // A close with unread bytes causes a reset, which may discard the response (RFC 9112 section
            // 9.6).
            peer.half_close()?;
        }
        if script.early && !read_body(peer, &head, &script)? || ends {
            return Ok(());
        }
    }
}

/// Reads and checks the body of a request. Returns false if it was incomplete.
fn read_body(peer: &mut Peer, head: &[u8], script: &Script) -> io::Result<bool> {
    let Ok(body) = peer.body_of(head) else { return Ok(false) };
    assert!(body == Random::bytes(!script.id, body.len()), "request {}: another's body", script.id);
    Ok(true)
}

fn send_in_pieces(peer: &mut Peer, wire: &[u8], random: &mut Random, in_one: bool) -> io::Result<()> {
    if in_one || random.once_in(2) {
        return peer.send(wire);
    }
    let mut rest = wire;
    while !rest.is_empty() {
        let count = (1 + random.size()).min(rest.len());
        peer.send(&rest[..count])?;
        rest = &rest[count..];
        if random.once_in(4) {
            std::thread::yield_now();
        }
    }
    Ok(())
}
