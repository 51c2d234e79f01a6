//! Reads `[[route]]`.

use weir_http::expression::ExpressionUse;
use weir_http::{
    FixedResponse, HeaderMatch, HeaderTest, PathPattern, PathRewrite, RedirectRule, RouteHeaders, RouteMatch,
};
use weir_model::{Name, RouteName};

use super::keys::{HEADER_TEST, PATH, ROUTE};
use crate::common::choice::exactly_one;
use crate::common::expression;
use crate::common::header::{Changed, changes, check_name, check_template, check_value, is_token, response};
use crate::common::matching::{Path, check_path, hosts, networks};
use crate::common::names::name;
use crate::listener::plan::Priority;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Node, Value, short};
use crate::values::subject::Subject;
use crate::values::table::{Table, located_text};

/// The values of `[[route]]`.
#[derive(Debug)]
pub(crate) struct RouteSpec {
    /// Position of the table.
    pub(crate) span: Span,
    pub(crate) subject: Subject,
    pub(crate) name: Located<RouteName>,
    /// Listeners of the route; `None` = every HTTP listener.
    pub(crate) listeners: Option<Vec<Located<String>>>,
    pub(crate) matches: RouteMatch,
    /// `false` if `matches` lacks an invalid condition, so that it matches more requests than written.
    pub(crate) matches_as_written: bool,
    /// Action; `None` = none could be read, which has been reported.
    pub(crate) action: Option<ActionSpec>,
    pub(crate) rewrite: Option<PathRewrite>,
    /// Position of `rewrite`.
    pub(crate) rewrite_at: Option<Span>,
    pub(crate) headers: RouteHeaders,
    pub(crate) priority: Priority,
    /// Position of `priority`, if it is present.
    pub(crate) priority_at: Option<Span>,
    pub(crate) body_bytes_max: Option<u64>,
}

#[derive(Debug)]
pub(crate) enum ActionSpec {
    Pool(Located<String>),
    Storage(Located<String>),
    Redirect(RedirectRule),
    Respond(FixedResponse),
}

pub(crate) fn read_all(cx: &Context<'_>, nodes: &[Node]) -> Vec<RouteSpec> {
    nodes.iter().enumerate().filter_map(|(index, node)| read(cx, index, node)).collect()
}

fn read(cx: &Context<'_>, index: usize, node: &Node) -> Option<RouteSpec> {
    let subject = Subject::default().entry(&ROUTE, index, node);
    let table = Table::new(cx, subject.clone(), &ROUTE, node);
    let written = table.text_if("name").and_then(|text| name(cx, "route", &text));
    let by_place =
        || Some(Located { value: Name::new(&format!("route-{}", index + 1)).ok()?, span: node.span });
    let action = action(&table);
    let priority = priority(&table);
    let priority_at = table.get("priority").filter(|_| priority != Priority::default());
    warn_without_pool(&table, action.as_ref());
    Some(RouteSpec {
        span: node.span,
        subject,
        name: written.or_else(by_place)?,
        listeners: table
            .get("listener")
            .map(|_| table.many("listener").iter().filter_map(located_text).collect()),
        matches: matches(&table, action.as_ref()),
        matches_as_written: matches_as_written(&table),
        action,
        rewrite: rewrite(&table),
        rewrite_at: table.get("rewrite").map(|node| node.span),
        headers: RouteHeaders {
            request: changes(&table.table("request-headers"), Changed::Requests),
            response: changes(&table.table("response-headers"), Changed::Responses),
        },
        priority_at: priority_at.map(|node| node.span),
        priority,
        body_bytes_max: table.size_if("max-body").map(|size| size.0),
    })
}

/// Returns true if all conditions were read and no unknown key may be meant as one. Call it after all
/// conditions have been read.
fn matches_as_written(table: &Table<'_, '_>) -> bool {
    let mut conditions = ["host", "path", "method", "header", "client", "when"].into_iter();
    !table.has_unknown_keys()
        && !conditions.any(|key| table.get(key).is_some_and(|node| table.cx.has_errors_in(node.span)))
}

