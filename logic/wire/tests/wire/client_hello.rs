//! Tests of the ClientHello parser with recorded, generated and damaged messages.

use proptest::prelude::*;
use weir_wire::client_hello::{BYTES_MAX, ClientHello, ClientHelloError, MESSAGE_BYTES_MAX, Parsed, parse};

/// Recorded from `openssl s_client -servername Shop.Example.org -alpn h2,http/1.1` (3.0.19).
const WITH_NAME: &str = "160301014f0100014b0303dd354a83bee7add9ca350bdd70c4418040a11e10478b45abd002fabc18b974b120601a981d\
    17399b99728b6b27fd30a2f4d10ea4628558744506f2d44e32c7fed1003e130213031301c02cc030009fcca9cca8ccaac02bc02f009ec024c0\
    28006bc023c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00ff010000c400000015001300001053686f702e4578616d\
    706c652e6f7267000b000403000102000a00160014001d0017001e0019001801000101010201030104002300000010000e000c026832086874\
    74702f312e310016000000170000000d002a0028040305030603080708080809080a080b080408050806040105010601030303010302040205\
    020602002b0009080304030303020301002d00020101003300260024001d00202b740ff05d96f679db225cdc8c3264fb4b836c73cfddd1bb8d\
    6a214ab20b6902";

/// Recorded from `openssl s_client -noservername -tls1_2`.
const WITHOUT_NAME: &str = "16030100b7010000b3030392e6ae4a71d771a7e921c310728cd07174f0cf93b5ada8a6f7a53f1de6610ab900003\
    8c02cc030009fcca9cca8ccaac02bc02f009ec024c028006bc023c0270067c00ac0140039c009c0130033009d009c003d003c0035002f00ff0\
    1000052000b000403000102000a000c000a001d0017001e00190018002300000016000000170000000d002a002804030503060308070808080\
    9080a080b080408050806040105010601030303010302040205020602";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter_map(|c| char::from(c).to_digit(16)).map(|d| d as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn complete(input: &[u8]) -> ClientHello {
    match parse(input) {
        Ok(Parsed::Complete(hello)) => hello,
        other => unreachable!("expected a ClientHello, got {other:?}"),
    }
}

fn with_length(bytes: usize, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_be_bytes();
    [&length[8 - bytes..], content].concat()
}

fn record(content: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &with_length(2, content)].concat()
}

/// Builds a handshake message with these extensions, each with its type.
fn message(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let extensions: Vec<u8> = extensions
        .iter()
        .flat_map(|(kind, content)| [&kind.to_be_bytes()[..], &with_length(2, content)].concat())
        .collect();
    let head =
        [&[3, 3][..], &[7; 32], &with_length(1, b""), &with_length(2, &[19, 1]), &with_length(1, &[0])]
            .concat();
    [&[1][..], &with_length(3, &[head, with_length(2, &extensions)].concat())].concat()
}

fn server_name(name: &str) -> (u16, Vec<u8>) {
    (0, with_length(2, &[&[0][..], &with_length(2, name.as_bytes())].concat()))
}

fn alpn(names: &[&str]) -> (u16, Vec<u8>) {
    let names: Vec<u8> = names.iter().flat_map(|name| with_length(1, name.as_bytes())).collect();
    (16, with_length(2, &names))
}

/// Splits `content` into records of these lengths; the last record takes the rest.
fn in_records(content: &[u8], lengths: &[usize]) -> Vec<u8> {
    let (mut rest, mut out) = (content, Vec::new());
    for length in lengths {
        let (head, tail) = rest.split_at((*length).min(rest.len()));
        if head.is_empty() {
            break;
        }
        out.extend(record(head));
        rest = tail;
    }
    if !rest.is_empty() {
        out.extend(record(rest));
    }
    out
}

#[test]
fn a_real_client_s_name_and_protocols_are_found() {
    let hello = complete(&bytes(WITH_NAME));
    assert_eq!(hello.server_name.as_deref(), Some("shop.example.org"));
    assert_eq!(hello.alpn.names().collect::<Vec<_>>(), [&b"h2"[..], b"http/1.1"]);
}

#[test]
fn a_real_client_without_either_is_understood_too() {
    let hello = complete(&bytes(WITHOUT_NAME));
    assert_eq!(hello.server_name, None);
    assert_eq!(hello.alpn.names().count(), 0);
}

#[test]
fn a_hello_without_extensions_is_one() {
    let mut old = message(&[]);
    old.truncate(old.len() - 2);
    old[3] -= 2;
    assert_eq!(complete(&record(&old)).server_name, None);
}

#[test]
fn other_protocols_are_noticed_at_the_first_byte() {
    for input in ["G", "SSH-2.0", "\r", "\u{15}", "\u{17}"] {
        assert_eq!(parse(input.as_bytes()), Err(ClientHelloError::NotTls), "{input:?}");
    }
    assert_eq!(parse(&[0x80]), Err(ClientHelloError::NotTls), "SSL 2.0");
    assert_eq!(parse(&[22, 2]), Err(ClientHelloError::NotTls));
}

