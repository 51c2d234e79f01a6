//! Resolves token endpoints.

use super::pools::unknown;
use crate::plan::TokenEndpointPlan;
use crate::storage::read::{AreaSpecs, IssuerSpec};
use crate::storage::token_endpoint::read::EndpointSpec;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;

/// Resolves endpoints. Each endpoint that an area names must exist, and its issuer must be unique.
pub(super) fn resolve(
    cx: &Context<'_>,
    areas: &mut [AreaSpecs],
    issuers: &[IssuerSpec],
    endpoints: Vec<EndpointSpec>,
) -> Vec<TokenEndpointPlan> {
    for (at, endpoint) in endpoints.iter().enumerate().filter(|(_, there)| !there.plan.issuer.is_empty()) {
        let issuer = &endpoint.plan.issuer;
        let subject = format!("token endpoint {}", endpoint.plan.name);
        if let Some(first) = endpoints[..at].iter().find(|other| other.plan.issuer == *issuer) {
            let message = format!("{subject}: another has this issuer");
            cx.report(Problem::error(endpoint.issuer, message).also(first.issuer, "the other"));
        }
        if let Some(foreign) = issuers.iter().find(|other| other.plan.issuer == *issuer) {
            let message = format!("{subject}: token issuer {} is this issuer, too", foreign.plan.name);
            let help = "Weir knows its own tokens without; remove the token issuer".to_owned();
            cx.report(Problem::error(endpoint.issuer, message).also(foreign.issuer, "here").help(help));
        }
    }
    let mut used = vec![false; endpoints.len()];
    for area in areas.iter_mut() {
        let Some(named) = &area.token_endpoint else { continue };
        match endpoints.iter().position(|there| there.plan.name.as_str() == named.value) {
            Some(index) => {
                used[index] = true;
                area.plan.token_endpoint = Some(endpoints[index].plan.name.clone());
            }
            None if cx.is_incomplete() => {}
            None => {
                let names = endpoints.iter().map(|there| there.plan.name.as_str());
                cx.report(unknown(cx, &area.subject, "token-endpoint", named, names));
            }
        }
    }
    if !cx.has_errors() {
        for (endpoint, _) in endpoints.iter().zip(&used).filter(|(_, used)| !**used) {
            let message = format!("token endpoint {}: no storage area names it", endpoint.plan.name);
            cx.report(Problem::warning(endpoint.name, message));
        }
    }
    endpoints.into_iter().map(|endpoint| endpoint.plan).collect()
}
