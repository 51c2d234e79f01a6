//! Configuration of Traefik.

use super::{Assignment, HOST};

/// Returns the static configuration. Traefik has only round robin by default.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    format!(
        "[global]
checkNewVersion = false
sendAnonymousUsage = false
[log]
level = \"ERROR\"
[entryPoints.web]
address = \"{bind}\"
[providers.file]
filename = {file:?}
watch = false
",
        bind = assignment.bind,
        file = assignment.directory.join(DYNAMIC),
    )
}

/// Name of the file with routes and servers.
pub(super) const DYNAMIC: &str = "dynamic.toml";

/// Returns the file with routes and servers.
pub(super) fn dynamic(assignment: &Assignment<'_>) -> String {
    let scheme = if assignment.tls_out.is_some() { "https" } else { "http" };
    let mut text = "[http.routers.web]
rule = \"PathPrefix(`/`)\"
entryPoints = [\"web\"]
service = \"web\"
middlewares = [\"again\"]
"
    .to_owned();
    if assignment.tls_in.is_some() {
        text.push_str("[http.routers.web.tls]\n");
    }
    // Retries requests that could not be sent. Traefik has no rule for requests without a response.
    text.push_str("[http.middlewares.again.retry]\nattempts = 3\n");
    text.push_str("[http.services.web.loadBalancer]\nserversTransport = \"web\"\n");
    if !assignment.check.is_empty() {
        text.push_str(&format!(
            "[http.services.web.loadBalancer.healthCheck]\npath = {:?}\nhostname = \"{HOST}\"\ninterval = \"2s\"\n",
            assignment.check
        ));
    }
    text.push_str(&super::each(
        assignment,
        |weight| format!("weight = {weight}\n"),
        |_, address, weight| {
            format!("[[http.services.web.loadBalancer.servers]]\nurl = \"{scheme}://{address}\"\n{weight}")
        },
    ));
    text.push_str("[http.serversTransports.web]\nmaxIdleConnsPerHost = 256\ndisableHTTP2 = true\n");
    if let Some(authority) = assignment.tls_out {
        text.push_str(&format!("serverName = \"{HOST}\"\nrootCAs = [{authority:?}]\n"));
    }
    if let Some(pem) = assignment.tls_in {
        text.push_str(&format!(
            "[[tls.certificates]]\ncertFile = {pem:?}\nkeyFile = {pem:?}\n[tls.options.default]\nminVersion = \"VersionTLS13\"\n"
        ));
    }
    text
}
