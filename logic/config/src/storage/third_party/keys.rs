//! Keys of `[third-party-copy]`.

use crate::schema::Kind::{AnyOf, ByteRate, Flag, Integer, OneOrMany, Table, Text};
use crate::schema::Presence::{Default, Otherwise};
use crate::schema::{DURATION, Kind, Section, key};
use crate::tls::keys::CERTIFICATE;

const HOST: Kind = Text("a host, a domain such as *.example.org, an address or a network");

/// Clients expect a marker every few seconds; the protocol permits at most 30 s between two markers.
const MARKER_INTERVAL: Kind = Kind::Duration { min_ms: 100, max_ms: 5_000 };

pub(crate) static THIRD_PARTY_COPY: Section = Section {
    noun: "",
    title: "[third-party-copy]",
    meaning: "Copies between storage areas and other servers (HTTP-TPC), in the areas that have `third-party-copy = true`. Clients \
              name the other server, so that this says which ones they may name.",
    keys: &[
        key(
            "http",
            Flag,
            Default("false"),
            "true",
            "Whether other servers may also be spoken to without TLS. Credentials and data are then open to everybody on the way.",
        ),
        key(
            "allow",
            OneOrMany(&HOST),
            Otherwise("all that nothing else refuses"),
            "[\"*.example.org\", \"192.0.2.0/24\"]",
            "Only these servers, by name or by address.",
        ),
        key(
            "deny",
            OneOrMany(&HOST),
            Otherwise("none"),
            "[\"old.example.org\"]",
            "None of these servers, whatever `allow` says.",
        ),
        key(
            "private",
            OneOrMany(&Text("a network or an address")),
            Otherwise("only public addresses"),
            "[\"10.20.0.0/16\"]",
            "Addresses that are not public (private, loopback, link-local and the like) and may be connected to nonetheless.",
        ),
        key(
            "ca",
            Text("a path"),
            Otherwise("the authorities of the system"),
            "\"/etc/grid-security/ca.pem\"",
            "PEM file with the authorities that the certificates of other servers may come from.",
        ),
        key(
            "client-certificate",
            AnyOf(&[Text("a PEM file with chain and key"), Table(&CERTIFICATE)]),
            Otherwise("none"),
            "\"/etc/weir/client.pem\"",
            "What Weir shows of itself to the servers that clients name, and not to those to which these redirect. Whoever may copy can \
             make Weir read and write there in its name.",
        ),
        key(
            "max-transfers",
            Integer { min: 1, max: 10_000 },
            Default("50"),
            "200",
            "Transfers at once; the others wait for their turn, and their clients are told so.",
        ),
        key(
            "max-per-peer",
            Integer { min: 1, max: 10_000 },
            Default("25"),
            "10",
            "Transfers at once with one server. Those with others pass them in the queue.",
        ),
        key(
            "queue",
            Integer { min: 0, max: 100_000 },
            Default("1000"),
            "100",
            "Transfers that may wait; one more is answered 503.",
        ),
        key(
            "max-streams",
            Integer { min: 1, max: 16 },
            Default("4"),
            "8",
            "Connections of one pull, where its client asks for several (`X-Number-Of-Streams`).",
        ),
        key(
            "retries",
            Integer { min: 0, max: 100 },
            Default("3"),
            "5",
            "How often a transfer that broke off is tried again: a pull goes on where it was if the file is still the same, and has \
             all tries again with each further MiB.",
        ),
        key(
            "connect-timeout",
            DURATION,
            Default("\"10s\""),
            "\"5s\"",
            "For the name, the connection and TLS together.",
        ),
        key(
            "idle-timeout",
            DURATION,
            Default("\"1m\""),
            "\"30s\"",
            "A server through which nothing moves for so long is given up. There is no limit to the time as a whole.",
        ),
        key(
            "min-rate",
            ByteRate,
            Default("\"10KiB/s\""),
            "\"100KiB/s\"",
            "A server that sends or takes less than this, over as long as `idle-timeout`, is given up: a byte now and then must not hold \
             a transfer's place for ever. Only the time in which Weir waits for it counts. `0` = no such limit.",
        ),
        key(
            "answer-timeout",
            DURATION,
            Default("\"30m\""),
            "\"1h\"",
            "For an answer before which the other server may have to read all of the file: with a checksum that was asked for, or to a \
             PUT that was sent.",
        ),
        key(
            "marker-interval",
            MARKER_INTERVAL,
            Default("\"5s\""),
            "\"1s\"",
            "How often clients are told how far their transfer is.",
        ),
    ],
};
