//! Checks fleets: their programs and files and, on request, their providers.

use std::time::Duration;

use tokio::time::timeout;
use weir_config::plan::{FleetPlan, FleetProvider};
use weir_config::{Diagnostic, Loaded};
use weir_fleet::{Candidate, History, Reach};

/// Time limit for a provider's response.
const PATIENCE: Duration = Duration::from_secs(120);

/// Checks everything that needs no connection to a provider.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let fleets = &loaded.plan.fleets;
    let found =
        fleets.iter().filter_map(|fleet| Some(wrong(loaded, fleet, &weir_fleet::check(fleet).err()?)));
    let leases =
        fleets.iter().filter_map(|fleet| Some(wrong_lease(loaded, fleet, &Candidate::check(fleet).err()?)));
    let histories = fleets.iter().flat_map(|fleet| {
        let why = fleet.history.iter().find_map(|history| History::check(history).err())?;
        Some(wrong_key(loaded, fleet, "history", why))
    });
    found.chain(leases).chain(histories).collect()
}

/// Asks the providers about credentials, flavors, images, permissions and quotas.
pub(super) fn ask(loaded: &Loaded) -> Vec<Diagnostic> {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(cause) => {
            return vec![loaded.error_at(&["fleet"], format!("providers cannot be asked: {cause}"))];
        }
    };
    let mut found = Vec::new();
    for fleet in &loaded.plan.fleets {
        let mut candidate = Candidate::new(fleet);
        if let Err(cause) = runtime.block_on(candidate.verify()) {
            found.push(wrong_lease(loaded, fleet, &cause.to_string()));
        }
        drop(candidate);
        let answered = runtime.block_on(async { timeout(PATIENCE, weir_fleet::verify(fleet)).await });
        match answered {
            Ok(Ok(())) => found.extend(runtime.block_on(out_of_reach(loaded, fleet))),
            Ok(Err(failure)) => found.push(wrong(loaded, fleet, &failure.to_string())),
            Err(_) => found.push(wrong(loaded, fleet, &silence())),
        }
    }
    found
}

/// Warns if the provider has no room for as many machines as the fleet may have. Only a warning, because
/// other users of a quota come and go.
async fn out_of_reach(loaded: &Loaded, fleet: &FleetPlan) -> Option<Diagnostic> {
    let (name, max) = (fleet.name.as_str(), fleet.rules.bounds.max);
    let unknown = |why: String| format!("whether there is room for {max} is not known: {why}");
    let why = match timeout(PATIENCE, weir_fleet::reach(fleet)).await {
        Ok(Ok(Some(Reach { there, room }))) if there.saturating_add(room) < max => {
            format!(
                "{max} cannot be reached now: the fleet has {there}, and its provider room for {room} more"
            )
        }
        Ok(Ok(_)) => return None,
        Ok(Err(failure)) => unknown(failure.to_string()),
        Err(_) => unknown(silence()),
    };
    Some(loaded.warning_at(&["fleet", name, "max"], format!("fleet {name}: max: {why}")))
}

fn silence() -> String {
    format!("no answer within {} s", PATIENCE.as_secs())
}

fn wrong(loaded: &Loaded, fleet: &FleetPlan, why: &str) -> Diagnostic {
    wrong_key(loaded, fleet, key(&fleet.provider), why)
}

fn wrong_lease(loaded: &Loaded, fleet: &FleetPlan, why: &str) -> Diagnostic {
    wrong_key(loaded, fleet, "lease", why)
}

fn wrong_key(loaded: &Loaded, fleet: &FleetPlan, key: &str, why: &str) -> Diagnostic {
    let name = fleet.name.as_str();
    loaded.error_at(&["fleet", name, key], format!("fleet {name}: {key}: {why}"))
}

fn key(provider: &FleetProvider) -> &'static str {
    match provider {
        FleetProvider::Process(_) => "process",
        FleetProvider::Exec(_) => "exec",
        FleetProvider::OpenStack(_) => "openstack",
        FleetProvider::Kubernetes(_) => "kubernetes",
    }
}
