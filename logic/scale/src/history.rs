//! The history file: one row for each round, with the columns of the published autoscaler's, and what was decided.

use std::fmt;

/// One round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Seconds since the first round.
    pub elapsed_s: f64,
    /// Requests since the counter began.
    pub requests_total: Option<u64>,
    /// Requests since the last round; in a file, since the row before.
    pub requests: Option<u64>,
    /// Requests per second in that time.
    pub rate_per_s: Option<f64>,
    /// Servers that are wanted.
    pub needed: u32,
    /// Servers that the provider runs.
    pub active_cloud: u32,
    /// Servers that get requests.
    pub active_balancer: u32,
    /// What was done.
    pub decision: String,
    /// Why.
    pub reason: String,
    /// What was measured, in servers; `None` = nobody knew, or the row was written when there was no such column.
    pub demand: Option<f64>,
}

/// The names of the columns, in their order: the file's first line.
pub const HEADING: &str = "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason,demand";

impl fmt::Display for Row {
    /// The row as a line of the file, without its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.timestamp, self.elapsed_s)?;
        write!(f, ",{},{}", Shown(self.requests_total), Shown(self.requests))?;
        write!(f, ",{},{},{}", Shown(self.rate_per_s), self.needed, self.active_cloud)?;
        write!(f, ",{},{},{}", self.active_balancer, Quoted(&self.decision), Quoted(&self.reason))?;
        write!(f, ",{}", Shown(self.demand))
    }
}

impl Row {
    /// A line of the file; `None` if it is none, as the heading and what a full disk has left of one.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = fields(line.trim_end_matches(['\r', '\n']))?;
        if fields.len() == COLUMNS - 1 {
            fields.push(String::new());
        }
        let [timestamp, elapsed, total, requests, rate, needed, cloud, balancer, decision, reason, demand] =
            <[String; COLUMNS]>::try_from(fields).ok()?;
        let finite = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        Some(Self {
            timestamp: finite(&timestamp)?,
            elapsed_s: finite(&elapsed)?,
            requests_total: optional(&total, |text| text.parse().ok())?,
            requests: optional(&requests, |text| text.parse().ok())?,
            rate_per_s: optional(&rate, finite)?,
            needed: needed.parse().ok()?,
            active_cloud: cloud.parse().ok()?,
            active_balancer: balancer.parse().ok()?,
            decision,
            reason,
            demand: optional(&demand, finite)?,
        })
    }
}

const COLUMNS: usize = 11;

fn optional<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.is_empty() { Some(None) } else { read(text).map(Some) }
}

/// The fields of a line (RFC 4180); `None` if a quote has no end.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => field.push(c),
        }
    }
    (!quoted).then_some(fields)
}

struct Shown<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// A field that may hold anything (RFC 4180), on one line.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.replace(['\r', '\n'], " ");
        if text.contains(['"', ',']) {
            write!(f, "\"{}\"", text.replace('"', "\"\""))
        } else {
            f.write_str(&text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_field_for_each_column() {
        let row = Row {
            timestamp: 1_795_334_400.5,
            elapsed_s: 60.0,
            requests_total: Some(600),
            requests: Some(600),
            rate_per_s: Some(10.0),
            needed: 2,
            active_cloud: 2,
            active_balancer: 1,
            decision: "wake a, create 1".to_owned(),
            reason: "said \"so\"".to_owned(),
            demand: Some(1.25),
        };
        assert_eq!(
            row.to_string(),
            "1795334400.5,60,600,600,10,2,2,1,\"wake a, create 1\",\"said \"\"so\"\"\",1.25"
        );
        assert_eq!(Row::parse(&row.to_string()), Some(row));
        let empty = Row::default().to_string();
        assert_eq!(empty, "0,0,,,,0,0,0,,,");
        assert_eq!(Row::parse(&empty), Some(Row::default()));
        assert_eq!(empty.split(',').count(), HEADING.split(',').count());
        // As they were written before there was demand in them.
        assert_eq!(Row::parse("0,0,,,,0,0,0,,"), Some(Row::default()));
    }

    #[test]
    fn what_is_no_row_is_passed_over() {
        for line in
            ["", HEADING, "1,2", "1,2,,,,3,4", "x,0,,,,0,0,0,,", "0,0,,,NaN,0,0,0,,", "0,0,,,,0,0,0,,\"a"]
        {
            assert_eq!(Row::parse(line), None, "{line}");
        }
    }
}
