use std::net::IpAddr;

use weir_balance::RequestClass;
use weir_config::simulation::{LogFormat, LoggedTimes};
use weir_http::{PathPattern, PathRules, PathSet};

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
    /// What it made its server do, where the pool says by what that is told, and the line what was asked for.
    pub(crate) class: Option<RequestClass>,
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
    rules: Rules,
    columns: Option<Columns>,
}

/// What is made of lines, whatever their format.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) times: LoggedTimes,
    /// Requests for these make servers fetch; `None` = nobody asks.
    static_paths: Option<PathSet>,
}

impl Parser {
    pub(super) fn new(format: LogFormat, times: LoggedTimes, static_paths: &[PathPattern]) -> Self {
        // The config has let nothing through that does not compile.
        let static_paths = PathSet::compile(static_paths, Some(&PathRules::default()))
            .ok()
            .filter(|paths| !paths.is_empty());
        Self { format, rules: Rules { times, static_paths }, columns: None }
    }

    /// What a line says, or what is wrong with it.
    pub(super) fn parse(&mut self, line: &str) -> Result<Verdict, String> {
        if self.format == LogFormat::Auto {
            self.format = guess(line, &self.rules)?;
        }
        match self.format {
            LogFormat::Json => json::parse(line, &self.rules),
            LogFormat::Httplog => httplog::parse(line, &self.rules),
            LogFormat::Csv => match &self.columns {
                Some(columns) => csv::parse(columns, line, &self.rules),
                None => {
                    self.columns = Some(Columns::of(line)?);
                    Ok(Verdict::Heading)
                }
            },
            LogFormat::Auto | LogFormat::Common | LogFormat::Combined => ncsa::parse(line, &self.rules),
        }
    }
}

impl Rules {
    /// What a request makes a server do, by the rule of the proxy; a line that has no method is taken for a GET.
    pub(super) fn class(&self, method: Option<&str>, target: &str) -> Option<RequestClass> {
        let paths = self.static_paths.as_ref()?;
        uri(target)?;
        let fetches = method.is_none_or(|method| matches!(method, "GET" | "HEAD"));
        let path = target.split('?').next().unwrap_or(target);
        let normal = PathRules::default().normalize(path.as_bytes());
        let is_static = fetches && normal.is_ok_and(|path| paths.matches(path.compared()));
        Some(if is_static { RequestClass::Static } else { RequestClass::Dynamic })
    }

    /// The same of `METHOD target VERSION`.
    pub(super) fn class_of(&self, request: &str) -> Option<RequestClass> {
        let mut words = request.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        self.class(Some(method), target)
    }
}

fn guess(line: &str, rules: &Rules) -> Result<LogFormat, String> {
    if line.starts_with('{') {
        return Ok(LogFormat::Json);
    }
    if httplog::looks_like(line) {
        return Ok(LogFormat::Httplog);
    }
    if ncsa::parse(line, rules).is_ok() {
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
