//! Streams of an HTTP/2 connection.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};

use super::super::answer::Reader;
use super::super::clock::Clock;
use super::super::lane::Exchange;
use super::channel::Traffic;
use super::wakes::{StreamWake, Wakes};
use crate::record::Fault;
use crate::target::{Body, Http2Head, Sending, Target, Upload, head_bytes};
use crate::url::Url;

/// One of the concurrent streams of a connection. It carries one request after another.
#[derive(Debug)]
pub(in crate::engine) struct Stream {
    /// Index of its connection.
    pub(in crate::engine) link: usize,
    /// URL of the current request, if it was redirected.
    pub(in crate::engine) onward: Option<Url>,
    wake: Arc<StreamWake>,
    waker: Waker,
    traffic: Rc<Traffic>,
    flow: Option<Box<Flow>>,
}

/// State of one request.
#[derive(Debug)]
struct Flow {
    /// Response; set until its head has arrived.
    answer: Option<ResponseFuture>,
    body_in: Option<RecvStream>,
    body_out: SendStream<Bytes>,
    body: Body,
    body_at: u64,
    sending: Sending,
}

/// Maximum size of a piece of a body that is sent at once.
const PIECE_BYTES: usize = 64 << 10;

impl Stream {
    pub(super) fn new(link: usize, lane: usize, wakes: &Arc<Wakes>, traffic: Rc<Traffic>) -> Self {
        let (wake, waker) = wakes.stream(lane);
        Self { link, onward: None, wake, waker, traffic, flow: None }
    }

    /// Sends the head of a request. The caller then calls [`Self::poll`].
    ///
    /// # Errors
    /// If the connection accepts no more requests. This request was not sent.
    pub(in crate::engine) fn send(
        &mut self,
        requests: &SendRequest<Bytes>,
        head: &Http2Head,
        target: &Target,
        exchange: &mut Exchange,
    ) -> Result<(), h2::Error> {
        let request = head.request(exchange.job.number, self.onward.as_ref());
        let head = head_bytes(&request);
        let body = &target.body;
        let has_body = body.bytes() > 0;
        // A separate handle, because one handle can have only one request that waits for the server's limit
        // of streams.
        let (answer, body_out) = requests.clone().send_request(request, !has_body)?;
        exchange.record.head_out = exchange.record.head_out.saturating_add(head);
        exchange.record.bytes_out += u64::from(head);
        let body = if has_body { body.clone() } else { Body::Empty };
        let begin = |upload: &Upload| upload.begin(body.bytes());
        let sending = target.upload.as_ref().map_or(Sending::Unasked, begin);
        let flow = Flow { answer: Some(answer), body_in: None, body_out, body, body_at: 0, sending };
        self.flow = Some(Box::new(flow));
        Ok(())
    }

    /// Continues the request. Returns true when the response is complete.
    pub(in crate::engine) fn poll(
        &mut self,
        exchange: &mut Exchange,
        reader: &mut Reader<'_>,
        pattern: &[u8],
        clock: &Clock,
    ) -> Result<bool, Fault> {
        self.wake.clear();
        let Some(flow) = &mut self.flow else { return Ok(false) };
        let mut cx = Context::from_waker(&self.waker);
        let polled = flow
            .send_body(&mut cx, exchange, pattern)
            .and_then(|()| flow.receive(&mut cx, exchange, reader, clock, &self.traffic));
        if polled != Ok(false) {
            self.cancel();
        }
        polled
    }

    /// Drops the request. If it is incomplete, the next poll of the connection sends RST_STREAM.
    pub(in crate::engine) fn cancel(&mut self) {
        self.flow = None;
    }
}

impl Flow {
    /// Sends as much of the body as the server's window permits.
    fn send_body(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &mut Exchange,
        pattern: &[u8],
    ) -> Result<(), Fault> {
        while self.body_at < self.body.bytes() {
            let left = usize::try_from(self.body.bytes() - self.body_at).unwrap_or(usize::MAX);
            let wanted = left.min(PIECE_BYTES);
            self.body_out.reserve_capacity(wanted);
            let room = self.body_out.capacity().min(wanted);
            if room == 0 {
                match self.body_out.poll_capacity(cx) {
                    Poll::Ready(Some(Ok(_))) => continue,
                    Poll::Pending => return Ok(()),
                    // The server stopped reading the body. Its response still counts.
                    Poll::Ready(None | Some(Err(_))) => break,
                }
            }
            let mut piece = vec![0; room];
            let read = self.body.read_at(self.body_at, &mut piece, pattern);
            let bytes = read.map_err(|_| Fault::Body)?;
            piece.truncate(bytes);
            self.body_at += bytes as u64;
            let is_last = self.body_at == self.body.bytes();
            self.sending.add(&piece, is_last);
            if self.body_out.send_data(Bytes::from(piece), is_last).is_err() {
                break;
            }
            exchange.record.bytes_out += bytes as u64;
        }
        self.body = Body::Empty;
        Ok(())
    }

    /// Reads the available part of the response. Returns true when it is complete.
    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &mut Exchange,
        reader: &mut Reader<'_>,
        clock: &Clock,
        traffic: &Traffic,
    ) -> Result<bool, Fault> {
        if let Some(answer) = &mut self.answer {
            let Poll::Ready(answer) = Pin::new(answer).poll(cx) else { return Ok(false) };
            let (head, body) = answer.map_err(|error| traffic.fault(&error))?.into_parts();
            self.answer = None;
            exchange.record.first_byte_ns.get_or_insert(clock.now());
            exchange.answer.begin(head.status.as_u16(), &head.headers, reader)?;
            self.body_in = Some(body);
        }
        let Some(body) = &mut self.body_in else { return Ok(false) };
        loop {
            match body.poll_data(cx) {
                Poll::Pending => return Ok(false),
                // Trailers come with the end and contain nothing that the run needs.
                Poll::Ready(None) => break,
                Poll::Ready(Some(piece)) => {
                    let piece = piece.map_err(|error| match traffic.fault(&error) {
                        Fault::Closed => Fault::Truncated,
                        fault => fault,
                    })?;
                    exchange.answer.take(&piece);
                    // Releases the same number of bytes in the windows of the stream and of the connection.
                    let released = body.flow_control().release_capacity(piece.len());
                    released.map_err(|error| traffic.fault(&error))?;
                }
            }
        }
        exchange.record.end_ns = clock.now();
        exchange.answer.finish()?;
        exchange.answer.compare(self.sending.digests())?;
        Ok(true)
    }
}
