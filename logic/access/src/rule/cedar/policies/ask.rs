//! Evaluation of the policies for a request.

use cedar_policy::{AuthorizationError, Context, Decision, Entities, EntityUid, PolicyId, Request};

use super::words::index_of;
use super::{CedarPolicies, CedarPolicy, Prepared};
use crate::rule::cedar::{Asked, Verdict};

impl CedarPolicies {
    /// Evaluates the policies for one query.
    pub(in crate::rule) fn ask(&self, asked: &Asked<'_>) -> Verdict<'_> {
        let Some(prepared) = self.by_action.get(index_of(asked.action)) else {
            return Verdict::Failed(format!("{} is none of their actions", asked.action));
        };
        if prepared.policies.is_empty() {
            return Verdict::Silent(Vec::new());
        }
        self.evaluate(prepared, asked).unwrap_or_else(Verdict::Failed)
    }

    fn evaluate(&self, prepared: &Prepared, asked: &Asked<'_>) -> Result<Verdict<'_>, String> {
        let principal = self.words.principal(asked.identity)?;
        let resource = self.words.resource(asked.area, asked.path)?;
        let context = match prepared.needs_context {
            true => asked.circumstances.to_context()?,
            false => Context::empty(),
        };
        let uids: [EntityUid; 3] = [principal.uid(), prepared.action.uid(), resource.uid()];
        let [who, what, which] = uids;
        let entities = Entities::from_entities([principal, prepared.action.clone(), resource], None);
        let entities = entities.map_err(|error| error.to_string())?;
        let request = Request::new(who, what, which, context, None).map_err(|error| error.to_string())?;
        let response = self.authorizer.is_authorized(&request, &prepared.policies, &entities);
        let diagnostics = response.diagnostics();
        let failed = diagnostics.errors().map(|AuthorizationError::PolicyEvaluationError(error)| {
            Ok((self.find(error.policy_id())?, error.inner().to_string()))
        });
        let mut failed = failed.collect::<Result<Vec<_>, String>>()?;
        failed.sort_by_key(|((at, _), _)| *at);
        let decided = diagnostics.reason().map(|id| self.find(id)).collect::<Result<Vec<_>, String>>()?;
        // The first policy in the order of the files; the library has no order.
        let decided = decided.into_iter().min_by_key(|(at, _)| *at).map(|(_, policy)| policy);
        let mut failed: Vec<_> = failed.into_iter().map(|((_, policy), error)| (policy, error)).collect();
        if let (Decision::Deny, Some(policy)) = (response.decision(), decided) {
            return Ok(Verdict::Forbids(policy, None));
        }
        // The library skips a policy that it cannot evaluate. A skipped `forbid` could permit the request, so
        // it denies here.
        if let Some(at) = failed.iter().position(|(policy, _)| policy.forbids()) {
            let (policy, error) = failed.swap_remove(at);
            return Ok(Verdict::Forbids(policy, Some(error)));
        }
        Ok(match (response.decision(), decided) {
            (Decision::Allow, Some(policy)) => Verdict::Permits(policy),
            _ => Verdict::Silent(failed),
        })
    }

    /// Returns a policy and its position in the list of all policies.
    fn find(&self, id: &PolicyId) -> Result<(usize, &CedarPolicy), String> {
        let id: &str = id.as_ref();
        let found = self.places.get(id).and_then(|at| Some((*at, self.policies.get(*at)?)));
        found.ok_or_else(|| format!("there is no policy {id}"))
    }
}
