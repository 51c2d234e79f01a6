//! Reads `[token-endpoint.NAME]`.

use std::path::PathBuf;

use weir_access::issue::{Endpoint, EndpointError};

use super::keys::TOKEN_ENDPOINT;
use crate::common::names;
use crate::common::paths::path;
use crate::storage::plan::{OwnAlgorithm, TokenEndpointPlan};
use crate::syntax::context::Context;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Node, short};
use crate::values::subject::Subject;
use crate::values::table::Table;

/// The values of `[token-endpoint.NAME]`.
#[derive(Debug)]
pub(crate) struct EndpointSpec {
    pub(crate) name: Span,
    /// Position of `issuer`.
    pub(crate) issuer: Span,
    pub(crate) plan: TokenEndpointPlan,
}

pub(crate) fn read(cx: &Context<'_>, name: &Located<String>, node: &Node) -> Option<EndpointSpec> {
    let subject = Subject::default().named("token endpoint", &name.value);
    let table = Table::new(cx, subject, &TOKEN_ENDPOINT, node);
    let valid_name = names::name(cx, "token endpoint", name)?;
    let issuer = table.text_if("issuer");
    let at = table.text("path");
    if let Some(issuer) = &issuer {
        match Endpoint::new(&issuer.value, &at) {
            Ok(_) => {}
            Err(error @ EndpointError::Path) => {
                let span = table.get("path").map_or(table.span(), |node| node.span);
                table.error("path", span, format!("{:?}: {error}", short(&at)));
            }
            Err(error @ EndpointError::Issuer) => {
                table.error("issuer", issuer.span, format!("{:?}: {error}", short(&issuer.value)));
            }
        }
    }
    let (lifetime, lifetime_max) = (table.duration("lifetime"), table.duration("max-lifetime"));
    if lifetime > lifetime_max {
        let key = if table.get("lifetime").is_some() { "lifetime" } else { "max-lifetime" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        table.error(
            key,
            span,
            format!("a lifetime of {lifetime} is longer than max-lifetime, {lifetime_max}"),
        );
    }
    let audiences: Vec<String> =
        table.many("audiences").iter().filter_map(Node::text).map(str::to_owned).collect();
    if let (Some(node), true) = (table.get("audiences"), audiences.is_empty()) {
        table.error("audiences", node.span, "expected at least one audience");
    }
    let issuer_text = issuer.as_ref().map(|issuer| issuer.value.clone()).unwrap_or_default();
    Some(EndpointSpec {
        name: name.span,
        issuer: issuer.as_ref().map_or(table.span(), |issuer| issuer.span),
        plan: TokenEndpointPlan {
            name: valid_name.value,
            audiences: if audiences.is_empty() { vec![issuer_text.clone()] } else { audiences },
            issuer: issuer_text,
            path: at,
            algorithm: match table.text("algorithm").as_str() {
                "HS256" => OwnAlgorithm::Hs256,
                _ => OwnAlgorithm::Es256,
            },
            key: path(&table, "key"),
            previous_keys: table
                .many("previous-keys")
                .iter()
                .filter_map(Node::text)
                .map(PathBuf::from)
                .collect(),
            lifetime,
            lifetime_max,
            requests_per_minute: table.number("max-requests"),
        },
    })
}
