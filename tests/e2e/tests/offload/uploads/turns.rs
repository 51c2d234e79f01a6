//! Tests of uploads that wait for each other, or that fail after their body.

use super::*;

/// The last confirmed upload must be the last published one. Otherwise the confirmation would be about
/// another file than the one that stays.
#[test]
fn uploads_of_one_place_are_confirmed_one_after_the_other() {
    let (ask, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let root = TempDir::new().unwrap();
    let seen = root.path().join("f");
    let server = RawServer::responding(move |message| {
        if message.header("x-weir-upload").as_deref() == Some("begin") {
            return YES.into();
        }
        ask.send(std::fs::read_to_string(&seen).ok()).unwrap();
        let _ = answers.lock().unwrap().recv_timeout(PATIENCE);
        CREATED.into()
    });
    let site = Site { weir: Weir::start(&config(&server, &root)), server, root };
    let mut clients = [site.weir.client(), site.weir.client()];
    clients[0].send(put("", "first"));
    assert_eq!(asked.recv_timeout(PATIENCE).unwrap(), None);
    clients[1].send(put("", "second"));
    wait_until("both bodies are there", PATIENCE, || {
        all_names(&site.root).iter().filter(|name| name.starts_with(".weir-tmp")).count() == 2
    });
    assert!(asked.recv_timeout(Duration::from_millis(100)).is_err(), "the second was asked about too early");
    answer.send(()).unwrap();
    assert_eq!(clients[0].final_response().status, 201);
    assert_eq!(asked.recv_timeout(PATIENCE).unwrap().as_deref(), Some("first"));
    answer.send(()).unwrap();
    assert_eq!(clients[1].final_response().status, 201);
    assert_eq!(site.read("f").as_deref(), Some("second"));
    assert_eq!(site.names(), ["f"]);
}

/// A client that has left does not delay the others.
#[test]
fn who_goes_while_a_server_is_asked_leaves_its_place() {
    let (ask, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let site = Site::new(move |message| {
        if message.header("x-weir-upload").as_deref() == Some("begin") {
            return YES.to_owned();
        }
        let size = message.header("x-weir-upload-size").unwrap_or_default();
        ask.send(size.clone()).unwrap();
        if size == "4" {
            let _ = answers.lock().unwrap().recv_timeout(PATIENCE);
        }
        CREATED.to_owned()
    });
    let mut gone = site.weir.client();
    gone.send(put("", "gone"));
    assert_eq!(asked.recv_timeout(PATIENCE).unwrap(), "4");
    let mut other = site.weir.client();
    other.send(put("", "other"));
    gone.reset();
    assert_eq!(other.final_response().status, 201);
    assert_eq!(asked.recv_timeout(PATIENCE).unwrap(), "5");
    answer.send(()).unwrap();
    assert_eq!(site.read("f").as_deref(), Some("other"));
    assert_eq!(site.names(), ["f"]);
}

/// If a confirmed upload cannot be published, that is not the server's fault.
#[test]
fn an_upload_that_cannot_be_made_visible_is_told_and_not_held_against_its_server() {
    let (root, logs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let target = root.path().join("f");
    let server = RawServer::responding(move |message| {
        if message.header("x-weir-upload").as_deref() == Some("begin") {
            return YES.into();
        }
        std::fs::create_dir(&target).unwrap();
        CREATED.into()
    });
    let log = logs.path().join("access.log");
    let logged = format!("[access-log]\nformat = \"json\"\nto = \"{}\"\n", log.display());
    let mut site = Site { weir: Weir::start(&format!("{}{logged}", config(&server, &root))), server, root };
    assert_eq!(site.put("", "hello").status, 405);
    assert!(site.root.path().join("f").is_dir());
    assert_eq!(site.names(), ["f"]);
    let complaint = site.weir.wait_for_log("an upload that it has confirmed is not there");
    assert!(complaint.contains("pool web, server 127.0.0.1:"), "{complaint}");
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_until("its line", PATIENCE, || read().lines().count() >= 1);
    assert!(read().contains("\"termination\":\"IH--\""), "{}", read());
    let metrics = site.weir.metrics();
    assert_eq!(metrics.get("weir_pool_offloads_failed_total", &["pool=\"web\""]), 1.0);
    assert_eq!(metrics.get("weir_server_responses_total", &["pool=\"web\"", "2xx"]), 2.0);
    assert_eq!(metrics.get("weir_server_response_errors_total", &["pool=\"web\""]), 0.0);
}

/// If the second request cannot be sent, the server does not know of the upload, and it is not published.
#[test]
fn an_upload_about_which_nobody_can_be_asked_is_not_there() {
    let (ask, asked) = mpsc::channel();
    let (answer, answers) = mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let root = TempDir::new().unwrap();
    let server = RawServer::responding(move |message| match message.header("x-weir-upload").as_deref() {
        Some("begin") => YES.into(),
        Some(_) => CREATED.into(),
        None => {
            ask.send(()).unwrap();
            let _ = answers.lock().unwrap().recv_timeout(PATIENCE);
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into()
        }
    });
    let narrow = "[pool.web]\nmax-connections = 1\ntimeouts = { queue = \"0s\" }\n";
    let weir = Weir::start(&config(&server, &root).replace("[pool.web]\n", narrow));
    let site = Site { weir, server, root };
    let mut client = site.weir.client();
    client.send("PUT /f HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    assert_eq!(client.response().status, 100);
    let mut other = site.weir.client();
    other.send("GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    asked.recv_timeout(PATIENCE).unwrap();
    client.send("hello");
    assert_eq!(client.final_response().status, 503);
    assert_eq!(site.names(), [""; 0]);
    assert!(!site.asked().contains("complete"), "{}", site.asked());
    answer.send(()).unwrap();
    assert_eq!(other.final_response().status, 200);
}
