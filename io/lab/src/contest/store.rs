//! Stores all results of a scenario in one SQLite file.

mod failures;
mod growth;
mod losses;
mod schema;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};
use serde::{Deserialize, Serialize};
use weir_config::lab::Measure;

use super::flaw::{RunFlaw, Whose};
pub(super) use growth::Growth;
pub(super) use losses::Losses;

/// File of results.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
}

/// Reason why results cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is not an SQLite file, or cannot be written.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file is not a file of results, or has another version.
    #[error("{0}")]
    Other(String),
}

/// Completed run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Played {
    /// Name of the case.
    pub case: String,
    /// Name of the rival.
    pub rival: String,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Position in the order of turns, from 0.
    pub place: u32,
    /// Start, in seconds since 1970.
    pub started_unix_s: f64,
    /// Duration, in seconds.
    pub seconds: f64,
    /// Reasons why the run is invalid; empty = valid.
    pub flaws: Vec<RunFlaw>,
    /// Measures of the run, as far as they are known.
    pub figures: Vec<(Measure, f64)>,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests with the expected response.
    pub succeeded: u64,
    /// Seconds from the first request that failed to the last; `None` = no request failed. Set when results
    /// are read.
    pub failures_lasted_s: Option<f64>,
    /// Time of the fixed piece of work before the run, in nanoseconds.
    pub calibration_ns: u64,
    /// Requests and bytes per server, by name.
    pub servers: Vec<(String, u64, u64)>,
    /// Whole summary in the format of `weir load --json`.
    pub summary: String,
    /// Distributions by name, as JSON: lower and upper limit of each bucket in nanoseconds, and its count.
    pub histogram: String,
    /// Samples of the monitors.
    pub samples: Vec<Sample>,
}

impl Played {
    /// Returns true if the run is valid.
    pub fn is_valid(&self) -> bool {
        self.flaws.is_empty()
    }

    /// Returns true if the run says something about the rival, at least that it failed.
    pub fn is_measured(&self) -> bool {
        self.flaws.iter().all(|flaw| flaw.whose == Whose::Measured)
    }

    /// Returns the reasons why the run is invalid, in one line.
    pub fn why(&self) -> String {
        let texts: Vec<&str> = self.flaws.iter().map(|flaw| flaw.text.as_str()).collect();
        texts.join("; ")
    }
}

/// One value at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Time since the start of the run, in seconds.
    pub at_s: f64,
    /// Source: `balancer`, `servers`, `balancer-tcp`, `servers-tcp` or `host`.
    pub source: &'static str,
    /// Process, or the host.
    pub subject: String,
    /// Name of the figure in `weir watch`.
    pub figure: &'static str,
    /// Value of the figure.
    pub value: f64,
}

/// Set-up of a rival.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Configured {
    /// Name of the rival.
    pub rival: String,
    /// Version that the program reports.
    pub version: String,
    /// Path of the program. Exports do not contain it, because it is valid on one machine only.
    #[serde(skip)]
    pub program: String,
    /// Configuration for the first case.
    pub config: String,
    /// Reason why the rival is left out; empty = it is not.
    pub left_out: String,
}

/// Content of a file, without samples.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// Facts about the scenario and the machine.
    pub meta: BTreeMap<String, String>,
    /// All rivals of the scenario.
    pub rivals: Vec<Configured>,
    /// All runs in the order of their turns, without samples and histograms.
    pub runs: Vec<Played>,
    /// Processors that the balancer used over time.
    pub cpu: Vec<CpuCurve>,
    /// Processors that all servers together used over time.
    pub server_cpu: Vec<CpuCurve>,
    /// Figures of fleets over time, by name.
    pub fleet: Vec<(&'static str, CpuCurve)>,
    /// TCP retransmissions and drops.
    pub losses: Vec<Losses>,
    /// Growth of counters from further monitors.
    pub growth: Vec<Growth>,
}

/// Figure over time, as mean over the valid repeats of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuCurve {
    /// Name of the case.
    pub case: String,
    /// Name of the rival.
    pub rival: String,
    /// Time since the start of the run in steps of half a second, and the value.
    pub points: Vec<(f64, f64)>,
}

impl Store {
    /// Opens a file to continue it, or creates a new one.
    ///
    /// # Errors
    /// If the file is not a file of results, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut connection = Connection::open(path)?;
        // Each run is one transaction. A reported run survives a power failure.
        connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA foreign_keys = ON;")?;
        schema::prepare(&mut connection)?;
        Ok(Self { connection })
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// If the file does not exist, or is not a file of results.
    pub fn read_only(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let store = Self { connection };
        match store.meta("format")?.as_deref() {
            Some(format) if schema::is_readable(format) => Ok(store),
            other => Err(schema::wrong_format(other.unwrap_or("none"))),
        }
    }

