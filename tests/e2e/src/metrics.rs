/// The metrics page, read.
#[derive(Debug, Clone)]
pub struct Metrics(String);

impl Metrics {
    pub(crate) fn new(page: String) -> Self {
        Self(page)
    }

    /// The sum of all series of that name whose labels contain each of these (`server="a"`).
    ///
    /// # Panics
    /// There is no such series.
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

    /// The page as it came.
    pub fn text(&self) -> &str {
        &self.0
    }
}
