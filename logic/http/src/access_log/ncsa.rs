//! NCSA's common and combined formats, as Apache and NGINX write them. Identity and user are always `-`.

use super::time::TimeText;
use super::{AccessRecord, Client, Subject, escape};
use crate::number;

pub(super) fn common(out: &mut Vec<u8>, record: &AccessRecord<'_>, time: &mut TimeText) {
    match record.client {
        Client::Inet(address) => ip(out, address.ip()),
        Client::Unix => out.extend_from_slice(b"unix:"),
    }
    out.extend_from_slice(b" - - [");
    out.extend_from_slice(time.clf(record.start_unix_us));
    out.extend_from_slice(b" +0000] \"");
    match record.subject {
        Subject::Request(request) => {
            escape::quoted(out, request.method);
            out.push(b' ');
            escape::quoted(out, request.target);
            out.push(b' ');
            escape::quoted(out, request.version);
        }
        Subject::BadRequest { .. } | Subject::Connection => out.push(b'-'),
    }
    out.extend_from_slice(b"\" ");
    match record.status {
        Some(status) => number::append(out, status.into()),
        None => out.extend_from_slice(b"000"),
    }
    out.push(b' ');
    number::append(out, record.body_bytes_out);
}

pub(super) fn combined(out: &mut Vec<u8>, record: &AccessRecord<'_>, time: &mut TimeText) {
    common(out, record, time);
    let (referer, user_agent) = match record.subject {
        Subject::Request(request) => (request.referer, request.user_agent),
        Subject::BadRequest { .. } | Subject::Connection => (None, None),
    };
    for header in [referer, user_agent] {
        out.extend_from_slice(b" \"");
        escape::quoted(out, header.unwrap_or(b"-"));
        out.push(b'"');
    }
}

/// Appends an address without its port. Writes an IPv4-mapped IPv6 address as IPv4.
pub(super) fn ip(out: &mut Vec<u8>, address: std::net::IpAddr) {
    match address.to_canonical() {
        std::net::IpAddr::V4(v4) => {
            for (at, octet) in v4.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                number::append(out, octet.into());
            }
        }
        std::net::IpAddr::V6(v6) => out.extend_from_slice(v6.to_string().as_bytes()),
    }
}
