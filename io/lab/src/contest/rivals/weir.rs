//! Configuration of Weir.

use std::path::Path;

use weir_config::lab::{FleetPolicy, Way};

use super::{Assignment, CIPHER, FleetAssignment, HOST};

/// Returns the default configuration, with room for the lab's connections and without saved state.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { bind, scheme, workers, check, directory, way, .. } = assignment;
    let pool = if *way == Way::Offloaded { "" } else { "pool = \"web\"\n" };
    let mut text = format!(
        "[weir]\nworkers = {workers}\nmax-connections = 30000\ncontrol = {:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\n{pool}",
        directory.join("weir.sock")
    );
    if let Some(certificate) = assignment.tls_in {
        text.push_str(&format!(
            "tls = {{ certificates = {certificate:?}, min-version = \"1.3\", ciphers = [\"{CIPHER}\"] }}\n"
        ));
    }
    if *way == Way::Offloaded {
        text.push_str(
            "\n[[route]]\npath = \"/\"\npool = \"web\"\n\
             request-headers = { set = { X-Sendfile-Type = \"X-Accel-Redirect\" } }\n",
        );
    }
    let balance = assignment.balance.map_or_else(|| format!("\"{}\"", scheme.name()), str::to_owned);
    text.push_str(&format!("\n[pool.web]\nbalance = {balance}\n"));
    if assignment.fleet.is_some() {
        // A new server is used as soon as it passes its first check.
        let path = if check.is_empty() { "/health" } else { check };
        text.push_str(&format!(
            "check = {{ http = \"GET {path}\", host = \"{HOST}\", interval = \"200ms\", rise = 1 }}\n"
        ));
    } else if !check.is_empty() {
        text.push_str(&format!("check = {{ http = \"GET {check}\", host = \"{HOST}\" }}\n"));
    }
    if let Some(authority) = assignment.tls_out {
        text.push_str(&format!(
            "tls = {{ ca = {authority:?}, server-name = \"{HOST}\", min-version = \"1.3\" }}\n"
        ));
    }
    match &assignment.fleet {
        Some(fleet) => text.push_str(&fleet_table(fleet, directory)),
        None => {
            text.push_str("servers = [\n");
            text.push_str(&super::each(
                assignment,
                |weight| format!(", weight = {weight}"),
                |name, address, weight| {
                    format!("    {{ name = \"{name}\", address = \"{address}\"{weight} }},\n")
                },
            ));
            text.push_str("]\n");
        }
    }
    match way {
        Way::Offloaded => {
            for ((name, _), root) in assignment.servers.iter().zip(assignment.roots) {
                text.push_str(&format!(
                    "\n[[pool.web.offload.location]]\nprefix = \"/{name}\"\nroot = {root:?}\n"
                ));
            }
        }
        Way::Redirected => {
            let scheme = if assignment.tls_out.is_some() { "https" } else { "http" };
            let nodes: Vec<String> = assignment
                .servers
                .iter()
                .map(|(name, address)| format!("{name} = \"{scheme}://{address}\""))
                .collect();
            let key = assignment.key.unwrap_or(Path::new("redirect.key"));
            text.push_str(&format!(
                "\n[pool.web.redirect]\nkey-file = {key:?}\nnodes = {{ {} }}\n",
                nodes.join(", ")
            ));
        }
        Way::Proxied | Way::Dns => {}
    }
    text
}

/// Returns the table of a fleet of processes. Durations that are meant for minutes are scaled to the length
/// of a minute in the scenario.
fn fleet_table(fleet: &FleetAssignment, directory: &Path) -> String {
    let setup = &fleet.setup;
    let short = |seconds: f64| {
        let ms = seconds / 60.0 * setup.minute.duration().as_secs_f64() * 1_000.0;
        format!("\"{}ms\"", ms.round().max(100.0))
    };
    let policy = match setup.policy {
        FleetPolicy::Reactive => format!("{{ kind = \"reactive\", period = {} }}", short(60.0)),
        FleetPolicy::Target => format!(
            "{{ kind = \"target\", up-after = {}, down-after = {}, step-up = {{ servers = 2, share = \"75%\", per = {} }}, \
             step-down = {{ servers = 1, share = \"50%\", per = {} }} }}",
            short(13.0),
            short(2.0),
            short(30.0),
            short(15.0)
        ),
    };
    let boot = format!("\"{}ms\"", setup.boot.0.max(100));
    let (variable, value) = &fleet.environment;
    format!(
        "
[fleet.web]
pool = \"web\"
min = {min}
max = {max}
capacity = {capacity}
policy = {policy}
interval = {interval}
start-up = {boot}
wake-up = {boot}
drain-deadline = \"10s\"
directory = {own:?}
history = {history:?}
history-interval = \"200ms\"

[fleet.web.process]
command = {command:?}
environment = {{ {variable} = {value:?} }}
",
        min = setup.min,
        max = setup.max,
        capacity = setup.capacity,
        interval = short(1.0),
        own = directory.join("fleet"),
        history = directory.join(super::super::fleet::HISTORY),
        command = fleet.command,
    )
}
