//! Keys of `[storage-area.NAME]` and `[token-issuer.NAME]`.

use super::policy::AREA_POLICY;
use crate::schema::Kind::{ByteRate, Choice, Flag, Integer, Map, OneOrMany, Size, Table, Tables, Text};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DAY_MS, DURATION, DURATION_OR_ZERO, Kind, Section, key};

pub(crate) static AREA: Section = Section {
    noun: "storage area",
    title: "[storage-area.NAME]",
    meaning: "A directory tree that is served over HTTP and WebDAV. Requests come here by `storage = \"NAME\"` in a route or \
              a listener.",
    keys: &[
        key("root", Text("a path"), Required, "\"/srv/data\"", "The directory."),
        key(
            "access-points",
            OneOrMany(&Text("a path")),
            Default("\"/\""),
            "[\"/data\", \"/vo/data\"]",
            "Where the tree appears in URLs, one place or several. Written plainly: `%` is a character like others.",
        ),
        key(
            "read-only",
            Flag,
            Default("false"),
            "true",
            "Whether requests that would change something are refused.",
        ),
        key(
            "index",
            OneOrMany(&Text("a file name")),
            Otherwise("none"),
            "[\"index.html\", \"index.htm\"]",
            "Files that stand for their directory, the first that is there.",
        ),
        key(
            "listing",
            Flag,
            Default("false"),
            "true",
            "Whether a GET of a directory without an index file gets a page that lists it (as JSON to those who prefer \
             that); else 403.",
        ),
        key(
            "redirect-key-file",
            Text("a path"),
            Otherwise("tickets mean nothing"),
            "\"/etc/weir/redirect.key\"",
            "The secret of a balancer that sends clients on to here (`redirect` of its pool), at least 16 bytes. A request with a \
             ticket is judged as if its client had presented here what it has presented there; with one that does not hold \
             it is answered 403.",
        ),
        key(
            "redirect-key-env",
            Text("the name of an environment variable"),
            Otherwise("as `redirect-key-file`"),
            "\"WEIR_REDIRECT_KEY\"",
            "As `redirect-key-file`, but the secret is in the environment.",
        ),
        key(
            "precompressed",
            Flag,
            Default("false"),
            "true",
            "Whether `NAME.br`, `NAME.zst` or `NAME.gz` beside a file is sent in its place to clients that accept the coding.",
        ),
        key(
            "cache-control",
            Text("a header value"),
            Otherwise("no such header"),
            "\"max-age=3600\"",
            "The Cache-Control header of files. What goes to somebody in particular says `private`, too.",
        ),
        key(
            "mime-types",
            Map("extensions", &Text("a media type")),
            Otherwise("those of a table of the usual ones, else `application/octet-stream`"),
            "{ root = \"application/x-root\", log = \"text/plain; charset=us-ascii\" }",
            "What files are (Content-Type), by what stands behind the last dot of their names, in upper or lower case. It goes before the \
             table.",
        ),
        key(
            "symlinks",
            Choice(&["never", "inside-root", "owner-match"]),
            Default("\"never\""),
            "\"owner-match\"",
            "Which symbolic links are followed: none, those that stay below the root, or of these only those that belong \
             to the owner of what they point to. Access is judged by the path that was asked for, so a link leads past what \
             rules say of the path behind it.",
        ),
        key(
            "durability",
            Choice(&["none", "data", "full"]),
            Default("\"data\""),
            "\"full\"",
            "What is on the disk for certain when an upload is confirmed: nothing, its bytes, or its name as well.",
        ),
        key(
            "checksums",
            OneOrMany(&Choice(&["adler32", "crc32c", "md5", "sha-256", "sha-512"])),
            Default("\"adler32\""),
            "[\"adler32\", \"sha-256\"]",
            "Computed while uploads arrive, kept in extended attributes, and told to clients that ask. Those that a client \
             gives are verified whatever stands here.",
        ),
        key(
            "checksum-interval",
            Kind::Duration { min_ms: 1_000, max_ms: 30 * DAY_MS },
            Otherwise("never: they are computed when somebody asks"),
            "\"1d\"",
            "How often files are looked for, a few thousand a second, that have no checksums, because another program has written \
             or changed them. Those are computed then, one file after the other, for half of the time at most.",
        ),
        key(
            "trust-checksums",
            Flag,
            Default("false"),
            "true",
            "Whether an Adler-32 that another program (StoRM WebDAV) has stored with a file is told to clients. Nobody can \
             say whether the file was changed since.",
        ),
        key(
            "propfind-infinity",
            Flag,
            Default("false"),
            "true",
            "Whether a PROPFIND with `Depth: infinity`, which reads a whole tree, is answered; else it gets 403.",
        ),
        key(
            "threads",
            Integer { min: 1, max: 256 },
            Default("8"),
            "16",
            "Threads that wait for the disk. Each area has its own, so that a file system that hangs stalls no other. Copies, the computing of digests, and what removes, moves or replaces directories take at most half of them.",
        ),
        key(
            "queue",
            Integer { min: 1, max: 100_000 },
            Default("1024"),
            "256",
            "New requests that may wait for a thread; one more is answered 503. What has begun waits however long the queue is.",
        ),
        key(
            "open-files",
            Integer { min: 0, max: 100_000 },
            Default("256"),
            "1000",
            "So many files are kept open for each worker, for about a second after somebody has asked for them, and while they are being sent, for whoever asks for them next; 0 = none. All workers together keep no more than a 64th of the descriptors that the process may have. What has changed since is never served, whoever on this machine changed it (only what is mounted over a directory, and a change of who may pass the area's root, are seen a second late). Their directories, up to 1024, are watched by inotify. On network file systems, and with `act-as`, none is kept.",
        ),
        key(
            "quota",
            Size { min: 1, max: i64::MAX as u64 },
            Otherwise("as much as there is room for"),
            "\"10TB\"",
            "Bytes that its files, by their lengths, and the properties that clients set may take up. What would be more is answered 507.",
        ),
        key(
            "max-files",
            Integer { min: 1, max: u32::MAX as u64 },
            Otherwise("as many as there is room for"),
            "10000000",
            "Most files and directories. A request that would make a further one is answered 507.",
        ),
        key(
            "max-locks",
            Integer { min: 1, max: 100_000 },
            Default("10000"),
            "1000",
            "Most WebDAV locks at a time. A further LOCK is answered 507.",
        ),
        key(
            "max-locks-per-user",
            Integer { min: 1, max: 100_000 },
            Default("1000"),
            "100",
            "Most WebDAV locks of one user, certificate or token subject at a time. All anonymous clients count as one. A further LOCK is answered 507.",
        ),
        key(
            "usage-interval",
            Kind::Duration { min_ms: 1_000, max_ms: 30 * DAY_MS },
            Otherwise("`\"1h\"` with a `quota` or `max-files`; else they are not counted"),
            "\"6h\"",
            "How often its files are counted, a few thousand a second. In between, what this Weir changes is added, and what others do that \
             share the directory; what other programs change is found by the next count.",
        ),
        key(
            "upload-expiry",
            Kind::Duration { min_ms: 1_000, max_ms: 30 * DAY_MS },
            Default("\"1d\""),
            "\"6h\"",
            "How long what has come of a resumable upload is kept for its client to go on with it.",
        ),
        key(
            "htpasswd",
            Text("a path"),
            Otherwise("no passwords are accepted"),
            "\"/etc/weir/htpasswd\"",
            "Users and passwords, as `htpasswd -B` writes them.",
        ),
        key(
            "realm",
            Text("a text"),
            Otherwise("the name of the area"),
            "\"Research data\"",
            "What clients show to people when they ask for a password.",
        ),
        key(
            "identity-from",
            OneOrMany(&Text("a network or an IP address")),
            Otherwise("nobody"),
            "\"10.0.0.5\"",
            "Proxies in front that verify certificates, VOMS attributes included, and say whose it was in X-VOMS-* lines, as NGINX with \
             its VOMS module does. Who connects from there is never known by a certificate of its own. What others send in such \
             lines means nothing, and what comes through a Unix socket neither.",
        ),
        key(
            "vo-maps",
            Map("names of organisations", &Text("a path")),
            Otherwise("nobody is a member by a map"),
            "{ cms = \"/etc/weir/cms.csv\" }",
            "Files that say whose certificates belong to an organisation, as the VO map files of StoRM WebDAV do: lines of \
             `subject,issuer,email` with names such as `/C=IT/CN=Jo`; without an issuer it may be any. A reload reads them again.",
        ),
        key(
            "token-in-url",
            Flag,
            Default("false"),
            "true",
            "Whether a bearer token may also come as `access_token` in the query. It is never logged.",
        ),
        key(
            "token-endpoint",
            Text("the name of a token endpoint"),
            Otherwise("no tokens are issued"),
            "\"own\"",
            "Issues tokens to those who may do something here, at the paths of the `[token-endpoint.NAME]` and for macaroon \
             requests, and accepts its tokens.",
        ),
        key(
            "accel-redirect",
            Table(&ACCEL_REDIRECT),
            Otherwise("files are always sent from here"),
            "{ prefix = \"/protected\", trusted = \"10.0.0.0/8\" }",
            "Lets an NGINX in front send files itself: it is told which by `X-Accel-Redirect`.",
        ),
        key(
            "third-party-copy",
            Flag,
            Default("false"),
            "true",
            "Whether clients may have files copied from other servers to here, and from here to others (HTTP-TPC), as far as they \
             may write and read them; `[third-party-copy]` says with which servers.",
        ),
        key(
            "third-party-copy-rate",
            ByteRate,
            Otherwise("as fast as they can"),
            "\"500MiB/s\"",
            "The rate of all such copies of the area together; `0` = as fast as they can.",
        ),
        key(
            "act-as",
            Table(&ACT_AS),
            Otherwise("files are read and written as the user that Weir runs as"),
            "{ map = \"/etc/weir/users.toml\", otherwise = \"nobody\" }",
            "As which local users files are read and written, so that the kernel's permissions and access lists count, too. \
             Only where Weir runs as root.",
        ),
        key(
            "access",
            Table(&ACCESS),
            Otherwise("nobody may do anything"),
            "{ anonymous-read = true }",
            "Who may do what.",
        ),
    ],
};

