//! Lanes, each of which carries one request at a time.

use super::answer::Answer;
use super::connection::Connection;
use super::http2::Stream;
use super::job::Job;
use crate::record::Record;
use crate::target::Target;

/// Carrier of one request at a time: an HTTP/1 connection, or a stream of a shared HTTP/2 connection.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) carrier: Carrier,
    /// Index of the origin.
    pub(super) origin: usize,
    pub(super) exchange: Option<Exchange>,
    pub(super) opened_ns: u64,
    pub(super) replies: u32,
}

impl Lane {
    /// Returns the index of the shared connection, if the lane uses one.
    pub(super) fn link(&self) -> Option<usize> {
        match &self.carrier {
            Carrier::Connection(_) => None,
            Carrier::Stream(stream) => Some(stream.link),
        }
    }
}

/// Transport of a lane's requests.
#[derive(Debug)]
pub(super) enum Carrier {
    Connection(Connection),
    Stream(Stream),
}

/// Request in progress.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) id: u64,
    pub(super) job: Job,
    pub(super) record: Record,
    pub(super) answer: Answer,
    /// Number of redirects that the request has followed.
    pub(super) hops: u8,
    /// Number of connections that did not accept the request.
    pub(super) moves: u8,
}

impl Exchange {
    pub(super) fn new(id: u64, job: Job, record: Record, target: &Target, hops: u8) -> Self {
        let answer = Answer::new(target.is_head, target.upload.is_some());
        Self { id, job, record, answer, hops, moves: 0 }
    }
}