fn matches(table: &Table<'_, '_>, action: Option<&ActionSpec>) -> RouteMatch {
    for key in ["host", "path", "method", "client", "listener"] {
        if let Some(Node { span, value: Value::List(values) }) = table.get(key)
            && values.is_empty()
        {
            let help = "leave the key out to match any".to_owned();
            table.report(key, *span, "an empty list matches nothing", Some(help));
        }
    }
    RouteMatch {
        hosts: hosts(table, "host"),
        paths: table.many("path").iter().filter_map(|node| path(table, node)).collect(),
        methods: table.many("method").iter().filter_map(|node| method(table, node)).collect(),
        headers: header_matches(table),
        clients: networks(table, "client"),
        expression: when(table, action),
    }
}

fn path(table: &Table<'_, '_>, node: &Node) -> Option<PathPattern> {
    if !matches!(node.value, Value::Table(_)) {
        return table.parse_node::<Path>("path", node).map(|path| path.value.0);
    }
    let inner = Table::new(table.cx, table.subject.key("path"), &PATH, node);
    let kinds = [
        ("exact", PathPattern::Exact as fn(String) -> PathPattern),
        ("prefix", PathPattern::Prefix),
        ("glob", PathPattern::Glob),
    ];
    let (key, make) = exactly_one(&inner, kinds)?;
    let text = inner.text_if(key)?;
    let pattern = make(text.value);
    match check_path(&pattern) {
        Ok(()) => Some(pattern),
        Err(message) => {
            inner.error(key, text.span, message);
            None
        }
    }
}

fn method(table: &Table<'_, '_>, node: &Node) -> Option<String> {
    let method = node.text()?;
    if !is_token(method) {
        table.error("method", node.span, format!("{:?} is not a method", short(method)));
        return None;
    }
    const COMMON: [&str; 17] = [
        "GET",
        "HEAD",
        "POST",
        "PUT",
        "DELETE",
        "OPTIONS",
        "PATCH",
        "CONNECT",
        "TRACE",
        "PROPFIND",
        "PROPPATCH",
        "MKCOL",
        "COPY",
        "MOVE",
        "LOCK",
        "UNLOCK",
        "REPORT",
    ];
    let upper = method.to_ascii_uppercase();
    if upper != method && COMMON.contains(&upper.as_str()) {
        let message =
            format!("{}: methods have a case, and clients send {upper}", table.subject.key("method"));
        table.cx.report(Problem::warning(node.span, message).help(format!("did you mean {upper:?}?")));
    }
    Some(method.to_owned())
}

fn header_matches(table: &Table<'_, '_>) -> Vec<HeaderMatch> {
    let mut matches = Vec::new();
    for (name, node) in table.get("header").map_or(&[][..], Node::entries) {
        check_name(table, "header", name.span, &name.value);
        let test = match &node.value {
            Value::Table(_) => header_test(table, node),
            _ => match (node.flag(), node.text()) {
                (Some(true), _) => Some(HeaderTest::Present),
                (Some(false), _) => Some(HeaderTest::Absent),
                (None, Some(value)) => {
                    check_value(table, "header", node.span, value);
                    Some(HeaderTest::Exact(value.to_owned()))
                }
                (None, None) => None,
            },
        };
        matches.extend(test.map(|test| HeaderMatch { name: name.value.clone(), test }));
    }
    matches
}

fn header_test(table: &Table<'_, '_>, node: &Node) -> Option<HeaderTest> {
    let inner = Table::new(table.cx, table.subject.key("header"), &HEADER_TEST, node);
    let (key, ()) = exactly_one(&inner, [("exact", ()), ("contains", ()), ("present", ())])?;
    if key == "present" {
        return Some(if inner.flag(key) { HeaderTest::Present } else { HeaderTest::Absent });
    }
    let text = inner.text_if(key)?;
    check_value(&inner, key, text.span, &text.value);
    Some(if key == "exact" { HeaderTest::Exact(text.value) } else { HeaderTest::Contains(text.value) })
}

