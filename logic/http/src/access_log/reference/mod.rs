//! The reference page of the access log. The formats themselves write its example lines, and each field is
//! listed with its value from the example.

mod codes;
mod fields;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use super::{
    AccessRecord, ActiveCounts, Client, LineFormat, LineWriter, RequestFields, Subject, Termination, Timings,
    TlsSession,
};
use crate::RefusalRule;
use codes::{CAUSES, CODES, PHASES};
use fields::{COMBINED, COMMON, Field, HTTPLOG, JSON, TCPLOG};

/// Returns the page in Markdown.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    let request = request();
    let common = line(LineFormat::Common, &request);
    section(&mut page, "common", COMMON_ABOUT, &common, COMMON, &tokens(&common));
    let combined = line(LineFormat::Combined, &request);
    let fields: Vec<Field> = COMMON.iter().chain(COMBINED).copied().collect();
    section(&mut page, "combined", COMBINED_ABOUT, &combined, &fields, &tokens(&combined));
    let httplog = line(LineFormat::Httplog, &request);
    section(&mut page, "httplog", HTTPLOG_ABOUT, &httplog, HTTPLOG, &tokens(&httplog));
    let tcplog = line(LineFormat::Httplog, &connection());
    section(&mut page, "httplog, for TCP connections", TCPLOG_ABOUT, &tcplog, TCPLOG, &tokens(&tcplog));
    let json = line(LineFormat::Json, &request);
    let members = members(&json);
    let value =
        |field: &Field| members.iter().find(|(key, _)| *key == field.name).map_or("", |(_, value)| *value);
    let values: Vec<&str> = JSON.iter().map(value).collect();
    section(&mut page, "json", JSON_ABOUT, &json, JSON, &values);
    terminations(&mut page);
    refusals(&mut page);
    page
}

const INTRODUCTION: &str = "\
# Access log

<!-- Made from logic/http/src/access_log/reference. After a change: WEIR_UPDATE_DOCS=1 cargo test -p weir-proxy access_log -->

A line for each request when it has ended, and for each connection in TCP mode. `[access-log]` says in which `format`, and
where `to` ([config](config.md)). What a client sent is escaped, so that it can neither end a line nor leave its field, and cut
after 8 KiB. Times of day are in UTC.
";

const COMMON_ABOUT: &str = "\
NCSA's common format, as Apache and NGINX write it. Within quotes, bytes that are not printable ASCII are `\\xHH`.";

const COMBINED_ABOUT: &str = "The common format and two headers.";

const HTTPLOG_ABOUT: &str = "\
HAProxy's `option httplog`, for halog, Grok patterns and the like. Times that were not reached are -1. Within quotes, bytes that
are not printable ASCII are `#HH`. What could not be read as a request is `\"<BADREQ>\"`.";

const TCPLOG_ABOUT: &str = "HAProxy's `option tcplog`.";

const JSON_ABOUT: &str = "\
One object a line, its keys in this order; what is not known is left out. What is not UTF-8 becomes U+FFFD.";

fn section(page: &mut String, title: &str, about: &str, example: &str, fields: &[Field], values: &[&str]) {
    // Writing to a String cannot fail.
    let _ = write!(page, "\n## {title}\n\n{about}\n\n```text\n{example}\n```\n");
    let _ = write!(page, "\n| field | in the example | unit | meaning |\n|---|---|---|---|\n");
    for (field, value) in fields.iter().zip(values) {
        let Field { name, unit, meaning } = field;
        let value = match *value {
            "" => String::new(),
            value => format!("`{}`", value.replace('|', "\\|")),
        };
        let _ = writeln!(page, "| `{name}` | {value} | {unit} | {meaning} |");
    }
}

fn terminations(page: &mut String) {
    let _ =
        write!(page, "\n## Termination codes\n\n{TERMINATION_ABOUT}\n\n| first | who or what |\n|---|---|\n");
    for (cause, meaning) in CAUSES {
        let [letter, _] = Termination::new(cause, super::Phase::Done).letters();
        let _ = writeln!(page, "| `{}` | {meaning} |", char::from(letter));
    }
    let _ = write!(page, "\n| second | when |\n|---|---|\n");
    for (phase, meaning) in PHASES {
        let [_, letter] = Termination::new(super::Cause::Finished, phase).letters();
        let _ = writeln!(page, "| `{}` | {meaning} |", char::from(letter));
    }
    let _ = write!(page, "\nThe ones that Weir writes:\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in CODES {
        let _ = writeln!(page, "| `{code}` | {meaning} |");
    }
}

