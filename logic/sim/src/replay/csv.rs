//! Logs in CSV form.

use std::borrow::Cow;

use weir_config::closest;

use super::line::{Entry, Rules, Verdict, client, uri};

/// Meaning of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// Seconds since any fixed moment.
    Arrival,
    /// Milliseconds at a server of speed 1.
    Service,
    Bytes,
    Client,
    Uri,
}

/// Columns of a table, from its heading.
#[derive(Debug)]
pub(super) struct Columns(Vec<Column>);

const NAMES: [(&str, Column); 5] = [
    ("arrival_s", Column::Arrival),
    ("service_ms", Column::Service),
    ("bytes", Column::Bytes),
    ("client", Column::Client),
    ("uri", Column::Uri),
];

impl Columns {
    /// Parses the first line of a table.
    pub(super) fn of(line: &str) -> Result<Self, String> {
        let mut columns = Vec::new();
        for field in fields(line.trim_start_matches('\u{feff}'))? {
            let name = field.trim().to_ascii_lowercase();
            let Some((_, column)) = NAMES.iter().find(|(there, _)| *there == name) else {
                let names = NAMES.map(|(name, _)| name);
                let meant = closest(&name, names.into_iter()).map(|name| format!("; did you mean {name:?}?"));
                let (meant, names) = (meant.unwrap_or_default(), names.join(", "));
                return Err(format!("{name:?} is no column: one of {names}{meant}"));
            };
            if columns.contains(column) {
                return Err(format!("the column {name} is there twice"));
            }
            columns.push(*column);
        }
        if !columns.contains(&Column::Arrival) {
            return Err("the heading has no column arrival_s".to_owned());
        }
        Ok(Self(columns))
    }
}

/// Parses a line below the heading.
pub(super) fn parse(columns: &Columns, line: &str, rules: &Rules) -> Result<Verdict, String> {
    let fields = fields(line)?;
    if fields.len() != columns.0.len() {
        return Err(format!("has {} fields, the heading has {}", fields.len(), columns.0.len()));
    }
    let mut entry = Entry {
        at_ns: 0,
        is_coarse: false,
        service_ns: None,
        bytes: None,
        client: None,
        uri: None,
        class: None,
    };
    for (column, field) in columns.0.iter().zip(&fields) {
        let field = field.trim();
        match column {
            Column::Arrival => entry.at_ns = nanos(field, 1e9)?,
            _ if field.is_empty() => {}
            Column::Service => entry.service_ns = Some(nanos(field, 1e6)?),
            Column::Bytes => {
                entry.bytes = Some(field.parse().map_err(|_| format!("{field:?} is no number of bytes"))?);
            }
            Column::Client => entry.client = client(field),
            Column::Uri => (entry.uri, entry.class) = (uri(field), rules.class(None, field)),
        }
    }
    Ok(Verdict::Entry(entry))
}

fn nanos(text: &str, unit_ns: f64) -> Result<u64, String> {
    let value: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    let nanos = value * unit_ns;
    if !(0.0..9e18).contains(&nanos) {
        return Err(format!("{text} is out of range"));
    }
    Ok(nanos.round() as u64)
}

/// Splits a line at commas. A field may be in quotation marks, with each quotation mark inside doubled (RFC
/// 4180).
pub(crate) fn fields(line: &str) -> Result<Vec<Cow<'_, str>>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let Some(inner) = rest.strip_prefix('"') else {
            let (field, more) = match rest.split_once(',') {
                Some((field, more)) => (field, Some(more)),
                None => (rest, None),
            };
            fields.push(Cow::Borrowed(field));
            match more {
                Some(more) => rest = more,
                None => return Ok(fields),
            }
            continue;
        };
        let mut field = String::new();
        let mut left = inner;
        loop {
            let (part, more) = left.split_once('"').ok_or("has a field without its closing \"")?;
            field.push_str(part);
            match more.strip_prefix('"') {
                Some(more) => {
                    field.push('"');
                    left = more;
                }
                None => {
                    left = more;
                    break;
                }
            }
        }
        fields.push(Cow::Owned(field));
        match left.strip_prefix(',') {
            Some(more) => rest = more,
            None if left.is_empty() => return Ok(fields),
            None => return Err("has something between a closing \" and the next comma".to_owned()),
        }
    }
}
