//! Rows of the history file: the columns of the published autoscaler, the decision, and mean and peak values.

use std::fmt;

use crate::date::Date;

/// Result of one look, or of all looks since the previous row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Seconds since the first look.
    pub elapsed_s: f64,
    /// Requests since the counter began.
    pub requests_total: Option<u64>,
    /// Requests since the last look; in a file, since the previous row.
    pub requests: Option<u64>,
    /// Requests per second in that time.
    pub rate_per_s: Option<f64>,
    /// Servers that the policies call for, without `min` and `max`.
    pub needed: u32,
    /// Servers that the provider runs.
    pub active_cloud: u32,
    /// Servers that get requests.
    pub active_balancer: u32,
    /// Action taken.
    pub decision: String,
    /// Reason for the action.
    pub reason: String,
    /// Mean demand, in servers; `None` = not known.
    pub demand: Option<f64>,
    /// Wanted servers: within the bounds and after all pauses, or as an operator asked.
    pub wanted: u32,
    /// Highest rate of a single look.
    pub rate_peak_per_s: Option<f64>,
    /// Highest demand of a single look.
    pub demand_peak: Option<f64>,
    /// Mean of `needed`.
    pub needed_mean: Option<f64>,
    /// Highest `needed`.
    pub needed_peak: Option<u32>,
    /// Servers that are starting.
    pub starting: Option<u32>,
    /// Servers that are draining.
    pub draining: Option<u32>,
    /// Alarms, joined by commas.
    pub alarms: String,
}

/// Names of the columns in their order: the first line of the file. New columns follow the old ones.
pub const HEADING: &str = "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason,demand,\
                           date,wanted,rate_peak_per_s,demand_peak,needed_mean,needed_peak,starting,draining,alarms";

/// First lines of files of earlier versions; a [`Reader`] also reads their rows.
pub const HEADINGS_BEFORE: [&str; 2] = [
    "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason",
    "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason,demand",
];

/// Explains rows of earlier versions to the operator.
pub const ABOUT_BEFORE: &str = "rows of an earlier version hold one second each: Weir takes their requests and rates from the counter where it \
                                continues; their peaks are unknown, and their needed servers are the wanted ones";

impl fmt::Display for Row {
    /// Writes the row as one line of the file, without a line end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.timestamp, self.elapsed_s)?;
        write!(f, ",{},{}", Shown(self.requests_total), Shown(self.requests))?;
        write!(f, ",{},{},{}", Shown(self.rate_per_s), self.needed, self.active_cloud)?;
        write!(f, ",{},{},{}", self.active_balancer, Quoted(&self.decision), Quoted(&self.reason))?;
        write!(f, ",{},{},{}", Shown(self.demand), Date(self.timestamp), self.wanted)?;
        write!(f, ",{},{}", Shown(self.rate_peak_per_s), Shown(self.demand_peak))?;
        write!(f, ",{},{}", Shown(self.needed_mean), Shown(self.needed_peak))?;
        write!(f, ",{},{},{}", Shown(self.starting), Shown(self.draining), Quoted(&self.alarms))
    }
}

impl Row {
    /// Parses a line of the file. Returns `None` if the line is not a row, such as the heading or a line cut
    /// off by a full disk.
    pub fn parse(line: &str) -> Option<Self> {
        parse(line).map(|(row, _)| row)
    }

    /// Returns the time of the row as a UTC date (ISO 8601).
    pub fn date(&self) -> String {
        Date(self.timestamp).to_string()
    }
}

/// Reads successive rows in the format of any version.
///
/// A row of an earlier version holds only the last second. The reader takes the requests since the previous
/// row from the difference of the two counters.
#[derive(Debug, Default)]
pub struct Reader {
    /// `elapsed_s` and `requests_total` of the previous row.
    before: Option<(f64, u64)>,
}

impl Reader {
    /// Parses a line of the file; `None` if it is not a row.
    pub fn read(&mut self, line: &str) -> Option<Row> {
        let (row, is_of_before) = parse(line)?;
        Some(self.complete(row, is_of_before))
    }

    /// Completes a parsed row from the counters.
    pub fn complete(&mut self, row: Row, is_of_before: bool) -> Row {
        let counted = row.requests_total.map(|total| (row.elapsed_s, total));
        let before = std::mem::replace(&mut self.before, counted);
        // If the time goes back, another process wrote the row, with another counter.
        let since = before.zip(counted).and_then(|((then, counted), (now, total))| {
            Some((now - then, total.checked_sub(counted)?)).filter(|(passed_s, _)| *passed_s > 0.0)
        });
        match since {
            Some((passed_s, requests)) if is_of_before => {
                let rate = (requests as f64 / passed_s * 1e3).round() / 1e3;
                Row { requests: Some(requests), rate_per_s: Some(rate), ..row }
            }
            _ => row,
        }
    }
}

