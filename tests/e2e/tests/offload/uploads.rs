//! Tests of uploads that servers authorize without receiving the body.

mod turns;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{Message, PATIENCE, RawClient, RawServer, Response, TempDir, wait_until};

/// A Weir whose pool authorizes uploads into the area `data`.
struct Site {
    weir: Weir,
    server: RawServer,
    root: TempDir,
}

const YES: &str = "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /internal/f\r\nContent-Length: 0\r\n\r\n";
const CREATED: &str = "HTTP/1.1 201 Created\r\nLocation: /f\r\nX-Accel-Redirect: /internal/other\r\nContent-Length: 4\r\n\r\ndone";

impl Site {
    /// Starts a site whose server responds as `respond` says.
    fn new(respond: impl Fn(&Message) -> String + Send + Sync + 'static) -> Self {
        let root = TempDir::new().unwrap();
        let server = RawServer::responding(move |message| respond(message).into_bytes());
        let weir = Weir::start(&config(&server, &root));
        Self { weir, server, root }
    }

    /// Starts a site whose server responds so to the request before and the one after the upload.
    fn saying(before: &'static str, after: &'static str) -> Self {
        Self::new(move |message| match message.header("x-weir-upload").as_deref() {
            Some("begin") => before.to_owned(),
            _ => after.to_owned(),
        })
    }

    #[track_caller]
    fn put(&self, lines: &str, body: &str) -> Response {
        self.weir.client().exchange(put(lines, body))
    }

    /// Returns the content of a file in the area.
    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root.path().join(name)).ok()
    }

    /// Returns the visible names in the area. Waits first until no temporary files are left.
    #[track_caller]
    fn names(&self) -> Vec<String> {
        wait_until("the end of what is not complete", PATIENCE, || {
            !all_names(&self.root).iter().any(|name| name.starts_with(".weir-tmp"))
        });
        all_names(&self.root).into_iter().filter(|name| !name.starts_with(".weir-")).collect()
    }

    fn asked(&self) -> String {
        String::from_utf8_lossy(&self.server.received_in_all()).into_owned()
    }
}

