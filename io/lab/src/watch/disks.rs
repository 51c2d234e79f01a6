//! Reads block devices from /proc/diskstats (Documentation/admin-guide/iostats.rst of the kernel), with all
//! fields.

use std::path::PathBuf;

use super::source::{Derived, KernelFile, Source, WatchError, missing, number};
use super::table::{Column, Row};

/// Disks and their partitions.
#[derive(Debug)]
pub struct Disks {
    file: KernelFile,
    columns: &'static [Column],
    /// Names to watch; empty = all.
    wanted: Vec<String>,
}

/// Columns in the order of the file, without the device name, which is the third field there. Kernels before
/// 4.18 have the first 13 columns, kernels before 5.5 the first 17.
pub(super) const COLUMNS: &[Column] = &[
    Column::id("major", "Number of its kind (major)"),
    Column::id("minor", "Its number among these (minor)"),
    Column::counter("reads", "Reads that are done"),
    Column::counter("reads_merged", "Reads that were made one with another"),
    Column::counter("sectors_read", "Sectors of 512 bytes that were read"),
    Column::counter32("read_ms", "Milliseconds that reads took, all together"),
    Column::counter("writes", "Writes that are done"),
    Column::counter("writes_merged", "Writes that were made one with another"),
    Column::counter("sectors_written", "Sectors of 512 bytes that were written"),
    Column::counter32("write_ms", "Milliseconds that writes took, all together"),
    Column::gauge("in_flight", "Requests that are under way"),
    Column::counter32("busy_ms", "Milliseconds in which a request was under way"),
    Column::counter32("queue_ms", "Milliseconds that requests took, those under way included"),
    Column::counter("discards", "Discards that are done"),
    Column::counter("discards_merged", "Discards that were made one with another"),
    Column::counter("sectors_discarded", "Sectors of 512 bytes that were discarded"),
    Column::counter32("discard_ms", "Milliseconds that discards took, all together"),
    Column::counter("flushes", "Flushes that are done"),
    Column::counter32("flush_ms", "Milliseconds that flushes took, all together"),
];

const SECTOR_BYTES: f64 = 512.0;

pub(super) const DERIVED: &[Derived] = &[
    Derived { name: "reads_per_s", help: "Reads each second", of: |it| it.rate("reads") },
    Derived { name: "writes_per_s", help: "Writes each second", of: |it| it.rate("writes") },
    Derived {
        name: "read_bytes_per_s",
        help: "Bytes read each second",
        of: |it| Some(it.rate("sectors_read")? * SECTOR_BYTES),
    },
    Derived {
        name: "written_bytes_per_s",
        help: "Bytes written each second",
        of: |it| Some(it.rate("sectors_written")? * SECTOR_BYTES),
    },
    Derived {
        name: "read_await_ms",
        help: "Milliseconds that a read took, on average",
        of: |it| per(it.growth("read_ms")?, it.growth("reads")?),
    },
    Derived {
        name: "write_await_ms",
        help: "Milliseconds that a write took, on average",
        of: |it| per(it.growth("write_ms")?, it.growth("writes")?),
    },
    Derived {
        name: "queue",
        help: "Requests under way, on average",
        of: |it| Some(it.growth("queue_ms")? / 1e3 / it.seconds),
    },
    Derived {
        name: "utilisation",
        help: "Share of the time in which a request was under way",
        of: |it| Some((it.growth("busy_ms")? / 1e3 / it.seconds).min(1.0)),
    },
];

/// Divides a sum by a count; `None` if the count is 0.
fn per(sum: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| sum / count)
}

impl Disks {
    /// Watches all devices, or those with these names (`sda`, `nvme0n1p1`), including devices that come
    /// later.
    ///
    /// # Errors
    /// If the kernel has no /proc/diskstats.
    pub fn new(wanted: Vec<String>) -> Result<Self, WatchError> {
        Self::of("/proc/diskstats", wanted)
    }

    fn of(path: impl Into<PathBuf>, wanted: Vec<String>) -> Result<Self, WatchError> {
        let mut file = KernelFile::open(path)?;
        let columns = columns(file.read()?);
        Ok(Self { file, columns, wanted })
    }
}

impl Source for Disks {
    fn name(&self) -> &'static str {
        "disks"
    }

    fn columns(&self) -> &'static [Column] {
        self.columns
    }

    fn derived(&self) -> &'static [Derived] {
        DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        Ok(rows(self.file.read()?, self.columns, &self.wanted))
    }

    fn missing(&mut self) -> Result<Vec<String>, WatchError> {
        Ok(missing("block device", &self.wanted, &rows(self.file.read()?, self.columns, &[])))
    }
}

/// Returns the known columns, and one column for each further field of a newer kernel, named by its position.
fn columns(text: &str) -> &'static [Column] {
    const KNOWN: usize = COLUMNS.len() + 1;
    let fields = text.lines().map(|line| line.split_whitespace().count()).max().unwrap_or(0);
    if fields <= KNOWN {
        return COLUMNS;
    }
    let unknown = |field| {
        // The columns must live as long as the program. The leak happens once per source, which is once per
        // start.
        let name = Box::leak(format!("field_{field}").into_boxed_str());
        Column::gauge(name, "A field of the kernel's that is newer than this Weir")
    };
    let all: Vec<Column> = COLUMNS.iter().copied().chain((KNOWN + 1..=fields).map(unknown)).collect();
    Box::leak(all.into_boxed_slice())
}

