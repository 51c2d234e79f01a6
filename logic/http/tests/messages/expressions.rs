//! CEL expressions about requests.

use weir_http::expression::{EvaluationError, Expression, ExpressionError};
use weir_http::{HeadLimits, HeaderTable, RouteRequest, Scheme, parse_request};

fn evaluate(expression: &str, text: &str) -> Result<bool, EvaluationError> {
    let buf = format!("{text}\n\n").replace('\n', "\r\n").into_bytes();
    let mut headers = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let client = "192.0.2.7".parse().ok();
    let request = RouteRequest::of(&head, &buf, &headers, client, Scheme::Https, "front");
    Expression::compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}")).evaluate(&request)
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
    for expression in ["headers['cookie'] == 'x'", "path", "path + 1 == 'x'", "1 / 0 == 1"] {
        assert!(evaluate(expression, REQUEST).is_err(), "{expression}");
    }
    assert_eq!(evaluate("path", REQUEST), Err(EvaluationError::NotBool));
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let buf = b"GET /\xff HTTP/1.1\r\nHost: h\r\nX-A: \xfe\r\n\r\n";
    let mut headers = HeaderTable::new();
    let head = parse_request(buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let request = RouteRequest::of(&head, buf, &headers, None, Scheme::Http, "");
    let expression = Expression::compile("path != '/' && headers['x-a'] != '' && client_ip == ''").unwrap();
    assert_eq!(expression.evaluate(&request), Ok(true));
}

#[test]
fn mistakes_are_found_when_the_config_is_read() {
    let error = |text: &str| Expression::compile(text).unwrap_err();
    assert!(matches!(error("path =="), ExpressionError::Syntax(_)));
    assert_eq!(error("pth == 'x'"), ExpressionError::Variable("pth".into()));
    assert_eq!(error("path.reverse() == 'x'"), ExpressionError::Function("reverse".into()));
    assert_eq!(error("now() == 1"), ExpressionError::Function("now".into()));
    assert_eq!(error("timestamp('x') == 1"), ExpressionError::Function("timestamp".into()));
    assert_eq!(error("path.matches(query)"), ExpressionError::Pattern);
    assert_eq!(error("path.matches('a', 'b')"), ExpressionError::Pattern);
    assert_eq!(error("matches(path, 'a')"), ExpressionError::Function("matches".into()));
    assert!(matches!(error("path.matches('(')"), ExpressionError::InvalidPattern(_)));
    assert!(matches!(error("path.matches('(a{1000}){1000}')"), ExpressionError::InvalidPattern(_)));
    assert!(matches!(error("@pattern0 == 'x'"), ExpressionError::Syntax(_)));
    assert_eq!(error("headers.all(x, x == y)"), ExpressionError::Variable("y".into()));
    assert_eq!(
        error("pth == 'x'").to_string(),
        "no variable pth; there are: method, host, path, query, headers, client_ip, scheme, listener"
    );
}

#[test]
fn size_and_cost_are_bounded() {
    let error = |text: &str| Expression::compile(text).unwrap_err();
    assert_eq!(error(&format!("path == '{}'", "x".repeat(4096))), ExpressionError::TooLong);
    assert_eq!(error(&vec!["true"; 300].join("&&")), ExpressionError::TooLarge);
    assert_eq!(error("headers.all(a, headers.all(b, a == b))"), ExpressionError::NestedLoop);
    assert!(Expression::compile("headers.filter(a, a != '').all(b, b != '')").is_ok());
    // Deep nesting must neither pass nor exhaust the stack.
    for (open, close) in [("(", ")"), ("[", "]"), ("!", ""), ("-", ""), ("{1:", "}"), ("size(", ")")] {
        let deep = format!("{}1{}", open.repeat(600), close.repeat(600));
        // Signs in a row are one, or none.
        assert!(Expression::compile(&deep).is_err() || matches!(open, "!" | "-"), "{open}");
    }
    let deep = format!("path{} == ''", ".a".repeat(1500));
    assert!(Expression::compile(&deep).is_err());
    let deep = format!("path{} == ''", "[0]".repeat(1200));
    assert!(Expression::compile(&deep).is_err());
    let deep = format!("1{} == 1", "+1".repeat(1500));
    assert!(Expression::compile(&deep).is_err());
    let deep = format!("{}true", "true?false:".repeat(300));
    assert!(Expression::compile(&deep).is_err());
}
