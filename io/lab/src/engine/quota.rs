//! Reads how often a CPU quota stopped this process. Quotas are `cpu.max` or, in control groups of version 1,
//! `cpu.cfs_quota_us`. They come from a container's limit or from `CPUQuota=` of a systemd unit. Without
//! these figures, a thread without quota would look like one on a busy machine.

use std::fs;
use std::path::Path;

use super::groups::{Groups, number, own_groups};
use crate::facts::QuotaFacts;

/// Groups with a quota, and their counters.
#[derive(Debug, Default)]
pub(super) struct Quotas(Vec<QuotaFacts>);

impl Quotas {
    /// Reads the counters of the groups of this process.
    pub(super) fn now() -> Self {
        Self::of(&own_groups("cpu"))
    }

    fn of(groups: &[Groups]) -> Self {
        let all = groups.iter().flat_map(|groups| {
            groups.paths.iter().filter_map(|group| facts(group, &groups.top, groups.is_version_2))
        });
        Self(all.collect())
    }

    /// Returns the growth of the counters since `before`, of the group that used up its quota most often.
    /// `None` = no group has a quota.
    pub(super) fn since(self, before: &Self) -> Option<QuotaFacts> {
        let growth = self.0.into_iter().map(|now| {
            let then = before.0.iter().find(|then| then.group == now.group);
            let grown = |of: fn(&QuotaFacts) -> u64| of(&now).saturating_sub(then.map_or(0, of));
            QuotaFacts {
                periods: grown(|facts| facts.periods),
                throttled: grown(|facts| facts.throttled),
                ..now
            }
        });
        growth.max_by_key(|facts| facts.throttled)
    }
}

/// Reads the counters of a group; `None` = the group has no quota.
fn facts(group: &Path, top: &Path, is_version_2: bool) -> Option<QuotaFacts> {
    let (quota_us, period_us): (f64, f64) = if is_version_2 {
        let text = fs::read_to_string(group.join("cpu.max")).ok()?;
        let (quota, period) = text.trim().split_once(' ')?;
        // "max" = no quota.
        (quota.parse().ok()?, period.parse().ok()?)
    } else {
        let quota: f64 = number(group, "cpu.cfs_quota_us")?;
        // -1 = no quota.
        (Some(quota).filter(|quota| *quota > 0.0)?, number(group, "cpu.cfs_period_us")?)
    };
    let stat = fs::read_to_string(group.join("cpu.stat")).ok()?;
    let counter = |name: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(other, _)| *other == name).and_then(|(_, count)| count.trim().parse().ok())
    };
    Some(QuotaFacts {
        group: format!("/{}", group.strip_prefix(top).unwrap_or(group).display()),
        cpus: quota_us / period_us,
        periods: counter("nr_periods")?,
        throttled: counter("nr_throttled")?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::groups::{directory, groups};
    use super::*;

    fn quotas(root: &Path, own: &str) -> Quotas {
        Quotas::of(&groups(root, own, "cpu"))
    }

    #[test]
    fn the_group_that_ran_out_of_its_quota_most_often_counts() {
        let root = directory(&[
            ("a/cpu.max", "50000 100000\n"),
            ("a/cpu.stat", "usage_usec 9\nnr_periods 100\nnr_throttled 10\nthrottled_usec 7\n"),
            ("a/b/cpu.max", "200000 100000\n"),
            ("a/b/cpu.stat", "nr_periods 100\nnr_throttled 90\nthrottled_usec 7\n"),
            ("a/b/c/cpu.max", "max 100000\n"),
            ("a/b/c/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
        ]);
        let before = quotas(root.path(), "0::/a/b/c\n");
        let stat = "usage_usec 9\nnr_periods 130\nnr_throttled 30\nthrottled_usec 7\n";
        fs::write(root.path().join("a/cpu.stat"), stat).unwrap();
        let since = quotas(root.path(), "0::/a/b/c\n").since(&before);
        let expected = QuotaFacts { group: "/a".to_owned(), cpus: 0.5, periods: 30, throttled: 20 };
        assert_eq!(since, Some(expected));
    }

    #[test]
    fn groups_of_version_1_have_a_quota_too_and_those_without_one_count_for_nothing() {
        let root = directory(&[
            ("cpu/x/cpu.cfs_quota_us", "10000\n"),
            ("cpu/x/cpu.cfs_period_us", "100000\n"),
            ("cpu/x/cpu.stat", "nr_periods 8\nnr_throttled 5\nthrottled_time 900\n"),
            ("cpu/y/cpu.cfs_quota_us", "-1\n"),
            ("cpu/y/cpu.cfs_period_us", "100000\n"),
            ("cpu/y/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
        ]);
        let since = |own: &str| quotas(root.path(), own).since(&Quotas::default());
        let expected = QuotaFacts { group: "/x".to_owned(), cpus: 0.1, periods: 8, throttled: 5 };
        assert_eq!(since("3:cpuset:/x\n1:cpu:/x\n0::/\n"), Some(expected));
        assert_eq!(since("1:cpu:/y\n"), None);
        assert_eq!(since(""), None);
    }
}
