use super::{Assignment, HOST};

/// Its defaults, with room for the lab's connections and no state of its own.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { bind, scheme, workers, check, directory, .. } = assignment;
    let mut text = format!(
        "[weir]\nworkers = {workers}\nmax-connections = 30000\ncontrol = {:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\npool = \"web\"\n",
        directory.join("weir.sock")
    );
    if let Some(certificate) = assignment.tls_in {
        text.push_str(&format!("tls = {{ certificates = {certificate:?}, min-version = \"1.3\" }}\n"));
    }
    text.push_str(&format!("\n[pool.web]\nbalance = \"{}\"\n", scheme.name()));
    if !check.is_empty() {
        text.push_str(&format!("check = {{ http = \"GET {check}\", host = \"{HOST}\" }}\n"));
    }
    if let Some(authority) = assignment.tls_out {
        text.push_str(&format!("tls = {{ ca = {authority:?}, server-name = \"{HOST}\" }}\n"));
    }
    text.push_str("servers = [\n");
    text.push_str(&super::each(assignment, |name, address| {
        format!("    {{ name = \"{name}\", address = \"{address}\" }},\n")
    }));
    text.push_str("]\n");
    text
}
