//! Fuzzes Range and Content-Range. Selected ranges lie within the file and do not overlap, and a multipart
//! response has the announced length. The first byte of the input is the length of the file.

use weir_dav::range::{ContentRange, Multipart, RangePolicy, Selection};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(input: &[u8]) {
    let Some((length, text)) = input.split_first() else { return };
    let length = u64::from(*length);
    let policy = RangePolicy { ranges_max: 16, gap_bytes_max: 3 };
    let header = [b"bytes=", text].concat();
    let ranges = match policy.select(&header, length) {
        Selection::Whole | Selection::Unsatisfiable => Vec::new(),
        Selection::Single(range) => vec![range],
        Selection::Several(ranges) => ranges,
    };
    assert!(ranges.len() <= policy.ranges_max);
    let mut seen = vec![false; length as usize];
    for range in &ranges {
        for at in range.first()..range.end() {
            assert!(!std::mem::replace(&mut seen[at as usize], true), "byte {at} twice");
        }
    }
    let multipart = Multipart::new(1, "text/plain", length);
    let heads: usize =
        ranges.iter().enumerate().map(|(at, range)| multipart.part_head(*range, at == 0).len()).sum();
    let bytes = seen.iter().filter(|seen| **seen).count();
    assert_eq!(multipart.total_bytes(&ranges), Some((heads + bytes + multipart.end().len()) as u64));

    let _ = policy.select(text, length);
    if let Ok(read) = ContentRange::parse(text) {
        assert_eq!(ContentRange::parse(read.to_string().as_bytes()), Ok(read));
    }
}