pub(crate) static ACCEL_REDIRECT: Section = Section {
    noun: "",
    title: "[storage-area.NAME.accel-redirect]",
    meaning: "GET and HEAD of a file are answered with its name for the proxy in front, and without a body, if the proxy says that \
              it can send files. It needs the same directory. Who may read what is decided here all the same.",
    keys: &[
        key(
            "prefix",
            Text("a path"),
            Required,
            "\"/protected\"",
            "The internal location of the proxy whose directory is the root of the area.",
        ),
        key(
            "trusted",
            OneOrMany(&Text("a network or an IP address")),
            Required,
            "[\"127.0.0.1\", \"10.0.0.0/8\"]",
            "The proxies that are told so, if they ask for it with `X-Sendfile-Type: X-Accel-Redirect`. Who connects from \
             elsewhere, or asks without that line, gets the file; who comes through a Unix socket is trusted, because the operator \
             says who may.",
        ),
    ],
};

pub(crate) static ACT_AS: Section = Section {
    noun: "",
    title: "[storage-area.NAME.act-as]",
    meaning: "Local users that stand for those who ask. What the rules of the area permit, the kernel must permit as well.",
    keys: &[
        key(
            "map",
            Text("a path"),
            Required,
            "\"/etc/weir/users.toml\"",
            "TOML with `[[map]]` entries of a `principal`, as in policies, and a `user`: a name in /etc/passwd, or `UID:GID,GID...`. \
             The first that fits counts.",
        ),
        key(
            "otherwise",
            Text("a local user"),
            Otherwise("403"),
            "\"nobody\"",
            "The user for those whom no entry fits.",
        ),
    ],
};

