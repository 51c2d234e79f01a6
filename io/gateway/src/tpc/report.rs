//! Response body of a third-party copy, with progress markers.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Interval, MissedTickBehavior};
use weir_dav::third_party::{Marker, failure_line, success_line};
use weir_net::service::{ChunkSource, LocalFuture};

use crate::client::Fault;
use crate::clock::unix_now_s;
use crate::transfers::{End, Entry};

/// The response body of a third-party copy. It runs the transfer while it is sent, and reports progress.
pub(super) struct Report {
    /// The transfer; `None` once it has ended.
    work: Option<LocalFuture<Result<(), Fault>>>,
    stopping: LocalFuture<()>,
    ticks: Interval,
    entry: Entry,
    began: Instant,
}

impl Report {
    /// Creates the body for the transfer `work`. Sends a marker at once, and then every `interval`.
    pub(super) fn new(
        work: LocalFuture<Result<(), Fault>>,
        stopping: LocalFuture<()>,
        interval: Duration,
        entry: Entry,
    ) -> Self {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { work: Some(work), stopping, ticks, entry, began: Instant::now() }
    }

    fn ended(&mut self, end: End, line: String) -> Poll<io::Result<Option<Vec<u8>>>> {
        self.work = None;
        self.entry.end = end;
        Poll::Ready(Ok(Some(line.into_bytes())))
    }

    fn marker(&self) -> Vec<u8> {
        let (live, connections) = (&self.entry.live, self.entry.live.connections());
        Marker { unix_s: unix_now_s(), bytes: live.bytes(), connections: &connections }.text().into_bytes()
    }
}

impl ChunkSource for Report {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>> {
        let Some(work) = &mut self.work else { return Poll::Ready(Ok(None)) };
        match work.as_mut().poll(cx) {
            Poll::Ready(Ok(())) => return self.ended(End::Succeeded, success_line().to_owned()),
            Poll::Ready(Err(fault)) => return self.ended(End::Failed, failure_line(&fault.to_string())),
            Poll::Pending => {}
        }
        if self.stopping.as_mut().poll(cx).is_ready() {
            let line =
                format!("the server is stopping, after {} s of the transfer", self.began.elapsed().as_secs());
            return self.ended(End::Cancelled, failure_line(&line));
        }
        if self.ticks.poll_tick(cx).is_ready() {
            return Poll::Ready(Ok(Some(self.marker())));
        }
        Poll::Pending
    }
}
