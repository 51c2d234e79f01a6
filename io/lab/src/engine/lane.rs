use super::answer::Answer;
use super::connection::Connection;
use super::http2::Stream;
use super::job::Job;
use crate::record::Record;
use crate::target::Target;

/// A place for one request at a time: a connection of HTTP/1, or one of the streams that share a connection of HTTP/2.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) carrier: Carrier,
    /// Which of the run's origins it leads to.
    pub(super) origin: usize,
    pub(super) exchange: Option<Exchange>,
    pub(super) opened_ns: u64,
    pub(super) replies: u32,
}

impl Lane {
    /// The place of the connection that it shares, if it does.
    pub(super) fn link(&self) -> Option<usize> {
        match &self.carrier {
            Carrier::Connection(_) => None,
            Carrier::Stream(stream) => Some(stream.link),
        }
    }
}

/// What carries its requests.
#[derive(Debug)]
pub(super) enum Carrier {
    Connection(Connection),
    Stream(Stream),
}

/// A request that is under way.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) id: u64,
    pub(super) job: Job,
    pub(super) record: Record,
    pub(super) answer: Answer,
    /// How often it has been sent on.
    pub(super) hops: u8,
    /// So many connections that it was to go on took no more requests.
    pub(super) moves: u8,
}

impl Exchange {
    pub(super) fn new(id: u64, job: Job, record: Record, target: &Target, hops: u8) -> Self {
        let answer = Answer::new(target.is_head, target.upload.is_some());
        Self { id, job, record, answer, hops, moves: 0 }
    }
}
