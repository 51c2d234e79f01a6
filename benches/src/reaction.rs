//! Time from a step in demand to the start of a server. Weir runs with the default policy and a fleet of
//! processes, requests start by the clock, and the processes record their own start.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{Context, Error, Result};
use crate::openloop::{self, Arrivals, Load};
use crate::options::Reaction;
use crate::rivals::Contestant;
use crate::statistics::Spread;
use crate::workshop::{Workshop, free_addresses};

/// Configured capacity of a server, in requests a second.
const CAPACITY: f64 = 10.0;
const RATE_BEFORE: f64 = 5.0;
/// Rates after the step; the second is the maximum of the published load. The default policy waits longer the
/// less capacity is missing: 13 seconds of one server's work. With one or two missing servers it deliberately
/// takes longer than required here.
const STEPS: [f64; 2] = [300.0, 130.0];
/// Limit of the time from the step to the start of the first server, in every turn.
const REACTION_MAX: Duration = Duration::from_secs(2);
/// Time before the step, in which the scaling rounds settle. Each turn adds a tenth of a second, so that the
/// step falls on another moment of a round.
const BEFORE: Duration = Duration::from_secs(5);
const AFTER: Duration = Duration::from_secs(4);
const CONNECTIONS: usize = 32;

/// Script that records the process id and the time, and then becomes the program.
const SCRIPT: &str = "echo \"$$ $(date +%s.%N)\" >> \"$1\"\nshift\nexec \"$@\"\n";

/// Runs `reaction`. Returns whether the first server started in time after every step of every turn.
pub(crate) fn run(options: &Reaction) -> Result<bool> {
    let contestant = Contestant::weir()?;
    let mut table = format!(
        "\n## From a step in demand to the start of a server\n\nDefault policy and interval, a server does {CAPACITY}/s, {} turns each; seconds until the first \
         new process begins.\n\n| step | median | least..most | required | |\n|---|---|---|---|---|\n",
        options.repeats
    );
    let mut all_kept = true;
    for rate in STEPS {
        let mut reactions_s = Vec::new();
        for turn in 0..options.repeats.max(1) {
            let reaction_s = react(&contestant, rate, turn)?;
            eprintln!("{RATE_BEFORE}/s to {rate}/s: {reaction_s:.2} s");
            reactions_s.push(reaction_s);
        }
        let spread = Spread::of(reactions_s).ok_or_else(|| Error::new("no turn was made"))?;
        let is_kept = spread.max < REACTION_MAX.as_secs_f64();
        all_kept &= is_kept;
        table.push_str(&format!(
            "| {RATE_BEFORE}/s to {rate}/s | {:.2} s | {:.2}..{:.2} s | all < {} s | {} |\n",
            spread.median,
            spread.min,
            spread.max,
            REACTION_MAX.as_secs(),
            if is_kept { "kept" } else { "**missed**" },
        ));
    }
    println!("{table}");
    Ok(all_kept)
}

/// Runs one turn with a fresh Weir. Returns the reaction time in seconds.
fn react(contestant: &Contestant, rate_per_s: f64, turn: u32) -> Result<f64> {
    let workshop = Workshop::open()?;
    let (starts, script) = (workshop.path("starts"), workshop.write("start.sh", SCRIPT)?);
    let [bind] = free_addresses()?;
    let config = format!(
        "[weir]\ncontrol = {control:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\npool = \"web\"\n\n\
         [pool.web]\ncheck = \"GET /health\"\n\n[fleet.web]\npool = \"web\"\nmax = 40\ncapacity = {CAPACITY}\ndirectory = {directory:?}\n\
         process = {{ command = [\"/bin/sh\", {script:?}, {starts:?}, {program:?}, \"origin\", \"--bind\", \"{{address}}:{{port}}\"] }}\n",
        control = workshop.path("weir.sock"),
        directory = workshop.path("fleet"),
        program = contestant.program,
    );
    let balancer = contestant.start_with(&workshop, &config, bind)?;
    let load = Load {
        address: balancer.address,
        path: "/",
        rate_per_s: RATE_BEFORE,
        arrivals: Arrivals::Even,
        duration: BEFORE + Duration::from_millis(100) * turn,
        connections: CONNECTIONS,
    };
    openloop::run(&load)?;
    let before = started(&starts)?.len();
    let step_s = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock")?.as_secs_f64();
    openloop::run(&Load { rate_per_s, duration: AFTER, ..load })?;
    let first = started(&starts)?.into_iter().skip(before).min_by(f64::total_cmp);
    let first_s =
        first.ok_or_else(|| Error::new(format!("no server was started within {} s", AFTER.as_secs())))?;
    if first_s < step_s {
        return Err(Error::new("a server was started before the step"));
    }
    Ok(first_s - step_s)
}

/// Returns the start times of the processes in seconds since 1970.
fn started(file: &Path) -> Result<Vec<f64>> {
    let text = fs::read_to_string(file).context(file.display())?;
    let time = |line: &str| -> Result<f64> {
        let (_, time) =
            line.split_once(' ').ok_or_else(|| Error::new(format!("{}: {line:?}", file.display())))?;
        time.parse().context(file.display())
    };
    text.lines().map(time).collect()
}
