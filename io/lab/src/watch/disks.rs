//! Block devices, from /proc/diskstats (Documentation/admin-guide/iostats.rst of the kernel): every field that it has.

use super::source::{Derived, KernelFile, Source, WatchError, number};
use super::table::{Column, Row};

/// Disks and their partitions.
#[derive(Debug)]
pub struct Disks {
    file: KernelFile,
    /// Only these; empty = all.
    wanted: Vec<String>,
}

/// In the file's order. Kernels before 4.18 have the first 11 of them, those before 5.5 the first 15.
pub(super) const COLUMNS: &[Column] = &[
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

/// `None` where there was nothing.
fn per(sum: f64, count: f64) -> Option<f64> {
    (count > 0.0).then(|| sum / count)
}

impl Disks {
    /// All, or those with these names (`sda`, `nvme0n1p1`).
    ///
    /// # Errors
    /// The kernel has no /proc/diskstats, or not one of the names.
    pub fn new(wanted: Vec<String>) -> Result<Self, WatchError> {
        let mut file = KernelFile::open("/proc/diskstats")?;
        let there: Vec<String> = rows(file.read()?, &[]).into_iter().map(|row| row.subject).collect();
        match wanted.iter().find(|name| !there.contains(name)) {
            Some(unknown) => Err(WatchError::Unknown(format!(
                "no block device {unknown:?}: there are {}",
                there.join(", ")
            ))),
            None => Ok(Self { file, wanted }),
        }
    }
}

impl Source for Disks {
    fn name(&self) -> &'static str {
        "disks"
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn derived(&self) -> &'static [Derived] {
        DERIVED
    }

    fn read(&mut self) -> Result<Vec<Row>, WatchError> {
        Ok(rows(self.file.read()?, &self.wanted))
    }
}

fn rows(text: &str, wanted: &[String]) -> Vec<Row> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.nth(2)?;
        let is_wanted = wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
        is_wanted.then(|| Row::new(name, COLUMNS.iter().map(|_| number(words.next())).collect()))
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
        let all = rows(OF_5_5, &[]);
        assert_eq!(all.iter().map(|row| row.subject.as_str()).collect::<Vec<_>>(), ["sda", "sda1"]);
        assert!(
            all.iter().all(|row| row.values.len() == COLUMNS.len() && row.values.iter().all(Option::is_some))
        );
        assert_eq!(all[0].values[16], Some(16.0));
        for (text, fields) in [(OF_4_18, 15), (OF_2_6, 11)] {
            let row = &rows(text, &[])[0];
            let known: Vec<f64> = row.values.iter().flatten().copied().collect();
            assert_eq!(known, (1..=fields).map(f64::from).collect::<Vec<_>>());
            assert!(
                row.values[fields as usize..].iter().all(Option::is_none),
                "what it does not have is not 0"
            );
        }
    }

    #[test]
    fn only_those_that_are_wanted_are_there() {
        assert_eq!(rows(OF_5_5, &["sda1".to_owned()]).len(), 1);
        let error = Disks::new(vec!["no-such-disk".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no-such-disk"), "{error}");
    }

    #[test]
    fn rates_are_those_of_iostat() {
        let before = &rows(OF_5_5, &[])[0];
        let later = "   8       0 sda 200 2 5000 540 50 6 7000 80 1 1090 1620 11 12 13 14 15 16\n";
        let now = &rows(later, &[])[0];
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
            Change::new(columns, &rows(&before, &[])[0], &rows(&now, &[])[0], 1.0).unwrap().growth("read_ms")
        };
        assert_eq!(change(COLUMNS), Some(10.0));
    }
}