pub(crate) static ACCESS: Section = Section {
    noun: "",
    title: "[storage-area.NAME.access]",
    meaning: "Who may do what in a storage area. Policies are looked at first, in their order; the first that fits decides, \
              and a deny is a deny. Then Cedar policies are asked, where `cedar` names some: what one of them forbids is denied, \
              whatever permits it. What no policy is about is up to the switches. What nothing permits is denied. A token \
              with storage scopes never permits more than they say.",
    keys: &[
        key("anonymous-read", Flag, Default("false"), "true", "Whether everybody may read."),
        key(
            "authenticated-read",
            Flag,
            Default("false"),
            "true",
            "Whether everybody may read who has proved to be somebody.",
        ),
        key(
            "certificate-read",
            Flag,
            Default("false"),
            "true",
            "Whether clients with a certificate may read.",
        ),
        key(
            "vos",
            OneOrMany(&Text("the name of an organisation")),
            Otherwise("none"),
            "[\"cms\"]",
            "Organisations whose members, by VOMS, may read and write. A proxy of `identity-from` must say who is one, or a map of `vo-maps`.",
        ),
        key(
            "vo-map-read",
            Flag,
            Default("true"),
            "false",
            "Whether those may read whom a map file makes members of `vos`.",
        ),
        key("vo-map-write", Flag, Default("false"), "true", "Whether they may write."),
        key(
            "issuers",
            OneOrMany(&Text("the issuer of tokens, as its `iss` says")),
            Otherwise("none"),
            "[\"https://iam.example.org/\"]",
            "Issuers whose tokens count here; each needs a `[token-issuer.NAME]`.",
        ),
        key("issuers-read", Flag, Default("true"), "false", "Whether bearers of their tokens may read."),
        key("issuers-write", Flag, Default("false"), "true", "Whether they may write."),
        key(
            "token-scopes",
            Flag,
            Default("false"),
            "true",
            "Whether the scopes of their tokens (storage.read, storage.create, storage.modify, ...) grant what they say.",
        ),
        key(
            "scope-bases",
            Map("issuers", &Text("a path")),
            Otherwise("scopes begin at the area's access point"),
            "{ \"https://iam.example.org/\" = \"/data/cms\" }",
            "Where the paths of an issuer's scopes begin.",
        ),
        key(
            "cedar",
            OneOrMany(&Text("a path")),
            Otherwise("none"),
            "[\"/etc/weir/policies/data.cedar\"]",
            "Files of Cedar policies, or directories of which all files `*.cedar` are read in the order of their names. A reload \
             reads them again. See the guide for what they can say.",
        ),
        key("policies", Flag, Default("true"), "false", "Whether the entries of `policy` are looked at."),
        key(
            "policy",
            Tables(&AREA_POLICY),
            Otherwise("none"),
            "[{ description = \"raw data stays\", actions = \"delete\", paths = \"/raw/**\", principals = { type = \"anyone\" } }]",
            "The policies.",
        ),
    ],
};

