//! Tests NGINX in front of a storage area, for which it only sends the files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};

use weir_e2e::Weir;
use weir_testkit::{Child, PATIENCE, RawClient, RawServer, Response, TempDir, wait_until};

use crate::tool;

struct Front {
    weir: Weir,
    root: TempDir,
    socket: PathBuf,
    _nginx: Child,
    _files: TempDir,
}

impl Front {
    fn new() -> Self {
        let (root, files) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let weir = Weir::start(&format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
             [storage-area.data]\nroot = \"{}\"\naccess-points = \"/data\"\nchecksums = \"adler32\"\n\
             third-party-copy = true\n\
             [storage-area.data.accel-redirect]\nprefix = \"/protected files/\"\ntrusted = \"127.0.0.1\"\n\
             [storage-area.data.access]\nanonymous-read = true\n\
             [[storage-area.data.access.policy]]\ndescription = \"secret\"\nactions = \"all\"\npaths = \"/secret/**\"\n\
             principals = {{ type = \"anyone\" }}\n\
             [[storage-area.data.access.policy]]\ndescription = \"write\"\neffect = \"permit\"\nactions = \"write\"\n\
             principals = {{ type = \"anyone\" }}\n\
             [third-party-copy]\nhttp = true\nprivate = \"127.0.0.0/8\"\n",
            root.path().display()
        ));
        let (here, area) = (files.path().display(), root.path().display());
        let socket = files.path().join("nginx.sock");
        let config = format!(
            "daemon off; pid {here}/pid; error_log stderr; worker_processes 1; master_process off;\n\
             events {{}}\n\
             http {{ access_log off; client_body_temp_path {here}/b; proxy_temp_path {here}/p; fastcgi_temp_path {here}/f;\n\
             uwsgi_temp_path {here}/u; scgi_temp_path {here}/s;\n\
             server {{ listen unix:{}; client_max_body_size 0;\n\
             location / {{ proxy_pass http://{}; proxy_set_header Host $http_host;\n\
             proxy_set_header X-Sendfile-Type X-Accel-Redirect; proxy_request_buffering off; proxy_http_version 1.1; }}\n\
             location '/protected files/' {{ internal; alias {area}/; etag off; add_header ETag $upstream_http_etag;\n\
             add_header Digest $upstream_http_digest; add_header By nginx;\n\
             add_header X-Content-Type-Options $upstream_http_x_content_type_options;\n\
             add_header Content-Security-Policy $upstream_http_content_security_policy; }} }} }}\n",
            socket.display(),
            weir.addr("web"),
        );
        let file = files.path().join("nginx.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = tool::command("nginx");
        command.arg("-c").arg(&file).arg("-e").arg("stderr");
        // NGINX's workers must be able to read the test's files, also if root runs the test.
        for directory in [root.path(), files.path()] {
            let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(directory, everybody).unwrap();
        }
        let nginx = Child::spawn(command);
        wait_until("nginx listens", PATIENCE, || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        Self { weir, root, socket, _nginx: nginx, _files: files }
    }

    fn write(&self, name: &[u8], content: &str) {
        let path = self.root.path().join(OsStr::from_bytes(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    #[track_caller]
    fn get(&self, path: &str, lines: &str) -> Response {
        RawClient::connect_unix(&self.socket).exchange(request("GET", path, lines))
    }
}

fn request(method: &str, path: &str, lines: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: storage.example.org\r\n{lines}\r\n")
}

#[test]
fn nginx_sends_what_the_storage_area_names() {
    let front = Front::new();
    front.write(b"a.txt", "0123456789");
    let whole = front.get("/data/a.txt", "");
    assert_eq!((whole.status, whole.text().as_str()), (200, "0123456789"));
    assert_eq!(whole.header("by"), Some("nginx"));
    assert_eq!(whole.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(whole.header("x-accel-redirect"), None);
    assert!(whole.header("last-modified").is_some());

    let part = front.get("/data/a.txt", "Range: bytes=2-4\r\n");
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/10"));
    assert_eq!(front.get("/data/a.txt", "Range: bytes=10-\r\n").status, 416);

    let mut client = RawClient::connect_unix(&front.socket);
    client.send(request("HEAD", "/data/a.txt", "Want-Digest: adler32\r\n"));
    let head = client.response_to_head();
    assert_eq!((head.status, head.header("content-length")), (200, Some("10")));
    assert_eq!(head.header("digest"), Some("adler32=0aff020e"));
    assert_eq!(client.exchange(request("GET", "/data/a.txt", "")).text(), "0123456789");
}

#[test]
fn uploaded_pages_stay_in_their_sandbox() {
    let front = Front::new();
    front.write(b"a.html", "<script>alert(1)</script>");
    front.write(b"a.txt", "text");
    let page = front.get("/data/a.html", "");
    assert_eq!((page.status, page.header("by")), (200, Some("nginx")));
    assert_eq!(page.header("content-security-policy"), Some("sandbox"));
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let text = front.get("/data/a.txt", "");
    assert_eq!(text.header("content-security-policy"), None);
    assert_eq!(text.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn validators_are_the_same_for_reading_and_writing() {
    let front = Front::new();
    front.write(b"a", "first");
    let etag = front.get("/data/a", "").header("etag").unwrap().to_owned();
    let known = front.get("/data/a", &format!("If-None-Match: {etag}\r\n"));
    assert_eq!((known.status, known.header("etag")), (304, Some(etag.as_str())));
    let put = |condition: &str| {
        let head = request("PUT", "/data/a", &format!("{condition}Content-Length: 6\r\n"));
        RawClient::connect_unix(&front.socket).exchange(format!("{head}second")).status
    };
    assert_eq!(put(&format!("If-Match: {etag}\r\n")), 204);
    assert_eq!(put(&format!("If-Match: {etag}\r\n")), 412);
    assert_eq!(front.get("/data/a", &format!("If-None-Match: {etag}\r\n")).text(), "second");
}

#[test]
fn nginx_finds_files_of_any_name() {
    let front = Front::new();
    for (name, path) in [
        (&b"a b"[..], "/data/a%20b"),
        (b"a%20b", "/data/a%2520b"),
        (b"100%", "/data/100%25"),
        (b"q?x#y;z&w", "/data/q%3Fx%23y;z&w"),
        ("caf\u{e9}/\u{4f60}".as_bytes(), "/data/caf%C3%A9/%E4%BD%A0"),
        (b"latin\xe9", "/data/latin%E9"),
        (b"plus+", "/data/plus+"),
    ] {
        front.write(name, path);
        let response = front.get(path, "");
        assert_eq!((response.status, response.text().as_str()), (200, path));
        assert_eq!(response.header("by"), Some("nginx"), "{path}");
    }
}

#[test]
fn who_may_not_gets_neither_the_file_nor_its_name() {
    let front = Front::new();
    front.write(b"secret/a", "secret");
    front.write(b"a", "file");
    for path in ["/data/secret/a", "/data/%73ecret/a"] {
        let response = front.get(path, "");
        assert!(matches!(response.status, 401 | 403), "{}", response.status);
        assert!(!response.text().contains("secret\n") && response.header("by").is_none());
    }
    assert_eq!(front.get("/data/none", "").status, 404);
    // The internal location is not accessible from outside.
    assert_eq!(front.get("/protected%20files/secret/a", "").status, 404);
    // A client that bypasses the proxy gets the file, and not its name.
    let mut client = RawClient::connect_from([127, 0, 0, 2].into(), front.weir.addr("web"));
    let direct = client.exchange(request("GET", "/data/a", ""));
    assert_eq!((direct.text().as_str(), direct.header("x-accel-redirect")), ("file", None));
}

#[test]
fn the_progress_of_a_copy_comes_through_while_its_source_is_held() {
    let (sender, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let source = RawServer::start(move |peer| {
        peer.request()?;
        let _ = waits.lock().unwrap().recv();
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ncontent")
    });
    // Dropped before `source`, whose drop waits for its handler, which waits for this.
    let go = sender;
    let front = Front::new();
    let mut client = RawClient::connect_unix(&front.socket);
    client.send(request("COPY", "/data/f", &format!("Source: http://{}/f\r\n", source.addr())));
    assert_eq!(client.response_head().status, 202);
    let mut read = String::new();
    while !read.contains("\nEnd\n") {
        read.push_str(&String::from_utf8(client.read_exact(1)).unwrap());
    }
    assert!(read.contains("Perf Marker\n"), "{read}");
    go.send(()).unwrap();
    while !read.contains("success: Created") {
        read.push_str(&String::from_utf8(client.read_exact(1)).unwrap());
    }
    assert_eq!(front.get("/data/f", "").text(), "content");
}
