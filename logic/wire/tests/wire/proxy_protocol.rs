//! Tests of parsing and writing PROXY headers.

use std::net::SocketAddr;

use proptest::prelude::*;
use weir_wire::proxy::{
    Command, Endpoints, Parsed, ProxyError, UnixAddress, UnixEndpoints, V1_BYTES_MAX, V2_BYTES_MAX, Version,
    parse, write_v1, write_v2,
};

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const STARTS: &[&[u8]] = &[b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE, b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0"];

fn inet(source: &str, destination: &str) -> Command {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap_or_else(|_| SocketAddr::from(([0; 4], 0)));
    Command::Proxy(Endpoints::Inet { source: address(source), destination: address(destination) })
}

fn complete(input: &[u8]) -> (Command, usize) {
    match parse(input) {
        Ok(Parsed::Complete { command, consumed, .. }) => (command, consumed),
        other => unreachable!("expected a header, got {other:?}"),
    }
}

fn error(input: &[u8]) -> ProxyError {
    match parse(input) {
        Err(error) => error,
        other => unreachable!("expected an error, got {other:?}"),
    }
}

/// Builds a version 2 header with this 13th and 14th byte and this body.
fn v2(version_and_command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    [SIGNATURE, &[version_and_command, family], &length[..], body].concat()
}

/// Builds a version 2 header for 10.0.0.1:1 to 10.0.0.2:2 with these additional fields.
fn v2_tcp4(fields: &[u8]) -> Vec<u8> {
    v2(0x21, 0x11, &[&[10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2], fields].concat())
}

#[test]
fn a_line_of_version_1_tells_both_addresses() {
    let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\nGET / HTTP/1.1\r\n";
    assert_eq!(complete(line), (inet("192.0.2.7:56324", "198.51.100.1:443"), 45));
    let line = b"PROXY TCP6 2001:db8::7 ::1 0 65535\r\n";
    assert_eq!(complete(line), (inet("[2001:db8::7]:0", "[::1]:65535"), line.len()));
}

#[test]
fn unknown_means_that_the_real_addresses_count_whatever_stands_behind_it() {
    for line in ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff:f...f:ffff and so on 99999\r\n"] {
        assert_eq!(complete(line.as_bytes()), (Command::Proxy(Endpoints::Unknown), line.len()));
    }
}

#[test]
fn an_ipv4_client_that_the_sender_wrote_as_ipv6_is_read_as_ipv4() {
    let line = b"PROXY TCP6 ::ffff:192.0.2.7 ::ffff:198.51.100.1 5 80\r\n";
    assert_eq!(complete(line).0, inet("192.0.2.7:5", "198.51.100.1:80"));
    let mapped = |last: [u8; 4]| [&[0; 10][..], &[0xff; 2], &last].concat();
    let body = [mapped([192, 0, 2, 7]), mapped([198, 51, 100, 1]), vec![0, 5, 0, 80]].concat();
    assert_eq!(complete(&v2(0x21, 0x21, &body)).0, inet("192.0.2.7:5", "198.51.100.1:80"));
}

#[test]
fn a_malformed_line_is_refused() {
    use ProxyError::{Addresses, LineEnd, Protocol};
    let cases: &[(&str, ProxyError)] = &[
        ("PROXY \r\n", Protocol),
        ("PROXY TCP5 1.2.3.4 1.2.3.4 1 1\r\n", Protocol),
        ("PROXY tcp4 1.2.3.4 1.2.3.4 1 1\r\n", Protocol),
        ("PROXY  TCP4 1.2.3.4 1.2.3.4 1 1\r\n", Protocol),
        ("PROXY TCP4 1.2.3.4  1.2.3.4 1 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 1 \r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 ::1 1 1\r\n", Addresses),
        ("PROXY TCP6 1.2.3.4 1.2.3.4 1 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.04 1.2.3.4 1 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.256 1.2.3.4 1 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 65536 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 +1 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 01 1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4  1\r\n", Addresses),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 1\n", LineEnd),
        ("PROXY TCP4 1.2.3.4 1.2.3.4 1 1\rX", LineEnd),
        ("PROXY TCP6 fe80::1%eth0 ::1 1 1\r\n", Addresses),
    ];
    for (line, expected) in cases {
        assert_eq!(error(line.as_bytes()), *expected, "{line:?}");
    }
}

