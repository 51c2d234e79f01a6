//! Query parameters: `?chunks=3&size=100`, `?chunked`.

use std::str::FromStr;

/// Query parameters of a request. Names and values are compared as they are sent, because none of them needs
/// percent-encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a>(&'a str);

/// A parameter with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadParameter {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

impl<'a> Query<'a> {
    pub(crate) fn new(query: Option<&'a str>) -> Self {
        Self(query.unwrap_or_default())
    }

    /// Returns whether `name` is present with any value but `0` and `false`.
    pub(crate) fn flag(self, name: &str) -> bool {
        self.raw(name).is_some_and(|value| value != "0" && value != "false")
    }

    /// Returns the value of `name`, or `default` if it is absent.
    pub(crate) fn get<T: FromStr>(self, name: &'static str, default: T) -> Result<T, BadParameter> {
        match self.raw(name) {
            None => Ok(default),
            Some(value) => value.parse().map_err(|_| BadParameter { name, value: value.to_owned() }),
        }
    }

    fn raw(self, name: &str) -> Option<&'a str> {
        self.0.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then_some(value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_parameter_has_its_default_and_a_wrong_one_is_named() {
        let query = Query::new(Some("size=10&chunked&rate=fast"));
        assert_eq!(query.get("size", 1u64), Ok(10));
        assert_eq!(query.get("chunks", 4u64), Ok(4));
        assert_eq!(query.get("rate", 1u64), Err(BadParameter { name: "rate", value: "fast".into() }));
        assert!(query.flag("chunked") && !query.flag("json"));
    }
}
