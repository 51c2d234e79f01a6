//! What became of one request.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One request. Times are nanoseconds from the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// When it should have started.
    pub due_ns: u64,
    /// When it was started: its connection was taken or begun.
    pub start_ns: u64,
    /// When its connection stood, TLS included; `None` = it was a kept one, or never stood.
    pub connected_ns: Option<u64>,
    /// When the first byte of the answer came.
    pub first_byte_ns: Option<u64>,
    /// When the answer was complete, or the request failed.
    pub end_ns: u64,
    /// Which target it went to.
    pub target: u32,
    /// The answer's status; 0 = no answer.
    pub status: u16,
    /// Why it failed.
    pub fault: Option<Fault>,
    /// Bytes of the request, head and body, that were sent.
    pub bytes_out: u64,
    /// Of these, bytes of the head.
    pub head_out: u32,
    /// Bytes of the answer's body.
    pub bytes_in: u64,
    /// Bytes of the answer's head.
    pub head_in: u32,
    /// Who answered: a place in the run's list of servers; `None` = nobody said.
    pub server: Option<u32>,
    /// It could not start when it was due because all connections were in use.
    pub starved: bool,
    /// Of an upload that was taken: whether the server told a checksum of what it got, which was right. `None` = nobody asked, or
    /// nothing was taken.
    pub verified: Option<bool>,
}

impl Record {
    /// From when it was due: what a user would have waited.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.due_ns)
    }

    /// From when it was started: what a generator that does not look at its own delay would tell.
    pub fn raw_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// How late it was started.
    pub fn delay_ns(&self) -> u64 {
        self.start_ns.saturating_sub(self.due_ns)
    }

    /// Time to connect, TLS included; `None` on a kept connection.
    pub fn connect_ns(&self) -> Option<u64> {
        Some(self.connected_ns?.saturating_sub(self.start_ns))
    }

    /// From when its connection stood to the first byte.
    pub fn waiting_ns(&self) -> u64 {
        self.first_byte_ns.unwrap_or(self.end_ns).saturating_sub(self.ready_ns())
    }

    /// From when its connection stood to the last byte.
    pub fn processing_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.ready_ns())
    }

    /// From the first byte to the last.
    pub fn transfer_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.first_byte_ns.unwrap_or(self.end_ns))
    }

    fn ready_ns(&self) -> u64 {
        self.connected_ns.unwrap_or(self.start_ns)
    }
}

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $text:literal;)*) => {
        /// Why a request failed: no complete answer came, or not the one that was promised.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            /// One word, for result files.
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
    /// Nobody listens.
    Refused = "refused", "connect: connection refused";
    /// There is no way to the server, or it gave no sign of life.
    Unreachable = "unreachable", "connect: the server cannot be reached";
    /// It took longer than the time-out.
    Timeout = "timeout", "no complete answer within the time-out";
    /// The connection was closed before an answer began.
    Closed = "closed", "the connection was closed before an answer came";
    /// The connection was reset.
    Reset = "reset", "the connection was reset";
    /// The body was shorter than announced.
    Truncated = "truncated", "the answer's body was shorter than announced";
    /// More came than the answer's head announced: a body longer than its Content-Length, bytes after the last chunk, a body where there is none.
    Surplus = "surplus", "more bytes came than the answer announced";
    /// It is no HTTP answer, or one that two readers could read differently.
    Framing = "framing", "the answer is not well-formed HTTP";
    /// The digest of the body is not the one that was given or announced.
    Checksum = "checksum", "the answer's checksum is wrong";
    /// The answer announces no digest, and one was to be verified.
    NoChecksum = "no-checksum", "the answer announces no checksum";
    /// The digest by which the server says what it got is not that of what was sent.
    UploadChecksum = "upload-checksum", "the server's checksum of what was sent to it is wrong";
    /// TLS failed.
    Tls = "tls", "TLS failed";
    /// HTTP/2 was asked for, and the server speaks something else.
    NoHttp2 = "no-http2", "the server does not speak HTTP/2";
    /// HTTP/2: the server did not take the request, and says that it has done nothing of it.
    StreamRefused = "stream-refused", "the server refused the stream (RST_STREAM with REFUSED_STREAM)";
    /// HTTP/2: the server gave up the request.
    StreamReset = "stream-reset", "the server reset the stream (RST_STREAM)";
    /// HTTP/2: the server ended the connection, and had not taken the request, or says that something was wrong.
    GoAway = "goaway", "the server ended the connection (GOAWAY)";
    /// The file with the body could not be read.
    Body = "body", "the body to be sent could not be read";
    /// This process may not open more descriptors.
    Descriptors = "descriptors", "this program is out of file descriptors";
    /// The source addresses have no port left.
    Ports = "ports", "this program is out of local ports";
    /// The kernel has no memory for the connection.
    Memory = "memory", "the kernel has no memory for another connection";
    /// The run was ended by its user.
    Stopped = "stopped", "the run was stopped before an answer came";
}

impl Fault {
    /// It is a limit of the generator, not of the server.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Body | Self::Descriptors | Self::Ports | Self::Memory | Self::Stopped)
    }

    /// Bytes came, but not those that should have come.
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

    /// From [`Fault::key`].
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
