//! The outcome of one request.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One request. Times are nanoseconds from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// Due time.
    pub due_ns: u64,
    /// Start: the time at which a connection was taken or begun.
    pub start_ns: u64,
    /// Time at which the connection was established, including TLS. `None` = the connection was reused, or
    /// was never established.
    pub connected_ns: Option<u64>,
    /// Arrival of the first byte of the response.
    pub first_byte_ns: Option<u64>,
    /// Time at which the response was complete or the request failed.
    pub end_ns: u64,
    /// Index of the target.
    pub target: u32,
    /// Status of the response; 0 = no response.
    pub status: u16,
    /// Reason of the failure.
    pub fault: Option<Fault>,
    /// Bytes of the request that were sent, head and body.
    pub bytes_out: u64,
    /// Bytes of the request's head.
    pub head_out: u32,
    /// Bytes of the response's body.
    pub bytes_in: u64,
    /// Bytes of the response's head.
    pub head_in: u32,
    /// Server that responded, as an index into the run's list of servers; `None` = the response names none.
    pub server: Option<u32>,
    /// Set when the request could not start on time because all connections were in use.
    pub starved: bool,
    /// For an accepted upload: true if the server reported a correct checksum of the received bytes. `None` =
    /// no check was requested, or the upload was not accepted.
    pub verified: Option<bool>,
}

impl Record {
    /// Returns the time since the request was due: the wait of a user.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.due_ns)
    }

    /// Returns the time since the request started: the value of a generator that ignores its own delay.
    pub fn raw_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Returns the delay of the start.
    pub fn delay_ns(&self) -> u64 {
        self.start_ns.saturating_sub(self.due_ns)
    }

    /// Returns the time to connect, including TLS; `None` on a reused connection.
    pub fn connect_ns(&self) -> Option<u64> {
        Some(self.connected_ns?.saturating_sub(self.start_ns))
    }

    /// Returns the time from the established connection to the first byte.
    pub fn waiting_ns(&self) -> u64 {
        self.first_byte_ns.unwrap_or(self.end_ns).saturating_sub(self.ready_ns())
    }

    /// Returns the time from the established connection to the last byte.
    pub fn processing_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.ready_ns())
    }

    /// Returns the time from the first byte to the last.
    pub fn transfer_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.first_byte_ns.unwrap_or(self.end_ns))
    }

    fn ready_ns(&self) -> u64 {
        self.connected_ns.unwrap_or(self.start_ns)
    }
}

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $text:literal;)*) => {
        /// Reason why a request failed: no complete response came, or a wrong one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All faults.
            pub const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// Returns the fault as one word, for result files.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)* }
            }

            const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

faults! {
    /// The server refused the connection.
    Refused = "refused", "connect: connection refused";
    /// The server is unreachable or did not respond to the connection attempt.
    Unreachable = "unreachable", "connect: the server cannot be reached";
    /// The request exceeded its timeout.
    Timeout = "timeout", "no complete answer within the time-out";
    /// The connection was closed before a response began.
    Closed = "closed", "the connection was closed before an answer came";
    /// The connection was reset.
    Reset = "reset", "the connection was reset";
    /// The body was shorter than announced.
    Truncated = "truncated", "the answer's body was shorter than announced";
    /// The response was longer than its head announced. Examples are a body longer than its Content-Length,
    /// bytes after the last chunk, and a body where none is allowed.
    Surplus = "surplus", "more bytes came than the answer announced";
    /// The response is not HTTP, or is ambiguous.
    Framing = "framing", "the answer is not well-formed HTTP";
    /// The digest of the body is not the given or announced one.
    Checksum = "checksum", "the answer's checksum is wrong";
    /// The response announces no digest although one should be verified.
    NoChecksum = "no-checksum", "the answer announces no checksum";
    /// The server's digest of the received bytes is not the digest of the sent bytes.
    UploadChecksum = "upload-checksum", "the server's checksum of what was sent to it is wrong";
    /// TLS failed.
    Tls = "tls", "TLS failed";
    /// HTTP/2 was configured, but the server speaks another protocol.
    NoHttp2 = "no-http2", "the server does not speak HTTP/2";
    /// HTTP/2: the server refused the request and says that it did not process it.
    StreamRefused = "stream-refused", "the server refused the stream (RST_STREAM with REFUSED_STREAM)";
    /// HTTP/2: the server cancelled the request.
    StreamReset = "stream-reset", "the server reset the stream (RST_STREAM)";
    /// HTTP/2: the server closed the connection without accepting the request, or reports an error.
    GoAway = "goaway", "the server ended the connection (GOAWAY)";
    /// The body file could not be read.
    Body = "body", "the body to be sent could not be read";
    /// The process reached its limit of file descriptors.
    Descriptors = "descriptors", "this program is out of file descriptors";
    /// The source addresses have no free port.
    Ports = "ports", "this program is out of local ports";
    /// The kernel has no memory for the connection.
    Memory = "memory", "the kernel has no memory for another connection";
    /// The user stopped the run.
    Stopped = "stopped", "the run was stopped before an answer came";
}

impl Fault {
    /// Returns true if the fault is a limit of the generator and not of the server.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Body | Self::Descriptors | Self::Ports | Self::Memory | Self::Stopped)
    }

    /// Returns true if bytes arrived, but not the expected ones.
    pub fn is_wrong_bytes(self) -> bool {
        matches!(
            self,
            Self::Truncated
                | Self::Surplus
                | Self::Framing
                | Self::Checksum
                | Self::NoChecksum
                | Self::UploadChecksum
        )
    }

    /// Returns the fault with this [`Fault::key`].
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.key() == key)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_counts_from_when_a_request_was_due_and_raw_time_from_when_it_was_sent() {
        let record = Record {
            due_ns: 1_000,
            start_ns: 5_000,
            connected_ns: Some(6_000),
            first_byte_ns: Some(8_000),
            end_ns: 9_000,
            ..Record::default()
        };
        assert_eq!((record.latency_ns(), record.raw_ns(), record.delay_ns()), (8_000, 4_000, 4_000));
        assert_eq!((record.connect_ns(), record.waiting_ns()), (Some(1_000), 2_000));
        assert_eq!((record.processing_ns(), record.transfer_ns()), (3_000, 1_000));
    }

    #[test]
    fn every_fault_is_found_by_its_key() {
        assert!(Fault::ALL.into_iter().all(|fault| Fault::from_key(fault.key()) == Some(fault)));
    }
}
