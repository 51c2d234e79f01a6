//! Ends a request to a service: counts it, logs it, and decides about the connection.

use std::future::poll_fn;
use std::task::Poll;

use weir_http::{Action, access_log::Termination};
use weir_net::service::Done;

use super::body::Incoming;
use super::pace::{Halt, Pace, WaitsFor};
use super::send::Sending;
use crate::http::answer::Answer;
use crate::http::answered::{AnsweredRequest, Line};
use crate::http::connection::Connection;
use crate::http::exchange::Offloaded;
use crate::http::finish::After;
use crate::http::outcome::Fault;
use crate::http::request::RequestFacts;
use crate::http::timing::Timing;
use crate::log::{self, ServiceRecord};
use crate::report;
use crate::worker::Drain;

/// Rest of a request once its service has responded.
pub(super) struct Finish {
    pub(super) connection: Box<Connection>,
    pub(super) incoming: Incoming,
    pub(super) facts: RequestFacts,
    pub(super) timing: Timing,
    /// Exchange with the server that has named the file, if there is one.
    pub(super) offloaded: Option<Box<Offloaded>>,
}

impl Finish {
    /// Returns true if the connection may carry another request after the response.
    pub(super) fn may_keep(&self) -> bool {
        let body = self.incoming.is_done() || self.incoming.is_drainable();
        self.facts.keep_alive && body && self.connection.worker.drain.get() == Drain::No
    }

    /// Responds with an error of Weir's own, in place of the service's response.
    pub(super) fn refuse(&mut self, fault: &Fault) -> After {
        if let Fault::Service(_) = fault {
            self.complain(&fault.to_string());
        }
        let mut answer = Answer::in_place_of_service(&self.connection, &self.facts, fault);
        answer.asked = Some(self.timing.start);
        let counters = self.connection.listener.counters(&self.connection.worker);
        counters.bytes_in.add(self.incoming.bytes_read);
        if matches!(fault, Fault::BodyFraming(_) | Fault::BodyTimeout) {
            counters.request_errors.one();
        }
        self.tell(Some(answer.status), answer.body_bytes() as u64, fault.termination());
        if self.connection.live.log.is_some() {
            let bytes_in = self.bytes_in();
            let (facts, offloaded) = (&mut self.facts, self.offloaded.as_deref());
            let request =
                AnsweredRequest::of_service(facts, self.timing, bytes_in, offloaded, fault.termination());
            answer.line = Some(Line::Request(Box::new(request)));
        }
        After::Answer(Box::new(answer))
    }

    /// Finishes a response that was sent completely.
    pub(super) async fn complete(&mut self, sending: &Sending) -> After {
        if self.incoming.is_done() {
            return self.complete_read(sending);
        }
        self.count_whole(sending);
        // The client may have sent more bytes already; a reset because of them must not overtake the
        // response.
        if sending.keep_alive && self.drain().await { After::Next } else { After::Linger }
    }

    /// Finishes a response that was sent completely, to a request whose body was read completely.
    pub(super) fn complete_read(&mut self, sending: &Sending) -> After {
        self.count_whole(sending);
        match (sending.keep_alive, self.facts.client_persists) {
            (true, _) => After::Next,
            // As in `complete`: a reset must not overtake the response.
            (false, true) => After::Linger,
            (false, false) => After::Close,
        }
    }

    fn count_whole(&mut self, sending: &Sending) {
        let status = sending.status;
        let connection = &self.connection;
        let counters = connection.listener.counters(&connection.worker);
        counters.responses.count(status);
        counters.bytes_in.add(self.incoming.bytes_read);
        counters.bytes_out.add(sending.written);
        counters.duration.record(u64::from(self.timing.elapsed(connection.worker.now())));
        if matches!(status, 401 | 403) {
            counters.requests_denied.one();
        }
        self.log(&ServiceRecord {
            status: Some(status),
            bytes_out: sending.written,
            body_bytes_out: sending.body_bytes(),
            termination: Termination::ANSWERED,
            refused_by: None,
        });
    }

