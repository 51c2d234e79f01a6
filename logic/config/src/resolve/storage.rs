//! Resolves storage areas and token issuers.

use std::collections::HashMap;

use weir_model::Name;

use super::pools::unknown;
use crate::plan::{AreaPlan, TokenIssuerPlan};
use crate::storage::read::{AreaSpecs, IssuerSpec};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::values::subject::Subject;

/// The storage areas by name, and the record of which areas are referred to.
pub(super) struct Areas {
    names: Vec<(Name, Span)>,
    used: Vec<bool>,
}

impl Areas {
    pub(super) fn new(areas: &[AreaSpecs]) -> Self {
        let names: Vec<_> = areas.iter().map(|area| (area.plan.name.clone(), area.name)).collect();
        Self { used: vec![false; names.len()], names }
    }

    /// Returns the name of the area that `subject` names. Reports an unknown area.
    pub(super) fn find(
        &mut self,
        cx: &Context<'_>,
        subject: &Subject,
        name: &Located<String>,
    ) -> Option<Name> {
        match self.names.iter().position(|(there, _)| there.as_str() == name.value) {
            Some(index) => {
                self.used[index] = true;
                Some(self.names[index].0.clone())
            }
            None => {
                if !cx.is_incomplete() {
                    let names = self.names.iter().map(|(name, _)| name.as_str());
                    cx.report(unknown(cx, subject, "storage-area", name, names));
                }
                None
            }
        }
    }

    pub(super) fn warn_of_unused(&self, cx: &Context<'_>) {
        if cx.has_errors() {
            return;
        }
        for ((name, span), _) in self.names.iter().zip(&self.used).filter(|(_, used)| !**used) {
            let message = format!("storage area {name} is not used by any route, listener or pool");
            cx.report(Problem::warning(*span, message));
        }
    }
}

/// Resolves areas and issuers. Each issuer that an area names must exist, and must be unique.
pub(super) fn resolve(
    cx: &Context<'_>,
    areas: Vec<AreaSpecs>,
    issuers: Vec<IssuerSpec>,
) -> (Vec<AreaPlan>, Vec<TokenIssuerPlan>) {
    let mut known: HashMap<&str, Span> = HashMap::new();
    for issuer in issuers.iter().filter(|issuer| !issuer.plan.issuer.is_empty()) {
        if let Some(first) = known.insert(&issuer.plan.issuer, issuer.issuer) {
            let message = format!("token issuer {}: another has this issuer", issuer.plan.name);
            cx.report(Problem::error(issuer.issuer, message).also(first, "the other"));
        }
    }
    for area in areas.iter().filter(|_| !cx.is_incomplete()) {
        for named in area.issuers.iter().filter(|named| !known.contains_key(named.value.as_str())) {
            let names = issuers.iter().map(|issuer| issuer.plan.issuer.as_str());
            cx.report(unknown_issuer(cx, &area.subject, named, names));
        }
    }
    let used = |issuer: &IssuerSpec| {
        areas.iter().any(|area| {
            // The issuers that Cedar policies use are unknown here.
            !area.plan.access.cedar.is_empty()
                || area.issuers.iter().any(|named| named.value == issuer.plan.issuer)
        })
    };
    if !cx.has_errors() {
        for issuer in issuers.iter().filter(|issuer| !used(issuer)) {
            let message = format!("token issuer {}: no storage area names it", issuer.plan.name);
            cx.report(Problem::warning(issuer.name, message));
        }
        for issuer in issuers.iter().filter(|issuer| used(issuer) && issuer.plan.audiences.is_empty()) {
            let message = format!(
                "token issuer {}: audiences is not set: tokens that {} issues for any other service are accepted here, so that whoever \
                 runs such a service can read and write as its users",
                issuer.plan.name,
                crate::syntax::tree::short(&issuer.plan.issuer)
            );
            let help =
                "set the audience that clients ask for when they use this service: audiences = \"https://storage.example.org\""
                    .to_owned();
            cx.report(Problem::warning(issuer.name, message).help(help));
        }
    }
    (
        areas.into_iter().map(|area| area.plan).collect(),
        issuers.into_iter().map(|issuer| issuer.plan).collect(),
    )
}

fn unknown_issuer<'n>(
    cx: &Context<'_>,
    subject: &Subject,
    named: &Located<String>,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Problem {
    if names.clone().next().is_some() {
        return unknown(cx, subject, "token issuer", named, names);
    }
    let message =
        format!("{subject}: there is no token issuer {:?}", crate::syntax::tree::short(&named.value));
    let help = format!(
        "define it: [token-issuer.NAME] with issuer = {:?}",
        crate::syntax::tree::short(&named.value)
    );
    Problem::error(named.span, message).help(help)
}
