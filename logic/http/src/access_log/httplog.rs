//! HAProxy's `option httplog` and `option tcplog`, for existing tools such as halog and Grok patterns
//! (HAProxy's configuration manual, sections 8.2.2, 8.2.3 and 8.6). Times are in UTC; cookies and headers are
//! not captured.

use super::time::TimeText;
use super::{AccessRecord, Client, Subject, escape, ncsa};
use crate::number;

pub(super) fn line(out: &mut Vec<u8>, record: &AccessRecord<'_>, time: &mut TimeText) {
    head(out, record, time);
    let timings = &record.timings;
    if matches!(record.subject, Subject::Connection) {
        millis(out, timings.queue_us, b'/');
        millis(out, timings.connect_us, b'/');
        millis(out, Some(timings.total_us), b' ');
        number::append(out, record.bytes_out);
        out.push(b' ');
        out.extend_from_slice(&record.termination.letters());
        out.push(b' ');
        counts(out, record);
        return;
    }
    millis(out, timings.head_us, b'/');
    millis(out, timings.queue_us, b'/');
    millis(out, timings.connect_us, b'/');
    millis(out, timings.first_byte_us, b'/');
    millis(out, Some(timings.total_us), b' ');
    match record.status {
        Some(status) => number::append(out, status.into()),
        None => out.extend_from_slice(b"-1"),
    }
    out.push(b' ');
    number::append(out, record.bytes_out);
    out.extend_from_slice(b" - - ");
    out.extend_from_slice(&record.termination.code());
    out.push(b' ');
    counts(out, record);
    out.extend_from_slice(b" \"");
    match record.subject {
        Subject::Request(request) => {
            escape::haproxy(out, request.method);
            out.push(b' ');
            escape::haproxy(out, request.target);
            out.push(b' ');
            escape::haproxy(out, request.version);
        }
        Subject::BadRequest { .. } | Subject::Connection => out.extend_from_slice(b"<BADREQ>"),
    }
    out.push(b'"');
}

/// Appends `client:port [date] listener pool/server `.
fn head(out: &mut Vec<u8>, record: &AccessRecord<'_>, time: &mut TimeText) {
    match record.client {
        Client::Inet(address) => {
            ncsa::ip(out, address.ip());
            out.push(b':');
            number::append(out, address.port().into());
        }
        Client::Unix => out.extend_from_slice(b"unix:1"),
    }
    out.extend_from_slice(b" [");
    out.extend_from_slice(time.clf(record.start_unix_us));
    out.push(b'.');
    let ms = record.start_unix_us / 1_000 % 1_000;
    out.extend_from_slice(&[b'0' + (ms / 100) as u8, b'0' + (ms / 10 % 10) as u8, b'0' + (ms % 10) as u8]);
    out.extend_from_slice(b"] ");
    out.extend_from_slice(record.listener.as_bytes());
    if record.tls.is_some() {
        out.push(b'~');
    }
    out.push(b' ');
    // HAProxy repeats the name of the frontend if no backend was chosen.
    out.extend_from_slice(record.pool.unwrap_or(record.listener).as_bytes());
    out.push(b'/');
    out.extend_from_slice(record.server.unwrap_or("<NOSRV>").as_bytes());
    out.push(b' ');
}

/// Appends `actconn/feconn/beconn/srv_conn/retries srv_queue/backend_queue`.
fn counts(out: &mut Vec<u8>, record: &AccessRecord<'_>) {
    let active = &record.active;
    for count in [active.process, active.listener, active.pool, active.server] {
        number::append(out, count.into());
        out.push(b'/');
    }
    if record.redispatched {
        out.push(b'+');
    }
    number::append(out, record.retries.into());
    out.push(b' ');
    number::append(out, active.server_queue.into());
    out.push(b'/');
    number::append(out, active.pool_queue.into());
}

fn millis(out: &mut Vec<u8>, us: Option<u64>, then: u8) {
    match us {
        Some(us) => number::append(out, us / 1_000),
        None => out.extend_from_slice(b"-1"),
    }
    out.push(then);
}
