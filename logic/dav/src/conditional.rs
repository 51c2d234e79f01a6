//! Preconditions, in the order of RFC 9110 section 13.2.2.

use crate::date::parse_http_date;
use crate::etag::{EntityTag, EtagList};

/// The conditional headers of a request. The lines of a repeated header are joined with commas.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conditions<'a> {
    /// If-Match (RFC 9110 section 13.1.1).
    pub if_match: Option<&'a [u8]>,
    /// If-None-Match (RFC 9110 section 13.1.2).
    pub if_none_match: Option<&'a [u8]>,
    /// If-Modified-Since (RFC 9110 section 13.1.3).
    pub if_modified_since: Option<&'a [u8]>,
    /// If-Unmodified-Since (RFC 9110 section 13.1.4).
    pub if_unmodified_since: Option<&'a [u8]>,
    /// If-Range (RFC 9110 section 13.1.5).
    pub if_range: Option<&'a [u8]>,
}

/// Validators of an existing resource (RFC 9110 section 8.8).
#[derive(Debug, Clone, Default)]
pub struct Validators {
    /// Entity tag of the resource, if it has one.
    pub etag: Option<EntityTag>,
    /// Time of the last modification, in seconds since 1970.
    pub last_modified_s: Option<i64>,
}

/// Kind of access, by method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// GET; may carry ranges.
    Get,
    /// HEAD.
    Head,
    /// Every other method: a failed condition means 412, never 304.
    Other,
}

/// Result of the preconditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The request goes on.
    Proceed {
        /// True if a Range header applies; otherwise the whole representation is sent.
        range_applies: bool,
    },
    /// 304: the client already has the current representation.
    NotModified,
    /// 412: a precondition failed.
    Failed,
}

impl Conditions<'_> {
    /// Evaluates the preconditions. `resource` is `None` if the target does not exist; `now_s` is the time of
    /// the request.
    ///
    /// Ignores unreadable dates, as RFC 9110 demands. An unreadable list of tags in If-Match fails. An
    /// unreadable list in If-None-Match fails too, except for GET and HEAD, where sending the response does
    /// no harm.
    pub fn evaluate(&self, access: Access, resource: Option<&Validators>, now_s: u64) -> Verdict {
        let etag = resource.and_then(|resource| resource.etag.as_ref());
        let modified_s = resource.and_then(|resource| resource.last_modified_s);

        // Steps 1 and 2.
        if let Some(text) = self.if_match {
            let list = EtagList::parse(text);
            if resource.is_none() || !list.is_some_and(|list| list.has_strong(etag)) {
                return Verdict::Failed;
            }
        } else if let (Some(limit_s), Some(modified_s)) = (date(self.if_unmodified_since), modified_s)
            && modified_s > limit_s
        {
            return Verdict::Failed;
        }

        // Steps 3 and 4.
        let reads = access != Access::Other;
        if let Some(text) = self.if_none_match {
            let met = match EtagList::parse(text) {
                Some(list) => resource.is_none() || !list.has_weak(etag),
                None => reads,
            };
            match (met, reads) {
                (true, _) => {}
                (false, true) => return Verdict::NotModified,
                (false, false) => return Verdict::Failed,
            }
        } else if let (true, Some(known_s), Some(modified_s)) =
            (reads, date(self.if_modified_since), modified_s)
            && modified_s <= known_s
        {
            return Verdict::NotModified;
        }

        // Step 5.
        let range_applies = access == Access::Get && self.range_applies(etag, modified_s, now_s);
        Verdict::Proceed { range_applies }
    }

    /// Returns true if If-Range matches: by a strong tag equal to the resource's, or by exactly its date. The
    /// date must be strong, that is, older than the current second: in the same second, another change might
    /// still happen (RFC 9110 section 8.8.2.2).
    fn range_applies(&self, etag: Option<&EntityTag>, modified_s: Option<i64>, now_s: u64) -> bool {
        let Some(text) = self.if_range else { return true };
        match EntityTag::parse(text) {
            Some(asked) => etag.is_some_and(|etag| etag.strong_eq(&asked)),
            None => {
                modified_s.is_some_and(|at| parse_http_date(text) == Some(at) && at < now_s.cast_signed())
            }
        }
    }
}

fn date(header: Option<&[u8]>) -> Option<i64> {
    header.and_then(parse_http_date)
}

#[cfg(test)]
mod tests {
    use super::Access::*;
    use super::*;
    use crate::date::http_date;

    const NOW: u64 = 1_000_000;
    const GO: Verdict = Verdict::Proceed { range_applies: false };
    const GO_RANGE: Verdict = Verdict::Proceed { range_applies: true };

    fn file(tag: &str) -> Validators {
        Validators { etag: EntityTag::parse(tag.as_bytes()), last_modified_s: Some(900_000) }
    }

