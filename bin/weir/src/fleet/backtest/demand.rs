//! The demand of a backtest: recorded or synthetic.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::Path;

use weir_config::simulation::{LogFormat, LoggedTimes, Replay};
use weir_fleet::History;
use weir_scale::history::{ABOUT_BEFORE, HEADING, HEADINGS_BEFORE};
use weir_sim::{Demand, Pattern};

use super::BacktestArgs;

/// The source of the demand.
#[derive(Debug)]
pub(super) enum Source {
    /// Recorded demand, the same for each seed.
    Recorded(Demand),
    /// Synthetic demand, generated for each seed.
    Synthetic { pattern: Pattern, scale: f64 },
}

impl Source {
    pub(super) fn of(args: &BacktestArgs) -> Result<Self, String> {
        let Some(path) = &args.history else {
            return Ok(Self::Synthetic { pattern: args.pattern, scale: args.scale });
        };
        let name =
            if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
        let mut reader: Box<dyn BufRead> = match path == Path::new("-") {
            true => Box::new(io::stdin().lock()),
            false => open(path)?,
        };
        let head = reader.fill_buf().map_err(|cause| format!("{name}: {cause}"))?;
        let heading = head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        if HEADINGS_BEFORE.iter().any(|before| before.as_bytes() == heading) {
            eprintln!("weir fleet backtest: {name}: {ABOUT_BEFORE}");
        }
        let replay =
            Replay { file: path.clone(), format: LogFormat::Auto, speed: 1.0, times: LoggedTimes::Logged };
        let mut demand =
            Demand::recorded(&name, &replay, &mut reader).map_err(|cause| format!("{name}: {cause}"))?;
        demand.rates_per_s.iter_mut().for_each(|rate| *rate *= args.scale);
        Ok(Self::Recorded(demand))
    }

    pub(super) fn demand(&self, seed: u64) -> Cow<'_, Demand> {
        match self {
            Self::Recorded(demand) => Cow::Borrowed(demand),
            Self::Synthetic { pattern, scale } => Cow::Owned(Demand::synthetic(*pattern, seed, *scale)),
        }
    }
}

/// Opens a file as text. Converts the rows of a database to CSV.
fn open(path: &Path) -> Result<Box<dyn BufRead>, String> {
    if let Some(rows) = History::of_database(path, usize::MAX).map_err(|cause| cause.to_string())? {
        let mut text = format!("{HEADING}\n");
        for row in rows {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{row}");
        }
        return Ok(Box::new(Cursor::new(text)));
    }
    let file = File::open(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(Box::new(BufReader::with_capacity(256 << 10, file)))
}
