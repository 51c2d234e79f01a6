//! HTML output.

use std::fmt::{self, Write};

use weir_control::Tone;

/// The HTML text under construction. Texts from other sources must go through [`esc`].
#[derive(Debug)]
pub(super) struct Html(String);

/// A text that is displayed with HTML escapes, valid within and outside of quotes.
#[derive(Debug)]
pub(super) struct Escaped<'a>(&'a str);

impl Html {
    pub(super) fn new() -> Self {
        Self(String::with_capacity(32 * 1024))
    }

    /// Appends markup.
    pub(super) fn add(&mut self, markup: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.0.write_fmt(markup);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Escapes `text` for HTML.
pub(super) const fn esc(text: &str) -> Escaped<'_> {
    Escaped(text)
}

/// Returns the CSS class of a tone.
pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Calm => "calm",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
    }
}
