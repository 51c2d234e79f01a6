//! Formats of directory listings.

use crate::text::{elements, weighted};

/// The format of a directory listing in response to GET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// text/html: for browsers, and the default.
    Html,
    /// application/json.
    Json,
}

impl Listing {
    /// Chooses the format by the Accept header (RFC 9110 section 12.5.1): JSON if the client prefers it to
    /// HTML, else HTML. Sends HTML even if the client accepts neither, because a response in the wrong format
    /// helps more than 406.
    pub fn choose(accept: Option<&[u8]>) -> Self {
        let Some(accept) = accept else { return Self::Html };
        let json = quality(accept, b"application", b"json");
        if json > quality(accept, b"text", b"html") { Self::Json } else { Self::Html }
    }

    /// Returns the Content-Type.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Json => "application/json",
        }
    }
}

/// Returns the weight of a media type: that of the most specific range that includes it, or 0 without one.
fn quality(accept: &[u8], kind: &[u8], subtype: &[u8]) -> u16 {
    let mut best = (0, 0);
    for (range, quality) in elements(accept).filter_map(weighted) {
        let Some(slash) = range.iter().position(|byte| *byte == b'/') else { continue };
        let (range_kind, range_subtype) = (&range[..slash], &range[slash + 1..]);
        let same_kind = range_kind.eq_ignore_ascii_case(kind);
        let specificity = match range_subtype {
            b"*" if range_kind == b"*" => 1,
            b"*" if same_kind => 2,
            exact if same_kind && exact.eq_ignore_ascii_case(subtype) => 3,
            _ => continue,
        };
        best = best.max((specificity, quality));
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::Listing::*;
    use super::*;

    #[test]
    fn json_goes_to_those_who_want_it_more_than_html() {
        for (accept, listing) in [
            (None, Html),
            (Some(""), Html),
            (Some("*/*"), Html),
            (Some("application/json"), Json),
            (Some("Application/JSON"), Json),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), Html),
            (Some("application/json, text/html;q=0.9"), Json),
            (Some("application/json;q=0.5, text/html;q=0.9"), Html),
            (Some("application/*, text/*;q=0.1"), Json),
            (Some("*/*;q=0.5, application/json;q=0.1"), Html),
            (Some("*/*, text/html;q=0"), Json),
            (Some("image/png"), Html),
            (Some("application/json;q=9"), Html),
            (Some("nonsense"), Html),
        ] {
            assert_eq!(Listing::choose(accept.map(str::as_bytes)), listing, "{accept:?}");
        }
    }
}
