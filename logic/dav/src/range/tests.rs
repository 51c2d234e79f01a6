//! Tests of byte ranges.

use proptest::prelude::*;

use super::*;

const EXACT: RangePolicy = RangePolicy { ranges_max: 8, gap_bytes_max: 0 };

fn range(first: u64, last: u64) -> ByteRange {
    ByteRange::new(first, last).unwrap()
}

#[test]
fn a_range_selects_what_rfc_9110_says() {
    use Selection::*;
    for (header, length, selected) in [
        ("bytes=0-499", 10_000, Single(range(0, 499))),
        ("bytes=500-999", 10_000, Single(range(500, 999))),
        ("bytes=-500", 10_000, Single(range(9_500, 9_999))),
        ("bytes=9500-", 10_000, Single(range(9_500, 9_999))),
        ("bytes=0-0,-1", 10_000, Several(vec![range(0, 0), range(9_999, 9_999)])),
        (
            "bytes= 0-999, 4500-5499, -1000",
            10_000,
            Several(vec![range(0, 999), range(4_500, 5_499), range(9_000, 9_999)]),
        ),
        ("Bytes=0-0", 1, Single(range(0, 0))),
        ("bytes=0-99999999999999999999999", 5, Single(range(0, 4))),
        ("bytes=-99999999999999999999999", 5, Single(range(0, 4))),
        ("bytes=99999999999999999999999-", 5, Unsatisfiable),
        ("bytes=5-", 5, Unsatisfiable),
        ("bytes=5-9,4-4", 5, Single(range(4, 4))),
        ("bytes=-0", 5, Unsatisfiable),
        ("bytes=0-", 0, Unsatisfiable),
        ("bytes=-1", 0, Whole),
        ("bytes=,0-0,,", 5, Single(range(0, 0))),
    ] {
        assert_eq!(EXACT.select(header.as_bytes(), length), selected, "{header} of {length}");
    }
}

#[test]
fn what_is_no_byte_range_set_is_ignored() {
    for header in [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=a-b",
        "bytes=1",
        "bytes=3-2",
        "bytes=0-1,3-2",
        "bytes=0-1;2-3",
        "bytes=0--1",
        "bytes=+1-2",
        "bytes=0 - 1",
        "lines=0-1",
        "bytes =0-1 x",
        "bytes=0x1-2",
        "bytes=1-2-3",
        "bytes=0-0,1-1,2-2,3-3,4-4,5-5,6-6,7-7,8-8",
    ] {
        assert_eq!(EXACT.select(header.as_bytes(), 10), Selection::Whole, "{header}");
    }
}

#[test]
fn near_ranges_become_one_where_the_first_of_them_was() {
    let policy = RangePolicy { ranges_max: 8, gap_bytes_max: 10 };
    let select = |header: &str| policy.select(header.as_bytes(), 1_000);
    assert_eq!(select("bytes=0-9,20-29"), Selection::Single(range(0, 29)));
    assert_eq!(select("bytes=0-9,21-29"), Selection::Several(vec![range(0, 9), range(21, 29)]));
    assert_eq!(
        select("bytes=500-509,0-9,505-600,5-12"),
        Selection::Several(vec![range(500, 600), range(0, 12)])
    );
    assert_eq!(select("bytes=0-,0-,0-,0-"), Selection::Single(range(0, 999)));
}

#[test]
fn content_ranges_are_read_strictly() {
    for (text, read) in [
        ("bytes 0-9/100", Ok(ContentRange::Part { range: range(0, 9), complete_bytes: Some(100) })),
        ("bytes 0-9/*", Ok(ContentRange::Part { range: range(0, 9), complete_bytes: None })),
        ("bytes */100", Ok(ContentRange::Unsatisfied { complete_bytes: 100 })),
        ("bytes 9-0/100", Err(ContentRangeError::Contradiction)),
        ("bytes 0-9/9", Err(ContentRangeError::Contradiction)),
        ("bytes 0-18446744073709551615/*", Err(ContentRangeError::Contradiction)),
        ("bytes 0-18446744073709551616/*", Err(ContentRangeError::Malformed)),
        ("bytes */*", Err(ContentRangeError::Malformed)),
        ("bytes=0-9/100", Err(ContentRangeError::Malformed)),
        ("bytes 0-9", Err(ContentRangeError::Malformed)),
        ("bytes -9/100", Err(ContentRangeError::Malformed)),
        ("items 0-9/100", Err(ContentRangeError::Unit)),
        ("", Err(ContentRangeError::Malformed)),
    ] {
        assert_eq!(ContentRange::parse(text.as_bytes()), read, "{text}");
    }
}