fn refusals(page: &mut String) {
    let _ = write!(page, "\n## Refusals\n\n{REFUSALS_ABOUT}\n\n| `refused_by` | meaning |\n|---|---|\n");
    for rule in RefusalRule::ALL {
        let _ = writeln!(page, "| `{}` | {} |", rule.name(), rule.meaning());
    }
}

const REFUSALS_ABOUT: &str = "\
What was wrong with a request that Weir refused, or stopped reading. The metric `weir_listener_refused_total` counts by the same names.
The lines of the other formats have no place for it: there the status and `PR--` or `cR--` tell that there was something.";

const TERMINATION_ABOUT: &str = "\
How a request ended, in HAProxy's letters: who or what ended it, and what was going on. The third and the fourth tell of cookies
there, and are always `--`; lines of TCP connections have the first two only.";

/// Formats a line without its line end.
fn line(format: LineFormat, record: &AccessRecord<'_>) -> String {
    let mut out = Vec::new();
    LineWriter::new(format).append(&mut out, record);
    String::from_utf8_lossy(&out).trim_end().to_owned()
}

/// Splits a line into fields as log readers do: at spaces outside of quotes and brackets.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let closing = match rest.as_bytes()[0] {
            b'"' => Some("\" "),
            b'[' => Some("] "),
            _ => None,
        };
        let end = match closing {
            Some(closing) => rest.find(closing).map(|at| at + 1),
            None => rest.find(' '),
        };
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        tokens.push(token);
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    tokens
}

/// Returns the keys and values of an example object, which is flat and has neither `,"` nor `":` within a
/// string.
fn members(object: &str) -> Vec<(&str, &str)> {
    let inner = object.trim_start_matches("{\"").trim_end_matches('}');
    inner.split(",\"").filter_map(|member| member.split_once("\":")).collect()
}

fn request() -> AccessRecord<'static> {
    AccessRecord {
        // 2026-11-21 08:48:21 UTC
        start_unix_us: 1_795_250_901_838_042,
        client: Client::Inet(([192, 0, 2, 7], 33_317).into()),
        peer: None,
        subject: Subject::Request(RequestFields {
            method: b"GET",
            target: b"/index.html?q=1",
            path: None,
            version: b"HTTP/1.1",
            host: Some(b"www.example.org"),
            referer: Some(b"https://www.example.org/"),
            user_agent: Some(b"curl/8.0"),
            request_id: Some(b"0f3a96d1c2b84e57"),
        }),
        status: Some(200),
        bytes_in: 120,
        bytes_out: 2_750,
        body_bytes_out: 2_326,
        listener: "https",
        route: Some("static"),
        pool: Some("web"),
        server: Some("w1"),
        server_address: Some("10.0.0.11:8080"),
        tls: Some(TlsSession { version: "TLSv1.3", cipher: "TLS13_AES_128_GCM_SHA256" }),
        timings: Timings {
            head_us: Some(10_213),
            queue_us: Some(2_050),
            connect_us: Some(30_999),
            first_byte_us: Some(69_034),
            total_us: 114_480,
        },
        retries: 1,
        redispatched: true,
        hedge_won: Some(false),
        offloaded: true,
        termination: Termination::NORMAL,
        refused_by: None,
        active: ActiveCounts {
            process: 25,
            listener: 12,
            pool: 4,
            server: 4,
            server_queue: 0,
            pool_queue: 0,
        },
    }
}

fn connection() -> AccessRecord<'static> {
    AccessRecord {
        subject: Subject::Connection,
        status: None,
        listener: "smtp",
        route: None,
        pool: Some("mail"),
        server: Some("m1"),
        tls: None,
        retries: 0,
        redispatched: false,
        hedge_won: None,
        offloaded: false,
        termination: Termination::SERVER_BROKE_OFF,
        ..request()
    }
}