#[test]
fn what_is_not_a_client_hello_is_said_as_soon_as_it_shows() {
    use ClientHelloError::{NotClientHello, RecordLength, RecordType, TooLong, TooManyRecords};
    let half = record(&message(&[])[..20]);
    let cases: &[(Vec<u8>, ClientHelloError)] = &[
        (vec![22, 3, 1, 0, 0], RecordLength(0)),
        (vec![22, 3, 1, 0x40, 1], RecordLength(0x4001)),
        (vec![22, 3, 1, 0, 9, 2], NotClientHello(2)),
        (vec![22, 3, 1, 0, 9, 1, 0, 0x40, 0], TooLong(0x4004)),
        ([&half[..], &[21]].concat(), RecordType(21)),
        ([&half[..], &[22, 3, 1, 0, 0]].concat(), RecordLength(0)),
        (in_records(&[&[1, 0, 0x3f, 0xfc][..], &[0; 16_000]].concat(), &[1; 5_000]), TooManyRecords),
    ];
    for (input, expected) in cases {
        assert_eq!(parse(input), Err(*expected), "{:x?}", &input[..input.len().min(30)]);
    }
}

#[test]
fn a_message_that_contradicts_itself_is_refused() {
    use ClientHelloError::Malformed;
    let name = server_name("a.example").1;
    let twice = message(&[server_name("a.example"), server_name("b.example")]);
    let alpn_twice = message(&[alpn(&["h2"]), alpn(&["h2"])]);
    let mut too_long_inside = message(&[server_name("a.example")]);
    let last_length = too_long_inside.len() - name.len() - 1;
    too_long_inside[last_length] += 1;
    let cases: &[(Vec<u8>, &str)] = &[
        (twice, "server name"),
        (alpn_twice, "protocol names"),
        (too_long_inside, "extension"),
        (message(&[(0, vec![])]), "server name"),
        (message(&[(0, vec![0, 0])]), "server name"),
        (message(&[(0, [&name[..], &[0]].concat())]), "server name"),
        (message(&[(16, vec![])]), "protocol names"),
        (message(&[alpn(&[])]), "protocol names"),
        (message(&[alpn(&["h2", ""])]), "protocol names"),
        (vec![1, 0, 0, 1, 3], "version"),
        (vec![1, 0, 0, 3, 3, 3, 0], "random"),
    ];
    for (message, part) in cases {
        assert_eq!(parse(&record(message)), Err(Malformed(part)), "{message:x?}");
    }
}

#[test]
fn a_name_is_a_host_name_or_the_hello_is_refused() {
    let named = |name: &str| match parse(&record(&message(&[server_name(name)]))) {
        Ok(Parsed::Complete(hello)) => hello.server_name,
        _ => None,
    };
    assert_eq!(named("WWW.Example.ORG."), Some("www.example.org".to_owned()));
    assert_eq!(named("_dav-1.example"), Some("_dav-1.example".to_owned()));
    let long = format!("{}.example", "x".repeat(64));
    for wrong in ["", ".", "a..b", "a b", "a/b", "a\0b", "a:443", "bücher.example", "a\r\nb", &long] {
        assert_eq!(named(wrong), None, "{wrong:?}");
    }
}

#[test]
fn the_longest_message_in_the_smallest_records_needs_no_more_than_the_stated_bytes() {
    let message = message(&[(99, vec![0; MESSAGE_BYTES_MAX - 51])]);
    assert_eq!(message.len(), MESSAGE_BYTES_MAX);
    let input = in_records(&message, &[4; 5_000]);
    assert_eq!(input.len(), BYTES_MAX);
    assert_eq!(complete(&input).server_name, None);
}

proptest! {
    #[test]
    fn records_may_cut_the_message_anywhere_and_every_part_is_incomplete(
        lengths in prop::collection::vec(1_usize..60, 0..40), behind in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let message = message(&[(5, vec![1; 30]), server_name("dav.example.org"), alpn(&["http/1.1"])]);
        let input = in_records(&message, &lengths);
        for length in 0..input.len() {
            prop_assert_eq!(parse(&input[..length]), Ok(Parsed::Incomplete));
        }
        let hello = complete(&[input, behind].concat());
        prop_assert_eq!(hello.server_name.as_deref(), Some("dav.example.org"));
        prop_assert_eq!(hello.alpn.names().collect::<Vec<_>>(), [b"http/1.1"]);
    }

    #[test]
    fn a_damaged_hello_is_judged_without_a_panic(
        index: prop::sample::Index, byte: u8, cut in any::<prop::sample::Index>(),
    ) {
        let mut input = bytes(WITH_NAME);
        let index = index.index(input.len());
        input[index] = byte;
        let _ = parse(&input);
        let _ = parse(&input[..cut.index(input.len())]);
    }

    #[test]
    fn any_bytes_are_judged_and_more_of_them_never_overturn_it(
        start in prop::sample::select(STARTS), noise in prop::collection::vec(any::<u8>(), 0..300),
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
}

const STARTS: &[&[u8]] = &[
    b"",
    b"\x16\x03",
    b"\x16\x03\x01\x00\x09\x01\x00\x00\x20",
    b"\x16\x03\x01\x01\x00\x01\x00\x00\x80\x03\x03",
];
