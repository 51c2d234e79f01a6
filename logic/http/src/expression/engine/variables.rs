//! The variables of an expression, which are read from the request on first use.

use std::collections::HashMap;
use std::sync::OnceLock;

use cel::common::types::{CelMap, CelMapKey, CelString};
use cel::common::value::{CowVal, Val};
use cel::context::VariableResolver;

use super::Expression;
use super::patterns::{self, Pattern};
use super::value_type::Type;
use crate::{RouteRequest, split_authority};

pub(super) const HEADERS: &str = "headers";
pub(super) const CLIENT_IP: &str = "client_ip";

/// Returns the type of a variable; `None` if it does not exist.
pub(super) fn type_of(name: &str) -> Option<Type> {
    Expression::VARIABLES.contains(&name).then(|| match name {
        HEADERS => Type::Map(Box::new(Type::String), Box::new(Type::String)),
        _ => Type::String,
    })
}

pub(super) struct RequestVariables<'a> {
    request: &'a RouteRequest<'a>,
    patterns: &'a [Pattern],
    /// Built on first use and kept, because a loop or a second `headers[...]` would build it again.
    headers: OnceLock<CelMap<'static>>,
}

impl<'a> RequestVariables<'a> {
    pub(super) fn new(request: &'a RouteRequest<'a>, patterns: &'a [Pattern]) -> Self {
        Self { request, patterns, headers: OnceLock::new() }
    }

    fn headers(&self) -> CelMap<'static> {
        let mut joined: HashMap<String, String> = HashMap::new();
        for entry in self.request.headers.entries() {
            let name = text(entry.name().of(self.request.buf)).to_ascii_lowercase();
            let value = text(entry.value().of(self.request.buf));
            joined
                .entry(name)
                .and_modify(|lines| {
                    lines.push_str(", ");
                    lines.push_str(&value);
                })
                .or_insert_with(|| value.into_owned());
        }
        let entries: HashMap<CelMapKey<'static>, Box<dyn Val>> = joined
            .into_iter()
            .map(|(name, value)| (CelMapKey::from(name), Box::new(CelString::from(value)) as Box<dyn Val>))
            .collect();
        CelMap::from(entries)
    }
}

impl VariableResolver for RequestVariables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let request = self.request;
        let string = |text: &'b [u8]| match std::str::from_utf8(text) {
            Ok(text) => CowVal::owned(CelString::from(text)),
            Err(_) => CowVal::owned(CelString::from(String::from_utf8_lossy(text).into_owned())),
        };
        Some(match variable {
            "method" => string(request.method),
            "host" => {
                let host = split_authority(request.host).map(|(host, _)| host).unwrap_or_default();
                CowVal::owned(CelString::from(text(host).to_ascii_lowercase()))
            }
            "path" => string(request.path),
            "query" => string(request.query.unwrap_or_default()),
            "headers" => CowVal::Borrowed(self.headers.get_or_init(|| self.headers())),
            "client_ip" => {
                let address = request.client.map(|ip| ip.to_string()).unwrap_or_default();
                CowVal::owned(CelString::from(address))
            }
            "scheme" => string(request.scheme.as_str().as_bytes()),
            "listener" => string(request.listener.as_bytes()),
            name => CowVal::Borrowed(self.patterns.get(patterns::index(name)?)?),
        })
    }
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
