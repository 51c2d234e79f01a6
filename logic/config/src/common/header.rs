//! Header names and values (RFC 9110 sections 5.1 and 5.5).

use weir_http::{FixedResponse, HeaderAction, HeaderRule, Template};

use super::expression;
use super::expression::BadRule;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, short};
use crate::values::table::Table;

/// Reports a text that cannot be a header's name.
pub(crate) fn check_name(table: &Table<'_, '_>, key: &str, span: Span, name: &str) -> bool {
    let good = is_token(name);
    if !good {
        table.error(key, span, format!("{:?} is not a header name", short(name)));
    }
    good
}

/// Reports a text that cannot be a header value. CR, LF, NUL or another control character would allow the
/// injection of more headers.
pub(crate) fn check_value(table: &Table<'_, '_>, key: &str, span: Span, value: &str) -> bool {
    let stranger = value.chars().find(|c| c.is_control() && *c != '\t');
    if let Some(stranger) = stranger {
        table.error(key, span, format!("{stranger:?} cannot stand in a header value"));
    }
    stranger.is_none()
}

/// Reports a text with variables that cannot be a header value.
pub(crate) fn check_template(table: &Table<'_, '_>, key: &str, span: Span, value: &str) -> bool {
    let checked = expression::check_template(value);
    let good = checked.is_ok();
    if let Err((cause, help)) = checked {
        table.report(key, span, cause, help);
    }
    good
}

/// Returns true if the text is a token (RFC 9110 section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

/// Reads a table of header names, each with a text.
pub(crate) fn texts(table: &Table<'_, '_>, key: &str) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for (name, node) in table.get(key).map_or(&[][..], Node::entries) {
        let named = check_name(table, key, name.span, &name.value);
        let Some(value) = node.text() else { continue };
        if check_value(table, key, node.span, value) && named {
            texts.push((name.value.clone(), value.to_owned()));
        }
    }
    texts
}

/// The messages whose headers a rule changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Requests,
    Responses,
}

fn needs_server(action: &HeaderAction) -> bool {
    let (HeaderAction::Set(text) | HeaderAction::Add(text)) = action else { return false };
    Template::parse(text).is_ok_and(|template| template.needs_server())
}

/// Reads the rules of the keys `remove`, `set` and `add`, in this order.
pub(crate) fn changes(table: &Table<'_, '_>, of: Changed) -> Vec<HeaderRule> {
    let mut rules = Vec::new();
    let mut add = |key, name: (&str, Span), value: Span, action: HeaderAction| {
        if of == Changed::Requests && needs_server(&action) {
            let help = Some("{server} is for response-headers".to_owned());
            table.report(key, value, "the server is chosen after the request's head is made", help);
        }
        let rule = HeaderRule { name: name.0.to_owned(), action };
        match expression::check_rule(&rule) {
            Ok(()) => rules.push(rule),
            Err(BadRule { of_value, message, help }) => {
                table.report(key, if of_value { value } else { name.1 }, message, help);
            }
        }
    };
    for node in table.many("remove") {
        if let Some(name) = node.text() {
            add("remove", (name, node.span), node.span, HeaderAction::Remove);
        }
    }
    for (name, node) in table.get("set").map_or(&[][..], Node::entries) {
        if let Some(value) = node.text() {
            add("set", (&name.value, name.span), node.span, HeaderAction::Set(value.to_owned()));
        }
    }
    for (name, node) in table.get("add").map_or(&[][..], Node::entries) {
        for node in node.one_or_many() {
            if let Some(value) = node.text() {
                add("add", (&name.value, name.span), node.span, HeaderAction::Add(value.to_owned()));
            }
        }
    }
    rules
}

/// Reads a fixed response.
pub(crate) fn response(table: &Table<'_, '_>) -> FixedResponse {
    let response = FixedResponse {
        status: table.number("status"),
        content_type: table.text("content-type"),
        body: table.text("body"),
    };
    if let Some(node) = table.get("content-type") {
        check_value(table, "content-type", node.span, &response.content_type);
    }
    // RFC 9110 sections 6.4.1 (204, 304) and 15.3.6 (205).
    if let (204 | 205 | 304, Some(node)) = (response.status, table.get("body")) {
        table.error("body", node.span, format!("a response with status {} has no body", response.status));
    }
    response
}
