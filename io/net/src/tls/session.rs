//! TLS sessions without I/O.

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic,
};
use rustls::{CommonState, Error};

use super::queue::ByteQueue;

/// One side of a TLS connection, without buffers and without a socket.
///
/// Uses the unbuffered API of rustls. The buffered one keeps 4 KiB per idle connection, reads in steps of 4
/// KiB and copies received data once more.
pub(super) enum Session {
    /// Connection with a client.
    Server(UnbufferedServerConnection),
    /// Connection with a server.
    Client(UnbufferedClientConnection),
}

/// Data to send after the received data is processed.
pub(super) enum Sending<'a> {
    /// Only protocol messages.
    Nothing,
    /// Application data, and a buffer for its ciphertext.
    Data(&'a [u8], &'a mut [u8]),
    /// A close_notify, and a buffer for its ciphertext.
    End(&'a mut [u8]),
}

/// Output of a session.
pub(super) struct Effects<'a> {
    /// Buffer for plaintext.
    pub(super) target: &'a mut [u8],
    /// Number of filled bytes in `target`.
    pub(super) filled: usize,
    /// Queue for plaintext that does not fit into `target`.
    pub(super) spill: &'a mut ByteQueue,
    /// Handshake messages and alerts to send.
    pub(super) outgoing: &'a mut ByteQueue,
    /// Set when the peer's close_notify has arrived.
    pub(super) peer_ended: &'a mut bool,
}

/// Progress of a session.
pub(super) struct Progress {
    /// Number of processed bytes. The next call must pass the others again, unchanged, with later data behind
    /// them.
    pub(super) consumed: usize,
    /// Length of the ciphertext of [`Sending`]; `None` = it could not be sent (yet).
    pub(super) sent: Result<Option<usize>, Error>,
}

impl Session {
    /// Returns the state of the connection.
    pub(super) fn common(&self) -> &CommonState {
        match self {
            Self::Server(connection) => connection,
            Self::Client(connection) => connection,
        }
    }

    /// Processes `received`, then sends. After an error, `effects.outgoing` holds the alert for the peer.
    pub(super) fn drive(
        &mut self,
        received: &mut [u8],
        sending: Sending<'_>,
        effects: &mut Effects<'_>,
    ) -> Progress {
        match self {
            Self::Server(connection) => drive(connection, received, sending, effects),
            Self::Client(connection) => drive(connection, received, sending, effects),
        }
    }
}

/// Common interface of rustls's two unbuffered connection types, which have no common trait.
trait Engine {
    type Data;
    fn process<'c, 'i>(&'c mut self, received: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
    /// Returns true if the next call of [`process`](Self::process) first returns a message to send.
    fn has_message(&self) -> bool;
}

impl Engine for UnbufferedServerConnection {
    type Data = ServerConnectionData;
    fn process<'c, 'i>(&'c mut self, received: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(received)
    }
    fn has_message(&self) -> bool {
        self.wants_write()
    }
}

impl Engine for UnbufferedClientConnection {
    type Data = ClientConnectionData;
    fn process<'c, 'i>(&'c mut self, received: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(received)
    }
    fn has_message(&self) -> bool {
        self.wants_write()
    }
}

fn drive<E: Engine>(
    engine: &mut E,
    received: &mut [u8],
    sending: Sending<'_>,
    effects: &mut Effects<'_>,
) -> Progress {
    let mut consumed = 0;
    loop {
        let UnbufferedStatus { mut discard, state, .. } = engine.process(&mut received[consumed..]);
        let sent = match state {
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                let mut failed = None;
                while let Some(record) = traffic.next_record() {
                    match record {
                        Ok(record) => {
                            discard += record.discard;
                            effects.receive(record.payload);
                        }
                        Err(error) => failed = Some(error),
                    }
                }
                failed.map(Err)
            }
            Ok(ConnectionState::EncodeTlsData(message)) => encode(message, effects.outgoing).err().map(Err),
            Ok(ConnectionState::TransmitTlsData(encoded)) => {
                // `effects.outgoing` is now responsible for the message.
                encoded.done();
                None
            }
            Ok(ConnectionState::PeerClosed) => {
                *effects.peer_ended = true;
                None
            }
            Ok(ConnectionState::WriteTraffic(traffic)) => {
                consumed += discard;
                return Progress { consumed, sent: send(traffic, sending) };
            }
            Ok(ConnectionState::BlockedHandshake | ConnectionState::Closed) => Some(Ok(None)),
            Ok(_) => Some(Err(Error::General("rustls is in a state that Weir does not know".to_owned()))),
            Err(error) => {
                consumed += discard;
                collect_alert(engine, &mut received[consumed..], effects.outgoing);
                return Progress { consumed, sent: Err(error) };
            }
        };
        consumed += discard;
        if let Some(sent) = sent {
            return Progress { consumed, sent };
        }
    }
}

/// Collects the alert that rustls still returns after an error. Any other call would fail on the same bytes
/// again.
fn collect_alert<E: Engine>(engine: &mut E, received: &mut [u8], outgoing: &mut ByteQueue) {
    while engine.has_message() {
        let UnbufferedStatus { state: Ok(ConnectionState::EncodeTlsData(message)), .. } =
            engine.process(received)
        else {
            return;
        };
        if encode(message, outgoing).is_err() {
            return;
        }
    }
}

fn encode<D>(mut message: EncodeTlsData<'_, D>, outgoing: &mut ByteQueue) -> Result<(), Error> {
    let Err(EncodeError::InsufficientSize(size)) = message.encode(&mut []) else { return Ok(()) };
    message
        .encode(outgoing.grow(size.required_size))
        .map(|_| ())
        .map_err(|error| Error::General(error.to_string()))
}

fn send<D>(mut traffic: WriteTraffic<'_, D>, sending: Sending<'_>) -> Result<Option<usize>, Error> {
    let sent = match sending {
        Sending::Nothing => return Ok(None),
        Sending::Data(plaintext, ciphertext) => traffic.encrypt(plaintext, ciphertext),
        Sending::End(ciphertext) => traffic.queue_close_notify(ciphertext),
    };
    sent.map(Some).map_err(|error| match error {
        EncryptError::EncryptExhausted => Error::EncryptError,
        EncryptError::InsufficientSize(_) => Error::General(error.to_string()),
    })
}

impl Effects<'_> {
    fn receive(&mut self, plaintext: &[u8]) {
        let room = &mut self.target[self.filled..];
        let (now, later) = plaintext.split_at(plaintext.len().min(room.len()));
        room[..now.len()].copy_from_slice(now);
        self.filled += now.len();
        self.spill.push(later);
    }
}