/// Marks each byte that the header requests, one at a time, as a simple model of RFC 9110.
fn bytes_asked(specs: &[(Option<u64>, Option<u64>)], length: u64) -> Vec<bool> {
    let asked = |at: u64| {
        specs.iter().any(|spec| match *spec {
            (Some(first), Some(last)) => (first..=last).contains(&at),
            (Some(first), None) => at >= first,
            (None, Some(suffix)) => at >= length.saturating_sub(suffix),
            (None, None) => false,
        })
    };
    (0..length).map(asked).collect()
}

fn spec() -> impl Strategy<Value = (Option<u64>, Option<u64>)> {
    prop_oneof![
        (0u64..60, 0u64..20).prop_map(|(first, more)| (Some(first), Some(first + more))),
        (0u64..60).prop_map(|first| (Some(first), None)),
        (0u64..60).prop_map(|suffix| (None, Some(suffix))),
    ]
}

proptest! {
    #[test]
    fn exactly_the_bytes_that_were_asked_for_are_selected(
        specs in prop::collection::vec(spec(), 1..8),
        length in 1u64..50,
        gap_bytes_max in 0u64..5,
    ) {
        let text = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let set: Vec<_> = specs.iter().map(|(a, b)| format!("{}-{}", text(*a), text(*b))).collect();
        let header = format!("bytes={}", set.join(", "));
        let policy = RangePolicy { ranges_max: 8, gap_bytes_max };
        let selected = match policy.select(header.as_bytes(), length) {
            Selection::Unsatisfiable => vec![],
            Selection::Single(range) => vec![range],
            Selection::Several(ranges) => {
                prop_assert!(ranges.len() > 1);
                ranges
            }
            Selection::Whole => return Err(TestCaseError::fail("a sound header was ignored")),
        };
        let asked = bytes_asked(&specs, length);
        for at in 0..length {
            let times = selected.iter().filter(|range| (range.first()..=range.last()).contains(&at)).count();
            prop_assert!(times <= 1, "byte {at} twice");
            if asked[at as usize] {
                prop_assert_eq!(times, 1);
            } else if gap_bytes_max == 0 {
                prop_assert_eq!(times, 0);
            }
        }
        prop_assert!(selected.iter().all(|range| range.last() < length));
        // The gap between two parts is longer than `gap_bytes_max`.
        let mut ordered = selected;
        ordered.sort();
        prop_assert!(ordered.windows(2).all(|two| two[1].first() - two[0].end() > gap_bytes_max));
    }

    #[test]
    fn any_bytes_get_a_verdict(header in prop::collection::vec(any::<u8>(), 0..40), length: u64) {
        let mut prefixed = b"bytes=".to_vec();
        prefixed.extend_from_slice(&header);
        for header in [&header, &prefixed] {
            if let Selection::Single(range) = RangePolicy::default().select(header, length) {
                prop_assert!(range.last() < length);
            }
            let _ = ContentRange::parse(header);
        }
    }

    #[test]
    fn a_content_range_reads_back(first: u64, more: u64, beyond in prop::option::of(1u64..1_000)) {
        let Some(range) = ByteRange::new(first, first.saturating_add(more)) else { return Ok(()) };
        let complete_bytes = beyond.map(|beyond| range.last().saturating_add(beyond));
        let written = ContentRange::Part { range, complete_bytes };
        prop_assert_eq!(ContentRange::parse(written.to_string().as_bytes()), Ok(written));
        let written = ContentRange::Unsatisfied { complete_bytes: first };
        prop_assert_eq!(ContentRange::parse(written.to_string().as_bytes()), Ok(written));
    }

    #[test]
    fn a_multipart_body_is_as_long_as_was_said(
        ranges in prop::collection::vec((0u64..1_000, 0u64..200), 2..6),
        random: u128,
        typed: bool,
    ) {
        let ranges: Vec<_> = ranges.iter().map(|(first, more)| range(*first, first + more)).collect();
        let multipart = Multipart::new(random, if typed { "text/plain" } else { "" }, 2_000);
        let mut body = String::new();
        for (at, range) in ranges.iter().enumerate() {
            body += &multipart.part_head(*range, at == 0);
            body += &"x".repeat(range.bytes() as usize);
        }
        body += &multipart.end();
        prop_assert_eq!(multipart.total_bytes(&ranges), Some(body.len() as u64));
    }
}

#[test]
fn a_multipart_body_reads_as_rfc_9110_has_it() {
    let multipart = Multipart::new(7, "text/plain", 100);
    assert_eq!(
        multipart.content_type(),
        "multipart/byteranges; boundary=weir-00000000000000000000000000000007"
    );
    let body = [
        multipart.part_head(range(0, 1), true),
        "ab".to_owned(),
        multipart.part_head(range(98, 99), false),
        "yz".to_owned(),
        multipart.end(),
    ];
    insta::assert_snapshot!(body.concat().replace("\r\n", "␍␊\n"));
}

#[test]
fn a_length_that_no_number_holds_is_none() {
    let huge = range(0, u64::MAX - 1);
    assert_eq!(Multipart::new(0, "", u64::MAX).total_bytes(&[huge, huge]), None);
}