    /// Ends a request without a complete response. The client must not take the sent part for complete.
    pub(super) fn cut(&mut self, begun: Option<&Sending>, halt: &Halt, termination: Termination) -> After {
        let counters = self.connection.listener.counters(&self.connection.worker);
        counters.bytes_in.add(self.incoming.bytes_read);
        if let Some(sending) = begun {
            counters.responses.count(sending.status);
            counters.bytes_out.add(sending.written);
        }
        if matches!(halt, Halt::ClientGone | Halt::ClientTimeout) {
            counters.client_aborts.one();
        }
        let mut refused_by = None;
        if let Halt::Fault(fault) = halt {
            refused_by = fault.refused_by();
            if let Some(rule) = refused_by {
                counters.refused.count(rule);
            }
            self.complain(&fault.to_string());
        }
        self.log(&ServiceRecord {
            status: begun.map(|sending| sending.status),
            bytes_out: begun.map_or(0, |sending| sending.written),
            body_bytes_out: begun.map_or(0, Sending::body_bytes),
            termination,
            refused_by,
        });
        if matches!(halt, Halt::Fault(_)) { After::ResetWhenDelivered } else { After::Reset }
    }

    pub(super) fn complain(&self, complaint: &str) {
        if let Some(offloaded) = self.offloaded.as_deref() {
            let pool = &offloaded.pool.shared.plan.name;
            return report::throttled(|| match &offloaded.server {
                Some(server) => {
                    format!("pool {pool}, server {} ({}): {complaint}", server.name, server.address())
                }
                None => format!("pool {pool}: {complaint}"),
            });
        }
        let route = self.connection.listener.http.routes.get(self.facts.route);
        let route = route.map_or("", |route| route.plan.name.as_str());
        report::throttled(|| format!("route {route}: {complaint}"));
    }

    fn log(&mut self, record: &ServiceRecord) {
        log::service(
            &self.connection,
            &self.facts,
            &self.timing,
            self.bytes_in(),
            record,
            self.offloaded.as_deref(),
        );
        self.tell(record.status, record.body_bytes_out, record.termination);
        if let Some(copy) = self.facts.copy.take() {
            self.connection.worker.buffers.give(copy.head);
        }
    }

    /// Returns the received bytes of the request, including its head.
    fn bytes_in(&self) -> u64 {
        u64::from(self.facts.head_bytes) + self.incoming.bytes_read
    }

    /// Reports the outcome of a request to its service.
    fn tell(&self, status: Option<u16>, response_bytes: u64, termination: Termination) {
        let Connection { listener, worker, .. } = &*self.connection;
        let route = listener.http.routes.get(self.facts.route).map(|route| &route.plan.action);
        if let (Some(service), Some(Action::Storage(name))) = (&worker.shared.service, route) {
            let done = Done {
                method: self.facts.method.bytes(&[]),
                status,
                request_bytes: self.incoming.bytes_read,
                response_bytes,
                whole: termination == Termination::ANSWERED,
            };
            service.done(name.as_str(), &done);
        }
    }

    /// Discards the short rest of an unwanted body. Returns false if it did not arrive.
    async fn drain(&mut self) -> bool {
        let Self { connection, incoming, .. } = self;
        let before = incoming.bytes_read;
        let mut pace = Pace::default();
        let drained = poll_fn(|cx| {
            let mut nowhere = [0; 4096];
            incoming.begin_turn();
            connection.worker.look_at_clock();
            loop {
                match incoming.poll_read(cx, connection, &mut nowhere) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(true),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(_)) => return Poll::Ready(false),
                    Poll::Pending => {
                        let waits = pace.poll(cx, connection, incoming.bytes_read, WaitsFor::Client);
                        return waits.map(|_| false);
                    }
                }
            }
        })
        .await;
        let counters = connection.listener.counters(&connection.worker);
        counters.bytes_in.add(incoming.bytes_read - before);
        drained
    }
}
