//! Tests storage areas and token issuers.

use super::print::assert_round_trip;
use super::{complaints, load_text, messages};
use crate::diff::{apply, diff};
use crate::plan::KeySetSource;
use crate::print;

/// Returns a config whose area has these additional keys and tables.
fn area(more: &str) -> String {
    format!(
        "[listener.web]\nbind = ':80'\nstorage = 'data'\n\n[storage-area.data]\nroot = '/srv/data'\n{more}"
    )
}

const ENDPOINT: &str =
    "\n[token-endpoint.own]\nissuer = 'https://storage.example.org'\nkey = '/etc/weir/token-key.pem'\n";

const ISSUER: &str = "\n[token-issuer.iam]\nissuer = 'https://iam.example.org/'\n";

#[test]
fn a_small_area_gets_every_default() {
    let loaded = load_text(&area("")).unwrap();
    assert_eq!(loaded.warnings, []);
    insta::assert_snapshot!(print(&loaded.plan));
}

#[test]
fn a_printed_area_loads_to_itself() {
    assert_round_trip(&area(""));
    let policy = "\n[[storage-area.data.access.policy]]\ndescription = 'a $${B} \"q\"'\nactions = 'all'\n\
                  principals = { type = 'user', name = 'a$${C}' }\n";
    assert_round_trip(&area(&format!("checksums = []\n{policy}")));
    assert_round_trip(&format!("{}{ENDPOINT}", area("token-endpoint = 'own'\n")));
    assert_round_trip(&area("act-as = { map = '/etc/weir/users.toml' }\n"));
    assert_round_trip(&format!(
        "{}{ISSUER}",
        area("\n[storage-area.data.access]\nissuers = 'https://iam.example.org/'\n")
    ));
    assert_round_trip(&area("\n[storage-area.data.access]\ncedar = ['/etc/weir/a.cedar', '/etc/weir/b']\n"));
}

#[test]
fn an_issuer_may_be_what_only_cedar_policies_are_about() {
    let issuer = format!("{ISSUER}audiences = 'https://storage.example.org'\n");
    let told =
        messages(&format!("{}{issuer}", area("\n[storage-area.data.access]\ncedar = '/etc/weir/a.cedar'\n")));
    assert_eq!(told, [""; 0]);
    let told = messages(&format!("{}{issuer}", area("")));
    assert_eq!(told, ["token issuer iam: no storage area names it"]);
}

