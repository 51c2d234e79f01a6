//! TCP mode: both sides send at once, and each closes its direction at a random time.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;

use weir_testkit::{PATIENCE, Peer};

use crate::random::Random;

/// Runs the server's half. The first 17 bytes from the client are: ID, bytes that the server sends, bytes
/// that it gets, and a flag that permits the client to leave early.
pub(crate) fn serve(peer: &mut Peer) -> std::io::Result<()> {
    let header = peer.take(17)?;
    let id = u64::from_le_bytes(header[..8].try_into().unwrap());
    let sends = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
    let gets = u32::from_le_bytes(header[12..16].try_into().unwrap()) as usize;
    let leaves = header[16] != 0;
    if id.is_multiple_of(2) {
        peer.send(Random::bytes(id, sends))?;
        peer.half_close()?;
        let (got, all) = (peer.take_to_end()?.0, Random::bytes(!id, gets));
        assert!(got == all || (leaves && all.starts_with(&got)), "{id}: {} of {gets} bytes", got.len());
    } else {
        assert!(peer.take(gets)? == Random::bytes(!id, gets), "{id}: upload");
        peer.send(Random::bytes(id, sends))?;
    }
    Ok(())
}

/// Runs the client's half.
pub(crate) fn converse(addr: SocketAddr, id: u64, random: &mut Random) {
    let (sends, gets) = (random.size() * 3, random.size() * 3);
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let leaves = random.once_in(15);
    let header = [
        &id.to_le_bytes()[..],
        &(gets as u32).to_le_bytes(),
        &(sends as u32).to_le_bytes(),
        &[leaves.into()],
    ]
    .concat();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut all = Vec::new();
            let ended = reader.read_to_end(&mut all);
            if leaves {
                assert!(Random::bytes(id, gets).starts_with(&all), "{id}: another's bytes");
            } else {
                assert!(
                    ended.is_ok() && all == Random::bytes(id, gets),
                    "{id}: {} of {gets} bytes, {ended:?}",
                    all.len()
                );
            }
        });
        stream.write_all(&header).unwrap();
        let body = Random::bytes(!id, sends);
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            let count = (1 + random.size()).min(rest.len());
            if stream.write_all(&rest[..count]).is_err() {
                assert!(leaves, "{id}: reset");
                break;
            }
            rest = &rest[count..];
            if leaves && random.once_in(3) {
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
    });
}