#[test]
fn a_line_may_have_107_bytes_and_no_more() {
    let mut line = format!("{:X<105}\r\n", "PROXY UNKNOWN ");
    assert_eq!(line.len(), V1_BYTES_MAX);
    assert_eq!(complete(line.as_bytes()).1, V1_BYTES_MAX);
    line.insert(20, 'X');
    assert_eq!(error(line.as_bytes()), ProxyError::LineEnd);
    assert_eq!(error(&line.as_bytes()[..107]), ProxyError::LineEnd);
}

#[test]
fn another_protocol_is_noticed_at_its_first_wrong_byte() {
    for input in ["GET / HTTP/1.1\r\n", "PRO\r\n", "POST", "\r\n\r\nX", "\u{16}\u{3}"] {
        assert_eq!(error(input.as_bytes()), ProxyError::NotProxy, "{input:?}");
    }
    assert_eq!(parse(b""), Ok(Parsed::Incomplete));
}

#[test]
fn a_header_of_version_2_tells_both_addresses() {
    let header = v2_tcp4(b"");
    assert_eq!(complete(&[&header[..], b"GET /"].concat()), (inet("10.0.0.1:1", "10.0.0.2:2"), 28));
    let datagram = v2(0x21, 0x12, &header[16..]);
    assert_eq!(complete(&datagram).0, inet("10.0.0.1:1", "10.0.0.2:2"));
}

#[test]
fn a_local_header_is_skipped_with_all_that_it_says() {
    assert_eq!(complete(&v2(0x20, 0x00, b"")), (Command::Local, 16));
    assert_eq!(complete(&v2(0x20, 0xee, b"anything")), (Command::Local, 24));
}

#[test]
fn addresses_of_an_unspecified_family_are_skipped() {
    assert_eq!(complete(&v2(0x21, 0x00, b"whatever")), (Command::Proxy(Endpoints::Unknown), 24));
}

#[test]
fn unix_sockets_come_through_with_their_paths() {
    let endpoints = UnixEndpoints {
        source: UnixAddress::new(b"").unwrap(),
        destination: UnixAddress::new(b"/run/web.sock").unwrap(),
    };
    let command = Command::Proxy(Endpoints::Unix(Box::new(endpoints)));
    let mut header = Vec::new();
    write_v2(&mut header, &command);
    assert_eq!(complete(&header), (command.clone(), 232));
    assert_eq!(endpoints.destination.path(), b"/run/web.sock");
    assert_eq!(command.source(), None);
    assert_eq!(UnixAddress::new(&[b'x'; 109]), None);
    assert_eq!(UnixAddress::new(&[b'x'; 108]).unwrap().path(), [b'x'; 108]);
}

#[test]
fn a_malformed_header_of_version_2_is_refused() {
    use ProxyError::{Checksum, Family, Field, TooLong, TooShort, VersionOrCommand};
    let cases: &[(Vec<u8>, ProxyError)] = &[
        (v2(0x11, 0x11, &[0; 12]), VersionOrCommand(0x11)),
        (v2(0x22, 0x11, &[0; 12]), VersionOrCommand(0x22)),
        (v2(0x21, 0x13, &[0; 12]), Family(0x13)),
        (v2(0x21, 0x41, &[0; 12]), Family(0x41)),
        (v2(0x21, 0x01, &[0; 12]), Family(0x01)),
        (v2(0x21, 0x11, &[0; 11]), TooShort),
        (v2(0x21, 0x21, &[0; 35]), TooShort),
        (v2(0x21, 0x31, &[0; 215]), TooShort),
        (v2(0x20, 0x00, &[0; 4081]), TooLong(4097)),
        (v2_tcp4(&[4, 0]), Field),
        (v2_tcp4(&[4, 0, 2, 0]), Field),
        (v2_tcp4(&[3, 0, 3, 0, 0, 0]), Checksum),
        (v2_tcp4(&[3, 0, 4, 0, 0, 0, 0]), Checksum),
    ];
    for (header, expected) in cases {
        assert_eq!(error(header), *expected, "{header:x?}");
    }
    assert_eq!(V2_BYTES_MAX, 4096);
    assert_eq!(complete(&v2(0x20, 0x00, &[0; 4080])).1, 4096);
}

#[test]
fn what_is_wrong_with_the_first_16_bytes_is_said_before_the_rest_has_come() {
    let too_long = v2(0x21, 0x11, &[0; 5000]);
    assert_eq!(error(&too_long[..16]), ProxyError::TooLong(5016));
    let too_short = v2(0x21, 0x21, &[0; 12]);
    assert_eq!(error(&too_short[..16]), ProxyError::TooShort);
    assert_eq!(error(&v2(0x33, 0x11, &[])[..13]), ProxyError::VersionOrCommand(0x33));
}

