//! Access to the values of a metrics page.

/// A metrics page.
#[derive(Debug, Clone)]
pub struct Metrics(String);

impl Metrics {
    pub(crate) fn new(page: String) -> Self {
        Self(page)
    }

    /// Returns the sum of all series with this name whose labels contain each of these (`server="a"`).
    ///
    /// # Panics
    /// If there is no such series.
    #[track_caller]
    pub fn get(&self, name: &str, labels: &[&str]) -> f64 {
        let mut found = None;
        for line in self.0.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').unwrap_or((line, ""));
            let (series_name, series_labels) = series.split_once('{').unwrap_or((series, ""));
            if series_name == name && labels.iter().all(|label| series_labels.contains(label)) {
                let value: f64 = value.parse().unwrap_or_else(|_| panic!("metric line {line:?}"));
                found = Some(found.unwrap_or(0.0) + value);
            }
        }
        found.unwrap_or_else(|| panic!("no metric {name} with {labels:?} in:\n{}", self.0))
    }

    /// Returns the text of the page.
    pub fn text(&self) -> &str {
        &self.0
    }
}
