//! Reads the state of the balancer over its control socket.

use std::path::Path;

use weir_admin::ControlClient;
use weir_control::{FleetSnapshot, PoolSnapshot, ServerSnapshot, Snapshot};

/// Returns the pool of the web servers, which is the first.
pub(super) async fn pool(control: &Path) -> Result<PoolSnapshot, String> {
    snapshot(control)
        .await?
        .pools
        .into_iter()
        .next()
        .ok_or_else(|| "the balancer has no pool any more".to_owned())
}

/// Returns the demo's only fleet.
pub(super) async fn fleet(control: &Path) -> Result<FleetSnapshot, String> {
    let fleet = snapshot(control).await?.fleets.into_iter().next();
    fleet.ok_or_else(|| "the balancer has no fleet any more".to_owned())
}

async fn snapshot(control: &Path) -> Result<Snapshot, String> {
    let control = control.to_owned();
    let asked = tokio::task::spawn_blocking(move || ControlClient::connect(&control)?.snapshot());
    asked.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

/// Returns the server with this name.
pub(super) fn server<'a>(pool: &'a PoolSnapshot, name: &str) -> Option<&'a ServerSnapshot> {
    pool.servers.iter().find(|server| server.name == name)
}

/// Returns true if the server has answered a request with success.
pub(super) fn has_answered(server: &ServerSnapshot) -> bool {
    server.traffic.responses.success > 0
}