#[test]
fn keys_are_found_in_a_file_at_an_address_or_by_discovery() {
    let source = |key_set: &str| {
        let access = "\n[storage-area.data.access]\nissuers = 'https://iam.example.org/'\n";
        let loaded = load_text(&format!("{}{ISSUER}{key_set}", area(access))).unwrap();
        loaded.plan.token_issuers[0].key_set.clone()
    };
    assert_eq!(source("key-set = '/etc/keys.json'"), KeySetSource::File("/etc/keys.json".into()));
    assert_eq!(source("key-set = 'https://a/jwk'"), KeySetSource::Url("https://a/jwk".to_owned()));
    assert_eq!(source(""), KeySetSource::Discovery);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let policy = |keys: &str| {
        format!(
            "\n[[storage-area.data.access.policy]]\ndescription = 'd'\nactions = 'read'\nprincipals = {{ type = 'anyone' }}\n{keys}"
        )
    };
    for (more, message) in [
        ("access-points = 'data'", "storage area data: access-points: \"data\": a path begins with /"),
        (
            "accel-redirect = { prefix = 'p', trusted = '10.0.0.1' }",
            "storage area data: accel-redirect.prefix: \"p\": a path begins with /",
        ),
        (
            "accel-redirect = { prefix = '/p', trusted = [] }",
            "storage area data: accel-redirect.trusted: expected at least one network",
        ),
        (
            "accel-redirect = { prefix = '/p', trusted = 'x' }",
            "storage area data: accel-redirect.trusted: \"x\" is neither an IP address nor a network such as 10.0.0.0/8",
        ),
        ("access-points = ['/a', '/a']", "storage area data: access-points: \"/a\" is there twice"),
        ("access-points = []", "storage area data: access-points: expected at least one path"),
        ("index = 'a/b'", "storage area data: index: \"a/b\" is not the name of a file"),
        (
            "symlinks = 'always'",
            "storage area data: symlinks: unknown value \"always\": expected \"never\", \"inside-root\" or \"owner-match\"",
        ),
        (
            "checksums = 'sha-1'",
            "storage area data: checksums: unknown value \"sha-1\": expected \"adler32\", \"crc32c\", \"md5\", \"sha-256\" or \"sha-512\"",
        ),
        ("threads = 0", "storage area data: threads: 0 is out of range: 1 to 256"),
        (
            "checksums = []\nchecksum-interval = '1d'",
            "storage area data: checksum-interval: checksums names none that could be computed",
        ),
        (
            "mime-types = { root = 'root' }",
            "storage area data: mime-types: \"root\" is not a media type such as \"text/plain; charset=utf-8\"",
        ),
        (
            "mime-types = { 'tar.gz' = 'application/gzip' }",
            "storage area data: mime-types: \"tar.gz\" is not the extension of a name: expected one such as \"dat\", without a dot",
        ),
        ("mime-types = { a = 'a/b', A = 'a/b' }", "storage area data: mime-types: \"A\" is there twice"),
        ("vo-maps = { cms = '' }", "storage area data: vo-maps: expected a path"),
        (
            "identity-from = 'proxy'",
            "storage area data: identity-from: \"proxy\" is neither an IP address nor a network such as 10.0.0.0/8",
        ),
        ("open-files = -1", "storage area data: open-files: -1 is out of range: 0 to 100000"),
        ("quota = '10'", "storage area data: quota: "),
        ("quota = '0B'", "storage area data: quota: "),
        ("max-files = 0", "storage area data: max-files: 0 is out of range: 1 to 4294967295"),
        ("max-locks = 0", "storage area data: max-locks: 0 is out of range: 1 to 100000"),
        ("max-locks-per-user = 0", "storage area data: max-locks-per-user: 0 is out of range: 1 to 100000"),
        ("upload-expiry = '10ms'", "storage area data: upload-expiry: "),
        ("usage-interval = '10ms'", "storage area data: usage-interval: "),
        ("cache-control = \"a\\nb\"", "storage area data: cache-control: "),
        (&policy("paths = 'raw'"), "storage area data: access.policy: policy 1, paths: raw: "),
        (
            &policy("").replace("{ type = 'anyone' }", "{ type = 'jwt-group', group = '/a' }"),
            "storage area data, policy 1: principals: issuer is missing for type \"jwt-group\"",
        ),
        (
            &policy("").replace("{ type = 'anyone' }", "{ type = 'anyone', vo = 'a' }"),
            "storage area data, policy 1: principals.vo: not for a principal of type \"anyone\"",
        ),
        (
            "\n[storage-area.data.access]\ncedar = []",
            "storage area data: access.cedar: expected at least one path",
        ),
        ("\n[storage-area.data.access]\ncedar = ''", "storage area data: access.cedar: expected a path"),
        (
            "\n[storage-area.data.access]\ncedar = ['/a', '/b', '/a']",
            "storage area data: access.cedar: \"/a\" is there twice",
        ),
        (
            "\n[storage-area.data.access]\nissuers = 'https://iam.example.org/'",
            "storage area data: there is no token issuer \"https://iam.example.org/\"",
        ),
        (
            "\n[token-issuer.a]\nissuer = 'urn:a'",
            "token issuer a: issuer: \"urn:a\" is no https URL, so its keys cannot be discovered",
        ),
        (
            "\n[token-issuer.a]\nissuer = 'https://a'\nkey-set = 'http://a/jwk'",
            "token issuer a: key-set: \"http://a/jwk\" is neither an absolute path nor an https URL",
        ),
        (
            "\n[token-issuer.a]\nissuer = 'https://a'\n[token-issuer.b]\nissuer = 'https://a'",
            "token issuer b: another has this issuer",
        ),
        ("act-as = { otherwise = 'nobody' }", "storage area data: act-as: map is missing"),
        ("act-as = { map = '' }", "storage area data: act-as.map: expected a path"),
        ("token-endpoint = 'ovn'", "storage area data: there is no token-endpoint \"ovn\""),
        (
            &ENDPOINT.replace("https://storage", "storage"),
            "token endpoint own: issuer: \"storage.example.org\": expected a URL such as ",
        ),
        (
            &format!("{ENDPOINT}path = '/oauth/'"),
            "token endpoint own: path: \"/oauth/\": expected a path such as ",
        ),
        (&format!("{ENDPOINT}algorithm = 'none'"), "token endpoint own: algorithm: unknown value \"none\""),
        (
            &format!("{ENDPOINT}audiences = []"),
            "token endpoint own: audiences: expected at least one audience",
        ),
        (
            &format!("{ENDPOINT}lifetime = '500ms'"),
            "token endpoint own: lifetime: 500ms is out of range: 1s to ",
        ),
        (
            &format!("{ENDPOINT}lifetime = '2h'\nmax-lifetime = '1h'"),
            "token endpoint own: lifetime: a lifetime of 2h is longer than max-lifetime, 1h",
        ),
        (
            &format!("{ENDPOINT}max-requests = 1000001"),
            "token endpoint own: max-requests: 1000001 is out of range: 0 to ",
        ),
        (
            &format!("{ENDPOINT}\n[token-endpoint.b]\nissuer = 'https://storage.example.org'\nkey = '/k'"),
            "token endpoint b: another has this issuer",
        ),
        (
            &format!("{ENDPOINT}\n[token-issuer.b]\nissuer = 'https://storage.example.org'"),
            "token endpoint own: token issuer b is this issuer, too",
        ),
        ("\n[listener.b]\nbind = ':81'\nstorage = 'dada'", "listener b: there is no storage-area \"dada\""),
        (
            "\n[listener.b]\nbind = ':81'\nstorage = 'data'\npool = 'p'\n[pool.p]\nservers = 'a:1'",
            "listener b: only one of pool, storage can be there",
        ),
        (
            "\n[listener.b]\nbind = ':81'\nmode = 'tcp'\nstorage = 'data'",
            "listener b: storage: a listener with mode = \"tcp\" has no requests to answer",
        ),
    ] {
        let found = messages(&area(more));
        assert!(found.iter().any(|found| found.starts_with(message)), "{more}\n{found:#?}\n{message}");
    }
    let relative = area("").replace("/srv/data", "srv/data");
    assert_eq!(messages(&relative), ["storage area data: root: \"srv/data\" does not begin with a /"]);
}

