//! Tests of password files, password checks, and the `Authorization` header.

use proptest::prelude::*;
use weir_access::basic::{
    Authorization, HeaderFault, Htpasswd, PasswordCache, decode_client_credentials, parse_authorization,
};
use weir_access::identity::BadPassword;

use crate::crypto::AwsLc;

/// Returns a password file as written by `htpasswd -nbB -C 5 jo secret` and `openssl passwd -5 -salt
/// saltstring 'Hello world!'`.
fn file() -> String {
    let bcrypt = bcrypt::hash_with_salt("secret", 4, *b"0123456789abcdef").unwrap();
    let bcrypt = bcrypt.format_for_version(bcrypt::Version::TwoY);
    format!("# users\njo:{bcrypt}\n\nal:$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5\r\n")
}

#[test]
fn a_right_password_is_right_and_a_wrong_one_is_wrong() {
    let users = Htpasswd::parse(&file()).unwrap();
    assert_eq!(users.len(), 2);
    assert_eq!(users.check("jo").run("secret", &AwsLc).unwrap().name, "jo");
    assert_eq!(users.check("al").run("Hello world!", &AwsLc).unwrap().name, "al");
    for (user, password) in [
        ("jo", "Secret"),
        ("jo", ""),
        ("al", "secret"),
        ("nobody", "secret"),
        ("nobody", "Hello world!"),
        ("", ""),
    ] {
        assert_eq!(users.check(user).run(password, &AwsLc), Err(BadPassword), "{user} {password}");
    }
    assert_eq!(Htpasswd::default().check("jo").run("secret", &AwsLc), Err(BadPassword));
}

