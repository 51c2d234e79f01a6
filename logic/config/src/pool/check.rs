//! Reads `[pool.NAME.check]`.

use std::str::FromStr;

use weir_health::{CheckTiming, InitialState};
use weir_model::Millis;

use super::plan::{CheckKind, CheckPlan, HttpCheck};
use crate::common::choice::exactly_one;
use crate::common::header::{check_name, check_value, is_token, texts};
use crate::syntax::tree::{Node, Value, short};
use crate::values::suggest;
use crate::values::table::Table;

/// Reads `check = ...`, in its short or its long form.
pub(crate) fn read(pool: &Table<'_, '_>) -> Option<CheckPlan> {
    let node = pool.get("check")?;
    if node.flag() == Some(false) {
        return None;
    }
    let table = pool.table("check");
    let kind = match &node.value {
        Value::Table(_) => long_kind(&table)?,
        _ => short_kind(pool, &table, node)?,
    };
    let is_http = matches!(kind, CheckKind::Http(_));
    for key in ["host", "headers", "expect"] {
        if let (Some(node), false) = (table.get(key), is_http) {
            table.error(key, node.span, "only for HTTP checks");
        }
    }
    Some(CheckPlan { kind, timing: timing(&table), port: table.number_if("port") })
}

fn short_kind(pool: &Table<'_, '_>, table: &Table<'_, '_>, node: &Node) -> Option<CheckKind> {
    match node.text()? {
        "tcp" => Some(CheckKind::Tcp),
        "tls" => Some(CheckKind::Tls),
        text => match text.parse::<Request>() {
            Ok(request) => http(table, request),
            Err(message) => {
                pool.report("check", node.span, message, short_help(text));
                None
            }
        },
    }
}

/// Returns a hint for an invalid check in the short form.
fn short_help(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(kind) = suggest::closest(text, ["tcp", "tls"].into_iter()) {
        return Some(suggest::did_you_mean(kind));
    }
    let request = match text.split_once(' ') {
        Some((method, path)) => format!("{method} /{}", path.trim_start()),
        None if ["http", "https"].contains(&text.to_ascii_lowercase().as_str()) => "GET /".to_owned(),
        None if text.bytes().all(|byte| byte.is_ascii_uppercase()) => format!("{text} /"),
        None => format!("GET /{text}"),
    };
    let is_right = !text.is_empty() && request.parse::<Request>().is_ok();
    is_right.then(|| format!("write {request:?}"))
}

fn long_kind(table: &Table<'_, '_>) -> Option<CheckKind> {
    let (key, ()) = exactly_one(table, [("http", ()), ("tcp", ()), ("tls", ())])?;
    match key {
        "tcp" => Some(CheckKind::Tcp),
        "tls" => Some(CheckKind::Tls),
        _ => http(table, table.parse::<Request>("http")?.value),
    }
}

fn http(table: &Table<'_, '_>, request: Request) -> Option<CheckKind> {
    let host = table.text_if("host");
    if let Some(host) = host.as_ref().filter(|host| !host.value.bytes().all(|byte| byte.is_ascii_graphic())) {
        table.error("host", host.span, format!("{:?} is not a host", short(&host.value)));
    }
    let headers = texts(table, "headers");
    for (name, node) in table.get("headers").map_or(&[][..], Node::entries) {
        const OURS: [&str; 4] = ["host", "connection", "content-length", "transfer-encoding"];
        if OURS.iter().any(|ours| ours.eq_ignore_ascii_case(&name.value)) {
            table.error("headers", node.span, format!("{} is written by the check itself", name.value));
        }
    }
    let expect = table.table("expect");
    Some(CheckKind::Http(HttpCheck {
        method: request.method,
        path: request.path,
        host: host.map(|host| host.value),
        headers,
        expect_status: expect_status(&expect),
        expect_header: expect_header(&expect),
        expect_body: expect.text_if("body").map(|body| body.value),
    }))
}

fn expect_status(table: &Table<'_, '_>) -> Vec<(u16, u16)> {
    let range = |node: &Node| match node.integer().and_then(|status| u16::try_from(status).ok()) {
        Some(status) => Some((status, status)),
        None => {
            let text = node.text()?;
            let range = text.parse::<StatusRange>();
            let range = range.map_err(|message| table.report("status", node.span, message, class(text)));
            range.ok().map(|range| range.0)
        }
    };
    if let (Some(node), []) = (table.get("status"), table.many("status")) {
        table.error("status", node.span, "an empty list accepts nothing");
    }
    match table.get("status") {
        Some(_) => table.many("status").iter().filter_map(range).collect(),
        None => table.text("status").parse::<StatusRange>().map(|range| range.0).into_iter().collect(),
    }
}

/// Returns a hint for a class of statuses, such as `2xx`.
fn class(text: &str) -> Option<String> {
    let digit = text.trim().to_ascii_lowercase().strip_suffix("xx")?.parse::<u16>().ok()?;
    (1..=5).contains(&digit).then(|| format!("write \"{digit}00-{digit}99\""))
}

fn expect_header(table: &Table<'_, '_>) -> Option<(String, String)> {
    let text = table.text_if("header")?;
    let Some((name, value)) = text.value.split_once(':') else {
        table.error("header", text.span, "expected `Name: part of the value`");
        return None;
    };
    let (name, value) = (name.trim(), value.trim());
    check_name(table, "header", text.span, name);
    check_value(table, "header", text.span, value);
    Some((name.to_owned(), value.to_owned()))
}

fn timing(table: &Table<'_, '_>) -> CheckTiming {
    const FAST: Millis = Millis::from_secs(1);
    let interval = table.duration("interval");
    let fast_interval = table.duration_if("fast-interval");
    if let (Some(node), Some(fast)) =
        (table.get("fast-interval"), fast_interval.filter(|fast| *fast > interval))
    {
        table.error("fast-interval", node.span, format!("{fast} is longer than the interval of {interval}"));
    }
    CheckTiming {
        interval,
        fast_interval: fast_interval.unwrap_or(FAST.min(interval)),
        jitter_percent: table.percent("jitter"),
        timeout: table.duration("timeout"),
        rise: table.number("rise"),
        fall: table.number("fall"),
        initial: if table.text("initial") == "down" { InitialState::Down } else { InitialState::Up },
    }
}

/// A request such as `GET /health`; the method is optional.
struct Request {
    method: String,
    path: String,
}

impl FromStr for Request {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (method, path) = match text.split_once(' ') {
            Some((method, path)) => (method, path.trim_start()),
            None if text.starts_with('/') => ("GET", text),
            None => {
                return Err(format!("expected `METHOD /path`, \"tcp\" or \"tls\"; found {:?}", short(text)));
            }
        };
        let is_path = path.starts_with('/') || (path == "*" && method == "OPTIONS");
        if !is_token(method) || !is_path || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("expected `METHOD /path`; found {:?}", short(text)));
        }
        Ok(Self { method: method.to_owned(), path: path.to_owned() })
    }
}

struct StatusRange((u16, u16));

impl FromStr for StatusRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let status =
            |text: &str| text.trim().parse::<u16>().ok().filter(|status| (100..=599).contains(status));
        match (status(from), status(to)) {
            (Some(from), Some(to)) if from <= to => Ok(Self((from, to))),
            _ => Err(format!("{:?} is neither a status nor a range such as \"200-299\"", short(text))),
        }
    }
}
