//! `weir watch`: shows figures of machine, processes, disks and network on the screen, in files, as plots and
//! for Prometheus. `weir_lab::watch` reads the figures.

mod arguments;
mod faces;
mod screen;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use weir_lab::watch::{
    Cgroups, Disks, Energy, Figures, Host, Interfaces, Processes, Processors, Source, Tcp, Watch, WatchError,
    Which, stored, write_plots,
};

pub(crate) use arguments::WatchArgs;
use arguments::{LookArgs, PlotArgs, WatchVerb};
use faces::Faces;
use screen::Screen;

use crate::top::Termination;

/// Runs the verb.
pub(crate) fn run(args: &WatchArgs) -> ExitCode {
    let done = match &args.verb {
        Some(WatchVerb::Plot(args)) => plot(args),
        None => watch(&args.watch),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("weir watch: {message}");
            ExitCode::from(2)
        }
    }
}

/// Draws the plots of a database and prints the names of the files.
fn plot(args: &PlotArgs) -> Result<(), String> {
    let history = stored(&args.file).map_err(|cause| cause.to_string())?;
    let paths = write_plots(&history, &args.svg).map_err(|cause| cause.to_string())?;
    if paths.is_empty() {
        return Err(format!("{}: has no figures", args.file.display()));
    }
    let lines: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
    std::io::stdout().write_all(lines.as_bytes()).map_err(|cause| format!("standard output: {cause}"))
}

fn watch(args: &LookArgs) -> Result<(), String> {
    let watch = Watch::new(sources(args).map_err(|cause| cause.to_string())?);
    let mut watch = if is_raw(args) { watch.raw() } else { watch };
    let notes = watch.notes();
    let missing = said_at_start(&mut watch, args, &notes)?;
    let mut faces = Faces::open(args)?;
    let termination = Termination::listen().map_err(|cause| format!("signals: {cause}"))?;
    let is_kept = args.output.is_some() || args.sqlite.is_some() || args.svg.is_some();
    let is_shown = !args.json && !is_kept && args.listen.is_none();
    let mut screen = Screen::open(is_shown, !args.once && std::io::stdin().is_terminal());
    let mut turns = Turns::new(args);
    let mut was_there = false;
    let mut look = || -> Result<bool, String> {
        let moment = watch.read().map_err(|cause| cause.to_string())?;
        was_there |= !moment.is_empty();
        faces.show(&moment)?;
        let missing = if screen.is_terminal() { watch.missing() } else { Ok(Vec::new()) };
        let missing = missing.map_err(|cause| cause.to_string())?;
        screen.show(&moment, &[notes.as_slice(), missing.as_slice()].concat())?;
        let Some(next) = turns.next(Instant::now()) else { return Ok(false) };
        Ok(!screen.wait(next, &termination)?)
    };
    let ended = loop {
        match look() {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(cause) => break Err(cause),
        }
    };
    // The figures so far are drawn even after an error.
    ended.and(faces.finish())?;
    match was_there || missing.is_empty() {
        true => Ok(()),
        false => Err("nothing was recorded: none of it was there".to_owned()),
    }
}

/// Prints to standard error the notes about the figures, and the names of missing things. Returns the latter.
fn said_at_start(watch: &mut Watch, args: &LookArgs, notes: &[String]) -> Result<Vec<String>, String> {
    let missing = watch.missing().map_err(|cause| cause.to_string())?;
    let until = if args.once { "" } else { "; it is recorded from when it comes" };
    notes.iter().for_each(|note| eprintln!("weir watch: {note}"));
    missing.iter().for_each(|missing| eprintln!("weir watch: {missing}{until}"));
    Ok(missing)
}

/// Returns true if every output only needs the kernel's raw figures.
fn is_raw(args: &LookArgs) -> bool {
    let only_csv = !args.json && args.sqlite.is_none() && args.svg.is_none() && args.listen.is_none();
    only_csv && args.output.is_some() && args.figures == Figures::Raw
}

