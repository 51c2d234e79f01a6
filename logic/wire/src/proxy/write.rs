//! Encoder for PROXY headers.

use std::net::{IpAddr, SocketAddr};

use super::address::one_family;
use super::parse_v2::SIGNATURE;
use super::{Command, Endpoints};

/// Appends a version 1 header. Version 1 cannot express a local connection or a Unix socket, so both become
/// `UNKNOWN`. If the addresses are of two families, both are written as IPv6.
pub fn write_v1(out: &mut Vec<u8>, command: &Command) {
    let line = match command {
        Command::Proxy(Endpoints::Inet { source, destination }) => {
            let (source, destination) = one_family(*source, *destination);
            let protocol = if source.is_ipv4() { "TCP4" } else { "TCP6" };
            let (source_ip, source_port) = (source.ip(), source.port());
            let (destination_ip, destination_port) = (destination.ip(), destination.port());
            format!("PROXY {protocol} {source_ip} {destination_ip} {source_port} {destination_port}\r\n")
        }
        _ => "PROXY UNKNOWN\r\n".to_owned(),
    };
    out.extend_from_slice(line.as_bytes());
}

/// Appends a version 2 header for a stream, without additional fields. If the addresses are of two families,
/// both are written as IPv6.
pub fn write_v2(out: &mut Vec<u8>, command: &Command) {
    const LOCAL: u8 = 0x20;
    const PROXY: u8 = 0x21;
    match command {
        Command::Local => start(out, LOCAL, 0x00, 0),
        Command::Proxy(Endpoints::Unknown) => start(out, PROXY, 0x00, 0),
        Command::Proxy(Endpoints::Unix(sockets)) => {
            start(out, PROXY, 0x31, 216);
            out.extend_from_slice(sockets.source.as_bytes());
            out.extend_from_slice(sockets.destination.as_bytes());
        }
        Command::Proxy(Endpoints::Inet { source, destination }) => {
            let (source, destination) = one_family(*source, *destination);
            let (family, length) = if source.is_ipv4() { (0x11, 12) } else { (0x21, 36) };
            start(out, PROXY, family, length);
            for address in [source, destination] {
                put_ip(out, address);
            }
            for address in [source, destination] {
                out.extend_from_slice(&address.port().to_be_bytes());
            }
        }
    }
}

fn start(out: &mut Vec<u8>, version_and_command: u8, family: u8, length: u16) {
    out.extend_from_slice(&SIGNATURE);
    out.extend_from_slice(&[version_and_command, family]);
    out.extend_from_slice(&length.to_be_bytes());
}

fn put_ip(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
}
