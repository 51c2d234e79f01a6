//! How the balancer says that things stand.

use std::path::Path;

use weir_admin::ControlClient;
use weir_control::{PoolSnapshot, ServerSnapshot};

/// The pool that the demo is about.
pub(super) async fn pool(control: &Path) -> Result<PoolSnapshot, String> {
    let control = control.to_owned();
    let asked = tokio::task::spawn_blocking(move || ControlClient::connect(&control)?.snapshot());
    let snapshot = asked.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    snapshot.pools.into_iter().next().ok_or_else(|| "the balancer has no pool any more".to_owned())
}

/// The server with this name.
pub(super) fn server<'a>(pool: &'a PoolSnapshot, name: &str) -> Option<&'a ServerSnapshot> {
    pool.servers.iter().find(|server| server.name == name)
}

/// Whether it has answered a request.
pub(super) fn has_answered(server: &ServerSnapshot) -> bool {
    server.traffic.responses.success > 0
}
