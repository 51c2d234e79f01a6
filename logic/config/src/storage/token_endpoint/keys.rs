//! Keys of `[token-endpoint.NAME]`.

use crate::schema::Kind::{Choice, Integer, OneOrMany, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DAY_MS, Kind, SECOND_MS, Section, key};

pub(crate) static TOKEN_ENDPOINT: Section = Section {
    noun: "token endpoint",
    title: "[token-endpoint.NAME]",
    meaning: "Issues Weir's own bearer tokens (RFC 6749, client_credentials) to those who have proved who they are. A token stands \
              for its holder, within its scopes and until its end; it never permits what the holder may not do.",
    keys: &[
        key(
            "issuer",
            Text("an https URL"),
            Required,
            "\"https://storage.example.org\"",
            "`iss` of its tokens, and where it is found: its metadata is at `/.well-known/openid-configuration` there.",
        ),
        key(
            "path",
            Text("a path"),
            Default("\"/oauth/token\""),
            "\"/vo/oauth/token\"",
            "Where tokens are issued. The public keys are beside it, as `jwks`.",
        ),
        key(
            "algorithm",
            Choice(&["ES256", "HS256"]),
            Default("\"ES256\""),
            "\"HS256\"",
            "What tokens are signed with: a private key, so that others can verify with the public half, or a secret that \
             only those know who also issue.",
        ),
        key(
            "key",
            Text("a path"),
            Required,
            "\"/etc/weir/token-key.pem\"",
            "The key: for ES256 a PEM file with a private key over P-256 (PKCS #8), for HS256 a secret of at least 32 bytes.",
        ),
        key(
            "previous-keys",
            OneOrMany(&Text("a path")),
            Otherwise("none"),
            "[\"/etc/weir/token-key-before.pem\"]",
            "Keys of the same algorithm whose tokens have not all ended.",
        ),
        key(
            "audiences",
            OneOrMany(&Text("an audience")),
            Otherwise("the issuer"),
            "[\"https://storage.example.org\"]",
            "`aud` of its tokens: who they are meant for.",
        ),
        key(
            "lifetime",
            TOKEN_LIFE,
            Default("\"1h\""),
            "\"20m\"",
            "How long a token lives if nothing is asked for.",
        ),
        key(
            "max-lifetime",
            TOKEN_LIFE,
            Default("\"12h\""),
            "\"1d\"",
            "The longest life that can be asked for.",
        ),
        key(
            "max-requests",
            Integer { min: 0, max: 1_000_000 },
            Default("600"),
            "60",
            "Tokens that one client (an address, or a network of 64 bits of IPv6) may ask for in a minute; one more is answered 429. \
             Credentials that do not hold count ten times. `0` = no such limit.",
        ),
    ],
};

/// Lifetime of a token; tokens count it in seconds.
const TOKEN_LIFE: Kind = Kind::Duration { min_ms: SECOND_MS, max_ms: 30 * DAY_MS };
