//! Tests that path rules apply to every spelling of a path, and that a server gets only paths that the rules
//! have seen.

use weir_e2e::{Weir, get};
use weir_testkit::{RawServer, TempDir};

use crate::seen;

/// Starts a listener with these keys, whose route `/admin` is denied, and a server for all other paths.
fn closed_admin(listener: &str) -> (Weir, RawServer) {
    let server = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n{listener}\n\
         [[route]]\npath = \"/admin\"\nrespond = 403\n\n\
         [pool.web]\nservers = \"{}\"\nreuse = false\n\n[weir]\nworkers = 1\n",
        server.addr()
    );
    (Weir::start(&config), server)
}

/// Sends a request for this target and returns the target that the server got.
fn target(weir: &Weir, server: &RawServer, sent: &[u8]) -> String {
    let before = server.received_in_all().len();
    let request = [b"GET ", sent, b" HTTP/1.1\r\nHost: a.example\r\n\r\n"].concat();
    let response = weir.client().exchange(request);
    assert_eq!(response.status, 200, "{}", sent.escape_ascii());
    let received = String::from_utf8(server.received_in_all().split_off(before)).unwrap();
    received.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_denied_path_is_denied_or_refused_in_every_spelling() {
    let (weir, server) = closed_admin("");
    let denied = [
        "/admin",
        "/admin/",
        "/admin/users?x",
        "/%61dmin",
        "/%61%64%6D%69%6e/x",
        "//admin",
        "/./admin",
        "/x/../admin",
        "/public/%2e%2e/admin",
        "/public/.%2E//admin/x",
        "/admin/x/..",
        "/admin;v=1",
        "/admin;/x",
        "/;x/admin",
        "http://a.example/x/../admin",
        "http://a.example//admin",
    ];
    let refused = [
        "/public/..;/admin",
        "/public/%2e%2e%3bx/admin",
        "/public/..%2fadmin",
        "/public%2F..%2fadmin",
        "/admin%2fx",
        "/public/..\\admin",
        "\\admin",
        "/public/%5c..%5c..%5cadmin",
        "/admin%00",
        "/../admin",
        "/x/../../admin",
        "/%2e%2e/admin",
        "/%u0061dmin",
        "/admin%",
        "/%zdmin",
    ];
    let mut client = weir.client();
    for (spelling, expected) in
        denied.iter().map(|path| (path, 403)).chain(refused.iter().map(|path| (path, 400)))
    {
        let response = client.exchange(get(spelling));
        assert_eq!(response.status, expected, "{spelling}");
        // A request that was parsed does not close the connection.
        match spelling.starts_with('\\') {
            true => client = weir.client(),
            false => assert!(!response.says_close(), "{spelling}"),
        }
    }
    assert_eq!(server.connections(), 0);
}

/// Small random number generator. Its seed is printed with a failure.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // Knuth's constants for 64 bits.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Returns a spelling of `/admin/x`, or of a path that a careless server could take for it.
fn spelling(random: &mut Random) -> String {
    const BETWEEN: [&str; 24] = [
        "/",
        "/",
        "/",
        "//",
        "/./",
        "/%2e/",
        "/a/../",
        "/a/%2E%2e/",
        "/a/.%2e/",
        "/a/b/../../",
        "/;/",
        "/;a/",
        "/.;/",
        "/a/..;/",
        "/a/..;b/",
        "/a/..%3b/",
        "\\",
        "%5c",
        "%2f",
        "%2F",
        "/a/..%2f",
        "/a/..\\",
        "/../",
        "/a%00/../",
    ];
    let mut path = String::new();
    for name in ["admin", "x"] {
        path.push_str(random.one(&BETWEEN));
        for byte in name.bytes() {
            match random.below(4) {
                0 => path.push_str(&format!("%{byte:02x}")),
                1 => path.push_str(&format!("%{byte:02X}")),
                _ => path.push(char::from(byte)),
            }
        }
        path.push_str(random.one(&["", "", "", ";a", ";a=b/", "%3ba", "/.", "%00", "?/../", "%", "%20"]));
    }
    path
}

/// Way in which a server decodes a path and splits it into names.
#[derive(Debug, Clone, Copy)]
struct Reader {
    /// Order of removing parameters and decoding. `Some(true)` removes them before, `Some(false)` after,
    /// `None` keeps them.
    parameters: Option<bool>,
    /// True if decoded slashes separate segments, too.
    decodes_slashes: bool,
    backslash_is_slash: bool,
    ends_at_nul: bool,
}

impl Reader {
    fn all() -> impl Iterator<Item = Self> {
        let flags = (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0));
        flags.flat_map(|(decodes_slashes, backslash_is_slash, ends_at_nul)| {
            [None, Some(true), Some(false)].map(|parameters| Self {
                parameters,
                decodes_slashes,
                backslash_is_slash,
                ends_at_nul,
            })
        })
    }

    fn names(self, target: &str) -> Vec<Vec<u8>> {
        let path = target.split('?').next().unwrap_or_default();
        let mut text = Vec::new();
        for segment in path.split('/') {
            let cut = |text: &[u8]| text.split(|byte| *byte == b';').next().unwrap_or_default().to_vec();
            let segment = match self.parameters {
                None => decoded(segment.as_bytes()),
                Some(true) => decoded(&cut(segment.as_bytes())),
                Some(false) => cut(&decoded(segment.as_bytes())),
            };
            text.push(b'/');
            match self.decodes_slashes {
                true => text.extend(segment),
                // Stands for a decoded slash that does not separate segments.
                false => text.extend(segment.into_iter().map(|byte| if byte == b'/' { 1 } else { byte })),
            }
        }
        if self.ends_at_nul {
            text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        }
        let is_slash = |byte: &u8| *byte == b'/' || (self.backslash_is_slash && *byte == b'\\');
        let mut names: Vec<Vec<u8>> = Vec::new();
        for name in text.split(is_slash) {
            match name {
                b"" | b"." => {}
                b".." => drop(names.pop()),
                name => names.push(name.to_vec()),
            }
        }
        names
    }
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%');
        out.push(value.unwrap_or(*byte));
        rest = if value.is_some() { &tail[2..] } else { tail };
    }
    out
}

