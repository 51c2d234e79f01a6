//! The types of values.

use std::fmt;

/// The type of a value, in CEL's terms (cel-spec `doc/langdef.md`, "Values").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::expression::engine) enum Type {
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Null,
    /// A type used as a value, such as the result of `type(path)`.
    Meta,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    /// The author hid the type with `dyn`. It fits every operator, but not the config key.
    Dyn,
    /// Element type of `[]` and `{}`, which is compatible with every type.
    Unset,
}

impl Type {
    pub(super) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    pub(super) fn optional(value: Self) -> Self {
        Self::Optional(Box::new(value))
    }

    /// Returns the type that holds values of both types, if there is one.
    pub(super) fn join(&self, other: &Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Unset, known) | (known, Self::Unset) => known.clone(),
            (Self::Dyn, _) | (_, Self::Dyn) => Self::Dyn,
            (Self::List(one), Self::List(two)) => Self::list(one.join(two)?),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Self::map(key.join(other_key)?, value.join(other_value)?)
            }
            (Self::Optional(one), Self::Optional(two)) => Self::optional(one.join(two)?),
            (one, two) if one == two => one.clone(),
            _ => return None,
        })
    }

    /// Returns true if `==` can be true for values of the two types. Numbers compare by value, across types.
    pub(super) fn is_comparable(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn | Self::Unset, _) | (_, Self::Dyn | Self::Unset) => true,
            (Self::List(one), Self::List(two)) | (Self::Optional(one), Self::Optional(two)) => {
                one.is_comparable(two)
            }
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                key.is_comparable(other_key) && value.is_comparable(other_value)
            }
            (one, two) => one == two || one.is_number() && two.is_number(),
        }
    }

    /// Returns true if `<` is defined for values of the two types.
    pub(super) fn is_ordered(&self, other: &Self) -> bool {
        let has_order = |it: &Self| {
            it.is_number() || matches!(it, Self::Bool | Self::String | Self::Bytes | Self::Dyn | Self::Unset)
        };
        has_order(self) && has_order(other) && self.is_comparable(other)
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Returns true if the keys of a map may have the type.
    pub(super) fn is_key(&self) -> bool {
        self.is_open() || matches!(self, Self::Bool | Self::Int | Self::Uint | Self::String)
    }

    /// Returns true if the checker does not know the type.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Dyn | Self::Unset)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Null => f.write_str("null"),
            Self::Meta => f.write_str("type"),
            Self::List(element) if **element == Self::Unset => f.write_str("list"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(key, _) if **key == Self::Unset => f.write_str("map"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(value) => write!(f, "optional({value})"),
            Self::Dyn | Self::Unset => f.write_str("dyn"),
        }
    }
}