#[test]
fn a_right_checksum_is_accepted_among_other_fields_and_a_second_one_is_not() {
    const CHECKSUM: u32 = 0xa137_2331;
    // The value comes from an independent implementation of CRC-32C over the header with zeros in its place.
    let fields = |checksum: [u8; 4]| [&[4, 0, 1, 0, 3, 0, 4][..], &checksum, &[5, 0, 2, b'i', b'd']].concat();
    let header = v2_tcp4(&fields(CHECKSUM.to_be_bytes()));
    assert_eq!(complete(&header).0, inet("10.0.0.1:1", "10.0.0.2:2"));
    // Byte 32 marks the field as a checksum; without it, the parser checks none.
    for index in (16..header.len()).filter(|index| *index != 32) {
        let mut damaged = header.clone();
        damaged[index] ^= 0x10;
        assert!(parse(&damaged).is_err(), "byte {index}");
    }
    let twice = v2_tcp4(&[&[3, 0, 4][..], &CHECKSUM.to_be_bytes(), &[3, 0, 4, 0, 0, 0, 0]].concat());
    assert_eq!(error(&twice), ProxyError::Checksum);
}

#[test]
fn an_ipv4_client_of_a_socket_for_both_families_is_written_as_ipv4() {
    let mut line = Vec::new();
    write_v1(&mut line, &inet("[::ffff:192.0.2.7]:5", "[::ffff:192.0.2.8]:80"));
    assert_eq!(line, b"PROXY TCP4 192.0.2.7 192.0.2.8 5 80\r\n");
}

#[test]
fn addresses_of_two_families_are_written_as_ipv6() {
    let mut line = Vec::new();
    write_v1(&mut line, &inet("192.0.2.7:5", "[2001:db8::1]:80"));
    assert_eq!(line, b"PROXY TCP6 ::ffff:192.0.2.7 2001:db8::1 5 80\r\n");
}

#[test]
fn what_version_1_cannot_say_it_calls_unknown() {
    for command in [Command::Local, Command::Proxy(Endpoints::Unknown)] {
        let mut line = Vec::new();
        write_v1(&mut line, &command);
        assert_eq!(line, b"PROXY UNKNOWN\r\n");
    }
}

fn address() -> impl Strategy<Value = SocketAddr> {
    any::<(std::net::IpAddr, u16)>().prop_map(|(ip, port)| SocketAddr::new(ip.to_canonical(), port))
}

fn header() -> impl Strategy<Value = (Command, Version, Vec<u8>)> {
    let command = prop_oneof![
        1 => Just(Command::Local),
        1 => Just(Command::Proxy(Endpoints::Unknown)),
        6 => (address(), address()).prop_filter("one family", |(a, b)| a.is_ipv4() == b.is_ipv4())
            .prop_map(|(source, destination)| Command::Proxy(Endpoints::Inet { source, destination })),
    ];
    (command, any::<bool>()).prop_map(|(command, first)| {
        let mut bytes = Vec::new();
        let (command, version) = match (first, command) {
            (true, Command::Local) => (Command::Proxy(Endpoints::Unknown), Version::V1),
            (true, command) => (command, Version::V1),
            (false, command) => (command, Version::V2),
        };
        match version {
            Version::V1 => write_v1(&mut bytes, &command),
            Version::V2 => write_v2(&mut bytes, &command),
        }
        (command, version, bytes)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_and_every_part_of_it_is_incomplete(
        (command, version, bytes) in header(), behind in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let consumed = bytes.len();
        for length in 0..consumed {
            prop_assert_eq!(parse(&bytes[..length]), Ok(Parsed::Incomplete));
        }
        let input = [bytes, behind].concat();
        prop_assert_eq!(parse(&input), Ok(Parsed::Complete { command, version, consumed }));
    }

    #[test]
    fn any_bytes_are_judged_and_more_of_them_never_overturn_it(
        start in prop::sample::select(STARTS),
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let input = [start, &noise].concat();
        let mut judged = None;
        for length in 0..=input.len() {
            let verdict = parse(&input[..length]);
            match &judged {
                None if verdict != Ok(Parsed::Incomplete) => judged = Some(verdict),
                None => {}
                Some(judged) => prop_assert_eq!(judged, &verdict),
            }
        }
    }

    #[test]
    fn a_parser_never_waits_for_more_than_its_limit(noise in prop::collection::vec(any::<u8>(), V2_BYTES_MAX)) {
        for start in [&b"PROXY "[..], SIGNATURE] {
            let input = [start, &noise].concat();
            prop_assert!(parse(&input[..V2_BYTES_MAX]) != Ok(Parsed::Incomplete));
        }
    }
}
