//! Table of the results, with the verdict about the requirements.

use crate::connection_use::Usage;
use crate::error::{Error, Result};
use crate::options::Servers;
use crate::statistics::Spread;

use super::FEW;
use super::turn::{FEW_CLIENTS, Turn};

/// Highest accepted ratio of the cost with many servers to few.
const RATIO_MAX: f64 = 1.10;

/// Largest ratio of connections for a valid comparison; above it, the sockets differ and not only the
/// servers.
const CONNECTIONS_RATIO_MAX: f64 = 1.25;

/// Largest share of requests that open a connection; above it, connecting is compared, which costs as much as
/// a request. It matters only if no more files may be open. Otherwise, connections that are not kept are the
/// balancer's own fault.
const OPENED_MAX: f64 = 0.01;

/// Share of the permitted open files from which on all may be in use at times.
const FULL: f64 = 0.95;

/// All turns of one contestant, with few and with many servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Costs {
    pub(super) few: Vec<Turn>,
    pub(super) many: Vec<Turn>,
    /// Reason why there were no further turns.
    pub(super) failure: Option<String>,
}

impl Costs {
    /// Returns the ratio of the costs, turn by turn.
    fn of_many_to_few(&self) -> Option<Spread> {
        ratio_of(&self.many, &self.few)
    }

    /// Returns the ratio of connections with many servers to those with few; 1 if connections come and go.
    fn connections_of_many_to_few(&self) -> f64 {
        match (established(&self.many), established(&self.few)) {
            (_, 0) => 1.0,
            (many, few) => many as f64 / few as f64,
        }
    }
}

/// Table that grows row by row.
pub(super) struct Table {
    text: String,
    many: usize,
    clients: u32,
    /// Files that a balancer may have open.
    files: usize,
    is_kept: bool,
    unmeasured: usize,
}

impl Table {
    /// Creates a table. `files`: number of files that a balancer may have open.
    pub(super) fn new(options: &Servers, files: usize) -> Self {
        let (many, clients) = (options.many, Usage::Held.clients(options));
        let text = format!(
            "\nCPU a request with {many} servers against {FEW}\n\n\
             | algorithm | server connections | {FEW} servers | {many} servers | established: {FEW}, {many} servers | ratio: median (min..max) | |\n\
             |---|---|---|---|---|---|---|\n"
        );
        Self { text, many, clients, files, is_kept: true, unmeasured: 0 }
    }

    /// Adds Weir's row and checks the requirement.
    pub(super) fn add(&mut self, algorithm: &str, usage: Usage, costs: &Costs) {
        let Some(ratio) = costs.of_many_to_few() else { return };
        let connections = costs.connections_of_many_to_few();
        let opened = opened(&costs.many).max(opened(&costs.few));
        let verdict = match usage.is_fair() {
            false => "for information",
            true if connections > CONNECTIONS_RATIO_MAX => {
                &format!("for information: {connections:.1} times the connections")
            }
            true if opened > OPENED_MAX && self.is_out_of_files(costs) => &format!(
                "for information: no more files, {:.1}% of requests needed a new connection",
                100.0 * opened
            ),
            true if ratio.median <= RATIO_MAX => "kept",
            true => {
                self.is_kept = false;
                "**missed**"
            }
        };
        self.row(algorithm, usage, costs, ratio, verdict);
    }

    /// Returns whether so many files were open with many servers that connections worth keeping had to be
    /// closed.
    fn is_out_of_files(&self, costs: &Costs) -> bool {
        let open = established(&costs.many) + self.clients as usize;
        open as f64 >= FULL * self.files as f64
    }

    /// Adds a rival's row, relative to Weir's.
    pub(super) fn add_rival(&mut self, who: &str, usage: Usage, theirs: &Costs, weirs: &Costs) {
        let failed = theirs.failure.as_ref().map(|why| format!("no further turns: {}", in_one_line(why)));
        let Some(ratio) = theirs.of_many_to_few() else {
            self.row_without_costs(who, usage, failed.as_deref().unwrap_or("no turns"));
            return;
        };
        let share = ratio_of(&weirs.many, &theirs.many).map_or(0.0, |share| share.median);
        let mut verdict = format!("Weir: {share:.2} of it with {} servers", self.many);
        let opened = opened(&theirs.many);
        if opened > OPENED_MAX {
            verdict.push_str(&format!("; {:.1}% of its requests needed a new connection", 100.0 * opened));
        }
        if let Some(failed) = failed {
            verdict.push_str(&format!("; {failed}"));
        }
        self.row(who, usage, theirs, ratio, &verdict);
    }

