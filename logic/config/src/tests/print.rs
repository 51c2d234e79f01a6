//! Tests that a printed plan is a config with the same meaning.

use super::{load_text, with};
use crate::plan::Mode;
use crate::{Plan, print};

/// Returns the plan without the positions of routes.
fn placeless(mut plan: Plan) -> Plan {
    for listener in &mut plan.listeners {
        if let Mode::Http(http) = &mut listener.mode {
            http.routes.iter_mut().for_each(|route| route.origin.clear());
        }
    }
    plan
}

pub(super) fn assert_round_trip(text: &str) {
    assert_round_trip_of(&load_text(text).unwrap_or_else(|errors| panic!("{}", errors[0])).plan);
}

pub(super) fn assert_round_trip_of(plan: &Plan) {
    let printed = print(plan);
    let again = load_text(&printed).unwrap_or_else(|errors| panic!("{}\n{printed}", errors[0])).plan;
    assert_eq!(placeless(plan.clone()), placeless(again), "{printed}");
}

#[test]
fn a_printed_plan_shows_every_default() {
    insta::assert_snapshot!(print(&load_text(&with("")).unwrap().plan));
}

#[test]
fn a_printed_plan_loads_to_itself() {
    assert_round_trip(&with(""));
    assert_round_trip(include_str!("every_key.toml"));
    insta::assert_snapshot!(print(&load_text(include_str!("every_key.toml")).unwrap().plan));
}

#[test]
fn texts_that_look_like_variables_or_need_quotes_survive_printing() {
    assert_round_trip(&with(
        r#"
[[route]]
path = "/x"
respond = { body = "a $${B} $$${C} \"q\" \\ \u0000 \n\t é" }
[pool."a.b:c"]
servers = [{ name = "a.b", address = "unix:/a b" }]
[[route]]
host = "b"
pool = "a.b:c"
"#,
    ));
}

#[test]
fn routes_keep_their_order_on_every_listener() {
    let mut text =
        String::from("[listener.a]\nbind = ':1'\n[listener.b]\nbind = ':2'\n[listener.c]\nbind = ':3'\n");
    for (number, listeners) in
        ["['a']", "['b', 'c']", "['a', 'b']", "['c']", "['c', 'a']", "['a', 'b', 'c']"].iter().enumerate()
    {
        text.push_str(&format!(
            "[[route]]\nname = 'r{number}'\nlistener = {listeners}\npath = '=/{number}'\nrespond = 200\n"
        ));
    }
    assert_round_trip(&text);
}