/// Returns the selected sources, or the default ones.
fn sources(args: &LookArgs) -> Result<Vec<Box<dyn Source>>, WatchError> {
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    let names = args.process.iter().map(|name| Which::Name(name.clone()));
    let which: Vec<_> = names.chain(args.pid.iter().map(|pid| Which::Pid(*pid))).collect();
    if !which.is_empty() {
        sources.push(Box::new(Processes::new(which)));
    }
    if !args.cgroup.is_empty() {
        sources.push(Box::new(Cgroups::new(&args.cgroup)?));
    }
    let is_usual = sources.is_empty()
        && args.network.is_none()
        && args.disks.is_none()
        && !(args.host || args.processors || args.tcp || args.energy);
    if args.host || is_usual {
        sources.push(Box::new(Host::new()?));
    }
    if args.processors {
        sources.push(Box::new(Processors::new()?));
    }
    if args.network.is_some() || is_usual {
        sources.push(Box::new(Interfaces::new(args.network.clone().unwrap_or_default())?));
    }
    if args.tcp || is_usual {
        sources.push(Box::new(Tcp::new()?));
    }
    if args.disks.is_some() || is_usual {
        sources.push(Box::new(Disks::new(args.disks.clone().unwrap_or_default())?));
    }
    if args.energy || is_usual {
        sources.push(Box::new(Energy::new()?));
    }
    Ok(sources)
}

/// Schedule of the readings.
#[derive(Debug)]
struct Turns {
    start: Instant,
    every: Duration,
    /// Readings that are left. `None` if there is no limit.
    left: Option<u64>,
}

impl Turns {
    fn new(args: &LookArgs) -> Self {
        // One reading at the start and one at the end.
        let of = |duration: Duration| {
            u64::try_from(duration.as_nanos() / args.every.as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
        };
        let looks = if args.once { Some(1) } else { args.count.or(args.duration.map(of)) };
        Self { start: Instant::now(), every: args.every, left: looks }
    }

    /// Returns the time of the next reading. Times are multiples of the interval since the start: a reading
    /// that takes too long skips some, but does not shift the others.
    fn next(&mut self, now: Instant) -> Option<Instant> {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return None;
            }
        }
        let gone = now.saturating_duration_since(self.start).as_nanos() / self.every.as_nanos();
        let wait = u64::try_from((gone + 1).saturating_mul(self.every.as_nanos())).unwrap_or(u64::MAX);
        Some(self.start + Duration::from_nanos(wait))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: WatchArgs,
    }

    fn parsed(line: &str) -> LookArgs {
        Line::try_parse_from(std::iter::once("watch").chain(line.split_whitespace())).unwrap().args.watch
    }

    fn names(line: &str) -> Vec<&'static str> {
        sources(&parsed(line)).unwrap().iter().map(|source| source.name()).collect()
    }

    #[test]
    fn what_was_asked_for_is_watched_and_else_the_usual() {
        assert_eq!(names(""), ["host", "network", "tcp", "disks", "energy"]);
        assert_eq!(names("--energy"), ["energy"]);
        assert_eq!(names("--tcp"), ["tcp"]);
        assert_eq!(names("--process cat,dog --processors --disks"), ["processes", "processors", "disks"]);
        assert_eq!(names("--network=lo"), ["network"]);
    }

    #[test]
    fn what_follows_is_left_out_only_where_nobody_sees_it() {
        assert!(is_raw(&parsed("--disks --output d")));
        for line in
            ["--disks", "--disks --output d --json", "--output d --figures all", "--output d --sqlite f"]
        {
            assert!(!is_raw(&parsed(line)), "{line}");
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        for line in ["--disks=nosuch", "--network=nosuch", "--process nosuch", "--pid 4294967295"] {
            let missing = Watch::new(sources(&parsed(line)).unwrap()).missing().unwrap();
            assert!(
                missing.len() == 1 && (missing[0].contains("nosuch") || missing[0].contains("4294967295")),
                "{missing:?}"
            );
        }
    }

    #[test]
    fn looks_are_at_even_times_and_those_that_were_missed_are_left_out() {
        let mut turns = Turns::new(&parsed("--every 100ms --for 1s"));
        let at = |ms| turns_start(&turns) + Duration::from_millis(ms);
        let (first, second, late) = (at(3), at(120), at(555));
        assert_eq!(turns.next(first), Some(at_of(&turns, 100)));
        assert_eq!(turns.next(second), Some(at_of(&turns, 200)));
        assert_eq!(turns.next(late), Some(at_of(&turns, 600)));
        assert_eq!(turns.left, Some(8));
        assert_eq!(Turns::new(&parsed("--once")).next(late), None);
        assert_eq!(Turns::new(&parsed("")).left, None);
    }

    fn turns_start(turns: &Turns) -> Instant {
        turns.start
    }

    fn at_of(turns: &Turns, ms: u64) -> Instant {
        turns.start + Duration::from_millis(ms)
    }
}
