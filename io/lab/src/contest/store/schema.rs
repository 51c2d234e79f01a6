//! The tables of a file of results.

use rusqlite::Connection;

use super::StoreError;

/// Format that this program writes.
pub(super) const FORMAT: &str = "3";

/// Format that this program reads but does not continue. There, each sample was a row with all its names.
const BEFORE: &str = "2";

/// Returns true if files of a format can be read. All of them have `sample`.
pub(super) fn is_readable(format: &str) -> bool {
    [FORMAT, BEFORE].contains(&format)
}

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS rival (
  name TEXT PRIMARY KEY, version TEXT NOT NULL, program TEXT NOT NULL, config TEXT NOT NULL, left_out TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS run (
  id INTEGER PRIMARY KEY, test TEXT NOT NULL, rival TEXT NOT NULL, repeat INTEGER NOT NULL, place INTEGER NOT NULL,
  started_unix_s REAL NOT NULL, seconds REAL NOT NULL, valid INTEGER NOT NULL, flaws TEXT NOT NULL, sent INTEGER NOT NULL,
  succeeded INTEGER NOT NULL, calibration_ns INTEGER NOT NULL, summary TEXT NOT NULL, histogram TEXT NOT NULL,
  UNIQUE (test, rival, repeat)
) STRICT;
CREATE TABLE IF NOT EXISTS figure (
  run INTEGER NOT NULL REFERENCES run (id), measure TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (run, measure)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS server (
  run INTEGER NOT NULL REFERENCES run (id), name TEXT NOT NULL, requests INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
";

/// Names of samples are in a separate table, because there are thousands of samples per name.
const SAMPLES: &str = "
CREATE TABLE IF NOT EXISTS series (
  id INTEGER PRIMARY KEY, source TEXT NOT NULL, subject TEXT NOT NULL, figure TEXT NOT NULL, UNIQUE (source, subject, figure)
) STRICT;
CREATE TABLE IF NOT EXISTS reading (
  run INTEGER NOT NULL REFERENCES run (id), series INTEGER NOT NULL REFERENCES series (id), at_s REAL NOT NULL, value REAL NOT NULL,
  PRIMARY KEY (run, series, at_s)
) STRICT, WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS sample AS
  SELECT run, at_s, source, subject, figure, value FROM reading JOIN series ON series.id = series;
";

/// Creates missing tables, all of them or none.
///
/// # Errors
/// If the file cannot be written, is not a file of results, or has another format.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    let format: Option<String> = transaction
        .prepare("SELECT value FROM meta WHERE key = 'format'")?
        .query_map([], |row| row.get(0))?
        .next()
        .transpose()?;
    match format.as_deref() {
        None | Some(FORMAT) => transaction.execute_batch(SAMPLES)?,
        Some(BEFORE) => {
            let said = format!(
                "has the format {BEFORE}: it can be read, and gone on with by the Weir that began it"
            );
            return Err(StoreError::Other(said));
        }
        Some(other) => return Err(wrong_format(other)),
    }
    transaction.execute("INSERT OR REPLACE INTO meta VALUES ('format', ?1)", [FORMAT])?;
    transaction.commit()?;
    Ok(())
}

/// Returns the error for an unknown format.
pub(super) fn wrong_format(found: &str) -> StoreError {
    StoreError::Other(format!("has the format {found}; this program reads {BEFORE} and {FORMAT}"))
}

#[cfg(test)]
mod tests {
    use super::super::{Played, Sample, Store};
    use super::*;

    /// Table of the earlier format.
    const OF_BEFORE: &str = "
CREATE TABLE sample (
  run INTEGER NOT NULL REFERENCES run (id), at_s REAL NOT NULL, source TEXT NOT NULL, subject TEXT NOT NULL,
  figure TEXT NOT NULL, value REAL NOT NULL
) STRICT;
CREATE INDEX sample_run ON sample (run);
INSERT INTO meta VALUES ('format', '2');
INSERT INTO run VALUES (1, 'a', 'weir', 0, 0, 0, 1, 1, '[]', 10, 10, 1, '{}', '[]');
INSERT INTO sample VALUES (1, 0.5, 'balancer', 'pid 7', 'cpu', 0.25), (1, 1, 'balancer', 'pid 7', 'cpu', 0.75), (1, 1, 'host', '', 'load', 2);
";

    fn curve(store: &Store) -> Vec<(f64, f64)> {
        store.curves("balancer", "cpu").unwrap().remove(0).points
    }

    #[test]
    fn a_file_of_before_is_read_and_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.sqlite");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(&[TABLES, OF_BEFORE].concat()).unwrap();
        drop(old);
        let before = std::fs::read(&path).unwrap();
        assert!(Store::open(&path).unwrap_err().to_string().contains("by the Weir that began it"));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(curve(&Store::read_only(&path).unwrap()), [(0.5, 0.25), (1.0, 0.75)]);
    }

    #[test]
    fn names_of_samples_stand_there_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new.sqlite");
        let mut store = Store::open(&path).unwrap();
        let sample = |at_s, value| Sample {
            at_s,
            source: "balancer",
            subject: "pid 7".to_owned(),
            figure: "cpu",
            value,
        };
        for repeat in [0, 1] {
            let samples = vec![sample(0.5, 0.25), sample(1.0, 0.75)];
            let (case, rival) = ("a".to_owned(), "weir".to_owned());
            store.add(&Played { case, rival, repeat, samples, ..Played::default() }).unwrap();
        }
        assert_eq!(curve(&store), [(0.5, 0.25), (1.0, 0.75)]);
        let count = "SELECT (SELECT count(*) FROM series), (SELECT count(*) FROM sample)";
        let counts = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, u32>(1)?));
        assert_eq!(Connection::open(&path).unwrap().query_row(count, [], counts).unwrap(), (1, 4));
    }

    #[test]
    fn a_file_of_another_program_is_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new.sqlite");
        drop(Store::open(&path).unwrap());
        Connection::open(&path).unwrap().execute("UPDATE meta SET value = '99'", []).unwrap();
        for opened in [Store::open(&path), Store::read_only(&path)] {
            assert_eq!(opened.unwrap_err().to_string(), "has the format 99; this program reads 2 and 3");
        }
        assert_eq!(
            Store { connection: Connection::open(&path).unwrap() }.meta("format").unwrap().unwrap(),
            "99"
        );
    }
}
