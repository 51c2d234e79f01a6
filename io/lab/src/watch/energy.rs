//! Energy, where processors count it (RAPL; Documentation/power/powercap/powercap.rst of the kernel).

use std::fs;
use std::path::{Path, PathBuf};

use super::source::{Derived, Source, WatchError};
use super::table::{Column, Row};

/// What packages, cores and memory have used.
#[derive(Debug)]
pub struct Energy {
    domains: Vec<Domain>,
}

#[derive(Debug)]
struct Domain {
    name: String,
    file: PathBuf,
    wraps_at: f64,
}

pub(super) const COLUMNS: &[Column] = &[Column::wrapping("energy_j", "Joules used")];

pub(super) const DERIVED: &[Derived] =
    &[Derived { name: "power_w", help: "Watts", of: |it| it.rate("energy_j") }];

const MICRO: f64 = 1e6;

impl Energy {
    /// `None`: this machine does not count it, as virtual ones do not, or does not let this user see it.
    pub fn find() -> Option<Self> {
        Self::below(Path::new("/sys/class/powercap"))
    }

    fn below(directory: &Path) -> Option<Self> {
        let mut domains: Vec<Domain> =
            fs::read_dir(directory).ok()?.flatten().filter_map(|entry| domain(&entry.path())).collect();
        domains.sort_by(|one, other| one.file.cmp(&other.file));
        (!domains.is_empty()).then_some(Self { domains })
    }
}

fn domain(directory: &Path) -> Option<Domain> {
    let file = directory.join("energy_uj");
    number(&file)?;
    let kind = fs::read_to_string(directory.join("name")).ok()?;
    // Several have one name: each package has a core.
    let place = directory.file_name()?.to_string_lossy().into_owned();
    let wraps_at = number(&directory.join("max_energy_range_uj")).unwrap_or(0.0) / MICRO;
    Some(Domain { name: format!("{}[{place}]", kind.trim()), file, wraps_at })
}

fn number(file: &Path) -> Option<f64> {
    fs::read_to_string(file).ok()?.trim().parse::<u64>().ok().map(|number| number as f64)
}

impl Source for Energy {
    fn name(&self) -> &'static str {
        "energy"
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        let row = |domain: &Domain| {
            let joules = number(&domain.file).map(|microjoules| microjoules / MICRO);
            Row { wraps_at: domain.wraps_at, ..Row::new(domain.name.clone(), vec![joules]) }
        };
        Ok(self.domains.iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Change;
    use super::*;

    #[test]
    fn joules_are_counted_over_the_end_of_the_counter() {
        let powercap = tempfile::tempdir().unwrap();
        let package = powercap.path().join("intel-rapl:0");
        fs::create_dir(&package).unwrap();
        let write = |file: &str, text: &str| fs::write(package.join(file), text).unwrap();
        write("name", "package-0\n");
        write("max_energy_range_uj", "262143328850\n");
        write("energy_uj", "262142328850\n");
        let mut energy = Energy::below(powercap.path()).unwrap();
        let before = energy.read().unwrap().remove(0);
        assert_eq!(before.subject, "package-0[intel-rapl:0]");
        write("energy_uj", "4000000\n");
        let now = energy.read().unwrap().remove(0);
        let change = Change::new(COLUMNS, &before, &now, 2.0).unwrap();
        assert!(((DERIVED[0].of)(&change).unwrap() - 2.5).abs() < 1e-3);
    }

    #[test]
    fn a_machine_that_does_not_count_has_none() {
        assert!(Energy::below(tempfile::tempdir().unwrap().path()).is_none());
        assert!(Energy::below(Path::new("/no/such/directory")).is_none());
    }
}
