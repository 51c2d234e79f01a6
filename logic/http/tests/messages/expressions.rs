//! Tests of CEL expressions about requests.

use weir_http::expression::{EvaluationError, Expression, ExpressionFault, ExpressionUse};
use weir_http::{HeadLimits, HeaderTable, RouteRequest, Scheme, parse_request};

fn evaluate(expression: &str, text: &str) -> Result<bool, EvaluationError> {
    let buf = format!("{text}\n\n").replace('\n', "\r\n").into_bytes();
    let mut headers = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let client = "192.0.2.7".parse().ok();
    let request = RouteRequest::of(&head, &buf, &headers, client, Scheme::Https, "front");
    condition(expression).evaluate(&request)
}

fn condition(text: &str) -> Expression {
    Expression::compile(text, ExpressionUse::Condition).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fault(text: &str) -> ExpressionFault {
    Expression::compile(text, ExpressionUse::Condition).unwrap_err().fault
}

const REQUEST: &str =
    "PUT /data/x.root?size=5 HTTP/1.1\nHost: Dav.Example:8443\nX-Tier: gold\nAccept: a\naccept: b";

#[test]
fn the_variables_tell_of_the_request() {
    for expression in [
        "method == 'PUT'",
        "host == 'dav.example'",
        "path == '/data/x.root'",
        "query == 'size=5'",
        "scheme == 'https'",
        "listener == 'front'",
        "client_ip == '192.0.2.7'",
        "headers['x-tier'] == 'gold'",
        "headers.accept == 'a, b'",
        "'x-tier' in headers && !('cookie' in headers)",
        "has(headers.accept)",
        "size(headers) == 3",
        "path.startsWith('/data/') && path.endsWith('.root')",
        "path.matches('^/[a-z]+/x[.]root$')",
        "method in ['PUT', 'POST']",
        "headers.exists(name, name.startsWith('x-') && headers[name] == 'gold')",
        "int(query.contains('=') ? '1' : '0') == 1",
        "type(path) == string",
        "path.matches('X') == false && path.matches('x') && [path].all(p, p.matches('root'))",
    ] {
        assert_eq!(evaluate(expression, REQUEST), Ok(true), "{expression}");
    }
    assert_eq!(evaluate("query == ''", "GET / HTTP/1.1\nHost: h"), Ok(true));
}

#[test]
fn what_has_no_value_is_an_error_and_not_a_match() {
    for expression in
        ["headers['cookie'] == 'x'", "int(path) == 5", "[path][1] == 'x'", "1 / 0 == 1", "dyn(path) + 1 == 1"]
    {
        assert!(matches!(evaluate(expression, REQUEST), Err(EvaluationError::Failed(_))), "{expression}");
    }
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let buf = b"GET /\xff HTTP/1.1\r\nHost: h\r\nX-A: \xfe\r\n\r\n";
    let mut headers = HeaderTable::new();
    let head = parse_request(buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let request = RouteRequest::of(&head, buf, &headers, None, Scheme::Http, "");
    let expression = condition("path != '/' && headers['x-a'] != '' && client_ip == ''");
    assert_eq!(expression.evaluate(&request), Ok(true));
}

#[test]
fn mistakes_are_found_when_the_config_is_read() {
    assert!(matches!(fault("path =="), ExpressionFault::Syntax(_)));
    assert_eq!(fault("pth == 'x'"), ExpressionFault::UnknownVariable("pth".into()));
    assert_eq!(fault("path.reverse() == 'x'"), ExpressionFault::UnknownFunction("reverse".into()));
    assert_eq!(fault("now() == 1"), ExpressionFault::UnknownFunction("now".into()));
    assert_eq!(fault("timestamp('x') == 1"), ExpressionFault::UnknownFunction("timestamp".into()));
    assert_eq!(fault("path.matches(query)"), ExpressionFault::Pattern);
    assert!(matches!(fault("path.matches('(')"), ExpressionFault::InvalidPattern(_)));
    assert!(matches!(fault("path.matches('(a{1000}){1000}')"), ExpressionFault::InvalidPattern(_)));
    assert!(matches!(fault("@pattern0 == 'x'"), ExpressionFault::Syntax(_)));
    assert_eq!(fault("headers.all(x, x == y)"), ExpressionFault::UnknownVariable("y".into()));
    assert_eq!(
        fault("pth == 'x'").to_string(),
        "no variable pth; there are: method, host, path, query, headers, client_ip, scheme, listener"
    );
}

#[test]
fn size_and_cost_are_bounded() {
    assert_eq!(fault(&format!("path == '{}'", "x".repeat(4096))), ExpressionFault::TooLong);
    assert_eq!(fault(&vec!["true"; 300].join("&&")), ExpressionFault::TooLarge);
    assert_eq!(fault("headers.all(a, headers.all(b, a == b))"), ExpressionFault::NestedLoop);
    assert!(
        Expression::compile("headers.filter(a, a != '').all(b, b != '')", ExpressionUse::Condition).is_ok()
    );
    let is_refused = |text: &str| Expression::compile(text, ExpressionUse::Condition).is_err();
    // Deep nesting must be refused and must not exhaust the stack.
    for (open, close) in [("(", ")"), ("[", "]"), ("!", ""), ("-", ""), ("{1:", "}"), ("size(", ")")] {
        let deep = format!("{}1{}", open.repeat(600), close.repeat(600));
        // The parser joins adjacent signs into one or none.
        assert!(is_refused(&deep) || matches!(open, "!" | "-"), "{open}");
    }
    let deep = format!("path{} == ''", ".a".repeat(1500));
    assert!(is_refused(&deep));
    let deep = format!("path{} == ''", "[0]".repeat(1200));
    assert!(is_refused(&deep));
    let deep = format!("1{} == 1", "+1".repeat(1500));
    assert!(is_refused(&deep));
    let deep = format!("{}true", "true?false:".repeat(300));
    assert!(is_refused(&deep));
}
