//! Configuration of Apache HTTP Server.

use weir_config::lab::Scheme;

use super::{Assignment, CIPHER, HOST};

/// Directories in which distributions install the modules. The first existing one is used.
const MODULES: [&str; 4] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/local/apache2/modules",
];

/// Returns lines that load modules by name.
pub(in crate::contest) fn load_modules(names: &[&str]) -> String {
    let modules = MODULES.into_iter().find(|path| std::path::Path::new(path).is_dir()).unwrap_or(MODULES[0]);
    // Debian compiles this module in, other distributions do not. Apache does not start if it must load a
    // module that is compiled in.
    let load = |name: &&str| match *name {
        "unixd" => format!(
            "<IfModule !unixd_module>\n  LoadModule unixd_module {modules}/mod_unixd.so\n</IfModule>\n"
        ),
        name => format!("LoadModule {name}_module {modules}/mod_{name}.so\n"),
    };
    names.iter().map(load).collect()
}

/// Returns a configuration with mod_proxy_balancer under the event MPM, with kept connections. Without
/// mod_proxy_hcheck, it has no active checks.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    // The scenario parser refuses other algorithms.
    let method = if assignment.scheme == Scheme::LeastConnections { "bybusyness" } else { "byrequests" };
    let mut names = vec![
        "mpm_event",
        "authz_core",
        "unixd",
        "slotmem_shm",
        "proxy",
        "proxy_http",
        "proxy_balancer",
        if method == "bybusyness" { "lbmethod_bybusyness" } else { "lbmethod_byrequests" },
    ];
    let is_tls = assignment.tls_in.is_some() || assignment.tls_out.is_some();
    if is_tls {
        names.extend(["socache_shmcb", "ssl"]);
    }
    let loads = load_modules(&names);
    let directory = assignment.directory.display();
    let scheme = if assignment.tls_out.is_some() { "https" } else { "http" };
    let members = super::each(
        assignment,
        |weight| format!(" loadfactor={weight}"),
        |_, address, weight| format!("  BalancerMember {scheme}://{address} keepalive=On{weight}\n"),
    );
    let tls_in = assignment.tls_in.map_or_else(String::new, |pem| {
        let pem = pem.display();
        format!("SSLEngine on\nSSLProtocol TLSv1.3\nSSLCipherSuite TLSv1.3 {CIPHER}\nSSLCertificateFile {pem}\nSSLCertificateKeyFile {pem}\n")
    });
    let tls_out = assignment.tls_out.map_or_else(String::new, |authority| {
        format!(
            "SSLProxyEngine on\nSSLProxyProtocol TLSv1.3\nSSLProxyCipherSuite TLSv1.3 {CIPHER}\nSSLProxyVerify require\nSSLProxyCACertificateFile {}\nSSLProxyCheckPeerName off\n",
            authority.display()
        )
    });
    // A thread per active connection, in one process per worker.
    let (children, threads) = (assignment.workers, 400);
    format!(
        "ServerRoot {directory}
ServerName {HOST}
PidFile apache.pid
DefaultRuntimeDir {directory}
User #65534
Group #65534
ErrorLog /dev/stderr
LogLevel crit
{loads}Listen {bind}
ServerLimit {children}
StartServers {children}
ThreadLimit {threads}
ThreadsPerChild {threads}
MaxRequestWorkers {most}
MinSpareThreads 1
MaxSpareThreads {spare}
MaxKeepAliveRequests 0
KeepAliveTimeout 75
{tls_in}{tls_out}<Proxy balancer://web>
{members}  ProxySet lbmethod={method}
</Proxy>
ProxyPass / balancer://web/
",
        bind = assignment.bind,
        most = children * threads,
        // Apache never ends one of them for being idle.
        spare = children * threads + 1,
    )
}