#[test]
fn what_has_no_effect_is_warned_of() {
    let vos = area("\n[storage-area.data.access]\nvos = 'cms'\n");
    assert_eq!(
        messages(&vos),
        [
            "storage area data: access.vos: no effect: nobody says who is a member, neither a proxy of identity-from nor a map of vo-maps"
        ]
    );
    let told = area("identity-from = '10.0.0.5'\n[storage-area.data.access]\nvos = 'cms'\n");
    assert_eq!(messages(&told), [""; 0]);
    assert_round_trip(&told);
    let mapped = area("vo-maps = { cms = '/etc/weir/cms.csv' }\n[storage-area.data.access]\nvos = 'cms'\n");
    assert_eq!(messages(&mapped), [""; 0]);
    assert_round_trip(&mapped);
    assert_eq!(messages(&format!("{}{ISSUER}", area(""))), ["token issuer iam: no storage area names it"]);
    assert_eq!(
        messages(&format!("{}{ENDPOINT}", area(""))),
        ["token endpoint own: no storage area names it"]
    );
    let access = "\n[storage-area.data.access]\nissuers = 'https://iam.example.org/'\n";
    assert_eq!(
        messages(&format!("{}{ISSUER}", area(access))),
        [
            "token issuer iam: audiences is not set: tokens that https://iam.example.org/ issues for any other service are accepted \
             here, so that whoever runs such a service can read and write as its users"
        ]
    );
    let audiences = format!("{ISSUER}audiences = 'https://storage.example.org'\n");
    assert_eq!(messages(&format!("{}{audiences}", area(access))), [""; 0]);
    let unused = area("\n[storage-area.other]\nroot = '/'\n");
    assert_eq!(messages(&unused), ["storage area other is not used by any route, listener or pool"]);
}

#[test]
fn links_beside_rules_that_go_by_paths_are_warned_of() {
    let with = |symlinks: &str, paths: &str| {
        let policy = format!(
            "\n[[storage-area.data.access.policy]]\ndescription = 'd'\nactions = 'read'\n\
             principals = {{ type = 'anyone' }}\n{paths}"
        );
        messages(&area(&format!("symlinks = '{symlinks}'\n{policy}")))
    };
    let warning = "storage area data: symlinks: rules go by paths here, and a link may lead from a path that they permit to one \
                   that they deny";
    assert_eq!(with("inside-root", "paths = '/raw/**'"), [warning]);
    assert_eq!(with("inside-root", ""), [""; 0]);
    assert_eq!(with("owner-match", "paths = '/raw/**'"), [""; 0]);
    assert_eq!(with("never", "paths = '/raw/**'"), [""; 0]);
}

