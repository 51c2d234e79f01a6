//! Tests that faults in expressions are reported at their positions.

use super::{complaints, messages};

/// Returns a config with a route that has this condition and this action.
fn route(when: &str, action: &str) -> String {
    format!("[listener.web]\nbind = \":80\"\n\n[[route]]\nname = \"admin\"\nwhen = {when}\n{action}\n")
}

#[test]
fn ill_typed_conditions_are_errors_with_their_place_and_what_to_write_instead() {
    let shown = [
        "'client_ip in \"127.0.0.0/8\"'",
        "\"client_ip in \\\"127.0.0.0/8\\\"\"",
        "'path + 1'",
        "'path == \"/admin\" && method == 5'",
        "'''\npath == \"/admin\"\n  && method == 5\n'''",
        "'path'",
        "'pth == \"/admin\"'",
        "'path.startswith(\"/admin\")'",
        "'path == '",
        "'headers[\"X-Admin\"] == \"1\"'",
    ]
    .map(|when| complaints(&route(when, "respond = 403")));
    insta::assert_snapshot!(shown.concat());
}

#[test]
fn keys_of_pools_and_of_sticky_sessions_have_the_type_of_a_key() {
    let pool = |keys: &str| {
        complaints(&format!(
            "[listener.web]\nbind = \":80\"\npool = \"web\"\n\n[pool.web]\nservers = \"a:80\"\n{keys}\n"
        ))
    };
    let shown = [
        "balance = { algorithm = \"hash\", key = { expression = 'path + 1' } }",
        "balance = { algorithm = \"hash\", key = { expression = 'headers' } }",
        "sticky = { expression = 'headers' }",
        "sticky = { expression = \"headers[?'x-user']\" }",
    ]
    .map(pool);
    insta::assert_snapshot!(shown.concat());
    assert_eq!(pool("sticky = { expression = \"headers['x-user']\" }"), "");
}

#[test]
fn a_condition_that_fails_without_a_header_is_a_warning_that_says_what_the_route_does_then() {
    let when = "\"headers['x-a'] == '1' && path == '/'\"";
    insta::assert_snapshot!(
        ["respond = 403", "respond = 200", "redirect = \"/login\""]
            .map(|action| complaints(&route(when, action)))
            .concat()
    );
    for guarded in ["\"'x-a' in headers && headers['x-a'] == '1'\"", "\"headers[?'x-a'].orValue('') == '1'\""]
    {
        assert_eq!(messages(&route(guarded, "respond = 403")), Vec::<String>::new(), "{guarded}");
    }
}
