//! Parameters in URLs.

/// Returns the value of a parameter as written in a URL: from the query (`?a=1&name=value`), else from the
/// path, where servlets put their session ids (`/x;name=value`). Decodes nothing; the first value that is not
/// empty counts.
pub fn url_param<'a>(path: &'a [u8], query: Option<&'a [u8]>, name: &[u8]) -> Option<&'a [u8]> {
    let value = |part: &'a [u8]| {
        let value = part.strip_prefix(name)?.strip_prefix(b"=")?;
        (!value.is_empty()).then_some(value)
    };
    let in_query = query.and_then(|query| query.split(|byte| *byte == b'&').find_map(value));
    in_query.or_else(|| {
        // The segment's name ends at the first `;`.
        let parameters = |segment: &'a [u8]| segment.split(|byte| *byte == b';').skip(1).find_map(value);
        path.split(|byte| *byte == b'/').find_map(parameters)
    })
}

#[cfg(test)]
mod tests {
    use super::url_param;

    fn found(path: &str, query: Option<&str>) -> Option<String> {
        let value = url_param(path.as_bytes(), query.map(str::as_bytes), b"sid")?;
        Some(String::from_utf8(value.to_vec()).unwrap())
    }

    #[test]
    fn a_parameter_is_found_in_query_and_path() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(found("/", Some("sid=1")), some("1"));
        assert_eq!(found("/x;sid=2/y", Some("a=b&sid=1=2")), some("1=2"));
        assert_eq!(found("/a;b=c;sid=2/y", Some("xsid=3&sid=")), some("2"));
        assert_eq!(found("/a;sid=", None), None);
        assert_eq!(found("/sid=1", Some("SID=1&side=2")), None);
        assert_eq!(found("", None), None);
    }
}
