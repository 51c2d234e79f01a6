//! TCP losses in the networks of a scenario.

use serde::{Deserialize, Serialize};

use super::{Store, StoreError};

/// TCP counters of one party's network, over all valid runs of a case with a rival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Name of the case.
    pub case: String,
    /// Name of the rival.
    pub rival: String,
    /// Network: `balancer-tcp` or `servers-tcp`.
    pub source: String,
    /// Segments that were sent.
    pub sent: f64,
    /// Segments that were retransmitted.
    pub sent_again: f64,
    /// Connections that found a listener's queue full.
    pub overflows: f64,
    /// Connections that ended in a reset.
    pub resets: f64,
}

impl Store {
    /// Returns losses by case, rival and network. Files from before the introduction of these counters have
    /// none.
    pub(super) fn losses(&self) -> Result<Vec<Losses>, StoreError> {
        let mut statement = self.connection.prepare(
            "SELECT test, rival, source, \
               total(grown) FILTER (WHERE figure = 'sent_segments'), total(grown) FILTER (WHERE figure = 'retransmitted_segments'), \
               total(grown) FILTER (WHERE figure = 'listen_overflows'), total(grown) FILTER (WHERE figure = 'established_resets') \
             FROM (\
               SELECT test, rival, source, figure, max(value) - min(value) AS grown FROM sample JOIN run ON run.id = run \
               WHERE source IN ('balancer-tcp', 'servers-tcp') AND valid GROUP BY run.id, source, subject, figure\
             ) GROUP BY test, rival, source ORDER BY test, rival, source",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(Losses {
                case: row.get(0)?,
                rival: row.get(1)?,
                source: row.get(2)?,
                sent: row.get(3)?,
                sent_again: row.get(4)?,
                overflows: row.get(5)?,
                resets: row.get(6)?,
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
    fn what_grew_in_each_valid_run_is_added_up() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("x")).unwrap();
        let of = |repeat, first: f64, grown: f64| {
            let sample = |at_s, figure, value| Sample {
                at_s,
                source: "servers-tcp",
                subject: "tcp".to_owned(),
                figure,
                value,
            };
            let figures = ["sent_segments", "retransmitted_segments", "listen_overflows"];
            Played {
                case: "1".to_owned(),
                rival: "weir".to_owned(),
                repeat,
                summary: "{}".to_owned(),
                samples: figures
                    .iter()
                    .zip([10.0, 2.0, 1.0])
                    .flat_map(|(figure, part)| {
                        [sample(0.0, *figure, first), sample(1.0, *figure, first + grown * part)]
                    })
                    .collect(),
                ..Played::default()
            }
        };
        store.add(&of(0, 100.0, 1.0)).unwrap();
        store.add(&of(1, 500.0, 2.0)).unwrap();
        let mut invalid = of(2, 0.0, 1e6);
        invalid.flaws.push(super::super::RunFlaw::of_lab("late"));
        store.add(&invalid).unwrap();
        let losses = store.losses().unwrap();
        assert_eq!(losses.len(), 1);
        let Losses { source, sent, sent_again, overflows, resets, .. } = &losses[0];
        assert_eq!((source.as_str(), *sent, *sent_again), ("servers-tcp", 30.0, 6.0));
        assert_eq!((*overflows, *resets), (3.0, 0.0));
    }
}
