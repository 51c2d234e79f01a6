//! Growth of the counters of further monitors.

use serde::{Deserialize, Serialize};

use super::{Store, StoreError};

/// Growth of a counter from a further monitor, in the valid runs of a case with a rival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Name of the case.
    pub case: String,
    /// Name of the rival.
    pub rival: String,
    /// Monitor: `disks`, `interfaces` or `energy`.
    pub source: String,
    /// Disk, interface, or part of the machine.
    pub subject: String,
    /// Name of the figure in `weir watch`.
    pub figure: String,
    /// Mean growth in a run.
    pub mean: f64,
}

impl Store {
    /// Returns growth by case, rival, monitor and subject, without counters that did not grow. A decrease is
    /// a restart of the counter. Its growth since the last sample is then unknown and left out.
    pub(super) fn growth(&self) -> Result<Vec<Growth>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT test, rival, source, subject, figure, avg(grown) FROM (\
               SELECT test, rival, source, subject, figure, total(max(step, 0)) AS grown FROM (\
                 SELECT run.id AS id, test, rival, source, subject, figure, \
                   value - lag(value) OVER (PARTITION BY run.id, source, subject, figure ORDER BY at_s) AS step \
                 FROM sample JOIN run ON run.id = run \
                 WHERE source IN ('disks', 'interfaces', 'energy') AND valid AND figure IN (\
                   'energy_j', 'cpu_seconds', 'received_bytes', 'sent_bytes', 'receive_drops', 'send_drops', 'sectors_read', 'sectors_written', 'busy_ms'\
                 )\
               ) GROUP BY id, source, subject, figure\
             ) GROUP BY test, rival, source, subject, figure HAVING avg(grown) > 0 ORDER BY test, rival, source, subject, figure",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(Growth {
                case: row.get(0)?,
                rival: row.get(1)?,
                source: row.get(2)?,
                subject: row.get(3)?,
                figure: row.get(4)?,
                mean: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Played, Sample};
    use super::*;

    #[test]
    fn what_further_monitors_counted_is_told_on_average_over_valid_runs() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("x")).unwrap();
        for (repeat, grown) in [(0, 10.0), (1, 30.0)] {
            let sample = |at_s, figure, value| Sample {
                at_s,
                source: "energy",
                subject: "package-0".to_owned(),
                figure,
                value,
            };
            let samples = [("energy_j", grown), ("power_w", 5.0), ("cpu_seconds", 0.0)];
            // The counter restarts in between.
            let samples = samples.into_iter().flat_map(|(figure, grown)| {
                let looks = [(0.0, 100.0), (1.0, 100.0 + grown / 2.0), (2.0, 0.0), (3.0, grown / 2.0)];
                looks.map(|(at_s, value)| sample(at_s, figure, value))
            });
            let (case, rival) = ("1".to_owned(), "weir".to_owned());
            store
                .add(&Played { case, rival, repeat, samples: samples.collect(), ..Played::default() })
                .unwrap();
        }
        let growth = store.growth().unwrap();
        assert_eq!(growth.len(), 1, "{growth:?}");
        assert_eq!((growth[0].figure.as_str(), growth[0].mean), ("energy_j", 20.0));
    }
}
