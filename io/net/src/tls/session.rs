use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic,
};
use rustls::{CommonState, Error};

use super::queue::ByteQueue;

/// One side of a TLS connection, without buffers and without a socket.
///
/// Over rustls's unbuffered API: the buffered one keeps 4 KiB per idle connection, reads in steps of 4 KiB and copies
/// once more on the way in.
pub(super) enum Session {
    /// Towards a client.
    Server(UnbufferedServerConnection),
    /// Towards a server.
    Client(UnbufferedClientConnection),
}

/// What is to be sent once what was received has been worked through.
pub(super) enum Sending<'a> {
    /// Only what the protocol itself asks for.
    Nothing,
    /// Application data, into ciphertext that has room for it.
    Data(&'a [u8], &'a mut [u8]),
    /// A close_notify, into ciphertext that has room for it.
    End(&'a mut [u8]),
}

/// What a session does besides changing itself.
pub(super) struct Effects<'a> {
    /// Where plaintext goes, until it is full.
    pub(super) target: &'a mut [u8],
    /// How much of `target` is filled, in bytes.
    pub(super) filled: usize,
    /// Where further plaintext goes.
    pub(super) spill: &'a mut ByteQueue,
    /// Handshake messages and alerts to be sent.
    pub(super) outgoing: &'a mut ByteQueue,
    /// Set when the peer's close_notify has come.
    pub(super) peer_ended: &'a mut bool,
}

/// How far a session came.
pub(super) struct Progress {
    /// So many bytes of what was received are done with; the others must come again, unchanged, with what follows.
    pub(super) consumed: usize,
    /// The length of the ciphertext that [`Sending`] became; `None` = it could not be sent (yet).
    pub(super) sent: Result<Option<usize>, Error>,
}

impl Session {
    /// What is known of the connection.
    pub(super) fn common(&self) -> &CommonState {
        match self {
            Self::Server(connection) => connection,
            Self::Client(connection) => connection,
        }
    }

    /// Works through `received`, then sends. After an error, `effects.outgoing` holds the alert that tells the peer.
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

/// What rustls's two unbuffered connection types have in common, but no trait for.
trait Engine {
    type Data;
    fn process<'c, 'i>(&'c mut self, received: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
    /// Whether the next call of [`process`](Self::process) hands out something to be sent before it does anything else.
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
                // From here on `effects.outgoing` answers for it.
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

/// After an error, rustls still hands out the alert that it has made of it. Asked for more, it would stumble over the
/// same bytes again.
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
