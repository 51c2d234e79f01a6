//! Display of untrusted text on one line.

use std::fmt;

/// Shows a text without control characters and cut to [`CHARS_MAX`] characters.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

const CHARS_MAX: usize = 200;

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for (at, c) in self.0.chars().enumerate() {
            if at == CHARS_MAX {
                return f.write_str("...");
            }
            f.write_char(if c.is_control() { '\u{fffd}' } else { c })?;
        }
        Ok(())
    }
}