    /// Returns the value of a key.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
        let mut rows = statement.query(params![key])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    }

    /// Stores a value under a key.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_meta(&self, key: &str, value: &str) -> Result<(), StoreError> {
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", params![key, value])?;
        Ok(())
    }

    /// Stores the set-up of a rival.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_rival(&self, rival: &Configured) -> Result<(), StoreError> {
        let Configured { rival, version, program, config, left_out } = rival;
        self.connection.execute(
            "INSERT OR REPLACE INTO rival VALUES (?1, ?2, ?3, ?4, ?5)",
            params![rival, version, program, config, left_out],
        )?;
        Ok(())
    }

    /// Stores the reason why a rival is left out, which must be in the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn leave_out(&self, rival: &str, why: &str) -> Result<(), StoreError> {
        self.connection.execute("UPDATE rival SET left_out = ?2 WHERE name = ?1", params![rival, why])?;
        Ok(())
    }

    /// Returns the stored runs: case, rival, repeat.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn done(&self) -> Result<HashSet<(String, String, u32)>, StoreError> {
        let mut statement = self.connection.prepare("SELECT test, rival, repeat FROM run")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Stores a run in one transaction.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, run: &Played) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        let flaws =
            serde_json::to_string(&run.flaws).map_err(|cause| StoreError::Other(cause.to_string()))?;
        transaction.execute(
            "INSERT INTO run (test, rival, repeat, place, started_unix_s, seconds, valid, flaws, sent, succeeded, calibration_ns, \
             summary, histogram) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                run.case,
                run.rival,
                run.repeat,
                run.place,
                run.started_unix_s,
                run.seconds,
                run.is_valid(),
                flaws,
                signed(run.sent),
                signed(run.succeeded),
                signed(run.calibration_ns),
                run.summary,
                run.histogram
            ],
        )?;
        let id = transaction.last_insert_rowid();
        {
            let mut figure = transaction.prepare_cached("INSERT INTO figure VALUES (?1, ?2, ?3)")?;
            for (measure, value) in run.figures.iter().filter(|(_, value)| value.is_finite()) {
                figure.execute(params![id, measure.name(), value])?;
            }
            let mut server = transaction.prepare_cached("INSERT INTO server VALUES (?1, ?2, ?3, ?4)")?;
            for (name, requests, bytes) in &run.servers {
                server.execute(params![id, name, signed(*requests), signed(*bytes)])?;
            }
            let mut series = transaction.prepare_cached(
                "INSERT OR IGNORE INTO series (source, subject, figure) VALUES (?1, ?2, ?3)",
            )?;
            let mut reading = transaction.prepare_cached(
                "INSERT OR REPLACE INTO reading SELECT ?1, id, ?2, ?3 FROM series WHERE source = ?4 AND subject = ?5 AND figure = ?6",
            )?;
            for one in run.samples.iter().filter(|sample| sample.value.is_finite()) {
                series.execute(params![one.source, one.subject, one.figure])?;
                reading.execute(params![id, one.at_s, one.value, one.source, one.subject, one.figure])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// Reads all results that a report needs.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self) -> Result<Results, StoreError> {
        let mut statement = self.connection.prepare("SELECT key, value FROM meta")?;
        let meta =
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        let mut statement = self
            .connection
            .prepare("SELECT name, version, program, config, left_out FROM rival ORDER BY rowid")?;
        let rivals = statement.query_map([], |row| {
            Ok(Configured {
                rival: row.get(0)?,
                version: row.get(1)?,
                program: row.get(2)?,
                config: row.get(3)?,
                left_out: row.get(4)?,
            })
        })?;
        let rivals = rivals.collect::<Result<_, _>>()?;
        let mut statement = self.connection.prepare(
            "SELECT id, test, rival, repeat, place, started_unix_s, seconds, flaws, sent, succeeded, calibration_ns, summary FROM run \
             ORDER BY started_unix_s, id",
        )?;
        let mut rows = statement.query([])?;
        let mut runs = Vec::new();
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let flaws: String = row.get(7)?;
            let summary: String = row.get(11)?;
            runs.push(Played {
                case: row.get(1)?,
                rival: row.get(2)?,
                repeat: row.get(3)?,
                place: row.get(4)?,
                started_unix_s: row.get(5)?,
                seconds: row.get(6)?,
                flaws: serde_json::from_str(&flaws).map_err(|cause| StoreError::Other(cause.to_string()))?,
                sent: unsigned(row.get(8)?),
                succeeded: unsigned(row.get(9)?),
                calibration_ns: unsigned(row.get(10)?),
                failures_lasted_s: failures::lasted_s(&summary),
                summary,
                figures: self.figures(id)?,
                servers: self.servers(id)?,
                ..Played::default()
            });
        }
        Ok(Results {
            meta,
            rivals,
            runs,
            cpu: self.curves("balancer", "cpu")?,
            server_cpu: self.curves("servers", "cpu")?,
            fleet: self.fleet()?,
            losses: self.losses()?,
            growth: self.growth()?,
        })
    }

    fn figures(&self, run: i64) -> Result<Vec<(Measure, f64)>, StoreError> {
        let mut statement =
            self.connection.prepare_cached("SELECT measure, value FROM figure WHERE run = ?1")?;
        let rows = statement.query_map(params![run], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        let mut figures = Vec::new();
        for row in rows {
            let (name, value) = row?;
            figures.extend(
                Measure::ALL.into_iter().find(|measure| measure.name() == name).map(|it| (it, value)),
            );
        }
        Ok(figures)
    }

    fn servers(&self, run: i64) -> Result<Vec<(String, u64, u64)>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT name, requests, bytes FROM server WHERE run = ?1 ORDER BY name")?;
        let rows = statement
            .query_map(params![run], |row| Ok((row.get(0)?, unsigned(row.get(1)?), unsigned(row.get(2)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns all figures of fleets.
    fn fleet(&self) -> Result<Vec<(&'static str, CpuCurve)>, StoreError> {
        let mut all = Vec::new();
        for figure in ["rate_per_s", "needed", "running", "in_use"] {
            all.extend(self.curves("fleet", figure)?.into_iter().map(|curve| (figure, curve)));
        }
        Ok(all)
    }

    /// Returns a figure of valid runs by half seconds, as sum over all subjects of a source.
    fn curves(&self, source: &str, figure: &str) -> Result<Vec<CpuCurve>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT test, rival, half, sum(used) / count(DISTINCT id) FROM (\
               SELECT run.id AS id, test, rival, round(at_s * 2) / 2 AS half, avg(value) AS used FROM sample JOIN run ON run.id = run \
               WHERE source = ?1 AND figure = ?2 AND valid GROUP BY run.id, subject, half\
             ) GROUP BY test, rival, half ORDER BY test, rival, half",
        )?;
        let mut rows = statement.query(params![source, figure])?;
        let mut curves: Vec<CpuCurve> = Vec::new();
        while let Some(row) = rows.next()? {
            let (case, rival): (String, String) = (row.get(0)?, row.get(1)?);
            let point = (row.get(2)?, row.get(3)?);
            match curves.last_mut() {
                Some(last) if last.case == case && last.rival == rival => last.points.push(point),
                _ => curves.push(CpuCurve { case, rival, points: vec![point] }),
            }
        }
        Ok(curves)
    }
}

/// Converts to a signed integer, because SQLite has no unsigned ones.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Played {
        Played {
            case: "1".to_owned(),
            rival: "weir".to_owned(),
            repeat: 2,
            place: 7,
            started_unix_s: 1.5e9,
            seconds: 2.5,
            flaws: vec![RunFlaw::of_lab("late"), RunFlaw::of_measured("stuck")],
            figures: vec![(Measure::Mean, 1.25), (Measure::Rate, f64::NAN)],
            sent: 10,
            succeeded: 9,
            failures_lasted_s: Some(0.1),
            calibration_ns: 12_345,
            servers: vec![("s1".to_owned(), 5, 500)],
            summary: "{\"moments\":[{\"at_s\":0,\"failed\":1}]}".to_owned(),
            histogram: "[]".to_owned(),
            samples: [("balancer", 0.75), ("servers", 0.25)]
                .map(|(source, value)| {
                    let subject = "weir[1]".to_owned();
                    Sample { at_s: 0.5, source, subject, figure: "cpu", value }
                })
                .to_vec(),
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results.sqlite");
        let mut store = Store::open(&path).unwrap();
        store.set_meta("kernel", "6.1").unwrap();
        let configured =
            Configured { rival: "weir".to_owned(), version: "1.0".to_owned(), ..Configured::default() };
        store.set_rival(&configured).unwrap();
        store.leave_out("weir", "it did not start").unwrap();
        let configured = Configured { left_out: "it did not start".to_owned(), ..configured };
        store.add(&run()).unwrap();
        let valid = Played { repeat: 3, flaws: Vec::new(), ..run() };
        store.add(&valid).unwrap();
        drop(store);
        let store = Store::read_only(&path).unwrap();
        let results = store.read().unwrap();
        assert_eq!(results.meta["kernel"], "6.1");
        assert_eq!(results.rivals, [configured]);
        let bare = |run: Played| Played {
            figures: vec![(Measure::Mean, 1.25)],
            histogram: String::new(),
            samples: Vec::new(),
            ..run
        };
        assert_eq!(results.runs, [bare(run()), bare(valid)]);
        for (curves, used) in [(results.cpu, 0.75), (results.server_cpu, 0.25)] {
            let points = vec![(0.5, used)];
            assert_eq!(curves, [CpuCurve { case: "1".to_owned(), rival: "weir".to_owned(), points }]);
        }
        assert!(store.done().unwrap().contains(&("1".to_owned(), "weir".to_owned(), 2)));
    }

    #[test]
    fn a_run_is_kept_once() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("x")).unwrap();
        store.add(&run()).unwrap();
        assert!(store.add(&run()).is_err());
        assert_eq!(store.read().unwrap().runs.len(), 1);
    }

    #[test]
    fn another_file_is_told_from_one_of_results() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        assert!(Store::read_only(&path).is_err());
        std::fs::write(&path, "this is a text, and no database at all".repeat(100)).unwrap();
        assert!(Store::open(&path).is_err() && Store::read_only(&path).is_err());
        let newer = directory.path().join("newer");
        Store::open(&newer).unwrap().set_meta("format", "99").unwrap();
        assert!(Store::open(&newer).unwrap_err().to_string().contains("format 99"));
    }
}
