//! Comparison of distinguished names (RFC 2253). It ignores spaces between their parts and the case of
//! attribute types.

pub(super) fn same_name(left: &str, right: &str) -> bool {
    left == right || parts(left).eq(parts(right))
}

/// Splits a name into pairs of attribute type, in upper case, and value.
fn parts(name: &str) -> impl Iterator<Item = (String, &str)> {
    let mut rest = Some(name);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut escaped = false;
        let end = text.find(|c: char| {
            let ends = c == ',' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let part = end.map_or(text, |end| &text[..end]);
        rest = end.map(|end| &text[end + 1..]);
        let (kind, value) = part.split_once('=').unwrap_or(("", part));
        // An escaped space belongs to the value.
        let value = if value.trim_end().ends_with('\\') { value.trim_start() } else { value.trim() };
        Some((kind.trim().to_ascii_uppercase(), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_between_parts_and_the_case_of_types_do_not_count() {
        assert!(same_name("CN=Jo, O=A\\, B,c=IT", "cn=Jo,O=A\\, B,C=IT"));
        assert!(!same_name("CN=Jo,O=A", "CN=jo,O=A"), "values do");
        assert!(!same_name("CN=Jo,O=A", "CN=Jo"));
        assert!(!same_name("CN=Jo,O=A", "O=A,CN=Jo"));
        assert!(!same_name("CN=a\\,O=b", "CN=a,O=b"), "an escaped comma separates nothing");
    }
}
