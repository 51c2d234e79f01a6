//! Keys of the root table: the sections of a config.

use crate::fleet::keys::FLEET;
use crate::listener::keys::LISTENER;
use crate::listener::route::keys::ROUTE;
use crate::pool::keys::POOL;
use crate::process::keys::{ACCESS_LOG, ADMIN, ERROR_PAGE, RESOLVER, WEIR};
use crate::schema::Kind::{Named, Table, Tables};
use crate::schema::Presence::Otherwise;
use crate::schema::{Section, key};
use crate::storage::keys::{AREA, TOKEN_ISSUER};
use crate::storage::third_party::keys::THIRD_PARTY_COPY;
use crate::storage::token_endpoint::keys::TOKEN_ENDPOINT;

pub(crate) static ROOT: Section = Section {
    noun: "",
    title: "The file",
    meaning: "TOML, one file or a directory whose `*.toml` files are taken together in the order of their names. A \
              config needs at least one listener, or a fleet with `haproxy`.",
    keys: &[
        key(
            "weir",
            Table(&WEIR),
            Otherwise("every key has its default"),
            "{ workers = 2 }",
            "The process as a whole.",
        ),
        key(
            "admin",
            Table(&ADMIN),
            Otherwise("no HTTP face"),
            "{ bind = \"127.0.0.1:8404\" }",
            "Status page, metrics and JSON over HTTP.",
        ),
        key(
            "access-log",
            Table(&ACCESS_LOG),
            Otherwise("no access log"),
            "{ format = \"json\" }",
            "A line for each request.",
        ),
        key(
            "resolver",
            Table(&RESOLVER),
            Otherwise("every key has its default"),
            "{ timeout = \"1s\" }",
            "How the names of servers are resolved.",
        ),
        key(
            "error-page",
            Named("STATUS", &ERROR_PAGE),
            Otherwise("a short page of plain text"),
            "{ 503 = { body = \"Back soon.\" } }",
            "Bodies for the statuses that Weir answers with itself, 400 to 599.",
        ),
        key(
            "listener",
            Named("NAME", &LISTENER),
            Otherwise("an error, unless a fleet has `haproxy`"),
            "{ web = { bind = \":80\", pool = \"web\" } }",
            "Addresses that accept.",
        ),
        key(
            "route",
            Tables(&ROUTE),
            Otherwise("everything goes to the listener's own pool"),
            "[{ host = \"example.org\", pool = \"web\" }]",
            "What a request must match, and what happens to it. The first that matches takes the request.",
        ),
        key(
            "pool",
            Named("NAME", &POOL),
            Otherwise("no pools: routes can only redirect or respond"),
            "{ web = { servers = \"10.0.0.1:80\" } }",
            "Servers that can answer, and how to choose.",
        ),
        key(
            "fleet",
            Named("NAME", &FLEET),
            Otherwise("pools have the servers that they name"),
            "{ web = { pool = \"web\", max = 5, capacity = 10, process = { command = \"app\" } } }",
            "Servers that come and go with demand.",
        ),
        key(
            "storage-area",
            Named("NAME", &AREA),
            Otherwise("no files are served"),
            "{ data = { root = \"/srv/data\" } }",
            "Directory trees that Weir serves itself, and who may do what there.",
        ),
        key(
            "token-issuer",
            Named("NAME", &TOKEN_ISSUER),
            Otherwise("no bearer tokens are accepted"),
            "{ iam = { issuer = \"https://iam.example.org/\" } }",
            "Who issues bearer tokens that storage areas may accept.",
        ),
        key(
            "token-endpoint",
            Named("NAME", &TOKEN_ENDPOINT),
            Otherwise("no tokens are issued"),
            "{ own = { issuer = \"https://storage.example.org\", key = \"/etc/weir/token-key.pem\" } }",
            "Where Weir issues bearer tokens itself.",
        ),
        key(
            "third-party-copy",
            Table(&THIRD_PARTY_COPY),
            Otherwise("every key has its default"),
            "{ private = \"10.20.0.0/16\" }",
            "Which servers storage areas may copy files from and to, and how.",
        ),
    ],
};
