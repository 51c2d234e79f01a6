//! A WebSocket server that sends every message back (RFC 6455 section 5).

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

use crate::handle::{Phase, not_serving};

/// Largest frame in bytes; a larger one is refused with close code 1009.
const FRAME_BYTES_MAX: u64 = 1 << 20;

const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;

/// Close codes (RFC 6455 section 7.4.1).
const GOING_AWAY: u16 = 1001;
const PROTOCOL_ERROR: u16 = 1002;
const TOO_BIG: u16 = 1009;

/// One frame as received, unmasked.
struct Frame {
    /// FIN and opcode, which are sent back unchanged, so that fragments stay fragments.
    first_byte: u8,
    payload: Vec<u8>,
}

enum Broken {
    /// A protocol error, which is reported with a close frame of this code.
    Protocol(u16),
    /// The connection is gone.
    Gone,
}

/// Echoes messages until the client closes. When the server stops, sends a close frame with code 1001 (going
/// away).
pub(crate) async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin, mut phase: watch::Receiver<Phase>) {
    loop {
        // Reads the first byte separately, because this wait can be cancelled without losing data.
        let first_byte = tokio::select! {
            byte = stream.read_u8() => match byte {
                Ok(byte) => byte,
                Err(_) => return,
            },
            _ = not_serving(&mut phase) => {
                let _ = close(&mut stream, GOING_AWAY).await;
                return;
            }
        };
        match read_frame(first_byte, &mut stream).await {
            Ok(frame) => match answer(&mut stream, frame).await {
                Ok(true) => {}
                Ok(false) | Err(_) => break,
            },
            Err(Broken::Protocol(code)) => {
                let _ = close(&mut stream, code).await;
                break;
            }
            Err(Broken::Gone) => return,
        }
    }
    let _ = stream.shutdown().await;
}

/// Responds to one frame. Returns false if it was the last one.
async fn answer(stream: &mut (impl AsyncWrite + Unpin), frame: Frame) -> io::Result<bool> {
    match frame.first_byte & 0x0f {
        CLOSE => {
            write_frame(stream, frame.first_byte, &frame.payload).await?;
            return Ok(false);
        }
        PING => write_frame(stream, 0x80 | PONG, &frame.payload).await?,
        PONG => {}
        _ => write_frame(stream, frame.first_byte, &frame.payload).await?,
    }
    Ok(true)
}

async fn read_frame(first_byte: u8, stream: &mut (impl AsyncRead + Unpin)) -> Result<Frame, Broken> {
    let second_byte = stream.read_u8().await?;
    let opcode = first_byte & 0x0f;
    let reserved = first_byte & 0x70 != 0 || matches!(opcode, 0x3..=0x7 | 0xb..=0xf);
    let masked = second_byte & 0x80 != 0;
    let mut length = u64::from(second_byte & 0x7f);
    let control = opcode >= CLOSE;
    if reserved || !masked || (control && (length > 125 || first_byte & 0x80 == 0)) {
        return Err(Broken::Protocol(PROTOCOL_ERROR));
    }
    if length == 126 {
        length = u64::from(stream.read_u16().await?);
    } else if length == 127 {
        length = stream.read_u64().await?;
    }
    if length > FRAME_BYTES_MAX {
        return Err(Broken::Protocol(TOO_BIG));
    }
    let mut mask = [0; 4];
    stream.read_exact(&mut mask).await?;
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).await?;
    for (byte, key) in payload.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
    Ok(Frame { first_byte, payload })
}

async fn close(stream: &mut (impl AsyncWrite + Unpin), code: u16) -> io::Result<()> {
    write_frame(stream, 0x80 | CLOSE, &code.to_be_bytes()).await
}

async fn write_frame(
    stream: &mut (impl AsyncWrite + Unpin),
    first_byte: u8,
    payload: &[u8],
) -> io::Result<()> {
    let mut frame = vec![first_byte];
    match payload.len() {
        short @ 0..=125 => frame.push(short as u8),
        medium @ 126..=65_535 => {
            frame.push(126);
            frame.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            frame.push(127);
            frame.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    stream.write_all(&frame).await?;
    stream.flush().await
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}
