//! Parser for version 2 of the PROXY header.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Command, Endpoints, Parsed, ProxyError, UnixAddress, UnixEndpoints, Version};
use crate::bytes::Bytes;
use crate::crc32c::crc32c;

/// Maximum accepted length of a version 2 header with its additional fields, in bytes.
pub const V2_BYTES_MAX: usize = 4096;

pub(super) const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const START_BYTES: usize = SIGNATURE.len() + 4;

pub(super) fn parse(input: &[u8]) -> Result<Parsed, ProxyError> {
    let known = input.len().min(SIGNATURE.len());
    if input[..known] != SIGNATURE[..known] {
        return Err(ProxyError::NotProxy);
    }
    // Check each byte as soon as it arrives, so that an invalid peer fails before it has sent the whole
    // header.
    let mut start = Bytes(&input[known..]);
    let Some(version_and_command) = start.u8() else { return Ok(Parsed::Incomplete) };
    let is_local = match version_and_command {
        0x20 => true,
        0x21 => false,
        other => return Err(ProxyError::VersionOrCommand(other)),
    };
    let Some(family) = start.u8() else { return Ok(Parsed::Incomplete) };
    let address_bytes = match family {
        _ if is_local => 0,
        0x00 => 0,
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        0x31 | 0x32 => 2 * UnixAddress::BYTES,
        other => return Err(ProxyError::Family(other)),
    };
    let Some(length) = start.u16() else { return Ok(Parsed::Incomplete) };
    let length = usize::from(length);
    if START_BYTES + length > V2_BYTES_MAX {
        return Err(ProxyError::TooLong(START_BYTES + length));
    }
    if length < address_bytes {
        return Err(ProxyError::TooShort);
    }
    let Some(header) = input.get(..START_BYTES + length) else { return Ok(Parsed::Incomplete) };

    let command = if is_local {
        // The specification says to ignore the rest of the header, including the family.
        Command::Local
    } else {
        let mut rest = Bytes(&header[START_BYTES..]);
        let endpoints = endpoints(family, &mut rest).ok_or(ProxyError::TooShort)?;
        // After an unspecified family, the header may contain addresses in a format that only the sender
        // knows.
        if family != 0 {
            check_fields(header, rest)?;
        }
        Command::Proxy(endpoints)
    };
    Ok(Parsed::Complete { command, version: Version::V2, consumed: header.len() })
}

fn endpoints(family: u8, bytes: &mut Bytes<'_>) -> Option<Endpoints> {
    match family >> 4 {
        1 => {
            let (source, destination) = (bytes.array::<4>()?, bytes.array::<4>()?);
            inet(Ipv4Addr::from(source), Ipv4Addr::from(destination), bytes)
        }
        2 => {
            let (source, destination) = (bytes.array::<16>()?, bytes.array::<16>()?);
            inet(Ipv6Addr::from(source), Ipv6Addr::from(destination), bytes)
        }
        3 => {
            let source = UnixAddress::from_bytes(bytes.array()?);
            let destination = UnixAddress::from_bytes(bytes.array()?);
            Some(Endpoints::Unix(Box::new(UnixEndpoints { source, destination })))
        }
        _ => Some(Endpoints::Unknown),
    }
}

fn inet<Ip: Into<std::net::IpAddr>>(source: Ip, destination: Ip, bytes: &mut Bytes<'_>) -> Option<Endpoints> {
    let source = SocketAddr::new(source.into(), bytes.u16()?);
    Some(Endpoints::inet(source, SocketAddr::new(destination.into(), bytes.u16()?)))
}

/// Checks that the additional fields (type-length-value) fill the rest of the header exactly, and verifies a
/// checksum field. Ignores the contents of other fields.
fn check_fields(header: &[u8], mut rest: Bytes<'_>) -> Result<(), ProxyError> {
    const TYPE_CRC32C: u8 = 0x03;
    let mut checked = false;
    while !rest.is_empty() {
        let kind = rest.u8().ok_or(ProxyError::Field)?;
        let value = rest.part_u16().ok_or(ProxyError::Field)?;
        if kind != TYPE_CRC32C {
            continue;
        }
        let stated: [u8; 4] = value.try_into().map_err(|_| ProxyError::Checksum)?;
        // The checksum covers the header with the checksum's own bytes set to zero.
        let behind = rest.0.len();
        let ahead = header.len() - behind - stated.len();
        let parts = [&header[..ahead], &[0; 4], &header[header.len() - behind..]];
        if checked || crc32c(&parts) != u32::from_be_bytes(stated) {
            return Err(ProxyError::Checksum);
        }
        checked = true;
    }
    Ok(())
}
