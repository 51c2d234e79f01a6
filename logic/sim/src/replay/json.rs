//! Logs in Weir's JSON format.

use std::borrow::Cow;

use serde::Deserialize;
use weir_config::simulation::LoggedTimes;

use super::date;
use super::line::{Entry, Rules, Verdict, client, uri};

/// The fields of Weir's JSON lines that are used here; other fields are ignored.
#[derive(Deserialize)]
struct Line<'t> {
    #[serde(borrow)]
    time: Cow<'t, str>,
    #[serde(borrow)]
    client: Option<Cow<'t, str>>,
    #[serde(borrow)]
    method: Option<Cow<'t, str>>,
    #[serde(borrow)]
    target: Option<Cow<'t, str>>,
    #[serde(borrow)]
    server: Option<Cow<'t, str>>,
    body_bytes_out: Option<u64>,
    #[serde(default)]
    head_us: u64,
    #[serde(default)]
    queue_us: u64,
    #[serde(default)]
    connect_us: u64,
    first_byte_us: Option<u64>,
    total_us: Option<u64>,
}

/// Parses one of Weir's JSON lines.
pub(super) fn parse(text: &str, rules: &Rules) -> Result<Verdict, String> {
    let line: Line<'_> =
        serde_json::from_str(text).map_err(|cause| format!("is not one of Weir's JSON lines: {cause}"))?;
    let at_ns = date::rfc3339(&line.time).ok_or_else(|| format!("{:?} is no time", line.time))?;
    if line.server.is_none() {
        return Ok(Verdict::NoServer);
    }
    let before_us = line.head_us.saturating_add(line.queue_us).saturating_add(line.connect_us);
    let service_us = match rules.times {
        LoggedTimes::FirstByte => line.first_byte_us,
        LoggedTimes::Logged | LoggedTimes::Drawn => {
            line.total_us.map(|total_us| total_us.saturating_sub(before_us))
        }
    };
    let service_ns = service_us.map(|us| us.saturating_mul(1000));
    Ok(Verdict::Entry(Entry {
        at_ns,
        is_coarse: false,
        service_ns,
        bytes: line.body_bytes_out,
        client: line.client.as_deref().and_then(client),
        uri: line.target.as_deref().and_then(uri),
        class: line.target.as_deref().and_then(|target| rules.class(line.method.as_deref(), target)),
    }))
}