#[test]
fn an_area_of_a_wrong_name_is_suggested() {
    let wrong = area("").replace("storage = 'data'", "storage = 'dat'");
    assert!(complaints(&wrong).contains("did you mean \"data\"?"), "{}", complaints(&wrong));
}

#[test]
fn changed_areas_and_issuers_are_named() {
    let plan = |text: &str| load_text(text).unwrap().plan;
    let old = plan(&area(""));
    let access =
        "\n[storage-area.data.access]\nanonymous-read = true\nissuers = 'https://iam.example.org/'\n";
    let new = plan(&format!("{}{ISSUER}{ENDPOINT}", area(&format!("token-endpoint = 'own'\n{access}"))));
    let changes = diff(&old, &new);
    let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["storage area data changed", "token issuers changed", "token endpoints changed"]);
    assert_eq!(apply(&old, &changes), new);
    assert_eq!(diff(&new, &new), []);
}

#[test]
fn copies_between_servers_are_switched_on_per_area_and_ruled_for_all() {
    let copies = area(
        "third-party-copy = true\nthird-party-copy-rate = '10MiB/s'\n[third-party-copy]\nallow = ['*.Example.org', '192.0.2.7']\n\
         private = '10.1.2.3/8'\nclient-certificate = '/c.pem'\n",
    );
    assert_round_trip(&copies);
    let plan = load_text(&copies).unwrap().plan;
    assert_eq!(plan.storage_areas[0].third_party_copy_rate, 10 << 20);
    assert_eq!(plan.third_party_copy.rate_min, 10 << 10);
    let without = area("third-party-copy = true\n[third-party-copy]\nmin-rate = '0'\n");
    assert_round_trip(&without);
    assert_eq!(load_text(&without).unwrap().plan.third_party_copy.rate_min, 0);
    let rules = &plan.third_party_copy.rules;
    assert_eq!(
        rules.allow.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["*.example.org", "192.0.2.7/32"]
    );
    assert_eq!((rules.private[0].to_string(), rules.http), ("10.0.0.0/8".to_owned(), false));
    let before = load_text(&area("third-party-copy = true\n")).unwrap().plan;
    let changes = diff(&before, &plan);
    let texts: Vec<_> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["storage area data changed", "[third-party-copy] changed"]);
    assert_eq!(apply(&before, &changes), plan);
    for (more, message) in [
        (
            "third-party-copy-rate = '1MiB/s'",
            "storage area data: third-party-copy-rate: there are no such copies without third-party-copy = true",
        ),
        ("third-party-copy-rate = '1MiB'", "storage area data: third-party-copy-rate: expected "),
        ("[third-party-copy]\nallow = []", "third-party-copy.allow: expected at least one host or network"),
        ("[third-party-copy]\ndeny = 'https://a'", "third-party-copy.deny: expected a host name, "),
        (
            "[third-party-copy]\nprivate = 'inside'",
            "third-party-copy.private: \"inside\" is neither an IP address",
        ),
        ("[third-party-copy]\nmax-streams = 17", "third-party-copy.max-streams: 17 is out of range: 1 to 16"),
        (
            "[third-party-copy]\nmarker-interval = '6s'",
            "third-party-copy.marker-interval: 6s is out of range",
        ),
        ("[third-party-copy]\nanswer-timeout = '0s'", "third-party-copy.answer-timeout: 0s is out of range"),
        ("[third-party-copy]\nmin-rate = '1KiB'", "third-party-copy.min-rate: expected "),
        ("[third-party-copy]\nidle-timeout = '0s'", "third-party-copy.idle-timeout: 0s is out of range"),
    ] {
        let found = messages(&area(more));
        assert!(found.iter().any(|found| found.starts_with(message)), "{more}\n{found:#?}\n{message}");
    }
    let alone = "[listener.web]\nbind = ':80'\npool = 'p'\n[pool.p]\nservers = 'a:1'\n[third-party-copy]\nhttp = true\n";
    assert_eq!(
        messages(alone),
        ["third-party-copy: there is no storage area that files could be copied to or from"]
    );
}
