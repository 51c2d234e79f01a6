//! Ends a request: counts it, logs it, and decides about the connection.

use std::io;
use std::time::Duration;

use weir_health::TrafficOutcome;
use weir_http::OffloadOrder;
use weir_http::access_log::{Cause, Phase, Termination};

use super::answer::Answer;
use super::answered::{AnsweredRequest, Line};
use super::connection::Connection;
use super::exchange::{Exchange, Hedged, Offloaded};
use super::outcome::{End, Fault};
use super::request::RequestFacts;
use super::unwanted;
use crate::log::{self, Ended, Given};
use crate::report;
use crate::worker::{Done, Drain, Response, Served};

/// Next step of the client's connection.
pub(crate) enum After {
    /// Wait for the next request.
    Next,
    /// Send this response first.
    Answer(Box<Answer>),
    /// Close.
    Close,
    /// Close once the client has stopped sending.
    Linger,
    /// Reset: the client must not take an incomplete response for complete.
    Reset,
    /// Reset as [`After::Reset`], once complete responses before that one have been delivered.
    ResetWhenDelivered,
    /// Become a tunnel.
    Tunnel(Box<Exchange>),
    /// Send a file that the server has named.
    Offload(Box<RequestFacts>, Box<Offloaded>, Box<OffloadOrder>),
}

/// Counts and logs an exchange, and decides about its connection.
pub(crate) fn finish_exchange(connection: &mut Connection, mut exchange: Box<Exchange>, end: End) -> After {
    let pipelined = exchange.take_pipelined();
    if !pipelined.is_empty() {
        connection.received.extend_from_slice(&pipelined);
    }
    let mut after = match end {
        End::Tunnel => return After::Tunnel(exchange),
        End::Offload(order) => {
            let elapsed_us = exchange.timing.elapsed(connection.worker.now());
            count_server(connection, &exchange, elapsed_us, (true, false));
            learn(connection, &exchange, false);
            exchange.release(&connection.worker);
            let (request, offloaded) = (*exchange).into_offloaded();
            return After::Offload(Box::new(request), Box::new(offloaded), order);
        }
        End::Complete { linger: true, .. } => After::Linger,
        End::Complete { keep_client: true, .. } => After::Next,
        // The client may have sent its next request already; a reset because of it must not overtake this
        // response.
        End::Complete { .. } if exchange.request.client_persists => After::Linger,
        End::Complete { .. } => After::Close,
        End::Cut(ref cut) if cut.leaves_client() => After::ResetWhenDelivered,
        End::Cut(_) => After::Reset,
        End::Answer(ref fault) => {
            // After a framing error, the end of the body is unknown.
            if !matches!(fault, Fault::BodyFraming(_)) && !exchange.leaves_body() {
                unwanted::read_for_exchange(connection, &mut exchange);
            }
            let mut answer = Answer::fault(connection, &exchange, fault);
            answer.asked = Some(exchange.timing.start);
            After::Answer(Box::new(answer))
        }
    };
    count(connection, &mut exchange, &end);
    if let Some(complaint) = end.complaint() {
        report::throttled(|| named(&exchange, &complaint));
    }
    let termination = end.termination(phase(&exchange));
    match &mut after {
        After::Answer(_) if connection.live.log.is_none() => {}
        After::Answer(answer) => {
            let request = AnsweredRequest::of_exchange(&mut exchange, termination);
            answer.line = Some(Line::Request(Box::new(request)));
        }
        _ => {
            let ended = Ended { termination, refused_by: end.refused_by() };
            log::exchange(connection, &exchange, &Given::Response, ended);
        }
    }
    exchange.release(&connection.worker);
    connection.worker.exchanges.give(exchange);
    after
}

/// Returns the phase in which the exchange ended.
fn phase(exchange: &Exchange) -> Phase {
    match (&exchange.response, exchange.lease()) {
        (Some(_), _) => Phase::Data,
        (None, Some(_)) if exchange.timing.connect().is_none() => Phase::Connect,
        (None, Some(_)) => Phase::Head,
        (None, None) if exchange.is_collecting() => Phase::Request,
        (None, None) => Phase::Queue,
    }
}

/// Returns `complaint` with the names of the pool and the server.
fn named(exchange: &Exchange, complaint: &str) -> String {
    let pool = &exchange.pool.shared.plan.name;
    match exchange.lease() {
        Some(lease) => {
            let server = &lease.server.shared;
            format!("pool {pool}, server {} ({}): {complaint}", server.name, server.address())
        }
        None => format!("pool {pool}: {complaint}"),
    }
}

/// Counts and logs a tunnel that has ended.
pub(crate) fn finish_tunnel(
    connection: &Connection,
    exchange: &Exchange,
    bytes_in: u64,
    bytes_out: u64,
    termination: Termination,
) {
    let counters = connection.listener.counters(&connection.worker);
    counters.bytes_in.add(bytes_in);
    counters.bytes_out.add(bytes_out);
    counters.responses.count(101);
    let by_client = termination.cause == Cause::Client;
    if by_client {
        counters.client_aborts.one();
    }
    if let Some(lease) = exchange.lease() {
        let server = lease.server.counters();
        server.responses.count(101);
        server.bytes_in.add(bytes_out);
        server.bytes_out.add(bytes_in);
        if by_client {
            server.client_aborts.one();
        }
        if termination.cause == Cause::Server {
            server.server_aborts.one();
        }
    }
    let ended = Ended { termination, refused_by: None };
    log::exchange(connection, exchange, &Given::Tunnel { bytes_in, bytes_out }, ended);
}

