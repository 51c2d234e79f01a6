//! Tests of checksums on both sides of a copy.

use weir_testkit::RawServer;

use crate::{Site, method, ok};

/// Adler-32 of `content`.
const RIGHT: &str = "Digest: adler32=0bcb02fc\r\n";
const WRONG: &str = "Digest: adler32=00000001\r\n";

#[test]
fn the_checksum_of_the_test_is_right() {
    let site = Site::new();
    site.write("f", "content");
    let head = site.request("HEAD", "/f", &[("Want-Digest", "adler32")]);
    assert_eq!(format!("Digest: {}\r\n", head.header("Digest").unwrap()), RIGHT);
}

#[test]
fn what_does_not_have_the_checksum_of_its_source_is_not_stored() {
    let source = RawServer::responding(|request| ok(request, WRONG, b"content"));
    let site = Site::new();
    site.write("f", "old");
    let from = format!("http://{}/f", source.addr());
    for verification in ["true", "True"] {
        let headers = [("Source", &*from), ("RequireChecksumVerification", verification)];
        let line = site.fails("/f", &headers);
        assert!(line.contains("checksum mismatch") && line.contains("adler32"), "{line}");
    }
    // The same holds for a checksum that was not requested.
    assert!(site.fails("/f", &[("Source", &from)]).contains("checksum mismatch"));
    assert_eq!(site.read("f").unwrap(), b"old");
    site.settles(&["f"]);
    site.copies("/f", &[("Source", &from), ("RequireChecksumVerification", "false")]);
    assert_eq!(site.read("f").unwrap(), b"content");
}

#[test]
fn a_required_checksum_is_asked_for_and_without_one_the_transfer_fails() {
    let source = RawServer::responding(|request| ok(request, "", b"content"));
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    let required = [("Source", &*from), ("RequireChecksumVerification", "true")];
    let line = site.fails("/f", &required);
    assert!(line.contains("tells no checksum"), "{line}");
    site.settles(&[]);
    let received = String::from_utf8(source.received_in_all()).unwrap();
    assert!(received.contains("HEAD /f ") && received.contains("Want-Digest: adler32"), "{received}");
    site.copies("/f", &[("Source", &from)]);
}

#[test]
fn a_checksum_that_only_head_tells_counts() {
    let source = RawServer::responding(|request| {
        ok(request, if method(request) == "HEAD" { RIGHT } else { "" }, b"content")
    });
    let wrong = RawServer::responding(|request| {
        ok(request, if method(request) == "HEAD" { WRONG } else { "" }, b"content")
    });
    let site = Site::new();
    let pull = |server: &RawServer| {
        let from = format!("http://{}/f", server.addr());
        let done = site.copy("/f", &[("Source", &from), ("RequireChecksumVerification", "true")]);
        crate::last_line(&done)
    };
    assert!(pull(&wrong).contains("checksum mismatch"));
    site.settles(&[]);
    assert_eq!(pull(&source), "success: Created");
}

/// Starts a server that accepts every PUT and sends these header lines for HEAD.
fn destination(told: &'static str) -> RawServer {
    RawServer::responding(move |request| match method(request).as_str() {
        "PUT" => b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "DELETE" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        _ => ok(request, told, b"content"),
    })
}

#[test]
fn what_arrived_with_another_checksum_is_removed_there() {
    let site = Site::new();
    site.write("f", "content");
    let push = |server: &RawServer, required: &str| {
        let to = format!("http://{}/g", server.addr());
        let done = site.copy("/f", &[("Destination", &to), ("RequireChecksumVerification", required)]);
        crate::last_line(&done)
    };
    assert_eq!(push(&destination(RIGHT), "true"), "success: Created");
    let lies = destination("Digest: adler32=00000001\r\nETag: \"x\"\r\n");
    let line = push(&lies, "true");
    assert!(line.contains("checksum mismatch") && line.contains("it was removed there"), "{line}");
    let received = String::from_utf8(lies.received_in_all()).unwrap();
    assert!(received.contains("DELETE /g ") && received.contains("If-Match: \"x\""), "{received}");
    assert!(push(&destination(""), "true").contains("tells no checksum"));
    assert_eq!(push(&destination(WRONG), "false"), "success: Created");
}

/// Starts a server with these responses to PUT and HEAD.
fn telling(put: &'static str, head: &'static str) -> RawServer {
    RawServer::responding(move |request| match method(request).as_str() {
        "PUT" => format!("HTTP/1.1 201 Created\r\n{put}").into_bytes(),
        "DELETE" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        _ => ok(request, head, b"content"),
    })
}