fn all_names(root: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(root.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn config(server: &RawServer, root: &TempDir) -> String {
    format!(
        "{}\n[pool.web.offload]\nuploads = true\n[[pool.web.offload.location]]\nprefix = \"/internal\"\nstorage-area = \"data\"\n\
         [[pool.web.offload.location]]\nprefix = \"/plain\"\nroot = \"{root}\"\n\
         [storage-area.data]\nroot = \"{root}\"\nchecksums = [\"adler32\", \"md5\"]\n",
        weir_e2e::web(&[server.addr()]),
        root = root.path().display()
    )
}

fn put(lines: &str, body: &str) -> String {
    format!("PUT /f HTTP/1.1\r\nHost: a.example\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn an_upload_is_asked_about_twice_and_stored_without_its_server() {
    let site = Site::saying(YES, CREATED);
    let mut client = site.weir.client();
    let lines = "Authorization: Bearer x\r\nX-Weir-Upload: complete\r\nX-Weir-Upload-Size: 999\r\n";
    let response = client.exchange(put(lines, "hello"));
    assert_eq!((response.status, response.text().as_str()), (201, "done"));
    assert_eq!((response.header("location"), response.header("x-accel-redirect")), (Some("/f"), None));
    assert_eq!(site.read("f").as_deref(), Some("hello"));
    let asked = site.asked();
    let questions: Vec<&str> = asked.split_inclusive("\r\n\r\n").collect();
    assert_eq!(questions.len(), 2, "{asked}");
    assert!(!asked.contains("hello") && !asked.contains("Upload-Size: 999"), "{asked}");
    let id = |question: &str| {
        let (_, rest) = question.split_once("X-Weir-Upload-Id: ").unwrap();
        rest.split_once("\r\n").unwrap().0.to_owned()
    };
    assert_eq!(id(questions[0]), id(questions[1]));
    assert_eq!(id(questions[0]).len(), 32);
    for question in &questions {
        assert!(question.starts_with("PUT /f HTTP/1.1\r\n"), "{question}");
        assert_eq!(question.matches("Content-Length: 0\r\n").count(), 1, "{question}");
        assert_eq!(question.matches("X-Weir-Upload: ").count(), 1, "{question}");
        assert!(question.contains("Authorization: Bearer x\r\n"), "{question}");
    }
    assert!(
        questions[0].contains("X-Weir-Upload: begin\r\n")
            && questions[0].contains("X-Weir-Upload-Length: 5\r\n")
    );
    for line in [
        "X-Weir-Upload: complete\r\n",
        "X-Weir-Upload-Size: 5\r\n",
        "X-Weir-Upload-Target: /internal/f\r\n",
        "X-Weir-Upload-Digest: adler32=062c0215,md5=",
    ] {
        assert!(questions[1].contains(line), "{line}: {}", questions[1]);
    }
    // The client's connection stays open, and so does the server's.
    assert_eq!(client.exchange(put("", "second")).status, 201);
    assert_eq!(site.read("f").as_deref(), Some("second"));
    assert_eq!(site.server.connections(), 1);
    assert_eq!(site.names(), ["f"]);
}

#[test]
fn what_is_denied_is_not_stored_and_its_body_not_asked_for() {
    const DENIED: &str = "HTTP/1.1 403 Forbidden\r\nX-Accel-Redirect: /internal/f\r\nWww-Authenticate: x\r\nContent-Length: 5\r\n\r\nnever";
    let site = Site::saying(DENIED, CREATED);
    let mut client = site.weir.client();
    client.send("PUT /f HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    // The refusal comes first, without a 100.
    let response = client.response();
    assert_eq!((response.status, response.text().as_str()), (403, "never"));
    assert_eq!((response.header("www-authenticate"), response.header("x-accel-redirect")), (Some("x"), None));
    assert!(response.says_close());
    // A client that does not wait gets the same refusal, and its body is never parsed as a request.
    let mut client = site.weir.client();
    client.send(put("", "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(client.response().status, 403);
    client.read_to_end();
    assert!(!site.asked().contains("smuggled"), "{}", site.asked());
    assert_eq!(site.names(), [""; 0]);
}

#[test]
fn a_client_that_waits_is_told_to_go_on_when_it_may() {
    let site = Site::saying(YES, CREATED);
    let mut client = site.weir.client();
    client.send("PUT /f HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.response().status, 100);
    assert!(site.asked().contains("X-Weir-Upload: begin") && !site.asked().contains("complete"));
    client.send("hello");
    assert_eq!(client.final_response().status, 201);
    assert_eq!(site.read("f").as_deref(), Some("hello"));
}

#[test]
fn what_servers_say_before_an_answer_is_not_for_the_client() {
    const EARLY: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let site = Site::new(|message| match message.header("x-weir-upload").as_deref() {
        Some("begin") if message.header("x-no").is_some() => {
            format!("{EARLY}HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        }
        Some("begin") => format!("{EARLY}{YES}"),
        _ => format!("{EARLY}{CREATED}"),
    });
    let ask = |lines: &str| {
        let mut client = site.weir.client();
        client.send(format!(
            "PUT /f HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{lines}Content-Length: 5\r\n\r\n"
        ));
        client
    };
    // A 100 would make the client send an unwanted body.
    assert_eq!(ask("X-No: 1\r\n").response().status, 403);
    let mut client = ask("");
    assert_eq!(client.response().status, 100);
    client.send("hello");
    assert_eq!(client.response().status, 201);
    assert_eq!(site.read("f").as_deref(), Some("hello"));
}

#[test]
fn what_is_refused_afterwards_leaves_what_was_there() {
    const NO: &str = "HTTP/1.1 422 No\r\nContent-Length: 7\r\n\r\nmagic 4";
    let site = Site::saying(YES, NO);
    std::fs::write(site.root.path().join("f"), "old").unwrap();
    let mut client = site.weir.client();
    let response = client.exchange(put("", "new"));
    assert_eq!((response.status, response.text().as_str()), (422, "magic 4"));
    assert_eq!(site.read("f").as_deref(), Some("old"));
    assert_eq!(site.names(), ["f"]);
    // The whole body was read, so the connection stays usable.
    assert_eq!(client.exchange(put("", "new")).status, 422);
}

#[test]
fn nobody_sees_the_file_before_its_server_has_said_yes() {
    let (ask, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let site = Site::new(move |message| {
        if message.header("x-weir-upload").as_deref() == Some("begin") {
            return YES.to_owned();
        }
        ask.send(()).unwrap();
        let _ = answers.lock().unwrap().recv_timeout(PATIENCE);
        CREATED.to_owned()
    });
    std::fs::write(site.root.path().join("f"), "old").unwrap();
    let mut client = site.weir.client();
    client.send(put("", "new"));
    asked.recv_timeout(PATIENCE).unwrap();
    assert_eq!(site.read("f").as_deref(), Some("old"));
    assert!(client.is_quiet(Duration::from_millis(50)));
    answer.send(()).unwrap();
    assert_eq!(client.final_response().status, 201);
    assert_eq!(site.read("f").as_deref(), Some("new"));
}

#[test]
fn a_server_that_dies_between_the_questions_stores_nothing() {
    let root = TempDir::new().unwrap();
    std::fs::write(root.path().join("f"), "old").unwrap();
    let server = RawServer::start(|peer| {
        let Ok(request) = peer.request() else { return Ok(()) };
        match request.header("x-weir-upload").as_deref() {
            Some("begin") => peer.send(YES),
            _ => Ok(()),
        }
        // The connection ends: the second request gets no response.
    });
    let site = Site { weir: Weir::start(&config(&server, &root)), server, root };
    assert_eq!(site.put("", "new").status, 502);
    assert_eq!(site.read("f").as_deref(), Some("old"));
    assert_eq!(site.names(), ["f"]);
}

#[test]
fn what_came_otherwise_than_it_was_sent_is_not_asked_about() {
    let site = Site::saying(YES, CREATED);
    for line in ["Digest: adler32=00000001\r\n", "Repr-Digest: md5=:AAAAAAAAAAAAAAAAAAAAAA==:\r\n"] {
        let response = site.put(line, "hello");
        assert_eq!(response.status, 400, "{line}: {}", response.text());
    }
    assert_eq!(site.put("Digest: adler32=062c0215\r\n", "hello").status, 201);
    assert_eq!(site.put("Content-Encoding: gzip\r\n", "hello").status, 415);
    assert_eq!(site.asked().matches("X-Weir-Upload: complete").count(), 1);
}

#[test]
fn a_client_that_goes_leaves_nothing() {
    let site = Site::saying(YES, CREATED);
    let mut client = site.weir.client();
    client.send("PUT /f HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
    client.send(vec![b'x'; 1_000_000]);
    wait_until("the upload", PATIENCE, || {
        all_names(&site.root).iter().any(|name| name.starts_with(".weir-tmp"))
    });
    client.reset();
    assert_eq!(site.names(), [""; 0]);
    assert!(!site.asked().contains("complete"));
}

#[test]
fn chunks_and_large_bodies_come_whole() {
    let site = Site::saying(YES, CREATED);
    let chunked =
        "PUT /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let mut client = site.weir.client();
    assert_eq!(client.exchange(chunked).status, 201);
    assert_eq!(site.read("f").as_deref(), Some("abcde"));
    assert!(!site.asked().contains("X-Weir-Upload-Length"), "{}", site.asked());
    assert!(!site.asked().to_lowercase().contains("transfer-encoding"), "{}", site.asked());
    let large = "0123456789".repeat(1_000_000);
    assert_eq!(client.exchange(put("", &large)).status, 201);
    assert!(site.read("f").as_deref() == Some(&large));
    // An empty upload is handled in the same way.
    assert_eq!(client.exchange(put("", "")).status, 201);
    assert_eq!(site.read("f").as_deref(), Some(""));
}

#[test]
fn a_body_that_grows_over_the_limit_of_its_route_is_not_asked_about() {
    let root = TempDir::new().unwrap();
    let server = RawServer::responding(|_| YES.into());
    let route = "[[route]]\npath = \"/\"\npool = \"web\"\nmax-body = \"4B\"\n";
    let site = Site { weir: Weir::start(&format!("{}{route}", config(&server, &root))), server, root };
    let chunked =
        "PUT /f HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(site.weir.client().exchange(chunked).status, 413);
    assert_eq!(site.names(), [""; 0]);
    assert!(!site.asked().contains("complete"), "{}", site.asked());
}

#[test]
fn what_follows_an_upload_on_its_connection_is_the_next_request() {
    let site = Site::new(|message| match message.header("x-weir-upload").as_deref() {
        Some("begin") => YES.to_owned(),
        Some(_) => CREATED.to_owned(),
        None => "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext".to_owned(),
    });
    let mut client = site.weir.client();
    client.send(format!("{}GET /g HTTP/1.1\r\nHost: a\r\n\r\n", put("", "hello")));
    assert_eq!(client.final_response().status, 201);
    assert_eq!(client.final_response().text(), "next");
    assert_eq!(site.read("f").as_deref(), Some("hello"));
}

#[test]
fn an_upload_over_tls_comes_whole() {
    let (root, files) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let authority = Authority::new("test authority");
    std::fs::write(files.path().join("ca.pem"), authority.pem()).unwrap();
    let issued = authority.issue(&Request::names(&["127.0.0.1"])).write_to(files.path(), "site");
    let tls = format!(
        "[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n",
        issued.certificate.display(),
        issued.key.display()
    );
    let server = RawServer::responding(|message| match message.header("x-weir-upload").as_deref() {
        Some("begin") => YES.into(),
        _ => CREATED.into(),
    });
    let site = Site { weir: Weir::start(&format!("{}{tls}", config(&server, &root))), server, root };
    let content = weir_testkit::pattern(3_000_000);
    std::fs::write(files.path().join("f"), &content).unwrap();
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--max-time", "60", "-w", "%{http_code}", "--cacert"]).arg(files.path().join("ca.pem"));
    let output = curl
        .arg("-T")
        .arg(files.path().join("f"))
        .arg(format!("https://{}/f", site.weir.addr("web")))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(told, "done201");
    assert!(std::fs::read(site.root.path().join("f")).unwrap() == content);
    assert!(site.asked().contains("X-Weir-Upload-Size: 3000000\r\n"), "{}", site.asked());
}

#[test]
fn a_yes_without_a_place_is_no_yes() {
    let site = Site::saying("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", CREATED);
    assert_eq!(site.put("", "hello").status, 502);
    for place in ["/plain/f", "/none/f", "/internal/../f", "/internal/", "/internal/d/"] {
        let yes = format!("HTTP/1.1 200 OK\r\nX-Accel-Redirect: {place}\r\nContent-Length: 0\r\n\r\n");
        let site = Site::new(move |_| yes.clone());
        assert_eq!(site.put("", "hello").status, 502, "{place}");
        assert_eq!(site.names(), [""; 0]);
    }
    let site = Site::new(|_| {
        "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /internal/no/f\r\nContent-Length: 0\r\n\r\n".into()
    });
    assert_eq!(site.put("", "hello").status, 409);
}

#[test]
fn a_server_that_knows_nothing_of_the_question_is_no_bad_one() {
    let site = Site::saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", CREATED);
    // More errors than would eject the server.
    for _ in 0..20 {
        assert_eq!(site.put("", "hello").status, 502);
    }
    let metrics = site.weir.metrics();
    assert_eq!(metrics.get("weir_pool_response_errors_total", &["pool=\"web\""]), 0.0);
}

#[test]
fn what_clients_have_uploaded_keeps_its_sandbox_when_a_server_names_it() {
    let site = Site::new(|message| {
        let head = String::from_utf8_lossy(&message.head).into_owned();
        let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
        format!("HTTP/1.1 200 OK\r\nX-Accel-Redirect: /internal{target}\r\nContent-Length: 0\r\n\r\n")
    });
    for (name, sandbox) in
        [("page.html", Some("sandbox")), ("drawing.svg", Some("sandbox")), ("text.txt", None)]
    {
        std::fs::write(site.root.path().join(name), "<script>alert(1)</script>").unwrap();
        let sent = site.weir.client().exchange(format!("GET /{name} HTTP/1.1\r\nHost: a.example\r\n\r\n"));
        assert_eq!((sent.status, sent.text().as_str()), (200, "<script>alert(1)</script>"), "{name}");
        assert_eq!(sent.header("content-security-policy"), sandbox, "{name}");
        assert_eq!(sent.header("x-content-type-options"), Some("nosniff"), "{name}");
    }
}

#[test]
fn a_part_of_a_file_goes_to_its_server() {
    let site = Site::saying(YES, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    for line in ["Content-Range: bytes 0-4/10", "Upload-Complete: ?0", "Upload-Offset: 0"] {
        assert_eq!(site.put(&format!("{line}\r\n"), "hello").status, 201);
        assert!(site.asked().ends_with("hello") && !site.asked().contains("X-Weir-Upload"), "{line}");
    }
    assert_eq!(site.names(), [""; 0]);
}

#[test]
fn the_client_gets_the_second_answer_only() {
    // Also if the first response has more than the required header.
    let said = Arc::new(AtomicBool::new(false));
    let tells = Arc::clone(&said);
    let site = Site::new(move |message| {
        if message.header("x-weir-upload").as_deref() == Some("begin") {
            let body = "not for the client";
            return format!(
                "HTTP/1.1 200 OK\r\nX-Accel-Redirect: /internal/f\r\nSet-Cookie: a=1\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
        tells.store(true, Ordering::SeqCst);
        "HTTP/1.1 204 No Content\r\nETag: \"1\"\r\n\r\n".to_owned()
    });
    let mut client: RawClient = site.weir.client();
    let response = client.exchange(put("", "hello"));
    assert_eq!((response.status, response.header("etag")), (204, Some("\"1\"")));
    assert_eq!(response.header("set-cookie"), None);
    assert!(said.load(Ordering::SeqCst));
}

/// A tmpfs of this size; dropping it unmounts.
struct Small(TempDir);

impl Small {
    /// Mounts it. Returns `None` if this machine does not permit mounts.
    fn new(bytes: u32) -> Option<Self> {
        let place = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "weir-test"]).arg(place.path());
        let mounted = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then_some(Self(place))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_said_so_and_leaves_what_was_there() {
    let Some(disk) = Small::new(256 * 1024) else {
        return weir_testkit::untested("nothing can be mounted here");
    };
    std::fs::write(disk.0.path().join("f"), "old").unwrap();
    let server = RawServer::responding(|message| {
        let yes = message.header("x-weir-upload").as_deref() == Some("begin");
        if yes { YES.into() } else { CREATED.into() }
    });
    let weir = Weir::start(&config(&server, &disk.0));
    let mut client = weir.client();
    // The disk is full according to Content-Length, or only when the data comes.
    for size in [2_000_000, 600_000] {
        client.send(format!(
            "PUT /f HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: {size}\r\n\r\n"
        ));
        let mut response = client.response();
        if response.status == 100 {
            let _ = client.try_send(vec![b'x'; size]);
            response = client.response();
        }
        assert_eq!(response.status, 507, "{size}: {}", response.text());
        assert_eq!(std::fs::read_to_string(disk.0.path().join("f")).unwrap(), "old");
        client = weir.client();
    }
    assert!(!String::from_utf8_lossy(&server.received_in_all()).contains("complete"));
    assert_eq!(client.exchange(put("", "new")).status, 201);
    assert_eq!(std::fs::read_to_string(disk.0.path().join("f")).unwrap(), "new");
}