#[test]
fn no_server_however_it_reads_paths_gets_a_denied_one() {
    let (weir, server) = closed_admin("");
    let seed = u64::from(std::process::id());
    let mut random = Random(seed);
    let mut client = weir.client();
    let mut statuses = [0; 600];
    for _ in 0..3_000 {
        let spelling = spelling(&mut random);
        let response = client.exchange(get(&spelling));
        assert!(matches!(response.status, 200 | 400 | 403), "seed {seed}: {spelling}: {}", response.status);
        statuses[usize::from(response.status)] += 1;
        if response.says_close() {
            client = weir.client();
        }
    }
    assert!([200, 400, 403].into_iter().all(|status| statuses[status] > 20), "seed {seed}: {statuses:?}");
    let received = String::from_utf8(server.received_in_all()).unwrap();
    let targets = received.lines().filter_map(|line| line.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1"));
    for target in targets {
        for reader in Reader::all() {
            let names = reader.names(target);
            assert_ne!(
                names.first().map(Vec::as_slice),
                Some(&b"admin"[..]),
                "seed {seed}: {target}: {reader:?}"
            );
        }
    }
}

#[test]
fn a_server_gets_the_path_without_dot_segments_and_otherwise_as_it_was_sent() {
    let (weir, server) = closed_admin("");
    for (sent, expected) in [
        (&b"/a/../b?c/../d"[..], "/b?c/../d"),
        (b"//a///b/./", "/a/b/"),
        (b"/a%20b/%7Ec/%c3%A9;v=1", "/a%20b/%7Ec/%c3%A9;v=1"),
        (b"http://a.example/x/%2e%2e/y", "/y"),
        (b"/a+b/(c)/%2B%28", "/a+b/(c)/%2B%28"),
        (b"/%2561dmin", "/%2561dmin"),
        (b"/caf\xc3\xa9/\xff?q=\xe9", "/caf%C3%A9/%FF?q=%E9"),
    ] {
        assert_eq!(target(&weir, &server, sent), expected, "{}", sent.escape_ascii());
    }
}

#[test]
fn a_request_whose_path_was_resolved_keeps_its_body_and_what_follows_it() {
    let (weir, server) = closed_admin("");
    let request = "POST /a/b/../c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    let mut client = weir.client();
    client.send([request, &get("/x/../admin"), request, &get("//d")].concat());
    let statuses: Vec<u16> = (0..4).map(|_| client.response().status).collect();
    assert_eq!(statuses, [200, 403, 200, 200]);
    let received = String::from_utf8(server.received_in_all()).unwrap();
    assert_eq!(received.matches("POST /a/c HTTP/1.1\r\n").count(), 2, "{received}");
    assert_eq!(received.matches("\r\n\r\nhello").count(), 2, "{received}");
    assert_eq!(received.matches("GET /d HTTP/1.1\r\n").count(), 1, "{received}");
    // Sends the same bytes one at a time.
    let mut client = weir.client();
    for byte in request.bytes() {
        client.send([byte]);
    }
    assert_eq!(client.response().status, 200);
}

#[test]
fn what_is_ambiguous_passes_where_a_key_says_how_to_read_it() {
    let keys = "[listener.web.paths]\nencoded-slash = \"keep\"\nparameters = \"keep\"\nbackslash = \"keep\"\n\
                merge-slashes = false\nabove-root = \"stay\"\nbad-escape = \"keep\"\nnul = \"keep\"\n";
    let (weir, server) = closed_admin(keys);
    for (sent, expected) in [
        ("/projects/a%2Fb", "/projects/a%2Fb"),
        ("/a;v/..;/b", "/a;v/..;/b"),
        ("/a\\b%5c", "/a%5Cb%5c"),
        ("//bucket//key", "//bucket//key"),
        ("/../../a", "/a"),
        ("/100%/%zz", "/100%/%zz"),
        ("/a%00", "/a%00"),
    ] {
        assert_eq!(target(&weir, &server, sent.as_bytes()), expected, "{sent}");
    }
    assert_eq!(weir.client().exchange(get("/x/../%61dmin")).status, 403);
    let (weir, _server) =
        closed_admin("[listener.web.paths]\nencoded-slash = \"decode\"\nbackslash = \"slash\"\n");
    for path in ["/x%2f..%2Fadmin", "/x\\..\\admin", "/%5cadmin", "/admin%2fx"] {
        assert_eq!(weir.client().exchange(get(path)).status, 403, "{path}");
    }
}

#[test]
fn without_rules_a_path_is_compared_and_sent_as_it_came() {
    let (weir, server) = closed_admin("paths = false");
    for path in ["/%61dmin", "//admin", "/x/../admin", "/a%2fb", "/..;/a\\b"] {
        assert_eq!(target(&weir, &server, path.as_bytes()), path);
    }
    assert_eq!(weir.client().exchange(get("/admin")).status, 403);
}

#[test]
fn rewrites_redirects_and_limits_go_by_the_same_path() {
    let server = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
         [[route]]\npath = \"/api\"\npool = \"web\"\nrewrite = {{ prefix = \"/api\", to = \"/v1\" }}\n\n\
         [[route]]\npath = \"/up\"\npool = \"web\"\nmax-body = \"4B\"\n\n\
         [[route]]\npath = \"/old\"\nredirect = \"{{path}}/\"\n\n\
         [pool.web]\nservers = \"{}\"\nreuse = false\n\n[weir]\nworkers = 1\n",
        server.addr()
    );
    let weir = Weir::start(&config);
    for (sent, expected) in [
        ("/%61pi/x%20y", "/v1/x%20y"),
        ("/api;v=2/x", "/v1/x"),
        ("//api//x", "/v1/x"),
        ("/x/../api/%78", "/v1/%78"),
        ("/apis", "/apis"),
    ] {
        assert_eq!(target(&weir, &server, sent.as_bytes()), expected, "{sent}");
    }
    for path in ["/up/x", "/u%70/x", "/x/../up"] {
        let request = format!("PUT {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        assert_eq!(weir.client().exchange(request).status, 413, "{path}");
    }
    for (path, location) in [("/ol%64/x", "/ol%64/x/"), ("//old", "/old/"), ("/old/..//old//b", "/old/b/")] {
        let response = weir.client().exchange(get(path));
        assert_eq!((response.status, response.header("location")), (308, Some(location)), "{path}");
    }
}

#[test]
fn a_route_before_a_storage_area_holds_for_every_spelling() {
    let root = TempDir::new().unwrap();
    std::fs::create_dir(root.path().join("private")).unwrap();
    std::fs::write(root.path().join("private/key"), "secret").unwrap();
    std::fs::write(root.path().join("a\\b"), "backslash").unwrap();
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\n\
         [[route]]\npath = \"/private\"\nrespond = 403\n\n\
         [storage-area.data]\nroot = \"{}\"\n\n[storage-area.data.access]\nanonymous-read = true\n\n\
         [[storage-area.data.access.policy]]\ndescription = \"all\"\neffect = \"permit\"\nactions = \"all\"\n\
         principals = {{ type = \"anyone\" }}\n",
        root.path().display()
    );
    let weir = Weir::start(&config);
    for (path, status) in [
        ("/private/key", 403),
        ("/%70rivate/key", 403),
        ("//private/key", 403),
        ("/x/../private/key", 403),
        ("/private;a/key", 403),
        ("/x/..%2fprivate/key", 400),
        ("/x/..;/private/key", 400),
        ("/../private/key", 400),
        ("/a%5Cb", 200),
        ("/a\\b", 200),
    ] {
        let response = weir.client().exchange(get(path));
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert!(!response.text().contains("secret"), "{path}");
    }
    let copy = "COPY /a%5Cb HTTP/1.1\r\nHost: a\r\nDestination: /%70rivate/c\r\n\r\n";
    assert_eq!(weir.client().exchange(copy).status, 403);
    assert!(!root.path().join("private/c").exists());
}

