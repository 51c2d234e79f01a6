//! What all test programs said together.

/// Read from what libtest prints.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    binaries: u32,
    passed: u32,
    failed: u32,
    ignored: u32,
    names_of_failed: Vec<String>,
    /// What tests could not do here, as they say it.
    pub(super) untested: Vec<String>,
}

impl Tally {
    /// Takes notice of one line of libtest's output.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.names_of_failed.push(name.to_owned());
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
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    fn the_tally_adds_up_what_every_test_program_reported() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test codec::a_bare_lf_is_refused ... ok",
            "test codec::a_bare_cr_is_refused ... FAILED",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
        ] {
            tally.read(line);
        }
        assert_eq!(
            tally.to_string(),
            "failed: codec::a_bare_cr_is_refused\n\
             tests: 7 passed, 1 failed, 1 ignored, in 2 test programs"
        );
        tally.untested.push("files::mounts::full: no right to mount".to_owned());
        assert_eq!(
            tally.to_string(),
            "not tested here: files::mounts::full: no right to mount\n\
             failed: codec::a_bare_cr_is_refused\n\
             tests: 7 passed, 1 failed, 1 ignored, 1 of those that passed left something out, in 2 test programs"
        );
    }
}
