//! Tests of forbidden trailers in requests.

use weir_http::{
    BodyScanner, ChunkError, ForwardedFor, Forwarder, Framing, HeaderAction, HeaderRule, RequestIdRule,
    RouteHeaders, RouteRewriter, TrailerFault,
};

use crate::common::Way;

/// Scans a chunked body with this trailer line.
fn with_trailer(way: &Way, name: &str) -> Result<usize, ChunkError> {
    let rules = Forwarder::compile(&way.rules, way.scheme).trailer_rules(&way.route);
    let body = format!("0\r\n{name}: x\r\n\r\n");
    let mut at_once = BodyScanner::with_trailers(Framing::Chunked, &rules);
    let mut by_bytes = at_once.clone();
    let by_bytes: Result<usize, _> = body.bytes().map(|byte| by_bytes.feed(&[byte])).sum();
    let at_once = at_once.feed(body.as_bytes());
    assert_eq!(at_once.is_ok(), by_bytes.is_ok());
    at_once
}

#[test]
fn what_is_removed_from_heads_or_written_anew_there_is_refused_in_trailers() {
    let mut way = Way::new();
    let long = format!("X-{}", "long-".repeat(20));
    way.rules.identity_headers.extend(["X-SSL-*".to_owned(), format!("{long}*"), format!("{long}er")]);
    way.rules.request_id = Some(RequestIdRule { header: "X-Trace".to_owned(), accept: false });
    way.route = RouteRewriter::compile(
        None,
        &RouteHeaders {
            request: vec![
                HeaderRule { name: "X-Secret".to_owned(), action: HeaderAction::Remove },
                HeaderRule { name: "X-Tenant".to_owned(), action: HeaderAction::Set("a".to_owned()) },
            ],
            response: Vec::new(),
        },
    )
    .unwrap();
    let refused = Err(ChunkError::Trailer(TrailerFault::Forbidden));
    for name in [
        "X-Client-Dn",
        "x_client_dn",
        "X-Auth-User",
        "X_AUTH_",
        "X-SSL-Client-S-DN",
        "X-Secret",
        "X-Tenant",
        "X-Trace",
    ] {
        assert_eq!(with_trailer(&way, name), refused, "{name}");
    }
    assert_eq!(with_trailer(&way, &format!("{long}est")), refused, "longer than what is compared");
    for name in ["X-Client-Dns", "X-Aut", "X-Checksum", "Digest", "X-SS", &"x".repeat(200)] {
        assert!(with_trailer(&way, name).is_ok(), "{name}");
    }
    way.rules.x_forwarded = ForwardedFor::Set;
    assert_eq!(with_trailer(&way, "X_Forwarded_For"), refused);
}