#[test]
fn a_destination_is_denied_as_a_request_for_it_would_be() {
    let (weir, server) = closed_admin("");
    let status = |method: &str, lines: &str| {
        let request = format!("{method} /a HTTP/1.1\r\nHost: a.example\r\n{lines}\r\n");
        weir.client().exchange(request).status
    };
    for destination in [
        "/admin/x",
        "/x/../%61dmin",
        "//admin/x",
        "http://a.example/admin",
        "https://A.example:8443/%61dmin",
        "http://a.example//admin",
        "/x/..;/admin",
        "/x/..%2fadmin",
        "../admin",
        "admin",
        "http:/admin",
        "http://a.example\\admin",
        "http://u@a.example/admin",
    ] {
        for method in ["COPY", "MOVE"] {
            let status = status(method, &format!("Destination: {destination}\r\n"));
            assert!(matches!(status, 400 | 403), "{method} {destination}: {status}");
        }
    }
    assert_eq!(status("MOVE", "Destination: /b\r\nDestination: /c\r\n"), 400);
    assert_eq!(server.connections(), 0);
    assert_eq!(status("COPY", "Destination: https://other.example/admin\r\n"), 403);
    assert_eq!(server.connections(), 0);
    assert_eq!(status("COPY", "Destination: https://other.example/b\r\n"), 200);
    // Other methods ignore the header.
    assert_eq!(status("GET", "Destination: Paris\r\n"), 200);
    let moved = "MOVE /a HTTP/1.1\r\nHost: a.example\r\nDestination: http://a.example/x/../b%20c?d\r\n\r\n";
    assert_eq!(crate::values(&seen(&weir, &server, moved), "destination"), ["http://a.example/b%20c?d"]);
}

#[test]
fn options_of_the_server_as_a_whole_is_answered() {
    let config = "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\npath = \"/a\"\nrespond = 403\n";
    let weir = Weir::start(config);
    let response = weir.client().exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(response.status, 200);
    assert!(response.header("allow").is_some_and(|allow| allow.contains("OPTIONS")));
    let (weir, server) = closed_admin("");
    let received = seen(&weir, &server, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(received.starts_with("OPTIONS * HTTP/1.1\r\n"), "{received}");
}
