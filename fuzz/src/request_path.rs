//! Fuzzes the normalization of request paths. The forwarded path has no dot segments and is its own normal
//! form. The compared path has only one percent-encoding.

use weir_http::{
    AboveRoot, Backslash, BadEscape, EncodedNul, EncodedSlash, NormalPath, PathParameters, PathRules,
};

/// Runs the target on one input; panics if a property does not hold. The first two bytes choose the rules.
pub fn run(input: &[u8]) {
    let Some(([choice, more], path)) = input.split_first_chunk::<2>() else { return };
    let chosen = rules(*choice, *more);
    for rules in [PathRules::default(), chosen] {
        let path = [b"/", path].concat();
        let Ok(normal) = rules.normalize(&path) else { continue };
        is_sound(&rules, &normal);
        let again = rules.normalize(&normal.forwarded).expect("a normal form is not refused");
        assert_eq!(again.forwarded, normal.forwarded);
        assert_eq!(again.compared(), normal.compared());
    }
}

fn rules(choice: u8, more: u8) -> PathRules {
    let bit = |at: u8| choice & (1 << at) != 0;
    PathRules {
        merge_slashes: bit(0),
        above_root: if bit(1) { AboveRoot::Stay } else { AboveRoot::Refuse },
        bad_escape: if bit(2) { BadEscape::Keep } else { BadEscape::Refuse },
        nul: if bit(3) { EncodedNul::Keep } else { EncodedNul::Refuse },
        encoded_slash: [EncodedSlash::Refuse, EncodedSlash::Keep, EncodedSlash::Decode]
            [usize::from(more % 3)],
        backslash: [Backslash::Refuse, Backslash::Keep, Backslash::Slash][usize::from(more / 3 % 3)],
        parameters: [PathParameters::Ignore, PathParameters::Keep, PathParameters::Refuse]
            [usize::from(more / 9 % 3)],
    }
}

fn is_sound(rules: &PathRules, normal: &NormalPath<'_>) {
    let (forwarded, compared) = (&*normal.forwarded, normal.compared());
    assert!(forwarded.starts_with(b"/") && compared.starts_with(b"/"));
    assert!(forwarded.is_ascii() && compared.is_ascii());
    for path in [forwarded, compared] {
        assert!(!rules.merge_slashes || !path.windows(2).any(|pair| pair == b"//"));
        for segment in path.split(|byte| *byte == b'/') {
            assert!(!matches!(decoded(segment).as_slice(), b"." | b".."));
        }
    }
    let is_parted = |segment: &[u8]| decoded(segment).contains(&b';');
    if rules.parameters != PathParameters::Keep {
        assert!(!is_parted(compared));
    }
    // Letters and digits are never encoded, and escapes are in upper case.
    let escapes = compared.split(|byte| *byte == b'%').skip(1);
    for escape in escapes {
        let digits = escape.get(..2).expect("two digits");
        assert!(digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F')));
        let byte = decoded(&[b"%", digits].concat());
        assert!(!byte[0].is_ascii_alphanumeric() && !b"-._~".contains(&byte[0]));
    }
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let value = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match value.filter(|_| *byte == b'%') {
            Some(value) => {
                out.push(value);
                rest = &tail[2..];
            }
            None => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    out
}