#[test]
fn a_checksum_in_the_answer_to_a_put_is_a_hint_that_removes_nothing_by_itself() {
    let site = Site::new();
    site.write("f", "content");
    // Checksums of recently written files are not stored, so make the file older.
    let file = std::fs::File::options().write(true).open(site.root.path().join("f")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(site.request("HEAD", "/f", &[("Want-Digest", "adler32")]).header("Digest").is_some());
    let with_content = "Digest: adler32=00000001\r\nContent-Length: 2\r\n\r\nok";
    let without = "Digest: adler32=00000001\r\nContent-Length: 0\r\n\r\n";
    for (put, head, last, removes) in [
        (with_content, RIGHT, "success: Created", false),
        (with_content, "", "success: Created", false),
        (without, "", "the file is still there", false),
        (without, WRONG, "it has neither an entity tag nor a time", false),
        (with_content, "Digest: adler32=00000001\r\nETag: \"x\"\r\n", "it was removed there", true),
    ] {
        let server = telling(put, head);
        let done = site.copy("/f", &[("Destination", &format!("http://{}/g", server.addr()))]);
        assert!(crate::last_line(&done).contains(last), "{put} {head} {}", done.text());
        let received = String::from_utf8(server.received_in_all()).unwrap();
        assert_eq!(received.contains("DELETE "), removes, "{received}");
        assert_eq!(received.contains("If-Match: \"x\""), removes, "{received}");
    }
}

#[test]
fn what_may_be_somebody_elses_is_not_removed() {
    let site = Site::new();
    site.write("f", "content");
    let (now, before) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 07:49:37 GMT");
    let modified = |time: &str| format!("Digest: adler32=00000001\r\nLast-Modified: {time}\r\n");
    let dated = format!("Date: {now}\r\n");
    let tagged = |tag: &str| format!("Digest: adler32=00000001\r\nETag: {tag}\r\n");
    for (put, head, condition, last) in [
        // The file cannot be identified, or it has another time or another tag.
        ("", modified(now), None, "neither an entity tag nor a time"),
        (&*dated, WRONG.to_owned(), None, "neither an entity tag nor a time"),
        (&*dated, modified(before), None, "its time is not that of the PUT"),
        ("ETag: \"x\"\r\n", tagged("\"y\""), None, "its entity tag is not that of the PUT"),
        // A weak tag is not sufficient.
        ("", tagged("W/\"x\""), None, "neither an entity tag nor a time"),
        (&*dated, modified(now), Some(format!("If-Unmodified-Since: {now}")), "it was removed there"),
        ("ETag: \"x\"\r\n", tagged("\"x\""), Some("If-Match: \"x\"".to_owned()), "it was removed there"),
    ] {
        let (put, told) = (put.to_owned(), head.clone());
        let server = RawServer::responding(move |request| match method(request).as_str() {
            "PUT" => format!("HTTP/1.1 201 Created\r\n{put}Content-Length: 0\r\n\r\n").into_bytes(),
            "DELETE" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            _ => ok(request, &told, b"content"),
        });
        let to = format!("http://{}/g", server.addr());
        let line = site.fails("/f", &[("Destination", &to), ("RequireChecksumVerification", "true")]);
        assert!(line.contains("checksum mismatch") && line.contains(last), "{head}: {line}");
        let received = String::from_utf8(server.received_in_all()).unwrap();
        let deleted = received.split("DELETE /g ").nth(1);
        assert_eq!(deleted.is_some(), condition.is_some(), "{head}: {received}");
        assert!(
            condition.is_none_or(|condition| deleted.unwrap().contains(&condition)),
            "{head}: {received}"
        );
    }
}

#[test]
fn another_server_does_not_choose_what_is_removed() {
    let victim = RawServer::answering("");
    let elsewhere = format!("http://{}/f", victim.addr());
    let site = Site::new();
    site.write("f", "content");
    for (status, location) in [(307, &*elsewhere), (303, "/other")] {
        let location = location.to_owned();
        let server = RawServer::responding(move |request| match method(request).as_str() {
            "PUT" => b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_vec(),
            "DELETE" => format!("HTTP/1.1 {status} X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
                .into_bytes(),
            _ => ok(request, "Digest: adler32=00000001\r\nETag: \"x\"\r\n", b"content"),
        });
        let to = format!("http://{}/g", server.addr());
        let line = site.fails("/f", &[("Destination", &to), ("RequireChecksumVerification", "true")]);
        assert!(line.contains("it is still there") && line.contains("not followed"), "{line}");
        assert!(!String::from_utf8(server.received_in_all()).unwrap().contains("DELETE /other"));
    }
    assert_eq!(victim.connections(), 0);
}

#[test]
fn the_last_question_is_asked_again_too() {
    let asked = std::sync::Mutex::new(0);
    let source = RawServer::responding(move |request| {
        if method(request) != "HEAD" {
            return ok(request, "", b"content");
        }
        *asked.lock().unwrap() += 1;
        match *asked.lock().unwrap() {
            1 => b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_vec(),
            _ => ok(request, RIGHT, b"content"),
        }
    });
    let site = Site::new();
    let from = format!("http://{}/f", source.addr());
    site.copies("/f", &[("Source", &from), ("RequireChecksumVerification", "true")]);
    // GET, HEAD, HEAD: the file was fetched once.
    assert_eq!(source.connections(), 3);
}
