//! The users and groups that are mapped into the user namespace of the process (user_namespaces(7)).

use std::fmt::Write;
use std::ops::RangeInclusive;

/// Maximum number of lines in a map (`UID_GID_MAP_MAX_EXTENTS`).
const LINES_MAX: usize = 340;

/// Ranges of user ids or of group ids.
#[derive(Debug, Default)]
pub(crate) struct Ids(Vec<RangeInclusive<u32>>);

impl Ids {
    pub(crate) fn add(&mut self, ids: RangeInclusive<u32>) {
        self.0.push(ids);
    }

    /// Returns the text for `/proc/PID/gid_map`: each group maps to itself. Omits root's group.
    pub(crate) fn group_map(self) -> Result<String, String> {
        lines(String::new(), self.without(0))
    }

    /// Returns the text for `/proc/PID/uid_map`: `own` maps to root in the namespace, and each other user to
    /// itself. Omits root.
    pub(crate) fn user_map(self, own: u32) -> Result<String, String> {
        let others: Vec<_> = self.without(0).into_iter().flat_map(|range| split(&range, own)).collect();
        lines(format!("0 {own} 1\n"), others)
    }

    /// Merges overlapping and adjacent ranges, and removes one number.
    fn without(self, left_out: u32) -> Vec<RangeInclusive<u32>> {
        let mut ranges: Vec<_> = self.0.iter().flat_map(|range| split(range, left_out)).collect();
        ranges.sort_unstable_by_key(|range| *range.start());
        let mut merged: Vec<RangeInclusive<u32>> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => merged.push(range),
            }
        }
        merged
    }
}

/// Returns a range without one number.
fn split(range: &RangeInclusive<u32>, without: u32) -> Vec<RangeInclusive<u32>> {
    if !range.contains(&without) {
        return if range.is_empty() { Vec::new() } else { vec![range.clone()] };
    }
    let below = without.checked_sub(1).map(|last| *range.start()..=last);
    let above = without.checked_add(1).map(|first| first..=*range.end());
    [below, above].into_iter().flatten().filter(|part| !part.is_empty()).collect()
}

fn lines(first: String, ranges: Vec<RangeInclusive<u32>>) -> Result<String, String> {
    let mut text = first;
    for range in &ranges {
        let count = u64::from(*range.end()) - u64::from(*range.start()) + 1;
        // Writing into a string does not fail.
        let _ = writeln!(text, "{} {} {count}", range.start(), range.start());
    }
    match text.lines().count() {
        0..=LINES_MAX => Ok(text),
        count => Err(format!(
            "the users and groups that act-as needs have {count} separate ranges of numbers, and the kernel maps {LINES_MAX}: \
             name wider ranges in act-as-ids"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    fn ids(ranges: &[(u32, u32)]) -> Ids {
        let mut ids = Ids::default();
        ranges.iter().for_each(|(first, last)| ids.add(*first..=*last));
        ids
    }

    #[test]
    fn neighbours_are_one_range() {
        let map = ids(&[(1005, 1005), (1000, 1002), (1003, 1003), (1001, 1001)]).group_map();
        assert_eq!(map.unwrap(), "1000 1000 4\n1005 1005 1\n");
    }

    #[test]
    fn the_user_of_the_process_is_root_and_root_is_nobody() {
        let map = ids(&[(0, 10), (u32::MAX - 1, u32::MAX - 1)]).user_map(5);
        assert_eq!(map.unwrap(), "0 5 1\n1 1 4\n6 6 5\n4294967294 4294967294 1\n");
        assert_eq!(ids(&[(0, 0)]).group_map().unwrap(), "");
    }

    #[test]
    fn more_ranges_than_the_kernel_takes_are_refused() {
        let apart = |count: u32| ids(&(1..=count).map(|n| (n * 2, n * 2)).collect::<Vec<_>>());
        assert_eq!(apart(340).group_map().unwrap().lines().count(), 340);
        assert!(apart(341).group_map().unwrap_err().contains("act-as-ids"));
        assert!(apart(340).user_map(1).unwrap_err().contains("341 separate ranges"));
    }
}
