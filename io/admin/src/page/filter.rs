//! The filter of the status page: its parameter in the URL, and its field and text on the page.

use weir_control::NameFilter;

use super::html::{Html, esc};

/// Maximum length of a filter, in characters.
const CHARACTERS_MAX: usize = 100;

/// Filter in the URL of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Text as the user entered it.
    text: String,
    names: NameFilter,
    /// Set when the page shows a field for a filter. The page then does not refresh itself, because that
    /// would empty the field.
    has_field: bool,
}

impl Selection {
    /// Parses a URL's query: `?filter=web` selects names, `?filter=` requests the field. Ignores other keys.
    pub fn parse(query: &str) -> Self {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let Some((_, value)) = pairs.find(|(key, _)| *key == "filter") else { return Self::default() };
        let text: String = decoded(value).trim().chars().take(CHARACTERS_MAX).collect();
        Self { names: NameFilter::new(&text), has_field: text.is_empty(), text }
    }

    pub(crate) fn names(&self) -> &NameFilter {
        &self.names
    }

    pub(super) fn refreshes(&self) -> bool {
        !self.has_field
    }
}

/// Writes the field, or a link to it and the current filter.
pub(super) fn section(page: &mut Html, selection: &Selection) {
    if selection.has_field {
        return page.add(format_args!(
            "<form class=\"filter\" method=\"get\" action=\"./\"><label>Names that contain \
             <input name=\"filter\" type=\"search\" maxlength=\"{CHARACTERS_MAX}\" autofocus></label> \
             <button>Show</button> <a href=\"./\">all</a></form>\n"
        ));
    }
    if selection.names.is_empty() {
        return page.add(format_args!("<p class=\"filter\"><a href=\"?filter=\">Filter by name</a></p>\n"));
    }
    page.add(format_args!(
        "<p class=\"filter\">Only names that contain <b>{}</b> &middot; <a href=\"?filter=\">others</a> \
         &middot; <a href=\"./\">all</a></p>\n",
        esc(&selection.text)
    ));
}

/// Decodes a form value: `+` is a blank, `%XX` a byte.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, behind @ ..] = rest {
        let (byte, next) = match (first, behind) {
            (b'+', _) => (b' ', behind),
            (b'%', [high, low, behind @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, behind),
                _ => (b'%', &rest[1..]),
            },
            (byte, _) => (*byte, behind),
        };
        bytes.push(byte);
        rest = next;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(hex: u8) -> Option<u8> {
    char::from(hex).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_selects_names_or_asks_for_the_field_or_neither() {
        let text = |query: &str| Selection::parse(query).text;
        assert_eq!(text("filter=web"), "web");
        assert_eq!(text("x=1&filter=a+b%2Fc%C3%A9"), "a b/cé");
        assert_eq!(text("filter=%zz%4"), "%zz%4");
        assert_eq!(text(&format!("filter={}", "a".repeat(1_000))).len(), CHARACTERS_MAX);
        assert_eq!(Selection::parse("filter"), Selection::default());
        assert!(Selection::parse("filter=+").has_field && !Selection::parse("filter=a").has_field);
    }
}