/// Counts and logs a response of Weir's own, once it has been sent as far as possible.
pub(crate) fn finish_answer(connection: &Connection, answer: &mut Answer, sent: &io::Result<()>) {
    let now = connection.worker.look_at_clock();
    let stops = connection.worker.drain.get() == Drain::Cut;
    let counters = connection.listener.counters(&connection.worker);
    // A response without any sent byte does not count as one, and has no status in the log either.
    if answer.bytes_sent() > 0 {
        counters.responses.count(answer.status);
        counters.answered.count(answer.status);
        if let Some(asked) = answer.asked {
            counters.duration.record(now.saturating_duration_since(asked).as_micros() as u64);
        }
    }
    if answer.denied {
        counters.requests_denied.one();
    }
    if let Some(rule) = answer.refused_by {
        counters.refused.count(rule);
    }
    counters.bytes_out.add(answer.bytes_sent() as u64);
    if sent.is_err() && !stops {
        counters.client_aborts.one();
    }
    match answer.line.take() {
        None => {}
        Some(Line::Unread(unread)) => log::unread(connection, &unread, answer),
        Some(Line::Request(request)) => {
            log::answered(connection, &request, answer, request.ended(sent, stops));
            if let Some(copy) = request.copy {
                connection.worker.buffers.give(copy.head);
            }
        }
    }
}

fn count(connection: &Connection, exchange: &mut Exchange, end: &End) {
    let listener = connection.listener.counters(&connection.worker);
    let bytes_in = exchange.upload.bytes_read + exchange.taken_bytes().unwrap_or_default();
    let bytes_out = exchange.download_bytes();
    listener.bytes_in.add(bytes_in);
    listener.bytes_out.add(bytes_out);
    let elapsed_us = exchange.timing.elapsed(connection.worker.now());
    if let Some(response) = &exchange.response {
        listener.responses.count(response.status);
        listener.duration.record(elapsed_us.into());
    }
    let is_complete = matches!(end, End::Complete { .. });
    if !is_complete {
        count_incomplete(connection, exchange, end);
    }
    count_server(connection, exchange, elapsed_us, (is_complete, end.is_server_abort()));
    learn(connection, exchange, matches!(end, End::Answer(fault) if fault.is_pools_failure()));
}

/// Counts an exchange that did not end with a complete response.
#[cold]
fn count_incomplete(connection: &Connection, exchange: &mut Exchange, end: &End) {
    let listener = connection.listener.counters(&connection.worker);
    if end.is_bad_request() {
        listener.request_errors.one();
    }
    if end.is_client_abort() {
        listener.client_aborts.one();
    }
    if end.is_denied() {
        listener.requests_denied.one();
    }
    // Responses of Weir count themselves.
    if let (End::Cut(_), Some(rule)) = (end, end.refused_by()) {
        listener.refused.count(rule);
    }
    if matches!(end, End::Answer(fault) if fault.is_pools_failure()) {
        exchange.tell_breaker(false, connection.worker.now());
    }
    if let Some(lease) = exchange.lease() {
        let server = lease.server.counters();
        if end.is_client_abort() {
            server.client_aborts.one();
        }
        if end.is_server_abort() {
            server.server_aborts.one();
        }
    }
}

/// Counts the server's work for a request. If the server broke off, its failure was counted then, and a good
/// status does not cancel it. `elapsed_us`: time since the request's head was complete.
fn count_server(
    connection: &Connection,
    exchange: &Exchange,
    elapsed_us: u32,
    (is_complete, broke_off): (bool, bool),
) {
    let Some(lease) = exchange.lease() else { return };
    let now = connection.worker.now();
    let response = exchange.response.as_ref().map(|response| Response {
        status: response.status,
        total_us: exchange.timing.since_asked(elapsed_us),
        bytes_in: u64::from(response.head_bytes) + exchange.download_read(),
    });
    lease.server.note(Done::Served(Served {
        at: now,
        bytes_out: u64::from(exchange.request.head_bytes) + exchange.upload.bytes_read,
        response,
        first_byte_us: exchange.timing.server(),
    }));
    if let (Some(response), false) = (&exchange.response, broke_off) {
        exchange.pool.server_answered(lease, response.status);
    }
    lease.moved(now, exchange.server_bytes());
    if let (true, Some(response)) = (is_complete, &exchange.response) {
        lease.completed(now, response.status);
    }
    if exchange.pool.shared.plan.hedge.is_some()
        && exchange.hedged != Hedged::Won
        && let Some(first_byte) = exchange.timing.server()
    {
        exchange.pool.counters().first_byte.record(u64::from(first_byte));
    }
}

/// Reports the time to the first response byte to the server's concurrency limit.
fn learn(connection: &Connection, exchange: &Exchange, is_failure: bool) {
    let Some(lease) = exchange.lease() else { return };
    let now = connection.worker.now();
    let status = exchange.response.as_ref().map(|response| response.status);
    match (status, exchange.timing.server()) {
        (Some(status), Some(first_byte_us)) => {
            let failed = TrafficOutcome::of_status(status).is_failure();
            let latency = Duration::from_micros(first_byte_us.into());
            exchange.pool.learn(&lease.server, now, latency, failed);
        }
        _ if is_failure => {
            let latency =
                Duration::from_micros(exchange.timing.since_asked(exchange.timing.elapsed(now)).into());
            exchange.pool.learn(&lease.server, now, latency, true);
        }
        _ => {}
    }
}