/// Parses a row. The flag is true if an earlier version wrote the line.
fn parse(line: &str) -> Option<(Row, bool)> {
    let mut fields = fields(line.trim_end_matches(['\r', '\n']))?;
    let is_of_before = COLUMNS_BEFORE.contains(&fields.len());
    if is_of_before {
        fields.resize(COLUMNS, String::new());
    }
    let [
        timestamp,
        elapsed,
        total,
        requests,
        rate,
        needed,
        cloud,
        balancer,
        decision,
        reason,
        demand,
        _date,
        wanted,
        rate_peak,
        demand_peak,
        needed_mean,
        needed_peak,
        starting,
        draining,
        alarms,
    ] = <[String; COLUMNS]>::try_from(fields).ok()?;
    let finite = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let whole = |text: &str| text.parse().ok();
    let needed = needed.parse().ok()?;
    let row = Row {
        timestamp: finite(&timestamp)?,
        elapsed_s: finite(&elapsed)?,
        requests_total: optional(&total, |text| text.parse().ok())?,
        requests: optional(&requests, |text| text.parse().ok())?,
        rate_per_s: optional(&rate, finite)?,
        needed,
        active_cloud: cloud.parse().ok()?,
        active_balancer: balancer.parse().ok()?,
        decision,
        reason,
        demand: optional(&demand, finite)?,
        wanted: if is_of_before { needed } else { wanted.parse().ok()? },
        rate_peak_per_s: optional(&rate_peak, finite)?,
        demand_peak: optional(&demand_peak, finite)?,
        needed_mean: optional(&needed_mean, finite)?,
        needed_peak: optional(&needed_peak, whole)?,
        starting: optional(&starting, whole)?,
        draining: optional(&draining, whole)?,
        alarms,
    };
    Some((row, is_of_before))
}

const COLUMNS: usize = 20;
const COLUMNS_BEFORE: [usize; 2] = [10, 11];

fn optional<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.is_empty() { Some(None) } else { read(text).map(Some) }
}

/// Splits a line into its fields (RFC 4180); `None` if a quote has no end.
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

/// A field with any content (RFC 4180), on one line.
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
            needed: 9,
            active_cloud: 2,
            active_balancer: 1,
            decision: "wake a, create 1".to_owned(),
            reason: "said \"so\"".to_owned(),
            demand: Some(1.25),
            wanted: 4,
            rate_peak_per_s: Some(40.0),
            demand_peak: Some(4.5),
            needed_mean: Some(2.5),
            needed_peak: Some(9),
            starting: Some(1),
            draining: Some(0),
            alarms: "9 servers are wanted, 4 are permitted".to_owned(),
        };
        assert_eq!(
            row.to_string(),
            "1795334400.5,60,600,600,10,9,2,1,\"wake a, create 1\",\"said \"\"so\"\"\",1.25,\
             2026-11-22T08:00:00.500Z,4,40,4.5,2.5,9,1,0,\"9 servers are wanted, 4 are permitted\""
        );
        assert_eq!(Row::parse(&row.to_string()), Some(row));
        let empty = Row::default().to_string();
        assert_eq!(empty, "0,0,,,,0,0,0,,,,1970-01-01T00:00:00.000Z,0,,,,,,,");
        assert_eq!(Row::parse(&empty), Some(Row::default()));
        assert_eq!(empty.split(',').count(), HEADING.split(',').count());
    }

    #[test]
    fn rows_of_earlier_versions_are_read_with_the_columns_that_they_have() {
        for (line, demand) in [("5,1,,,,3,2,1,,", None), ("5,1,,,,3,2,1,,,0.5", Some(0.5))] {
            let row = Row {
                timestamp: 5.0,
                elapsed_s: 1.0,
                needed: 3,
                wanted: 3,
                active_cloud: 2,
                active_balancer: 1,
                demand,
                ..Row::default()
            };
            assert_eq!(Row::parse(line), Some(row), "{line}");
        }
    }

    #[test]
    fn what_came_since_the_row_before_is_found_by_the_counter_where_a_row_tells_of_its_last_second_alone() {
        let mut reader = Reader::default();
        let mut rates = |lines: &[&str]| -> Vec<(Option<u64>, Option<f64>)> {
            let rows = lines.iter().filter_map(|line| reader.read(line));
            rows.map(|row| (row.requests, row.rate_per_s)).collect()
        };
        let read = rates(&[
            HEADINGS_BEFORE[1],
            "100,0,1000,,,1,1,1,,,",
            "110,10,1922,6,6,1,1,1,,,0.6",
            // Another process with a higher counter.
            "130,0,3000,2,2,1,1,1,,,",
            "140,10,3020,2,2,1,1,1,,,",
            // The counter was reset.
            "150,20,5,1,1,1,1,1,,,",
            "160,30,,,,1,1,1,,,",
            "170,40,9,4,4,1,1,1,,,",
        ]);
        let expected = [
            (None, None),
            (Some(922), Some(92.2)),
            (Some(2), Some(2.0)),
            (Some(20), Some(2.0)),
            (Some(1), Some(1.0)),
            (None, None),
            (Some(4), Some(4.0)),
        ];
        assert_eq!(read, expected);
        // Rows of this version hold all requests of their span.
        let today = Row {
            requests: Some(30),
            rate_per_s: Some(3.0),
            requests_total: Some(30),
            elapsed_s: 50.0,
            ..Row::default()
        };
        assert_eq!(rates(&[&today.to_string()]), [(Some(30), Some(3.0))]);
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