    fn judge(headers: &[(&str, &str)], access: Access, resource: Option<&Validators>) -> Verdict {
        let get = |name: &str| headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_bytes());
        let conditions = Conditions {
            if_match: get("if-match"),
            if_none_match: get("if-none-match"),
            if_modified_since: get("if-modified-since"),
            if_unmodified_since: get("if-unmodified-since"),
            if_range: get("if-range"),
        };
        conditions.evaluate(access, resource, NOW)
    }

    #[test]
    fn if_match_compares_strongly_and_needs_something_to_match() {
        let (strong, weak) = (file("\"a\""), file("W/\"a\""));
        for (list, resource, verdict) in [
            ("\"a\"", Some(&strong), GO),
            ("\"x\", \"a\"", Some(&strong), GO),
            ("*", Some(&strong), GO),
            ("*", Some(&Validators::default()), GO),
            ("*", None, Verdict::Failed),
            ("\"a\"", None, Verdict::Failed),
            ("\"b\"", Some(&strong), Verdict::Failed),
            ("\"a\"", Some(&weak), Verdict::Failed),
            ("W/\"a\"", Some(&strong), Verdict::Failed),
            ("a", Some(&strong), Verdict::Failed),
            ("", Some(&strong), Verdict::Failed),
        ] {
            assert_eq!(judge(&[("if-match", list)], Other, resource), verdict, "{list}");
        }
    }

    #[test]
    fn if_none_match_compares_weakly_and_answers_readers_with_304() {
        let (strong, weak) = (file("\"a\""), file("W/\"a\""));
        for (list, access, resource, verdict) in [
            ("\"a\"", Get, Some(&strong), Verdict::NotModified),
            ("W/\"a\"", Head, Some(&strong), Verdict::NotModified),
            ("\"a\"", Get, Some(&weak), Verdict::NotModified),
            ("\"b\"", Get, Some(&strong), GO_RANGE),
            ("\"b\"", Head, Some(&strong), GO),
            ("*", Other, Some(&strong), Verdict::Failed),
            ("*", Other, None, GO),
            ("*", Get, Some(&strong), Verdict::NotModified),
            ("\"a\"", Other, Some(&strong), Verdict::Failed),
            ("\"a\"", Other, None, GO),
            ("a", Get, Some(&strong), GO_RANGE),
            ("a", Other, Some(&strong), Verdict::Failed),
        ] {
            assert_eq!(judge(&[("if-none-match", list)], access, resource), verdict, "{list} {access:?}");
        }
    }

    #[test]
    fn dates_count_for_readers_or_writers_as_their_header_says() {
        let resource = file("\"a\"");
        let (before, same, after) = (http_date(899_999), http_date(900_000), http_date(900_001));
        for (name, date, access, verdict) in [
            ("if-modified-since", &before, Get, GO_RANGE),
            ("if-modified-since", &same, Get, Verdict::NotModified),
            ("if-modified-since", &after, Head, Verdict::NotModified),
            ("if-modified-since", &after, Other, GO),
            ("if-unmodified-since", &before, Other, Verdict::Failed),
            ("if-unmodified-since", &before, Get, Verdict::Failed),
            ("if-unmodified-since", &same, Other, GO),
            ("if-unmodified-since", &"yesterday".to_owned(), Other, GO),
            ("if-modified-since", &"tomorrow".to_owned(), Get, GO_RANGE),
        ] {
            assert_eq!(judge(&[(name, date)], access, Some(&resource)), verdict, "{name}: {date}");
        }
        assert_eq!(judge(&[("if-unmodified-since", &before)], Other, None), GO);
        assert_eq!(judge(&[("if-modified-since", &after)], Get, Some(&Validators::default())), GO_RANGE);
    }

    #[test]
    fn tags_outrank_dates() {
        let resource = file("\"a\"");
        let (before, after) = (http_date(899_999), http_date(900_001));
        assert_eq!(
            judge(&[("if-match", "\"a\""), ("if-unmodified-since", &before)], Other, Some(&resource)),
            GO
        );
        assert_eq!(
            judge(&[("if-none-match", "\"b\""), ("if-modified-since", &after)], Get, Some(&resource)),
            GO_RANGE
        );
        let both = [("if-match", "\"b\""), ("if-none-match", "\"a\"")];
        assert_eq!(judge(&both, Get, Some(&resource)), Verdict::Failed);
    }

    #[test]
    fn a_range_applies_only_to_the_very_same_bytes() {
        let (strong, weak) = (file("\"a\""), file("W/\"a\""));
        let fresh = Validators { etag: None, last_modified_s: Some(NOW.cast_signed()) };
        let (same, other, now) = (http_date(900_000), http_date(900_001), http_date(NOW.cast_signed()));
        for (text, resource, verdict) in [
            ("\"a\"", &strong, GO_RANGE),
            ("\"b\"", &strong, GO),
            ("W/\"a\"", &weak, GO),
            ("\"a\"", &weak, GO),
            (&same, &strong, GO_RANGE),
            (&other, &strong, GO),
            (&now, &fresh, GO),
            ("rubbish", &strong, GO),
        ] {
            assert_eq!(judge(&[("if-range", text)], Get, Some(resource)), verdict, "{text}");
        }
        assert_eq!(judge(&[], Get, Some(&strong)), GO_RANGE);
        assert_eq!(judge(&[("if-range", "\"a\"")], Head, Some(&strong)), GO);
    }
}
