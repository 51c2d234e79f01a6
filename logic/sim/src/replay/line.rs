use std::net::IpAddr;

use weir_config::simulation::{LogFormat, LoggedTimes};

use super::csv::Columns;
use super::{csv, httplog, json, ncsa};
use crate::rng::hash;
use crate::workload::client_address;

/// What a line says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// When it came; since when does not matter.
    pub(crate) at_ns: u64,
    /// That is known to the second only.
    pub(crate) is_coarse: bool,
    /// How long its server took, up to what the replay says.
    pub(crate) service_ns: Option<u64>,
    /// How much was sent.
    pub(crate) bytes: Option<u64>,
    pub(crate) client: Option<IpAddr>,
    /// The hash of what was asked for.
    pub(crate) uri: Option<u64>,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Entry(Entry),
    /// A request that never came to a server: it was answered or refused before.
    NoServer,
    /// Names of columns.
    Heading,
}

/// Reads lines of one format.
#[derive(Debug)]
pub(super) struct Parser {
    format: LogFormat,
    times: LoggedTimes,
    columns: Option<Columns>,
}

impl Parser {
    pub(super) fn new(format: LogFormat, times: LoggedTimes) -> Self {
        Self { format, times, columns: None }
    }

    /// What a line says, or what is wrong with it.
    pub(super) fn parse(&mut self, line: &str) -> Result<Verdict, String> {
        if self.format == LogFormat::Auto {
            self.format = guess(line)?;
        }
        match self.format {
            LogFormat::Json => json::parse(line, self.times),
            LogFormat::Httplog => httplog::parse(line, self.times),
            LogFormat::Csv => match &self.columns {
                Some(columns) => csv::parse(columns, line),
                None => {
                    self.columns = Some(Columns::of(line)?);
                    Ok(Verdict::Heading)
                }
            },
            LogFormat::Auto | LogFormat::Common | LogFormat::Combined => ncsa::parse(line),
        }
    }
}

fn guess(line: &str) -> Result<LogFormat, String> {
    if line.starts_with('{') {
        return Ok(LogFormat::Json);
    }
    if httplog::looks_like(line) {
        return Ok(LogFormat::Httplog);
    }
    if ncsa::parse(line).is_ok() {
        return Ok(LogFormat::Common);
    }
    match Columns::of(line) {
        Ok(_) => Ok(LogFormat::Csv),
        Err(_) => Err("looks like none of the formats common, combined, httplog, json, csv".to_owned()),
    }
}

/// A client as a log calls it: an address, or a name that stands for one.
pub(super) fn client(text: &str) -> Option<IpAddr> {
    match text {
        "" | "-" | "unix:" => None,
        text => Some(text.parse().unwrap_or_else(|_| client_address(hash(text.as_bytes())))),
    }
}

/// What is asked for, as a number.
pub(super) fn uri(text: &str) -> Option<u64> {
    (!text.is_empty() && text != "-").then(|| hash(text.as_bytes()))
}

/// The target within `METHOD target VERSION`.
pub(super) fn target(request: &str) -> Option<u64> {
    uri(request.split(' ').nth(1)?)
}
