//! Weir's configuration.

use std::process::Command;

use super::Assignment;
use crate::error::Result;
use crate::workshop::{CIPHER, HOST};

/// Configures what all contestants share and keeps the other defaults: metrics, timeouts, limits, ejection
/// and retries are on.
pub(super) fn configure(command: &mut Command, assignment: &Assignment<'_>) -> Result<()> {
    let config = assignment.workshop.write("weir.toml", &config(assignment))?;
    command.arg("run").arg(config);
    Ok(())
}

fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { workshop, setup, bind, servers, health } = assignment;
    let mut text = format!(
        "[weir]
workers = {workers}
max-connections = 12000
control = {control:?}
state = false

[listener.web]
bind = \"{bind}\"
pool = \"web\"
timeouts = {{ idle = \"{idle}s\" }}
",
        workers = setup.workers,
        control = workshop.path("weir.sock"),
        idle = setup.client_idle_s,
    );
    if setup.tls_in {
        let certificate = workshop.certificate();
        text.push_str(&format!(
            "tls = {{ certificates = {certificate:?}, min-version = \"1.3\", ciphers = [\"{CIPHER}\"] }}\n"
        ));
    }
    let servers: Vec<_> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    text.push_str(&format!(
        "\n[pool.web]\nbalance = \"least-connections\"\ncheck = {{ http = \"GET {health}\", host = \"{HOST}\" }}\nservers = [{}]\n",
        servers.join(", ")
    ));
    if setup.tls_out {
        text.push_str(&format!("tls = {{ ca = {:?}, server-name = \"{HOST}\" }}\n", workshop.authority()));
    }
    if setup.access_log {
        text.push_str(&format!("\n[access-log]\nto = {:?}\n", workshop.path("access.log")));
    }
    text
}
