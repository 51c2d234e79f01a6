//! Moves the request to the server and the response to the client, both at once.

use std::task::{Context, Poll, ready};

use weir_health::TrafficOutcome;
use weir_http::Scheme;

use super::{ClientSide, Exchange, Upload};
use crate::http::outcome::{Cut, End, Fault};
use crate::http::response::{self, Asked, HeadOutcome, Reading};
use crate::pump::PumpError;

impl Exchange {
    /// Moves bytes in both directions. Returns `Ready(None)` if the exchange continues in another state, for
    /// example with a retry.
    pub(super) fn poll_running(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientSide<'_>,
    ) -> Poll<Option<End>> {
        if self.upload_state == Upload::Sending {
            match self.poll_upload(cx, client) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => {
                    self.upload_state = Upload::Done;
                    self.timing.request_sent(client.worker.now());
                    self.hedge_later(client.worker.now());
                    self.arm(client);
                }
                Poll::Ready(Err(PumpError::Sink(_))) => self.upload_state = Upload::Broken,
                Poll::Ready(Err(error)) => return Poll::Ready(Some(self.upload_failed(error))),
            }
        }
        if self.download.is_none() {
            match self.poll_response_head(cx, client) {
                Poll::Ready(Ok(None)) if self.is_publishing() => return Poll::Ready(None),
                Poll::Ready(Ok(None)) => {}
                Poll::Ready(Ok(Some(end))) => return Poll::Ready(Some(end)),
                Poll::Ready(Err(fault)) => {
                    let progress = self.progress();
                    return Poll::Ready(self.failed(fault, progress, client));
                }
                // The first byte of the second try's response has been read; continue with that.
                Poll::Pending if self.may_have_second_try() && self.poll_hedge(cx, client) => {
                    return Poll::Ready(None);
                }
                Poll::Pending => return self.wait(cx, client),
            }
        }
        let (Some(download), Some(connection)) = (&mut self.download, &mut self.connection) else {
            return Poll::Ready(Some(End::Cut(Cut::Internal)));
        };
        match download.poll(cx, &mut connection.stream, client.stream, client.worker) {
            Poll::Pending => self.wait(cx, client),
            // The kernel reports a reset only once. The failed write reported it, so the next read looks like
            // a clean end.
            Poll::Ready(Ok(())) if download.ended_with_source() && self.upload_state == Upload::Broken => {
                self.count_failure(true);
                Poll::Ready(Some(End::Cut(Cut::Server(PumpError::Truncated))))
            }
            Poll::Ready(Ok(())) => Poll::Ready(Some(self.complete(client))),
            Poll::Ready(Err(PumpError::Sink(_))) => Poll::Ready(Some(End::Cut(Cut::ClientGone))),
            Poll::Ready(Err(error)) => {
                self.count_failure(true);
                Poll::Ready(Some(End::Cut(Cut::Server(error))))
            }
        }
    }

    pub(super) fn poll_upload(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientSide<'_>,
    ) -> Poll<Result<(), PumpError>> {
        loop {
            let Some(connection) = &mut self.connection else { return Poll::Pending };
            while self.head_sent < self.head.len() {
                match connection.stream.poll_write(cx, &self.head[self.head_sent..]) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(written)) if written > 0 => self.head_sent += written,
                    Poll::Ready(Ok(_)) => {
                        return Poll::Ready(Err(PumpError::Sink(std::io::ErrorKind::WriteZero.into())));
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(PumpError::Sink(error))),
                }
            }
            if !self.keeps_upload() {
                let Some(connection) = &mut self.connection else { return Poll::Pending };
                return self.upload.poll(cx, client.stream, &mut connection.stream, client.worker);
            }
            ready!(self.poll_keep(cx, client))?;
        }
    }

    /// Reads until the final response head has arrived, and forwards it. Returns `Ok(None)` if its body
    /// follows.
    pub(super) fn poll_response_head(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut ClientSide<'_>,
    ) -> Poll<Result<Option<End>, Fault>> {
        let asked = self.asked();
        let asked_after = matches!(asked, Asked::After { .. });
        let Some(connection) = &mut self.connection else { return Poll::Ready(Ok(None)) };
        let Some(lease) = &self.lease else { return Poll::Ready(Ok(None)) };
        loop {
            let spliceable = connection.stream.splice_end().is_some() && client.stream.splice_end().is_some();
            let mut reading = Reading {
                request: &self.request,
                timing: &mut self.timing,
                partial: &mut self.partial,
                unsent: &mut self.unsent,
                pool: self.pool.shared.plan.name.as_str(),
                server: &lease.server.shared,
                bond: self.bond.as_deref_mut(),
                request_done: self.upload_state == Upload::Done,
                spliceable,
                first_read_bytes: connection.first_read_bytes(),
                scheme: if self.pool.shared.plan.tls.is_some() { Scheme::Https } else { Scheme::Http },
                lenient: self.pool.shared.plan.lenient,
                offload: self.pool.shared.plan.offload.as_ref().filter(|_| !asked_after),
                asked,
            };
            let outcome = response::poll_head(cx, &mut connection.stream, client, &mut reading);
            match outcome {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault)),
                Poll::Ready(Ok(HeadOutcome::Interim)) => self.passed_on = true,
                Poll::Ready(Ok(HeadOutcome::Skipped)) => {}
                Poll::Ready(Ok(HeadOutcome::Hold(facts))) => {
                    self.publish(facts.status);
                    return Poll::Ready(Ok(None));
                }
                Poll::Ready(Ok(HeadOutcome::Final(facts, download))) => {
                    let took_us = self.timing.server().unwrap_or_default();
                    lease.answered(client.worker.now(), took_us, facts.status);
                    if let Some(class) = self.class {
                        lease.took(class, took_us, facts.status);
                    }
                    self.head_came(facts.status, client);
                    self.response = Some(facts);
                    self.download = Some(download);
                    return Poll::Ready(Ok(None));
                }
                Poll::Ready(Ok(HeadOutcome::Offload(facts, order, leftover))) => {
                    let took_us = self.timing.server().unwrap_or_default();
                    lease.answered(client.worker.now(), took_us, facts.status);
                    if let Some(class) = self.class {
                        lease.took(class, took_us, facts.status);
                    }
                    self.head_came(facts.status, client);
                    self.response = Some(facts);
                    self.discard(leftover, cx, client);
                    return Poll::Ready(Ok(Some(End::Offload(order))));
                }
                Poll::Ready(Ok(HeadOutcome::Tunnel(facts, download))) => {
                    lease.answered(
                        client.worker.now(),
                        self.timing.server().unwrap_or_default(),
                        facts.status,
                    );
                    self.head_came(facts.status, client);
                    self.response = Some(facts);
                    self.download = Some(download);
                    return Poll::Ready(Ok(Some(End::Tunnel)));
                }
                Poll::Ready(Ok(HeadOutcome::ClientGone)) => {
                    return Poll::Ready(Ok(Some(End::Cut(Cut::ClientGone))));
                }
            }
        }
    }

    /// Reports success as soon as the head has arrived. Later failures are counted at the end of the
    /// exchange, but a long response must not delay a probe or the end of a second try.
    pub(super) fn head_came(&mut self, status: u16, client: &ClientSide<'_>) {
        self.end_hedge(client.worker.now());
        let serves = !TrafficOutcome::of_status(status).is_failure();
        if let (true, Some(lease)) = (serves, &self.lease) {
            self.pool.server_serves(lease);
        }
        self.tell_breaker(serves, client.worker.now());
    }

    pub(super) fn complete(&mut self, client: &ClientSide<'_>) -> End {
        let (Some(response), Some(download)) = (&self.response, &self.download) else {
            return End::Cut(Cut::Internal);
        };
        let request_done = self.upload_state == Upload::Done;
        let clean = response.server_keeps && download.surplus.is_empty() && request_done;
        let keep_client = response.client_keeps && request_done;
        if let (Some(mut connection), Some(lease)) = (self.connection.take(), &self.lease) {
            connection.saw(response.head_bytes, response.spliced);
            let reuse = &self.pool.shared.plan.reuse;
            if clean && self.pool.shared.plan.proxy_protocol.is_none() && client.may_keep_alive() {
                lease.server.keep_idle(connection, reuse, client.worker.now());
            }
        }
        if !request_done || self.leaves_body() {
            return End::Complete { keep_client: false, linger: true };
        }
        End::Complete { keep_client, linger: false }
    }
}
