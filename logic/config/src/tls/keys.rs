//! Keys of TLS to clients and to servers.

use crate::schema::Kind::{AnyOf, Choice, Flag, Off, OneOrMany, Table, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DURATION, Section, key};

pub(crate) static TLS_IN: Section = Section {
    noun: "",
    title: "[listener.NAME.tls]",
    meaning: "TLS towards clients, ended here. HTTP listeners agree on `http/1.1` with clients that ask for a protocol (ALPN), and end the handshake with those that \
              offer only others (RFC 7301, section 3.2); TCP listeners take no part in that.",
    keys: &[
        key(
            "certificates",
            OneOrMany(&AnyOf(&[Text("a PEM file with chain and key"), Table(&CERTIFICATE)])),
            Required,
            "[\"/etc/weir/a.pem\", { certificate = \"b.crt\", key = \"b.key\" }]",
            "Chosen by the name that the client asks for (SNI), wildcards included; the first is for all other clients. \
             Two for the same names with different key types stand side by side.",
        ),
        key(
            "min-version",
            Choice(&["1.2", "1.3"]),
            Default("\"1.2\""),
            "\"1.3\"",
            "The oldest version spoken.",
        ),
        key(
            "ciphers",
            OneOrMany(&Text("a cipher suite")),
            Otherwise("the library's choice"),
            "[\"TLS_AES_256_GCM_SHA384\"]",
            "Cipher suites by their IANA names, in order of preference.",
        ),
        key(
            "client-auth",
            Table(&CLIENT_AUTH),
            Otherwise("clients are not asked for a certificate"),
            "{ ca = \"/etc/weir/ca.pem\" }",
            "Client certificates.",
        ),
        key(
            "ticket-rotation",
            AnyOf(&[DURATION, Off]),
            Default("\"6h\""),
            "\"1h\"",
            "How often the key of session tickets is renewed; `false` = no resumption.",
        ),
        key(
            "reload-interval",
            DURATION,
            Default("\"1m\""),
            "\"10s\"",
            "How often the files are looked at for changes.",
        ),
    ],
};

pub(crate) static CERTIFICATE: Section = Section {
    noun: "",
    title: "A certificate",
    meaning: "A certificate chain and its key in two files.",
    keys: &[
        key(
            "certificate",
            Text("a path"),
            Required,
            "\"/etc/weir/site.crt\"",
            "PEM file with the chain, leaf first.",
        ),
        key(
            "key",
            Text("a path"),
            Otherwise("the key is in the certificate's file"),
            "\"/etc/weir/site.key\"",
            "PEM file with the private key.",
        ),
    ],
};

pub(crate) static CLIENT_AUTH: Section = Section {
    noun: "",
    title: "[listener.NAME.tls.client-auth]",
    meaning: "Which client certificates are accepted.",
    keys: &[
        key(
            "mode",
            Choice(&["required", "optional"]),
            Default("\"required\""),
            "\"optional\"",
            "Whether a client without a certificate is refused. With `optional`, a certificate that is not accepted counts as none.",
        ),
        key(
            "ca",
            Text("a path"),
            Required,
            "\"/etc/weir/ca.pem\"",
            "PEM file with the accepted authorities, or with clients' own certificates.",
        ),
        key(
            "crl",
            Text("a path"),
            Otherwise("revocation is not looked at"),
            "\"/etc/weir/crl.pem\"",
            "PEM file with their revocation lists.",
        ),
    ],
};

pub(crate) static TLS_OUT: Section = Section {
    noun: "",
    title: "[pool.NAME.tls]",
    meaning: "TLS towards the servers. `tls = true` takes every default.",
    keys: &[
        key(
            "verify",
            Flag,
            Default("true"),
            "false",
            "Whether the server's certificate must be valid; `false` verifies nothing, signatures neither, and lets anyone in the path read and change everything.",
        ),
        key(
            "ca",
            Text("a path"),
            Otherwise("the authorities of the system"),
            "\"/etc/weir/ca.pem\"",
            "PEM file with the accepted authorities, or with servers' own certificates.",
        ),
        key(
            "server-name",
            Text("a host name"),
            Otherwise("the host name or address of the server"),
            "\"web.internal\"",
            "The name sent (SNI) and verified.",
        ),
        key(
            "client-certificate",
            AnyOf(&[Text("a PEM file with chain and key"), Table(&CERTIFICATE)]),
            Otherwise("none"),
            "\"/etc/weir/client.pem\"",
            "What Weir shows of itself. Looked at for changes every minute, as `ca` is.",
        ),
        key(
            "min-version",
            Choice(&["1.2", "1.3"]),
            Default("\"1.2\""),
            "\"1.3\"",
            "The oldest version spoken.",
        ),
    ],
};
