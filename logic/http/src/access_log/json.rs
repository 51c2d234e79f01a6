//! The JSON format: one object in each line. The order of the keys is fixed; unknown values are omitted.

use std::net::SocketAddr;

use super::time::{TimeText, append_rfc3339_with};
use super::{AccessRecord, Client, Subject, escape, ncsa};
use crate::number;

pub(super) fn object(out: &mut Vec<u8>, record: &AccessRecord<'_>, time: &mut TimeText) {
    out.extend_from_slice(b"{\"time\":\"");
    append_rfc3339_with(out, record.start_unix_us, time);
    out.push(b'"');
    client(out, record.client);
    if let Some(peer) = record.peer {
        address(out, ["peer", "peer_port"], peer);
    }
    subject(out, &record.subject);
    if let Some(status) = record.status {
        integer(out, "status", status.into());
    }
    integer(out, "bytes_in", record.bytes_in);
    integer(out, "bytes_out", record.bytes_out);
    integer(out, "body_bytes_out", record.body_bytes_out);
    let names = [
        ("listener", Some(record.listener)),
        ("route", record.route),
        ("pool", record.pool),
        ("server", record.server),
        ("server_address", record.server_address),
        ("tls_version", record.tls.map(|tls| tls.version)),
        ("tls_cipher", record.tls.map(|tls| tls.cipher)),
    ];
    for (name, value) in names {
        text(out, name, value.map(str::as_bytes));
    }
    let timings = &record.timings;
    let times = [
        ("head_us", timings.head_us),
        ("queue_us", timings.queue_us),
        ("connect_us", timings.connect_us),
        ("first_byte_us", timings.first_byte_us),
        ("total_us", Some(timings.total_us)),
    ];
    for (name, value) in times {
        if let Some(us) = value {
            integer(out, name, us);
        }
    }
    integer(out, "retries", record.retries.into());
    key(out, "redispatched");
    out.extend_from_slice(if record.redispatched { b"true" } else { b"false" });
    if let Some(won) = record.hedge_won {
        text(out, "hedge", Some(if won { b"won".as_slice() } else { b"lost" }));
    }
    if record.offloaded {
        key(out, "offloaded");
        out.extend_from_slice(b"true");
    }
    text(out, "termination", Some(&record.termination.code()));
    text(out, "refused_by", record.refused_by.map(|rule| rule.name().as_bytes()));
    let active = &record.active;
    integer(out, "active_process", active.process.into());
    integer(out, "active_listener", active.listener.into());
    integer(out, "active_pool", active.pool.into());
    integer(out, "active_server", active.server.into());
    integer(out, "queue_ahead", u64::from(active.server_queue) + u64::from(active.pool_queue));
    out.push(b'}');
}

fn client(out: &mut Vec<u8>, client: Client) {
    match client {
        Client::Inet(client) => address(out, ["client", "client_port"], client),
        Client::Unix => text(out, "client", Some(b"unix:")),
    }
}

fn address(out: &mut Vec<u8>, [name, port_name]: [&str; 2], address: SocketAddr) {
    key(out, name);
    out.push(b'"');
    ncsa::ip(out, address.ip());
    out.push(b'"');
    if address.port() != 0 {
        integer(out, port_name, address.port().into());
    }
}

fn subject(out: &mut Vec<u8>, subject: &Subject<'_>) {
    let kind: &[u8] = match subject {
        Subject::Connection => b"connection",
        Subject::BadRequest { .. } => b"bad-request",
        Subject::Request(_) => b"request",
    };
    text(out, "kind", Some(kind));
    let request = match subject {
        Subject::Connection => return,
        Subject::BadRequest { request_id } => return text(out, "request_id", *request_id),
        Subject::Request(request) => request,
    };
    let fields = [
        ("method", Some(request.method)),
        ("target", Some(request.target)),
        ("path", request.path),
        ("version", Some(request.version)),
        ("host", request.host),
        ("referer", request.referer),
        ("user_agent", request.user_agent),
        ("request_id", request.request_id),
    ];
    for (name, value) in fields {
        text(out, name, value);
    }
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn text(out: &mut Vec<u8>, name: &str, value: Option<&[u8]>) {
    if let Some(value) = value {
        key(out, name);
        escape::json(out, value);
    }
}

fn integer(out: &mut Vec<u8>, name: &str, value: u64) {
    key(out, name);
    number::append(out, value);
}