fn when(table: &Table<'_, '_>, action: Option<&ActionSpec>) -> Option<String> {
    let condition = expression::read(table, "when", ExpressionUse::Condition)?;
    let denies = matches!(action, Some(ActionSpec::Respond(response)) if response.denies());
    expression::warn_of_missing_header(table, "when", &condition, denies);
    Some(condition.value.text().to_owned())
}

fn action(table: &Table<'_, '_>) -> Option<ActionSpec> {
    let (key, ()) = exactly_one(table, [("pool", ()), ("storage", ()), ("redirect", ()), ("respond", ())])?;
    match key {
        "pool" => table.text_if("pool").map(ActionSpec::Pool),
        "storage" => table.text_if("storage").map(ActionSpec::Storage),
        "redirect" => Some(ActionSpec::Redirect(redirect(table))),
        _ => Some(ActionSpec::Respond(match table.number_if("respond") {
            Some(status) => FixedResponse { status, ..response(&table.table("respond")) },
            None => response(&table.table("respond")),
        })),
    }
}

/// Warns about keys that change requests to a server, if the route sends no requests to a server.
fn warn_without_pool(table: &Table<'_, '_>, action: Option<&ActionSpec>) {
    let keys: &[&str] = match action {
        None | Some(ActionSpec::Pool(_)) => return,
        Some(ActionSpec::Storage(_)) => &["rewrite", "request-headers", "priority"],
        Some(_) => &["rewrite", "request-headers", "priority", "max-body"],
    };
    for key in keys {
        if let Some(node) = table.get(key) {
            let message = format!("{}: no effect on a route without a pool", table.subject.key(key));
            table.cx.report(Problem::warning(node.span, message));
        }
    }
}

fn priority(table: &Table<'_, '_>) -> Priority {
    let inner = table.table("priority");
    let header = |key: &str| {
        let name = inner.text_if(key)?;
        check_name(&inner, key, name.span, &name.value);
        Some(name.value)
    };
    Priority {
        class: table.number_if("priority").unwrap_or_else(|| inner.number("class")),
        header: header("header"),
        offset_ms: inner.number("offset-ms"),
        offset_header: header("offset-header"),
    }
}

fn redirect(table: &Table<'_, '_>) -> RedirectRule {
    let inner = table.table("redirect");
    let location = table.text_if("redirect").or_else(|| inner.text_if("to"));
    if let Some(location) = &location {
        check_template(table, "redirect", location.span, &location.value);
        if location.value.is_empty() || location.value.contains(' ') {
            table.error("redirect", location.span, format!("{:?} is not a location", short(&location.value)));
        }
    }
    let status: u16 = inner.number("status");
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        let span = inner.get("status").map_or(inner.span(), |node| node.span);
        inner.error("status", span, format!("{status} is no redirect: 301, 302, 303, 307 or 308"));
    }
    RedirectRule { status, location: location.map(|location| location.value).unwrap_or_default() }
}

fn rewrite(table: &Table<'_, '_>) -> Option<PathRewrite> {
    let table = table.table_if("rewrite")?;
    let path = |key| {
        let path = table.text_if(key)?;
        let parsed: Result<(), _> = check_path(&PathPattern::Prefix(path.value.clone()));
        if let Err(cause) = parsed {
            table.error(key, path.span, cause);
        }
        Some(path.value)
    };
    let (from, to, full) = (path("prefix"), path("to"), path("path"));
    let there = |key| table.get(key).is_some();
    if there("path") && !there("prefix") && !there("to") {
        return full.map(PathRewrite::Full);
    }
    if !there("path") && there("prefix") && there("to") {
        return Some(PathRewrite::Prefix { from: from?, to: to? });
    }
    table.cx.error(table.span(), format!("{}: expected prefix and to, or path", table.subject));
    None
}
