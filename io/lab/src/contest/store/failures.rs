//! Duration of failures in a run.

use serde_json::Value;

/// Returns the seconds from the first failed request to the last, with the resolution of the summary's
/// moments. `None` = no request failed.
pub(super) fn lasted_s(summary: &str) -> Option<f64> {
    let summary: Value = serde_json::from_str(summary).ok()?;
    let moments = summary["moments"].as_array()?;
    let width = moments.get(1).and_then(|second| second["at_s"].as_f64()).unwrap_or(0.1);
    let mut failing =
        moments.iter().filter(|moment| moment["failed"].as_u64().is_some_and(|failed| failed > 0));
    let first = failing.next()?["at_s"].as_f64()?;
    let last = failing.next_back().and_then(|moment| moment["at_s"].as_f64()).unwrap_or(first);
    Some(last + width - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_last_from_the_first_moment_with_one_to_the_end_of_the_last() {
        let summary = |failed: [u64; 4]| {
            let moments = failed
                .iter()
                .enumerate()
                .map(|(at, failed)| format!("{{\"at_s\":{at},\"failed\":{failed}}}"));
            format!("{{\"moments\":[{}]}}", moments.collect::<Vec<_>>().join(","))
        };
        assert_eq!(lasted_s(&summary([0, 2, 0, 1])), Some(3.0));
        assert_eq!(lasted_s(&summary([0, 0, 5, 0])), Some(1.0));
        assert_eq!(lasted_s(&summary([0; 4])), None);
        assert_eq!(lasted_s("{}"), None);
    }
}
