//! Tests of digests and their headers.

use proptest::prelude::*;

use super::Algorithm::*;
use super::*;

fn digest(algorithm: Algorithm, content: &[u8]) -> Digest {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(content);
    hasher.finish()
}

#[test]
fn published_digests_come_out() {
    for (algorithm, content, hex) in [
        (Adler32, "", "00000001"),
        (Adler32, "Wikipedia", "11e60398"),
        (Crc32c, "", "00000000"),
        (Crc32c, "123456789", "e3069283"),
        (Md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (Md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (Sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Sha512,
            "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
    ] {
        assert_eq!(digest(algorithm, content.as_bytes()).to_hex(), hex, "{algorithm} of {content:?}");
    }
}

#[test]
fn headers_are_written_as_grid_tools_and_rfc_9530_have_them() {
    let all: Vec<_> = [Adler32, Crc32c, Md5, Sha256].map(|algorithm| digest(algorithm, b"hello")).into();
    assert_eq!(
        write_digest(&all),
        "adler32=062c0215,crc32c=9a71bb4c,md5=XUFAKrxLKna5cZ2REBfFkg==,\
         sha-256=LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="
    );
    assert_eq!(
        write_repr_digest(&all),
        "adler=:BiwCFQ==:, crc32c=:mnG7TA==:, md5=:XUFAKrxLKna5cZ2REBfFkg==:, \
         sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
    );
}

#[test]
fn a_digest_header_is_read_leniently_where_that_is_safe() {
    let adler = Digest::from_hex(Adler32, b"062c0215").unwrap();
    for text in ["adler32=062c0215", "ADLER32=62C0215", " unixsum=30637, adler32=062c0215,,"] {
        assert_eq!(parse_digest(text.as_bytes()), Ok(vec![adler.clone()]), "{text}");
    }
    for (text, why) in [
        ("", DigestError::Malformed),
        ("adler32", DigestError::Malformed),
        ("=1", DigestError::Malformed),
        ("adler32=", DigestError::Value(Adler32)),
        ("adler32=0062c0215", DigestError::Value(Adler32)),
        ("adler32=+62c0215", DigestError::Value(Adler32)),
        ("md5=XUFAKrxLKna5cZ2REBfF", DigestError::Value(Md5)),
        ("md5=5d41402abc4b2a76b9719d911017c592", DigestError::Value(Md5)),
    ] {
        assert_eq!(parse_digest(text.as_bytes()), Err(why), "{text}");
    }
    assert_eq!(parse_digest(b"unixsum=30637"), Ok(vec![]));
}

#[test]
fn structured_digests_are_read_strictly() {
    let crc = Digest::from_hex(Crc32c, b"9a71bb4c").unwrap();
    for text in
        ["crc32c=:mnG7TA==:", "crc32c=:mnG7TA:;x=1, other=:aGk=:", "crc32c=:AAAAAA==:,crc32c=:mnG7TA==:"]
    {
        assert_eq!(parse_repr_digest(text.as_bytes()), Ok(vec![crc.clone()]), "{text}");
    }
    for text in [
        "",
        "crc32c",
        "crc32c=mnG7TA==",
        "crc32c=:mnG7TA==",
        "CRC32C=:mnG7TA==:",
        "crc32c=:mnG7TA==:,",
        "a=1",
    ] {
        assert_eq!(parse_repr_digest(text.as_bytes()), Err(DigestError::Malformed), "{text}");
    }
    for text in ["crc32c=:mnG7:", "crc32c=:!!!!:", "crc32c=::"] {
        assert_eq!(parse_repr_digest(text.as_bytes()), Err(DigestError::Value(Crc32c)), "{text}");
    }
}

#[test]
fn the_client_chooses_among_what_is_offered() {
    let offered = [Adler32, Md5, Sha256];
    for (header, chosen) in [
        ("adler32", Some(Adler32)),
        ("md5;q=0.3, adler32;q=1", Some(Adler32)),
        ("md5, adler32", Some(Md5)),
        ("sha-512, md5;q=0.1", Some(Md5)),
        ("MD5;Q=0.5", Some(Md5)),
        ("md5;q=0", None),
        ("md5;q=x, adler32;q=0.1", Some(Adler32)),
        ("crc32c", None),
        ("", None),
    ] {
        assert_eq!(Algorithm::choose_want_digest(header.as_bytes(), &offered), chosen, "{header}");
    }
    for (header, chosen) in [
        ("sha-256=10, md5=3", Some(Sha256)),
        ("sha-256=1, md5=3, unixsum=10", Some(Md5)),
        ("sha-256=3, md5=3", Some(Md5)),
        ("adler=1", Some(Adler32)),
        ("adler32=1", None),
        ("md5=0", None),
        ("md5=5, md5=0", None),
        ("md5=11", None),
        ("md5=1.5", None),
        ("md5", None),
        ("", None),
    ] {
        assert_eq!(Algorithm::choose_want_repr_digest(header.as_bytes(), &offered), chosen, "{header}");
    }
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(Algorithm::ALL.to_vec())
}

proptest! {
    #[test]
    fn pieces_make_the_digest_of_the_whole(
        algorithm in algorithm(),
        content in prop::collection::vec(any::<u8>(), 0..300),
        cuts in prop::collection::vec(0usize..300, 0..4),
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(content.len())).collect();
        cuts.extend([0, content.len()]);
        cuts.sort();
        let mut hasher = Hasher::new(algorithm);
        for piece in cuts.windows(2) {
            hasher.update(&content[piece[0]..piece[1]]);
        }
        let digest = hasher.finish();
        prop_assert_eq!(&digest, &super::tests::digest(algorithm, &content));
        prop_assert_eq!(digest.bytes().len(), algorithm.bytes());
        prop_assert_eq!(Digest::from_hex(algorithm, digest.to_hex().as_bytes()), Some(digest.clone()));
        let digests = vec![digest];
        prop_assert_eq!(parse_digest(write_digest(&digests).as_bytes()), Ok(digests.clone()));
        prop_assert_eq!(parse_repr_digest(write_repr_digest(&digests).as_bytes()), Ok(digests));
    }

    #[test]
    fn any_bytes_get_a_verdict(text in prop_oneof!["[a-z0-9=:;,+/ -]{0,40}", ".{0,20}"]) {
        let _ = parse_digest(text.as_bytes());
        let _ = parse_repr_digest(text.as_bytes());
        let _ = Algorithm::choose_want_digest(text.as_bytes(), &Algorithm::ALL);
        let _ = Algorithm::choose_want_repr_digest(text.as_bytes(), &Algorithm::ALL);
    }
}

#[test]
fn content_md5_is_the_digest_of_the_body_in_base64() {
    let digest = Digest::from_hex(Algorithm::Md5, b"d41d8cd98f00b204e9800998ecf8427e").unwrap();
    assert_eq!(parse_content_md5(b"1B2M2Y8AsgTpgAmY7PhCfg=="), Ok(vec![digest]));
    for wrong in [&b""[..], b"1B2M2Y8AsgTpgAmY7PhCfg", b"d41d8cd98f00b204e9800998ecf8427e", b"AAAA"] {
        assert_eq!(parse_content_md5(wrong), Err(DigestError::Value(Algorithm::Md5)), "{wrong:?}");
    }
}