fn rows(text: &str, columns: &[Column], wanted: &[String]) -> Vec<Row> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (major, minor, name) = (words.next(), words.next(), words.next()?);
        let is_wanted = wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
        let figures = [major, minor].into_iter().chain(words.map(Some)).chain(std::iter::repeat(None));
        is_wanted.then(|| Row::new(name, figures.take(columns.len()).map(number).collect()))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::Change;
    use super::*;

    const OF_5_5: &str = "   8       0 sda 100 2 3000 40 50 6 7000 80 1 90 120 11 12 13 14 15 16\n\
                          \x20  8       1 sda1 1 2 3 4 5 6 7 8 0 10 11 12 13 14 15 16 17\n";
    const OF_4_18: &str = " 253 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n";
    const OF_2_6: &str = "   3    0   hda 1 2 3 4 5 6 7 8 9 10 11\n";

    #[test]
    fn every_field_of_every_kernel_is_read() {
        let all = rows(OF_5_5, COLUMNS, &[]);
        assert_eq!(all.iter().map(|row| row.subject.as_str()).collect::<Vec<_>>(), ["sda", "sda1"]);
        assert!(
            all.iter().all(|row| row.values.len() == COLUMNS.len() && row.values.iter().all(Option::is_some))
        );
        assert_eq!(
            (all[1].values[0], all[1].values[1], all[0].values[18]),
            (Some(8.0), Some(1.0), Some(16.0))
        );
        for (text, fields) in [(OF_4_18, 15), (OF_2_6, 11)] {
            let row = &rows(text, COLUMNS, &[])[0];
            let known: Vec<f64> = row.values.iter().skip(2).flatten().copied().collect();
            assert_eq!(known, (1..=fields).map(f64::from).collect::<Vec<_>>());
            assert!(
                row.values[2 + fields as usize..].iter().all(Option::is_none),
                "what it does not have is not 0"
            );
            assert_eq!(columns(text), COLUMNS);
        }
    }

    #[test]
    fn fields_of_a_kernel_to_come_are_kept_by_their_place() {
        let text = " 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n 8 1 sda1 1 2 3\n";
        let columns = columns(text);
        let names: Vec<_> = columns[COLUMNS.len()..].iter().map(|column| column.name).collect();
        assert_eq!(
            (names.as_slice(), columns.len()),
            (["field_21", "field_22"].as_slice(), COLUMNS.len() + 2)
        );
        let rows = rows(text, columns, &[]);
        assert_eq!(rows[0].values[19..], [Some(18.0), Some(19.0)]);
        assert_eq!(rows[1].values[4..], [Some(3.0)].into_iter().chain([None; 16]).collect::<Vec<_>>());
    }

    #[test]
    fn one_that_is_not_there_is_named_and_read_when_it_comes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), OF_5_5).unwrap();
        let mut disks = Disks::of(file.path(), vec!["sda1".to_owned(), "vda".to_owned()]).unwrap();
        assert_eq!(disks.missing().unwrap(), ["no block device \"vda\": there are sda, sda1"]);
        assert_eq!(disks.read().unwrap().len(), 1);
        std::fs::write(file.path(), format!("{OF_5_5}{OF_4_18}")).unwrap();
        assert!(disks.missing().unwrap().is_empty());
        assert_eq!(disks.read().unwrap()[1].subject, "vda");
    }

    #[test]
    fn rates_are_those_of_iostat() {
        let before = &rows(OF_5_5, COLUMNS, &[])[0];
        let later = "   8       0 sda 200 2 5000 540 50 6 7000 80 1 1090 1620 11 12 13 14 15 16\n";
        let now = &rows(later, COLUMNS, &[])[0];
        let change = Change::new(COLUMNS, before, now, 2.0).unwrap();
        let derived = |name: &str| (DERIVED.iter().find(|it| it.name == name).unwrap().of)(&change);
        assert_eq!(derived("reads_per_s"), Some(50.0));
        assert_eq!(derived("read_bytes_per_s"), Some(512_000.0));
        assert_eq!(derived("read_await_ms"), Some(5.0));
        assert_eq!(derived("write_await_ms"), None, "nothing was written");
        assert_eq!(derived("queue"), Some(0.75));
        assert_eq!(derived("utilisation"), Some(0.5));
    }

    #[test]
    fn milliseconds_wrap_as_the_kernel_s_do() {
        let line = |ms: u64| format!("8 0 sda 1 0 0 {ms} 0 0 0 0 0 0 0\n");
        let (before, now) = (line(4_294_967_290), line(4));
        let change = |columns| {
            Change::new(columns, &rows(&before, COLUMNS, &[])[0], &rows(&now, COLUMNS, &[])[0], 1.0)
                .unwrap()
                .growth("read_ms")
        };
        assert_eq!(change(COLUMNS), Some(10.0));
    }
}
