//! Parsing of log lines: the format is given or guessed from the first line.

use weir_config::simulation::{LogFormat, LoggedTimes};
use weir_http::PathPattern;

use super::csv::Columns;
use super::line::{Rules, Verdict};
use super::{csv, httplog, json, ncsa};

/// Parser for lines of one format.
#[derive(Debug)]
pub(super) struct Parser {
    format: LogFormat,
    rules: Rules,
    columns: Option<Columns>,
}

impl Parser {
    pub(super) fn new(format: LogFormat, times: LoggedTimes, static_paths: &[PathPattern]) -> Self {
        Self { format, rules: Rules::new(times, static_paths), columns: None }
    }

    /// Parses a line, or returns a description of the error.
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
