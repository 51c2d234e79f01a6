//! Writes the figures for programs and for later use: CSV files, SQLite, plots, lines of JSON, Prometheus.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_admin::TextHttp;
use weir_lab::watch::{CONTENT_TYPE, CsvFiles, History, Moment, SqliteFile, exposition, write_plots};

use super::LookArgs;

/// All outputs that the options select.
pub(super) struct Faces {
    files: Option<CsvFiles>,
    database: Option<SqliteFile>,
    plots: Option<Plots>,
    json: bool,
    /// Text that Prometheus fetches.
    exposed: Option<Arc<Mutex<String>>>,
}

/// Curves so far, and the directory in which they are drawn.
struct Plots {
    directory: PathBuf,
    history: History,
    drawn: Instant,
}

/// Interval between drawings of the plots.
const DRAW: Duration = Duration::from_secs(60);

impl Faces {
    pub(super) fn open(args: &LookArgs) -> Result<Self, String> {
        let files = args.output.as_ref().map(|directory| CsvFiles::new(directory, args.figures));
        let database = args.sqlite.as_ref().map(|path| SqliteFile::open(path, args.every));
        let plots = args.svg.as_deref().map(Plots::open);
        let exposed = args.listen.map(|address| {
            let exposed = Arc::new(Mutex::new(String::new()));
            let text = Arc::clone(&exposed);
            let answer = move || text.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let http = TextHttp::bind(address, "/metrics", CONTENT_TYPE, Box::new(answer))?;
            eprintln!("weir watch: http://{}/metrics", http.local_address()?);
            http.spawn()?;
            Ok::<_, io::Error>(exposed)
        });
        Ok(Self {
            files: files.transpose().map_err(|cause| cause.to_string())?,
            database: database.transpose().map_err(|cause| cause.to_string())?,
            plots: plots.transpose()?,
            json: args.json,
            exposed: exposed.transpose().map_err(|cause| cause.to_string())?,
        })
    }

    pub(super) fn show(&mut self, moment: &Moment) -> Result<(), String> {
        if let Some(files) = &mut self.files {
            files.write(moment).map_err(|cause| cause.to_string())?;
            files.notes().iter().for_each(|note| eprintln!("weir watch: {note}"));
        }
        if let Some(database) = &mut self.database {
            database.write(moment).map_err(|cause| cause.to_string())?;
        }
        if let Some(plots) = &mut self.plots {
            plots.history.add(moment);
            if plots.drawn.elapsed() >= DRAW {
                plots.draw()?;
            }
        }
        if self.json {
            let written = writeln!(io::stdout().lock(), "{}", moment.to_json());
            written.map_err(|cause| format!("standard output: {cause}"))?;
        }
        if let Some(exposed) = &self.exposed {
            *exposed.lock().unwrap_or_else(PoisonError::into_inner) = exposition(moment);
        }
        Ok(())
    }

    /// Writes the rest after the last reading.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        if let Some(files) = &mut self.files {
            files.flush().map_err(|cause| cause.to_string())?;
        }
        self.plots.as_mut().map_or(Ok(()), Plots::draw)
    }
}

impl Plots {
    /// Creates the plots and draws them once, which reports at once if the directory cannot be written to.
    fn open(directory: &Path) -> Result<Self, String> {
        let mut plots =
            Self { directory: directory.to_owned(), history: History::default(), drawn: Instant::now() };
        plots.draw().map(|()| plots)
    }

    fn draw(&mut self) -> Result<(), String> {
        self.drawn = Instant::now();
        write_plots(&self.history, &self.directory).map(drop).map_err(|cause| cause.to_string())
    }
}