#[test]
fn users_whose_checks_take_long_are_named() {
    let bcrypt = |cost: u32| format!("$2y${cost:02}$abcdefghijklmnopqrstuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu");
    let sha = |rounds: &str| format!("$5${rounds}salt$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
    let text = format!(
        "a:{}\nb:{}\nc:{}\nd:{}\ne:{}\n",
        bcrypt(12),
        bcrypt(13),
        sha(""),
        sha("rounds=200000$"),
        sha("rounds=1000000$"),
    );
    let users = Htpasswd::parse(&text).unwrap();
    assert_eq!(users.slow_users().collect::<Vec<_>>(), ["b", "e"]);
}

#[test]
fn client_credentials_are_decoded_where_that_makes_a_difference() {
    let decoded = |user: &str, password: &str| decode_client_credentials(user, password);
    assert_eq!(decoded("ada%40x.org", "a+b%25"), Some(("ada@x.org".to_owned(), "a b%".to_owned())));
    assert_eq!(decoded("ada", "sesame"), None);
    assert_eq!(decoded("ada", "100%"), None, "not encoded at all");
}

#[test]
fn a_hash_is_shown_as_it_is_written() {
    let users = Htpasswd::parse(&file()).unwrap();
    assert_eq!(users.hash_of("al"), Some("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"));
    assert_eq!(users.hash_of("nobody"), None);
}

/// The hashes are from `openssl passwd`; those of "Hello world!" are examples of the specification.
#[test]
fn other_implementations_hashes_come_out() {
    let long = "pässword: long enough to be more than sixty-four bytes of text, really";
    for (hash, password) in [
        ("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!"),
        ("$5$rounds=10000$saltstringsaltst$3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA", "Hello world!"),
        (
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
            "Hello world!",
        ),
        (
            "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
            "Hello world!",
        ),
        (
            "$6$abc$IEK37eqOCyVzDK4XQo6oC61U7CVtCEWUIXu0FOV3hYSVkMg5.fAdyC8CUucmgEMjyA72qxqUqBvuzflYxAwVZ0",
            long,
        ),
    ] {
        let users = Htpasswd::parse(&format!("al:{hash}")).unwrap();
        assert!(users.check("al").run(password, &AwsLc).is_ok(), "{hash}");
        assert_eq!(users.check("al").run("Hello world", &AwsLc), Err(BadPassword), "{hash}");
    }
}

#[test]
fn a_password_that_bcrypt_would_cut_off_is_never_right() {
    let users = |password: &str| {
        let hash = bcrypt::hash_with_salt(password, 4, *b"0123456789abcdef").unwrap();
        Htpasswd::parse(&format!("jo:{}", hash.format_for_version(bcrypt::Version::TwoB))).unwrap()
    };
    let x = |count: usize| "x".repeat(count);
    assert!(users(&x(71)).check("jo").run(&x(71), &AwsLc).is_ok());
    // The hash covers the first 72 bytes, so it matches all of these.
    for count in [72, 73, 80, 1000] {
        assert_eq!(users(&x(80)).check("jo").run(&x(count), &AwsLc), Err(BadPassword), "{count}");
    }
}

#[test]
fn a_check_can_go_to_another_thread() {
    fn sendable<T: Send + 'static>(_: &T) {}
    sendable(&Htpasswd::default().check("jo"));
}

#[test]
fn hashes_that_protect_nothing_are_refused_with_what_to_do() {
    for (line, expected) in [
        ("jo:$apr1$abc$def", "line 1: user jo: MD5 is no protection; make a bcrypt hash with `htpasswd -B`"),
        (
            "jo:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
            "line 1: user jo: unsalted SHA-1 is no protection; make a bcrypt hash with `htpasswd -B`",
        ),
        (
            "jo:rqXexS6ZhobKA",
            "line 1: user jo: plain text or DES crypt is no protection; make a bcrypt hash with `htpasswd -B`",
        ),
        ("jo:$9$x", "line 1: user jo: a kind of hash that is not known here; make one with `htpasswd -B`"),
        (
            "jo:$2y$31$abcdefghijklmnopqrstuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu",
            "line 1: user jo: bcrypt cost 31 is not between 4 and 15",
        ),
        ("jo:$2y$10$short", "line 1: user jo: not a whole bcrypt hash"),
        ("jo", "line 1: no colon"),
        (":x", "line 1: no user before the colon"),
    ] {
        assert_eq!(Htpasswd::parse(line).unwrap_err().to_string(), expected);
    }
    let twice = file().replace("al:", "jo:");
    assert_eq!(Htpasswd::parse(&twice).unwrap_err().to_string(), "line 4: user jo is there twice");
}

#[test]
fn headers_are_read_as_their_schemes_have_them() {
    let basic = |user: &str, password: &str| {
        Ok(Authorization::Basic { user: user.to_owned(), password: password.to_owned() })
    };
    let table = [
        ("Bearer abc.def-_~+/=", Ok(Authorization::Bearer("abc.def-_~+/=".to_owned()))),
        ("bEARER   abc", Ok(Authorization::Bearer("abc".to_owned()))),
        ("Bearer", Err(HeaderFault::Bearer)),
        ("Bearer a b", Err(HeaderFault::Bearer)),
        ("Basic am86YTpi", basic("jo", "a:b")),
        ("basic am86", basic("jo", "")),
        ("Basic am8=", Err(HeaderFault::Basic)),
        ("Basic !", Err(HeaderFault::Basic)),
        ("Basic am86AA==", Err(HeaderFault::Basic)),
        ("Negotiate abc", Ok(Authorization::Other)),
        ("", Ok(Authorization::Other)),
    ];
    for (value, expected) in table {
        assert_eq!(parse_authorization(value), expected, "{value}");
    }
    assert_eq!(format!("{:?}", parse_authorization("Bearer secret").unwrap()), "Bearer(..)");
    assert_eq!(parse_authorization(&format!("Bearer {}", "a".repeat(30_000))), Err(HeaderFault::TooLong));
}

#[test]
fn a_password_that_was_checked_is_remembered_for_a_while() {
    let mut cache = PasswordCache::new(&[7; 32], 60, 2);
    let jo = cache.fingerprint("jo", "secret", &AwsLc);
    assert!(!cache.holds(jo, 100));
    cache.remember(jo, 100);
    assert!(cache.holds(jo, 159));
    assert!(!cache.holds(jo, 160));
    assert!(!cache.holds(cache.fingerprint("jo", "Secret", &AwsLc), 100));
    assert!(cache.fingerprint("ab", "c", &AwsLc) != cache.fingerprint("a", "bc", &AwsLc));
}

proptest! {
    #[test]
    fn a_cache_never_grows_beyond_its_bound(names in prop::collection::vec("[a-z]{1,3}", 0..60), max in 0_usize..6) {
        let mut cache = PasswordCache::new(&[7; 32], 10, max);
        for (now, name) in names.iter().enumerate() {
            let fingerprint = cache.fingerprint(name, "x", &AwsLc);
            cache.remember(fingerprint, now as u64);
            prop_assert!(cache.len() <= max);
            prop_assert_eq!(cache.holds(fingerprint, now as u64), max > 0, "the newest is there");
        }
    }
}