    /// Adds a row without results, with the reason.
    pub(super) fn add_unmeasured(&mut self, algorithm: &str, usage: Usage, why: &Error) {
        self.unmeasured += 1;
        self.row_without_costs(algorithm, usage, &why.to_string());
    }

    fn row_without_costs(&mut self, who: &str, usage: Usage, why: &str) {
        let connections = self.connections(usage);
        let why = in_one_line(why);
        self.text.push_str(&format!("| {who} | {connections} | | | | | not measured: {why} |\n"));
    }

    /// Returns whether all requirements were met.
    ///
    /// # Errors
    /// If something could not be measured and all other requirements were met.
    pub(super) fn verdict(&self) -> Result<bool> {
        match self.unmeasured {
            rows if rows > 0 && self.is_kept => {
                Err(Error::new(format!("{rows} rows could not be measured, the rest was kept")))
            }
            _ => Ok(self.is_kept),
        }
    }

    /// Returns the whole table as Markdown.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn row(&mut self, who: &str, usage: Usage, costs: &Costs, ratio: Spread, verdict: &str) {
        let (few, many) = (median(&costs.few), median(&costs.many));
        let connections = self.connections(usage);
        let established = match usage {
            // These connections come and go.
            Usage::OneARequest => "-".to_owned(),
            _ => format!("{}, {}", established(&costs.few), established(&costs.many)),
        };
        let Spread { min, median: ratio, max } = ratio;
        self.text.push_str(&format!(
            "| {who} | {connections} | {few:.2} us | {many:.2} us | {established} | {ratio:.2} ({min:.2}..{max:.2}) | {verdict} |\n"
        ));
    }

    fn connections(&self, usage: Usage) -> String {
        match usage {
            Usage::OneARequest => format!("one a request, {FEW_CLIENTS} clients"),
            Usage::Held => format!("kept, {} clients, a request on each", self.clients),
            Usage::KeptByFew => format!("kept, {FEW_CLIENTS} clients: a cache's worth or not"),
        }
    }
}

/// Returns a text that fits into one cell of a table.
fn in_one_line(why: &str) -> String {
    why.replace('\n', " ").replace('|', "/")
}

/// Returns the ratio of the costs, turn by turn.
fn ratio_of(one: &[Turn], other: &[Turn]) -> Option<Spread> {
    Spread::of(one.iter().zip(other).map(|(one, other)| one.cost_us / other.cost_us))
}

fn median(turns: &[Turn]) -> f64 {
    Spread::of(turns.iter().map(|turn| turn.cost_us)).map_or(0.0, |it| it.median)
}

/// Returns the median number of connections to servers.
fn established(turns: &[Turn]) -> usize {
    Spread::of(turns.iter().map(|turn| turn.established as f64)).map_or(0, |it| it.median as usize)
}