pub(crate) static TOKEN_ISSUER: Section = Section {
    noun: "token issuer",
    title: "[token-issuer.NAME]",
    meaning: "Who issues bearer tokens (JWT), and what is asked of them. What a token says of its keys or algorithm is never \
              believed.",
    keys: &[
        key(
            "issuer",
            Text("an issuer"),
            Required,
            "\"https://iam.example.org/\"",
            "As `iss` of its tokens says, compared byte by byte.",
        ),
        key(
            "key-set",
            Text("a path or an https URL"),
            Otherwise("the one that the issuer's metadata names"),
            "\"https://iam.example.org/jwk\"",
            "Its public keys (JWKS): an absolute path, or an address that is asked again from time to time.",
        ),
        key(
            "ca",
            Text("a path"),
            Otherwise("the authorities of the system"),
            "\"/etc/weir/ca.pem\"",
            "PEM file with the authorities that its server's certificate may come from.",
        ),
        key(
            "audiences",
            OneOrMany(&Text("an audience")),
            Otherwise("tokens for any service are accepted, with a warning"),
            "[\"https://storage.example.org\"]",
            "Tokens must be meant for one of these (`aud`). Without it, any other service that gets a token of this issuer can use it here.",
        ),
        key(
            "algorithms",
            OneOrMany(&Choice(&[
                "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
            ])),
            Default("[\"RS256\", \"ES256\", \"EdDSA\"]"),
            "[\"ES256\"]",
            "What it may sign with.",
        ),
        key(
            "access-token-type",
            Choice(&["when-stated", "required"]),
            Default("\"when-stated\""),
            "\"required\"",
            "Whether the header of all of its tokens must say that they are access tokens (`typ` is `at+jwt`, RFC 9068), or tokens \
             without a type, or of the type `JWT`, are accepted, too. ID tokens and logout tokens are never accepted; without \
             `audiences` a token must have at least one mark of an access token: that type, `scope`, `scp`, `client_id`, `wlcg.ver`, \
             `typ` Bearer or `token_use` access.",
        ),
        key(
            "profile",
            Choice(&["when-stated", "required"]),
            Default("\"when-stated\""),
            "\"required\"",
            "Whether all of its tokens must follow the WLCG profile, or those that state a version of it.",
        ),
        key(
            "leeway",
            DURATION_OR_ZERO,
            Default("\"1m\""),
            "\"10s\"",
            "How far its clock and ours may differ.",
        ),
        key(
            "max-lifetime",
            DURATION,
            Default("\"7d\""),
            "\"1d\"",
            "Tokens that end later than this are refused.",
        ),
        key("refresh", DURATION, Default("\"1h\""), "\"10m\"", "How often its keys are asked for again."),
    ],
};
