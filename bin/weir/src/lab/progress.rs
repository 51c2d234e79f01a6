//! Reports the progress of a lab, one line for each event.

use std::io::{self, Write};
use std::time::Duration;

use weir_config::lab::Measure;
use weir_lab::contest::{Cleaned, Event, Played};

use crate::check::print_diagnostics;

/// Writes an event to standard error.
///
/// # Errors
/// If standard error is closed.
pub(super) fn tell(event: &Event<'_>) -> io::Result<()> {
    let line = match event {
        Event::Warning(diagnostic) => {
            print_diagnostics(std::slice::from_ref(diagnostic));
            return Ok(());
        }
        Event::Cleaned(what) => cleaned(*what),
        Event::LeftOut { rival, why } => format!("{rival} is left out: {why}"),
        Event::Ready { runs, done: 0 } => format!("{runs} runs"),
        Event::Ready { runs, done } => format!("{runs} runs, {done} of them are there already"),
        Event::Ran { run, done, runs, left } => format!(
            "[{done}/{runs}] {}, {}, repeat {}: {}; {}",
            run.case,
            run.rival,
            run.repeat + 1,
            said(run),
            time_left(*left)
        ),
    };
    writeln!(io::stderr(), "{line}")
}

pub(super) fn cleaned(what: Cleaned) -> String {
    let Cleaned { processes, namespaces, directories } = what;
    format!(
        "taken away what a lab that was killed had left: {processes} groups of processes, {namespaces} network namespaces, {directories} directories"
    )
}

fn said(run: &Played) -> String {
    if !run.is_valid() {
        return format!("INVALID: {}", run.why());
    }
    let figure = |measure| run.figures.iter().find(|(it, _)| *it == measure).map(|(_, value)| *value);
    let mean = figure(Measure::Mean).map_or("no answer".to_owned(), |ms| format!("{ms:.2} ms"));
    let rate = figure(Measure::Rate).unwrap_or(0.0);
    let cpu = figure(Measure::Cpu).map_or(String::new(), |us| format!(", {us:.0} us of CPU each"));
    format!("{mean}, {rate:.0}/s{cpu}")
}

fn time_left(left: Duration) -> String {
    match left.as_secs() {
        0 => "done".to_owned(),
        seconds @ 1..=99 => format!("{seconds} s left"),
        seconds => format!("{} min left", seconds.div_ceil(60)),
    }
}
