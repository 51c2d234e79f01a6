//! Describes in words the values and the range of each kind.

use std::fmt;

use weir_model::{ByteSize, Millis};

use super::Kind;

/// Describes a value of this kind, as in "expected ...".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true or false"),
            Self::On => f.write_str("true"),
            Self::Off => f.write_str("false"),
            Self::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Number { min, max } => write!(f, "a number from {min} to {max}"),
            Self::Signed { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Duration { .. } => f.write_str("a duration such as \"250ms\", \"2s\", \"5m\""),
            Self::Size { .. } => f.write_str("a size such as \"64KiB\", \"10MiB\""),
            Self::ByteRate => f.write_str("a rate such as \"500B/s\", \"1KiB/s\""),
            Self::Percent { .. } => f.write_str("a share such as \"20%\""),
            Self::Text(what) => f.write_str(what),
            Self::Choice(names) => {
                for (index, name) in names.iter().enumerate() {
                    let join = if index == 0 {
                        ""
                    } else if index + 1 == names.len() {
                        " or "
                    } else {
                        ", "
                    };
                    write!(f, "{join}{name:?}")?;
                }
                Ok(())
            }
            Self::OneOrMany(kind) => write!(f, "{kind}, or a list of these"),
            Self::AnyOf(kinds) => {
                for (index, kind) in kinds.iter().enumerate() {
                    let join = if index == 0 {
                        ""
                    } else if index + 1 == kinds.len() {
                        ", or "
                    } else {
                        ", "
                    };
                    write!(f, "{join}{kind}")?;
                }
                Ok(())
            }
            Self::Table(_) | Self::Named(..) | Self::Map(..) => f.write_str("a table"),
            Self::Tables(_) => f.write_str("a list of tables"),
        }
    }
}

impl Kind {
    /// Returns the permitted range in the syntax of the file, for kinds with a range.
    pub(crate) fn range(&self) -> Option<String> {
        match self {
            Self::Integer { min, max } => Some(format!("{min} to {max}")),
            Self::Number { min, max } => Some(format!("{min} to {max}")),
            Self::Signed { min, max } => Some(format!("{min} to {max}")),
            Self::Duration { min_ms, max_ms } => Some(format!("{} to {}", Millis(*min_ms), Millis(*max_ms))),
            Self::Size { min, max: u64::MAX } => (*min > 0).then(|| format!("at least {}", ByteSize(*min))),
            Self::Size { min, max } => Some(format!("{} to {}", ByteSize(*min), ByteSize(*max))),
            Self::Percent { min, max } => Some(format!("{min}% to {max}%")),
            Self::OneOrMany(kind) => kind.range(),
            Self::AnyOf(kinds) => kinds.iter().find_map(Self::range),
            _ => None,
        }
    }
}
