//! Reads `[error-page.STATUS]`: the body of an error in the config, in a file, or in an errorfile of HAProxy.

use std::collections::BTreeMap;
use std::path::Path;

use super::keys::ERROR_PAGE;
use super::plan::ErrorPage;
use crate::common::choice::exactly_one;
use crate::common::header::check_value;
use crate::syntax::context::Context;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Node, short};
use crate::values::subject::Subject;
use crate::values::table::Table;

const FILE_BYTES_MAX: usize = 1 << 20;

/// Headers of an errorfile that need no warning, because Weir writes them itself.
const WRITTEN_ANYWAY: [&str; 4] = ["content-type", "content-length", "connection", "date"];

pub(crate) fn error_pages(cx: &Context<'_>, entries: &[(Located<String>, Node)]) -> BTreeMap<u16, ErrorPage> {
    let mut pages = BTreeMap::new();
    for (status, node) in entries {
        let subject = Subject::default().named("error page", &status.value);
        let page = error_page(&Table::new(cx, subject.clone(), &ERROR_PAGE, node));
        match status.value.parse::<u16>() {
            Ok(number @ 400..=599) if status.value.len() == 3 => {
                pages.insert(number, page);
            }
            _ => cx.error(status.span, format!("{subject}: expected a status from 400 to 599")),
        }
    }
    pages
}

fn error_page(table: &Table<'_, '_>) -> ErrorPage {
    let mut content_type = table.text("content-type");
    if let Some(node) = table.get("content-type") {
        check_value(table, "content-type", node.span, &content_type);
    }
    if let Some(("body", ())) = exactly_one(table, [("body", ()), ("file", ())]) {
        return ErrorPage { content_type, body: table.text("body") };
    }
    let mut body = String::new();
    if let Some(file) = table.text_if("file") {
        match (table.cx.outside.file)(Path::new(&file.value)) {
            Ok(text) if text.len() > FILE_BYTES_MAX => table.error("file", file.span, "larger than 1 MiB"),
            Ok(text) if text.starts_with("HTTP/") => {
                if let Some(message) = errorfile(table, file.span, &text) {
                    if table.get("content-type").is_none() {
                        content_type = message.content_type.unwrap_or(content_type);
                    }
                    body = message.body;
                }
            }
            Ok(text) => body = text,
            Err(cause) => table.error("file", file.span, format!("{}: {cause}", short(&file.value))),
        }
    }
    ErrorPage { content_type, body }
}

/// Parts of a complete response that Weir uses.
struct Message {
    content_type: Option<String>,
    body: String,
}

/// Reads an errorfile of HAProxy, which contains a complete response with its head (HAProxy's manual,
/// `errorfile`).
fn errorfile(table: &Table<'_, '_>, span: Span, text: &str) -> Option<Message> {
    let end = [text.find("\r\n\r\n").map(|at| (at, at + 4)), text.find("\n\n").map(|at| (at, at + 2))];
    let Some((head, body)) = end.into_iter().flatten().min() else {
        table.error("file", span, "it begins as a whole response, and no empty line ends its head");
        return None;
    };
    let mut content_type = None;
    let mut unused = Vec::new();
    for line in text[..head].lines().skip(1) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("content-type") {
            content_type = Some(value.trim().to_owned());
        } else if !WRITTEN_ANYWAY.iter().any(|written| name.eq_ignore_ascii_case(written)) {
            unused.push(short(name));
        }
    }
    if let Some(value) = &content_type {
        check_value(table, "file", span, value);
    }
    if !unused.is_empty() {
        let message = format!("of its head only Content-Type is used, not {}", unused.join(", "));
        table.warning("file", span, message, "set others with response-headers".to_owned());
    }
    Some(Message { content_type, body: text[body..].to_owned() })
}
