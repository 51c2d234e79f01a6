//! Adds up the results of all test programs.

/// Number of the slowest tests that the summary names.
const SLOWEST: usize = 10;

/// Counts from the output of libtest.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tally {
    binaries: u32,
    passed: u32,
    failed: u32,
    ignored: u32,
    names_of_failed: Vec<String>,
    /// Seconds and names of the tests that took longest, the slowest first. Empty unless libtest reports
    /// times.
    slowest: Vec<(f64, String)>,
    /// Reasons why tests left something out, as the tests print them.
    pub(super) untested: Vec<String>,
}

impl Tally {
    /// Returns true if no test has run.
    pub(super) const fn is_empty(&self) -> bool {
        self.passed == 0 && self.failed == 0
    }

    /// Returns the number of test programs that have reported a result.
    pub(super) const fn programs(&self) -> u32 {
        self.binaries
    }

    /// Reads one line that the test program `program` printed.
    pub(super) fn read(&mut self, program: &str, line: &str) {
        if let Some((name, verdict)) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ")) {
            if verdict.starts_with("FAILED") {
                self.names_of_failed.push(name.to_owned());
            }
            if let Some(seconds) = seconds(verdict) {
                self.note_duration(seconds, format!("{program} {name}"));
            }
        }
        let Some((_, counts)) =
            line.strip_prefix("test result: ").and_then(|verdict| verdict.split_once(". "))
        else {
            return;
        };
        self.binaries += 1;
        for count in counts.split("; ") {
            let mut words = count.split(' ');
            let number = words.next().and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.ignored += number,
                _ => {}
            }
        }
    }

    fn note_duration(&mut self, seconds: f64, name: String) {
        let at = self.slowest.partition_point(|(slower, _)| *slower >= seconds);
        self.slowest.insert(at, (seconds, name));
        self.slowest.truncate(SLOWEST);
    }
}

/// Returns the time in seconds that libtest's `--report-time` adds to a verdict: `ok <1.234s>`.
fn seconds(verdict: &str) -> Option<f64> {
    verdict.split_once('<')?.1.strip_suffix("s>")?.parse().ok()
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (seconds, name) in &self.slowest {
            writeln!(f, "slow: {seconds:>6.1} s {name}")?;
        }
        for line in &self.untested {
            writeln!(f, "not tested here: {line}")?;
        }
        for name in &self.names_of_failed {
            writeln!(f, "failed: {name}")?;
        }
        let Self { binaries, passed, failed, ignored, untested, .. } = self;
        write!(f, "tests: {passed} passed, {failed} failed, {ignored} ignored")?;
        if !untested.is_empty() {
            write!(f, ", {} of those that passed left something out", untested.len())?;
        }
        write!(f, ", in {binaries} test programs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_slowest_tests_are_named_with_their_program_the_slowest_first() {
        let mut tally = Tally::default();
        for hundredths in [3, 12, 1, 5, 2, 4, 8, 7, 6, 9, 10, 11] {
            tally.read("net src/lib.rs", &format!("test t{hundredths} ... ok <0.{hundredths:02}0s>"));
        }
        let told = tally.to_string();
        let lines: Vec<_> = told.lines().collect();
        assert_eq!(lines.len(), 11, "{told}");
        assert_eq!(lines[0], "slow:    0.1 s net src/lib.rs t12");
        assert!(!told.contains(" t2\n"), "{told}");
    }

    #[test]
    fn the_tally_adds_up_what_every_test_program_reported() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test codec::a_bare_lf_is_refused ... ok",
            "test codec::a_bare_cr_is_refused ... FAILED <0.001s>",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
        ] {
            tally.read("net tests/listen", line);
        }
        assert_eq!(
            tally.to_string(),
            "slow:    0.0 s net tests/listen codec::a_bare_cr_is_refused\n\
             failed: codec::a_bare_cr_is_refused\n\
             tests: 7 passed, 1 failed, 1 ignored, in 2 test programs"
        );
        tally.untested.push("files::mounts::full: no right to mount".to_owned());
        assert_eq!(
            tally.to_string(),
            "slow:    0.0 s net tests/listen codec::a_bare_cr_is_refused\n\
             not tested here: files::mounts::full: no right to mount\n\
             failed: codec::a_bare_cr_is_refused\n\
             tests: 7 passed, 1 failed, 1 ignored, 1 of those that passed left something out, in 2 test programs"
        );
    }
}
