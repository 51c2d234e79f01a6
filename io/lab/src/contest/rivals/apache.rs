use weir_config::lab::Scheme;

use super::{Assignment, CIPHER, HOST};

/// Where distributions put its modules; the first that is there.
const MODULES: [&str; 4] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/local/apache2/modules",
];

/// Lines that load modules by their names.
pub(in crate::contest) fn load_modules(names: &[&str]) -> String {
    let modules = MODULES.into_iter().find(|path| std::path::Path::new(path).is_dir()).unwrap_or(MODULES[0]);
    // Debian has built that in, others have not; asked to load what it has, Apache does not start.
    let load = |name: &&str| match *name {
        "unixd" => format!(
            "<IfModule !unixd_module>\n  LoadModule unixd_module {modules}/mod_unixd.so\n</IfModule>\n"
        ),
        name => format!("LoadModule {name}_module {modules}/mod_{name}.so\n"),
    };
    names.iter().map(load).collect()
}

/// mod_proxy_balancer under the event MPM, with kept connections. It has no active checks without mod_proxy_hcheck.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    // An assignment with another scheme is refused where the scenario is read.
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
    // A thread for each connection that is at work, in as many processes as there are workers.
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
        // None of them is ended because others are idle.
        spare = children * threads + 1,
    )
}
