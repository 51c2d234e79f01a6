//! A history file of a fleet, with retries: the cause of a write error may be temporary.

use std::time::Duration;

use weir_config::plan::HistoryPlan;
use weir_fleet::History;
use weir_scale::history::Row;

/// Writes rows to a history file. Rows that arrive while the file cannot be written are lost.
pub(super) struct Chronicle {
    plan: HistoryPlan,
    file: Option<History>,
    /// Time of the last attempt to open the file; `None` = the leader has tried at its start.
    tried: Option<Duration>,
    /// Time until the next attempt.
    pause: Duration,
    /// The last problem that was reported; empty if none.
    told: String,
    /// Rows that the file already had, if it could be opened only later.
    late: Option<Vec<Row>>,
    /// News about the contents of the file at that time, for the operator.
    found: Option<String>,
}

/// First and longest pause before another attempt to open the file. Each attempt may read the whole file.
const RETRY_FIRST: Duration = Duration::from_secs(5);
const RETRY_LONGEST: Duration = Duration::from_secs(60);

impl Chronicle {
    /// Continues the file. `None` = it could not be opened, and that error has been reported.
    pub(super) fn new(plan: HistoryPlan, file: Option<History>) -> Self {
        let told = if file.is_none() { "it could not be opened" } else { "" };
        Self { plan, file, tried: None, pause: RETRY_FIRST, told: told.to_owned(), late: None, found: None }
    }

    /// Returns true if the file can be written, as of the last attempt.
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the plan of the file.
    pub(super) fn plan(&self) -> &HistoryPlan {
        &self.plan
    }

    /// Returns the latest rows of a file that could be opened only now. Returns them only once.
    pub(super) fn late(&mut self) -> Option<Vec<Row>> {
        self.late.take()
    }

    /// Writes a row if one is due. Returns news for the operator. `at` is the time of a monotonic clock.
    pub(super) fn note(&mut self, at: Duration, row: &Row) -> Option<String> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None if at.saturating_sub(*self.tried.get_or_insert(at)) < self.pause => return None,
            None => {
                (self.tried, self.pause) = (Some(at), (self.pause * 2).min(RETRY_LONGEST));
                match History::open(&self.plan) {
                    Ok((mut file, rows)) => {
                        (self.late, self.found) = (Some(rows), file.news());
                        file
                    }
                    Err(cause) => return self.news(format!("no history is kept: {cause}")),
                }
            }
        };
        match file.note(at, row) {
            Ok(false) => {
                self.file = Some(file);
                None
            }
            Ok(true) => {
                (self.file, self.pause) = (Some(file), RETRY_FIRST);
                let was_said = !std::mem::take(&mut self.told).is_empty();
                let again = || format!("history: {} is kept again", self.plan.file.display());
                let news = was_said.then(again).into_iter().chain(self.found.take());
                Some(news.collect::<Vec<_>>().join("; ")).filter(|news| !news.is_empty())
            }
            Err(cause) => {
                self.tried = Some(at);
                self.news(format!("history: {cause}"))
            }
        }
    }

    fn news(&mut self, text: String) -> Option<String> {
        let is_news = self.told != text;
        self.told = text;
        is_news.then(|| self.told.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use weir_config::plan::{HistoryForm, HistoryPlan};
    use weir_model::{ByteSize, Millis};
    use weir_testkit::TempDir;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_tried_again_and_told_once() {
        is_tried_again_and_told_once("history.csv");
    }

    #[test]
    fn a_database_that_cannot_be_written_is_tried_again_and_told_once() {
        is_tried_again_and_told_once("history.sqlite");
    }

    #[test]
    fn a_file_that_can_be_opened_only_later_tells_what_was_in_it() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("history.csv");
        let form = HistoryForm::of(&file);
        let plan = HistoryPlan { file, form, interval: Millis(1), bytes_max: ByteSize(1 << 20) };
        let mut chronicle = Chronicle::new(plan.clone(), None);
        let row = |timestamp| Row { timestamp, ..Row::default() };
        assert_eq!((chronicle.note(Duration::ZERO, &row(9.0)), chronicle.late()), (None, None));
        // Simulates a disk that becomes available later.
        let (mut before, _) = History::open(&plan).unwrap();
        assert!(before.note(Duration::ZERO, &row(1.0)).unwrap());
        drop(before);
        assert!(chronicle.note(Duration::from_secs(60), &row(69.0)).is_some());
        let times = chronicle.late().map(|rows| rows.iter().map(|row| row.timestamp).collect::<Vec<_>>());
        assert_eq!((times, chronicle.late()), (Some(vec![1.0]), None));
    }

    fn is_tried_again_and_told_once(name: &str) {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join(name);
        fs::create_dir(&file).unwrap();
        let form = HistoryForm::of(&file);
        let plan = HistoryPlan { file, form, interval: Millis(1), bytes_max: ByteSize(1 << 20) };
        let mut chronicle = Chronicle::new(plan.clone(), None);
        let mut told: Vec<String> = Vec::new();
        let mut second = |second| {
            told.extend(chronicle.note(Duration::from_secs(second), &Row::default()));
            told.len()
        };
        assert_eq!([0, 4, 5, 6, 120].map(&mut second), [0, 0, 1, 1, 1]);
        fs::remove_dir(&plan.file).unwrap();
        assert_eq!([121, 180, 181].map(&mut second), [1, 2, 2]);
        assert_eq!(History::latest(&plan).unwrap().len(), 2);
        assert!(told[0].contains(name) && told[1].contains("again"), "{told:?}");
    }
}
