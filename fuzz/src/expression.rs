//! Fuzzes CEL expressions: no text panics when it is compiled or evaluated, and a condition yields a bool.

use weir_http::expression::{EvaluationError, Expression, ExpressionUse};
use weir_http::{HeadLimits, HeaderTable, RouteRequest, Scheme, parse_request};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(data: &[u8]) {
    let text = crate::text_of(data);
    let buf = b"PUT /a/b?c=d HTTP/1.1\r\nHost: h.example:81\r\nX-A: b\r\nX-A: \xff\r\nCookie: c=d\r\n\r\n";
    let mut headers = HeaderTable::new();
    let head = parse_request(buf, &HeadLimits::default(), &mut headers).expect("sound").expect("whole");
    let client = "192.0.2.7".parse().ok();
    let request = RouteRequest::of(&head, buf, &headers, client, Scheme::Https, "front");
    for wanted in [ExpressionUse::Condition, ExpressionUse::Key] {
        match Expression::compile(text, wanted) {
            Ok(expression) => {
                let is_no_bool = expression.evaluate(&request) == Err(EvaluationError::NotBool);
                assert!(!is_no_bool || wanted == ExpressionUse::Key, "a condition yields a bool");
                let _ = expression.evaluate_key(&request);
            }
            Err(error) => assert!(text.get(error.at).is_some(), "the part to blame is one of the text"),
        }
    }
}
