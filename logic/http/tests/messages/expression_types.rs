//! Tests of the type checker of expressions.

use proptest::prelude::*;
use weir_http::expression::{EvaluationError, Expression, ExpressionFault, ExpressionUse};
use weir_http::{HeadLimits, HeaderTable, RouteRequest, Scheme, parse_request};

/// Returns the error of a condition, with the part of the text that causes it and the suggestion.
fn refusal(text: &str) -> String {
    refusal_of(text, ExpressionUse::Condition)
}

fn refusal_of(text: &str, wanted: ExpressionUse) -> String {
    let error = match Expression::compile(text, wanted) {
        Ok(_) => return "accepted".to_owned(),
        Err(error) => error,
    };
    let part = &text[error.at.clone()];
    let help = match &error.fault {
        ExpressionFault::Type { help: Some(help), .. } => format!("; help: {help}"),
        _ => String::new(),
    };
    format!("`{part}`: {error}{help}")
}

#[test]
fn ill_typed_conditions_are_refused_with_their_place_and_a_suggestion() {
    let texts = [
        "client_ip in \"127.0.0.0/8\"",
        "path in '/a,/b'",
        "path + 1",
        "path + 1 == '/1'",
        "method == 5",
        "'5' == 5",
        "method",
        "path.size()",
        "headers",
        "headers['x-a']",
        "dyn(path)",
        "path > 5",
        "path && true",
        "!path",
        "path == '/' ? 'a' : 1",
        "headers['x-a'] == null",
        "headers[5] == 'a'",
        "headers.all(h, h + 1 == 'a')",
        "headers.exists(h, h)",
        "path.all(c, c == '/')",
        "path.startsWith(5)",
        "path.contains('a', 'b')",
        "path.contains",
        "path.length == 5",
        "size(5) == 5",
        "size(path, path) == 1",
        "matches(path, 'a')",
        "path.string() == ''",
        "path.starts_with('/a')",
        "starts_with(path, '/a')",
        "method in ['GET', 5]",
        "method in [1, 2]",
        "{'a': 1, 'b': 'c'}.size() == 2",
        "{1.5: 1}.size() == 1",
        "size(path) + 1.5 > 2.0",
        "size(path) / 'a' == 1",
        "-path == 'a'",
        "-1u == 1",
        "1.5 % 1.0 == 0.5",
        "type(path) == 'string'",
        "headers[?'x-a'] == '1'",
        "headers[?'x-a'].orValue(1) == '1'",
        "path.orValue('') == '1'",
        "headers.?x.startsWith('a')",
        "headers['X-Beta'] == '1'",
        "'X-Beta' in headers",
        "has(headers.Accept)",
        "headers[?'X-Beta'].hasValue()",
        "headers.x-beta == '1'",
        "path.map(x, x) == ['a']",
        "['a'].map(x, x + 'b')",
        "['a'].map(x, x + 1) == ['a']",
        "['a'].filter(x, x)[0] == 'a'",
        "['é', path][0] == 'ü' && method == 5",
    ];
    let refusals: Vec<String> = texts.iter().map(|text| format!("{text}\n    {}", refusal(text))).collect();
    assert_eq!(
        refusals.iter().filter(|it| it.ends_with("accepted")).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn well_typed_conditions_are_accepted() {
    for text in [
        "true",
        "path == '/' || method in ['GET', 'HEAD']",
        "'x-a' in headers && headers['x-a'] == '1'",
        "headers.exists(h, h.startsWith('x-') && headers[h] == '1')",
        "headers.exists_one(h, h == 'a')",
        "headers.map(h, headers[h]).filter(v, v.size() > 5).size() == 0",
        "[1, 2].map(x, x > 1, x * 2)[0] + 1 == 5",
        "[].size() == 0 && {}.size() == 0 && 'a' in [] == false && [] == ['a']",
        "size(path) > 1u && size(path) < 2.5 && 1 == 1.0",
        "int(headers['content-length']) > 1000",
        "string(size(path)) + 'x' == '1x'",
        "type(path) == string && type(1) != int",
        "headers[?'x-a'].orValue('') == '1'",
        "headers.?accept.hasValue() || headers.?accept.orValue('x').startsWith('y')",
        "headers[?'a'].or(headers[?'b']).value() == 'c'",
        "dyn(path) == 5 || dyn(1) + dyn(2) == 3",
        "{'/a': 1, '/b': 2}[path] == 1",
        "(method == 'GET' ? ['a'] : [])[0] == 'a'",
        "[path].all(p, p != '') && path.matches('^/a')",
        "bytes(path).size() > 1 && b'a' + b'b' == b'ab'",
        "[1].all(path, path > 0)",
        "-size(path) < 0 && -1.5 < 0.0 && !(path == '')",
    ] {
        assert_eq!(refusal(text), "accepted", "{text}");
    }
}

#[test]
fn a_key_is_of_a_type_that_prints_as_one_value() {
    for text in
        ["path", "size(path)", "b'a'", "1.5", "2u", "method == 'GET'", "headers[?'a'].orValue('') + path"]
    {
        assert_eq!(refusal_of(text, ExpressionUse::Key), "accepted", "{text}");
    }
    let refusals = ["headers", "[path]", "null", "type(path)", "headers[?'a']", "dyn(path)", "path + 1"]
        .map(|text| format!("{text}\n    {}", refusal_of(text, ExpressionUse::Key)));
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn headers_that_a_request_need_not_have_are_found() {
    let unguarded = |text: &str| {
        let expression = Expression::compile(text, ExpressionUse::Condition).unwrap();
        expression.unguarded_header().map(|header| header.name.clone())
    };
    for text in [
        "'a' in headers && headers['a'] == '1'",
        "headers['a'] == '1' && 'a' in headers",
        "!('a' in headers) || headers['a'] == '1'",
        "headers.a == '1' || !has(headers.a)",
        "has(headers.a) ? headers.a == '1' : true",
        "!(has(headers.a) && has(headers.b)) || headers.a + headers.b == '1'",
        "has(headers.a) && (method == 'GET' || headers.a == '1')",
        "headers[?'a'].orValue('') == '1'",
        "headers.exists(h, headers[h] == '1')",
        "path == '/'",
    ] {
        assert_eq!(unguarded(text), None, "{text}");
    }
    for text in [
        "headers['a'] == '1'",
        "headers.a == '1'",
        "method == 'GET' && headers['a'] == '1'",
        "'a' in headers || headers['a'] == '1'",
        "('a' in headers || 'b' in headers) && headers['a'] == '1'",
        "!('a' in headers && 'b' in headers) && headers['a'] == '1'",
        "has(headers.a) ? true : headers.a == '1'",
        "'b' in headers && headers['a'] == headers['b']",
        "[headers['a']].all(x, x == '1')",
        "size(headers.a) > 1",
    ] {
        assert_eq!(unguarded(text).as_deref(), Some("a"), "{text}");
    }
}

/// Generates expressions of any type, valid and invalid ones.
fn expressions() -> impl Strategy<Value = String> {
    let atoms = prop::sample::select(vec![
        "path",
        "method",
        "headers",
        "'a'",
        "'GET'",
        "1",
        "2u",
        "1.5",
        "true",
        "null",
        "b'a'",
        "[]",
        "{}",
        "string",
        "['a', 'b']",
        "{'a': 1}",
        "headers['host']",
        "headers[?'x-a']",
        "headers.host",
        "[1, 2]",
        "[path]",
    ]);
    let binary = prop::sample::select(vec!["==", "!=", "<", ">=", "+", "-", "*", "/", "%", "&&", "||", "in"]);
    let function =
        prop::sample::select(vec!["size", "string", "int", "uint", "double", "bool", "bytes", "type"]);
    let method = prop::sample::select(vec![
        "size()",
        "contains('a')",
        "startsWith('a')",
        "matches('^a')",
        "hasValue()",
        "orValue('b')",
        "value()",
    ]);
    let loops = prop::sample::select(vec!["all", "exists", "exists_one", "map", "filter"]);
    atoms.prop_map(str::to_owned).prop_recursive(4, 12, 3, move |inner| {
        prop_oneof![
            (inner.clone(), binary.clone(), inner.clone())
                .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            (function.clone(), inner.clone()).prop_map(|(name, a)| format!("{name}({a})")),
            (inner.clone(), method.clone()).prop_map(|(a, name)| format!("{a}.{name}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[{b}]")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), loops.clone(), inner.clone())
                .prop_map(|(a, name, b)| format!("{a}.{name}(v, {b})")),
            (inner.clone(), loops.clone()).prop_map(|(a, name)| format!("{a}.{name}(v, v == 'a')")),
            inner.prop_map(|a| format!("!{a}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// An accepted expression may lack a key or overflow, but the interpreter must never find a wrong type.
    #[test]
    fn what_the_checker_accepts_never_fails_for_its_types(text in expressions()) {
        let text = format!("{text} == {text}");
        let Ok(expression) = Expression::compile(&text, ExpressionUse::Condition) else { return Ok(()) };
        let buf = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
        let mut headers = HeaderTable::new();
        let head = parse_request(buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
        let request = RouteRequest::of(&head, buf, &headers, None, Scheme::Http, "front");
        match expression.evaluate(&request) {
            Ok(_) => {}
            Err(EvaluationError::NotBool) => prop_assert!(false, "{text} is no bool"),
            Err(EvaluationError::Failed(message)) => {
                let of_types = ["overload", "type", "nsupported", "not be compared", "as a key", "ndeclared", "rgument"];
                prop_assert!(!of_types.iter().any(|word| message.contains(word)), "{text}: {message}");
            }
        }
    }
}
