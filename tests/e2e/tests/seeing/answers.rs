//! Tests the log lines of Weir's own responses: they count the bytes that were sent.

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RefusingPort, Signal, is_stopped, wait_until};

use crate::access_log::Logged;

/// More than the kernel's buffers between a client and Weir hold.
const LARGE: usize = 8_000_000;

#[test]
fn of_an_answer_that_its_client_does_not_take_the_log_has_what_went_out() {
    let large = "x".repeat(LARGE);
    let refusing = RefusingPort::new();
    let config = format!(
        "{}retry = false\n\n[[route]]\npath = \"/fixed\"\nrespond = {{ status = 200, body = \"{large}\" }}\n\n\
         [error-page.502]\nbody = \"{large}\"\n[weir]\nworkers = 1\n",
        web(&[refusing.addr()])
    );
    let logged = Logged::start(&config, "json");
    // An earlier failure remains the logged reason.
    for (at, (path, status, termination)) in
        [("/fixed", 200, "CD--"), ("/", 502, "SC--")].into_iter().enumerate()
    {
        let mut client = logged.weir.client().receive_buffer(4 * 1024);
        client.send(get(path)).read_exact(1_000);
        client.reset();
        let line = logged.json(at + 1).remove(at);
        assert_eq!((&line["kind"], &line["status"]), (&"request".into(), &status.into()), "{line}");
        assert_eq!(line["termination"], termination, "{line}");
        let (sent, of_body) = (line["bytes_out"].as_u64().unwrap(), line["body_bytes_out"].as_u64().unwrap());
        assert!((1_000..LARGE as u64).contains(&sent) && of_body < sent, "{line}");
    }
    let aborts = logged.weir.metrics().get("weir_listener_client_aborts_total", &["listener=\"web\""]);
    assert_eq!(aborts, 2.0);
}

#[test]
fn a_head_that_its_client_breaks_off_has_a_line_and_silence_has_none() {
    let logged =
        Logged::start("[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nrespond = 204\n", "json");
    logged.weir.client().half_close().read_to_end();
    let begun = "GET / HTTP/1.1\r\nHo";
    assert_eq!(logged.weir.client().send(begun).half_close().read_to_end().0, b"");
    let line = logged.json(1).remove(0);
    assert_eq!((&line["kind"], &line["termination"]), (&"bad-request".into(), &"CR--".into()), "{line}");
    assert_eq!((&line["bytes_in"], &line["bytes_out"]), (&begun.len().into(), &0.into()), "{line}");
    assert!(line.get("status").is_none() && line.get("refused_by").is_none(), "{line}");
    assert_eq!(logged.weir.client().exchange(get("/")).status, 204);
    assert_eq!(logged.json(2).len(), 2);
}

#[test]
fn answers_of_weirs_own_are_timed_like_all_others() {
    let refusing = RefusingPort::new();
    let config = format!(
        "{}retry = false\n\n[[route]]\npath = \"/fixed\"\nrespond = 200\n[weir]\nworkers = 1\n",
        web(&[refusing.addr()])
    );
    let weir = Weir::start(&config);
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/fixed")).status, 200);
    assert_eq!(client.exchange(get("/")).status, 502);
    // Weir counts a response after it was sent.
    for name in ["answered_total", "request_duration_seconds_count"] {
        let name = format!("weir_listener_{name}");
        wait_until(&name, PATIENCE, || weir.metrics().get(&name, &["listener=\"web\""]) == 2.0);
    }
}

#[test]
fn an_answer_of_which_nothing_went_out_is_no_response() {
    let logged =
        Logged::start("[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nrespond = 200\n", "json");
    let weir = &logged.weir;
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/")).status, 200);
    // When Weir continues, it finds the request and, behind it, the client's reset.
    weir.signal(Signal::STOP);
    wait_until("it stands still", PATIENCE, || is_stopped(weir.pid()));
    client.send(get("/"));
    let ports = (weir.addr("web").port(), client.local_addr().port());
    client.reset();
    // Weir's end of the connection in the format of proc_net_tcp(5). The entry disappears when the reset
    // arrives.
    let end = format!(" 0100007F:{:04X} 0100007F:{:04X} ", ports.0, ports.1);
    let is_reset = || !std::fs::read_to_string("/proc/net/tcp").unwrap().contains(&end);
    wait_until("the reset is there", PATIENCE, is_reset);
    weir.signal(Signal::CONT);
    let line = logged.json(2).remove(1);
    assert!(line.get("status").is_none() && line["bytes_out"] == 0, "{line}");
    let metrics = weir.metrics();
    let total = |name: &str| metrics.get(&format!("weir_listener_{name}"), &["listener=\"web\""]);
    assert_eq!((total("requests_total"), total("client_aborts_total")), (2.0, 1.0));
    for name in ["responses_total", "answered_total", "request_duration_seconds_count"] {
        assert_eq!(total(name), 1.0, "{name}");
    }
}