/// Returns the median number of opened connections per request.
fn opened(turns: &[Turn]) -> f64 {
    Spread::of(turns.iter().map(|turn| turn.opened)).map_or(0.0, |it| it.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Servers {
        Servers {
            many: 10_000,
            connections: 10_000,
            repeats: 3,
            seconds: 1,
            only: Vec::new(),
            all: false,
            usage: Vec::new(),
            rivals: true,
        }
    }

    fn costs(few_us: f64, many_us: f64) -> Costs {
        let turn = |cost_us, established| Turn { cost_us, established, opened: 0.0 };
        Costs { few: vec![turn(few_us, 10_003)], many: vec![turn(many_us, 10_102)], failure: None }
    }

    #[test]
    fn too_much_is_missed_where_connections_are_alike_and_told_where_they_are_not() {
        let mut table = Table::new(&options(), 60_000);
        table.add("random", Usage::KeptByFew, &costs(10.0, 15.0));
        assert!(table.verdict().unwrap(), "{}", table.text());
        table.add("random", Usage::Held, &costs(10.0, 11.0));
        assert!(table.verdict().unwrap(), "{}", table.text());
        table.add("random", Usage::Held, &costs(10.0, 11.2));
        assert!(!table.verdict().unwrap(), "{}", table.text());
    }

    #[test]
    fn nothing_is_required_where_there_are_many_times_the_connections() {
        let mut table = Table::new(&options(), 60_000);
        let mut chance = costs(10.0, 15.0);
        chance.many[0].established = 55_000;
        table.add("random", Usage::Held, &chance);
        assert!(table.verdict().unwrap(), "{}", table.text());
        assert!(
            table.text().ends_with("| for information: 5.5 times the connections |\n"),
            "{}",
            table.text()
        );
        // The earlier row does not hide a missed requirement.
        table.add(
            "random",
            Usage::OneARequest,
            &Costs { few: vec![none(10.0)], many: vec![none(11.5)], failure: None },
        );
        assert!(!table.verdict().unwrap(), "{}", table.text());
    }

    #[test]
    fn connections_opened_anew_excuse_what_they_cost_only_where_no_more_files_may_be_open() {
        let mut short = costs(10.0, 15.0);
        short.many[0].opened = 0.7;
        let mut full = Table::new(&options(), 20_500);
        full.add("random", Usage::Held, &short);
        assert!(full.verdict().unwrap(), "{}", full.text());
        let told = "| for information: no more files, 70.0% of requests needed a new connection |\n";
        assert!(full.text().ends_with(told), "{}", full.text());
        let mut roomy = Table::new(&options(), 60_000);
        roomy.add("random", Usage::Held, &short);
        assert!(!roomy.verdict().unwrap(), "{}", roomy.text());
    }

    /// Returns a turn after which no connection is left.
    fn none(cost_us: f64) -> Turn {
        Turn { cost_us, established: 0, opened: 0.0 }
    }

    #[test]
    fn what_could_not_be_measured_is_neither_kept_nor_hides_what_was_missed() {
        let mut table = Table::new(&options(), 60_000);
        table.add_unmeasured("random", Usage::Held, &Error::new("wrk: errors in its report:\nread 3"));
        assert!(table.verdict().is_err());
        let row = "| random | kept, 10000 clients, a request on each | | | | | not measured: wrk: errors in its report: read 3 |\n";
        assert!(table.text().ends_with(row), "{}", table.text());
        table.add("random", Usage::OneARequest, &costs(10.0, 12.0));
        assert!(!table.verdict().unwrap());
    }

    #[test]
    fn a_rival_that_cannot_do_it_is_told_and_takes_nothing_from_what_weir_has_kept() {
        let mut table = Table::new(&options(), 60_000);
        let failure = Some("with 10000 servers: wrk: 822\ntimeouts".to_owned());
        let weirs = costs(10.0, 11.0);
        let once = Costs { failure: failure.clone(), ..costs(20.0, 22.0) };
        table.add_rival("random, nginx-1.22.1", Usage::Held, &Costs { failure, ..Costs::default() }, &weirs);
        table.add_rival("random, nginx-1.22.1", Usage::Held, &once, &weirs);
        assert!(table.verdict().unwrap());
        let rows: Vec<&str> = table.text().lines().skip(5).collect();
        assert_eq!(
            rows,
            [
                "| random, nginx-1.22.1 | kept, 10000 clients, a request on each | | | | | not measured: no further turns: with 10000 servers: wrk: 822 timeouts |",
                "| random, nginx-1.22.1 | kept, 10000 clients, a request on each | 20.00 us | 22.00 us | 10003, 10102 | 1.10 (1.10..1.10) | Weir: 0.50 of it with 10000 servers; no further turns: with 10000 servers: wrk: 822 timeouts |",
            ]
        );
    }

    #[test]
    fn what_a_rival_paid_for_new_connections_is_told() {
        let mut table = Table::new(&options(), 60_000);
        let mut theirs = costs(20.0, 40.0);
        theirs.many[0].opened = 0.7;
        table.add_rival("random, haproxy-2.6.12", Usage::Held, &theirs, &costs(10.0, 11.0));
        assert!(
            table.text().ends_with("; 70.0% of its requests needed a new connection |\n"),
            "{}",
            table.text()
        );
    }

    #[test]
    fn rows_say_how_many_connections_there_were() {
        let mut table = Table::new(&options(), 60_000);
        table.add("random", Usage::Held, &costs(10.0, 11.0));
        table.add_rival("random, haproxy-2.6.12", Usage::Held, &costs(20.0, 22.0), &costs(10.0, 11.0));
        table.add("random", Usage::OneARequest, &costs(10.0, 11.0));
        let rows: Vec<&str> = table.text().lines().skip(5).collect();
        assert_eq!(
            rows,
            [
                "| random | kept, 10000 clients, a request on each | 10.00 us | 11.00 us | 10003, 10102 | 1.10 (1.10..1.10) | kept |",
                "| random, haproxy-2.6.12 | kept, 10000 clients, a request on each | 20.00 us | 22.00 us | 10003, 10102 | 1.10 (1.10..1.10) | Weir: 0.50 of it with 10000 servers |",
                "| random | one a request, 64 clients | 10.00 us | 11.00 us | - | 1.10 (1.10..1.10) | kept |",
            ]
        );
    }
}
