//! Reads the energy that processors count (RAPL; Documentation/power/powercap/powercap.rst of the kernel).

use std::fs;
use std::path::{Path, PathBuf};

use super::host::worked_s;
use super::source::{Derived, KernelFile, Source, WatchError};
use super::table::{Column, Row};

/// Energy used by packages, cores and memory. If the machine does not count it, the CPU time of its
/// processors.
#[derive(Debug)]
pub struct Energy {
    counted: Counted,
}

#[derive(Debug)]
enum Counted {
    Joules(Vec<Domain>),
    /// /proc/stat, for the CPU time that replaces the energy.
    CpuSeconds(KernelFile),
}

#[derive(Debug)]
struct Domain {
    name: String,
    file: PathBuf,
    wraps_at: f64,
}

pub(super) const COLUMNS: &[Column] = &[
    Column::wrapping("energy_j", "Joules used"),
    Column::counter(
        "cpu_seconds",
        "Seconds of the machine's processors with work: they stand in where it does not count energy",
    ),
];

pub(super) const DERIVED: &[Derived] = &[
    Derived { name: "power_w", help: "Watts", of: |it| it.rate("energy_j") },
    Derived {
        name: "cpu_seconds_per_s",
        help: "Processors with work: they stand in where the machine does not count energy",
        of: |it| it.rate("cpu_seconds"),
    },
];

const MICRO: f64 = 1e6;

impl Energy {
    /// Reads joules. If the machine does not count them (for example a virtual machine), or this user may not
    /// read them, reads CPU seconds.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn new() -> Result<Self, WatchError> {
        Self::below(Path::new("/sys/class/powercap"))
    }

    fn below(directory: &Path) -> Result<Self, WatchError> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut domains: Vec<Domain> = entries.filter_map(|entry| domain(&entry.path())).collect();
        domains.sort_by(|one, other| one.file.cmp(&other.file));
        let counted = match domains.is_empty() {
            true => Counted::CpuSeconds(KernelFile::open("/proc/stat")?),
            false => Counted::Joules(domains),
        };
        Ok(Self { counted })
    }
}

fn domain(directory: &Path) -> Option<Domain> {
    let file = directory.join("energy_uj");
    number(&file)?;
    let kind = fs::read_to_string(directory.join("name")).ok()?;
    // Several domains have the same name, because each package has a core domain.
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
        match &mut self.counted {
            Counted::Joules(domains) => Ok(domains.iter().map(row).collect()),
            Counted::CpuSeconds(stat) => Ok(vec![Row::new("machine", vec![None, worked_s(stat.read()?)])]),
        }
    }

    fn note(&self) -> Option<String> {
        let stands_in = matches!(self.counted, Counted::CpuSeconds(_));
        stands_in.then(|| {
            "this machine does not count energy (no /sys/class/powercap that can be read): CPU-seconds stand in".to_owned()
        })
    }
}

fn row(domain: &Domain) -> Row {
    let joules = number(&domain.file).map(|microjoules| microjoules / MICRO);
    Row { wraps_at: domain.wraps_at, ..Row::new(domain.name.clone(), vec![joules, None]) }
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
        assert_eq!((energy.note(), before.values[1]), (None, None));
        assert_eq!(before.subject, "package-0[intel-rapl:0]");
        write("energy_uj", "4000000\n");
        let now = energy.read().unwrap().remove(0);
        let change = Change::new(COLUMNS, &before, &now, 2.0).unwrap();
        assert!(((DERIVED[0].of)(&change).unwrap() - 2.5).abs() < 1e-3);
    }

    #[test]
    fn where_energy_is_not_counted_cpu_seconds_stand_in_and_it_says_so() {
        let empty = tempfile::tempdir().unwrap();
        for directory in [empty.path(), Path::new("/no/such/directory")] {
            let mut energy = Energy::below(directory).unwrap();
            assert!(energy.note().unwrap().contains("CPU-seconds stand in"));
            let row = energy.read().unwrap().remove(0);
            assert_eq!((row.subject.as_str(), row.values[0]), ("machine", None));
            assert!(row.values[1].unwrap() > 0.0);
            let later = Row::new("machine", vec![None, row.values[1].map(|seconds| seconds + 3.0)]);
            let change = Change::new(COLUMNS, &row, &later, 2.0).unwrap();
            let derived = [0, 1].map(|at| (DERIVED[at].of)(&change).map(|value| (value * 1e3).round()));
            assert_eq!(derived, [None, Some(1_500.0)]);
        }
    }
}
