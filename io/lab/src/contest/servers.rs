//! The servers of a scenario, which keep running while rivals take turns.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_config::lab::{Case, Scenario, ServerKind, Servers, Way};

use super::rivals::{CIPHER, HOST, apache_modules, in_path};
use super::stage::{Certificates, Ledger, Network, Place, Process, Stop, is_root};

/// All servers that a scenario needs, running.
#[derive(Debug)]
pub(crate) struct ServerPark {
    servers: Vec<Server>,
    own: PathBuf,
    program: PathBuf,
    /// Secret of tickets, if clients may be redirected to servers.
    key: Option<PathBuf>,
    /// Addresses of balancers that may send files in place of the servers.
    trusted: Vec<IpAddr>,
}

#[derive(Debug)]
struct Server {
    name: String,
    address: SocketAddr,
    directory: PathBuf,
    process: Option<Process>,
}

/// Concurrency limit that is never reached.
const ALL_THAT_COME: u32 = 1_000_000;

/// Returns NGINX's `user` line. Workers must be able to read the files, so they run as root if the lab does.
pub(crate) fn nginx_user() -> &'static str {
    if is_root() { "user root;\n" } else { "" }
}

/// Returns the usual names of the servers' program. Empty = Weir's own program, or one that the scenario
/// names.
pub(super) fn usual_names(kind: ServerKind) -> &'static [&'static str] {
    match kind {
        ServerKind::Nginx => &["nginx"],
        ServerKind::Apache => &["apache2", "httpd"],
        ServerKind::Origin | ServerKind::Storage | ServerKind::Command => &[],
    }
}

/// Returns the arguments of Weir's test server `at` for its service time.
pub(super) fn service(servers: &Servers, at: usize) -> Vec<String> {
    let delay = servers.delay(at).0;
    if delay == 0 {
        return Vec::new();
    }
    let at_once = servers.concurrency(at).unwrap_or(ALL_THAT_COME);
    ["--service-ms", &delay.to_string(), "--concurrency", &at_once.to_string()].map(str::to_owned).to_vec()
}

impl ServerPark {
    /// Starts as many servers as the largest case needs. `own` is the program of Weir.
    pub(crate) fn start(
        scenario: &Scenario,
        own: &Path,
        directory: &Path,
        certificates: Option<&Certificates>,
        network: &Network,
        ledger: &mut Ledger,
        stop: Stop<'_>,
    ) -> Result<Self, String> {
        let names = usual_names(scenario.servers.kind);
        let program = match (&scenario.servers.program, names.first()) {
            (Some(program), _) => program.clone(),
            (None, None) => own.to_owned(),
            // The other machine searches for the program.
            (None, Some(name)) if network.hosts().is_some() => PathBuf::from(name),
            (None, Some(_)) => in_path(names).ok_or_else(|| {
                let names = names.join(" or ");
                format!("servers: there is no program {names} in PATH or the usual directories")
            })?,
        };
        let count = scenario.cases.iter().map(|case| case.servers).max().unwrap_or(1);
        let has = |way| scenario.rivals.iter().any(|rival| rival.way == way);
        let key = has(Way::Redirected).then(|| make_key(directory)).transpose();
        let key = key.map_err(|cause| format!("a secret for tickets: {cause}"))?;
        let trusted = [Place::Balancer, Place::Spare].map(|place| network.address(place, 1));
        let trusted = trusted.into_iter().flatten().map(|address| address.ip());
        let trusted = trusted.filter(|_| has(Way::Offloaded)).collect();
        let mut park = Self { servers: Vec::new(), own: own.to_owned(), program, key, trusted };
        for number in 0..count {
            let name = format!("s{}", number + 1);
            let place = Place::Server(number);
            let address = network
                .address(place, 0)
                .map_err(|cause| format!("an address for server {name}: {cause}"))?;
            let directory = network.directory(place, directory).join(&name);
            let sizes = sizes(&scenario.cases, scenario.servers.kind);
            match network.host(place) {
                Some(host) => host.make_files(&directory, &sizes)?,
                None => make_files(&directory, &sizes)
                    .map_err(|cause| format!("{}: {cause}", directory.display()))?,
            }
            park.servers.push(Server { name, address, directory, process: None });
            park.start_one(number as usize, scenario, certificates, network, ledger, stop)?;
        }
        Ok(park)
    }

    /// Starts or restarts a server.
    pub(crate) fn start_one(
        &mut self,
        at: usize,
        scenario: &Scenario,
        certificates: Option<&Certificates>,
        network: &Network,
        ledger: &mut Ledger,
        stop: Stop<'_>,
    ) -> Result<(), String> {
        let Some(server) = self.servers.get(at) else { return Ok(()) };
        let place = Place::Server(u32::try_from(at).unwrap_or(u32::MAX));
        let tls = certificates.filter(|_| scenario.balancer.tls_out);
        let tls = tls.map(|pem| network.certificates(place, pem));
        let tls = tls.as_ref();
        let own = network.host(place).map_or(&self.own, |host| &host.own);
        let failed = |cause: String| format!("server {}: {cause}", server.name);
        let mut command = match scenario.servers.kind {
            ServerKind::Origin => {
                let mut command = Command::new(own);
                command.args(["origin", "--bind", &server.address.to_string(), "--name", &server.name]);
                command.args(service(&scenario.servers, at));
                command
            }
            ServerKind::Storage => {
                let config = server.directory.join("weir.toml");
                let text = storage_config(server, tls, self.key.as_deref(), &self.trusted);
                network.write(place, &config, &text).map_err(failed)?;
                let mut command = Command::new(own);
                command.arg("run").arg(config);
                command
            }
            ServerKind::Nginx => {
                let config = server.directory.join("nginx.conf");
                network.write(place, &config, &nginx_config(server, tls)).map_err(failed)?;
                let mut command = Command::new(&self.program);
                command.arg("-p").arg(&server.directory).args(["-e", "stderr", "-c"]).arg(config);
                command
            }
            ServerKind::Apache => {
                let health = server.directory.join("root/health");
                network.write(place, &health, "").map_err(failed)?;
                let config = server.directory.join("apache.conf");
                network.write(place, &config, &apache_config(server, tls)).map_err(failed)?;
                let mut command = Command::new(&self.program);
                command.args(["-D", "FOREGROUND", "-f"]).arg(config);
                command
            }
            ServerKind::Command => {
                let mut command = Command::new(&self.program);
                let (bind, directory) = (server.address.to_string(), server.directory.display().to_string());
                let filled = |argument: &String| {
                    let argument = argument.replace("{bind}", &bind).replace("{name}", &server.name);
                    argument.replace("{directory}", &directory)
                };
                command.args(scenario.servers.arguments.iter().map(filled));
                command
            }
        };
        command.current_dir(&server.directory);
        let name = format!("server {}", server.name);
        let mut process = Process::start(&name, command, &server.directory, (network, place), ledger)?;
        process.wait_ready(server.address, None, (network, place), stop)?;
        self.servers[at].process = Some(process);
        Ok(())
    }

    /// Returns the path of the program of Weir.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    /// Kills a server.
    pub(crate) fn kill(&mut self, at: usize) {
        if let Some(server) = self.servers.get_mut(at) {
            server.process = None;
        }
    }

    /// Returns names and addresses of the first `count` servers.
    pub(crate) fn addresses(&self, count: u32) -> Vec<(String, SocketAddr)> {
        let servers = self.servers.iter().take(count as usize);
        servers.map(|server| (server.name.clone(), server.address)).collect()
    }

    /// Returns the directories that the first `count` servers serve.
    pub(crate) fn roots(&self, count: u32) -> Vec<PathBuf> {
        self.servers.iter().take(count as usize).map(|server| server.directory.join("root")).collect()
    }

    /// Returns the URLs at which clients reach the first `count` servers directly.
    pub(crate) fn urls(&self, count: u32, is_tls: bool) -> Vec<String> {
        let scheme = if is_tls { "https" } else { "http" };
        let servers = self.servers.iter().take(count as usize);
        servers.map(|server| format!("{scheme}://{}", server.address)).collect()
    }

    /// Returns the secret of tickets for servers.
    pub(crate) fn key(&self) -> Option<&Path> {
        self.key.as_deref()
    }

    /// Returns the places and processes of the first `count` servers.
    pub(crate) fn members(&self, count: u32) -> Vec<(Place, Vec<u32>)> {
        let servers = (0..).zip(self.servers.iter().take(count as usize));
        let members = |(number, server): (u32, &Server)| {
            Some((Place::Server(number), server.process.as_ref()?.members()))
        };
        servers.filter_map(members).collect()
    }
}

/// Returns the sizes of requested files, if servers serve files.
fn sizes(cases: &[Case], kind: ServerKind) -> Vec<u64> {
    let sizes: BTreeSet<u64> = match kind {
        ServerKind::Storage | ServerKind::Nginx | ServerKind::Apache => {
            cases.iter().filter_map(|case| case.size).collect()
        }
        ServerKind::Origin | ServerKind::Command => BTreeSet::new(),
    };
    sizes.into_iter().collect()
}

/// Creates the directory of a server, with a file of each size.
pub(super) fn make_files(directory: &Path, sizes: &[u64]) -> std::io::Result<()> {
    let root = directory.join("root");
    let files = root.join("bytes");
    fs::create_dir_all(&files)?;
    // Incompressible bytes.
    let piece = crate::target::pattern();
    for size in sizes {
        let mut file = File::create(files.join(size.to_string()))?;
        let mut left = *size;
        while left > 0 {
            let bytes = left.min(piece.len() as u64) as usize;
            file.write_all(&piece[..bytes])?;
            left -= bytes as u64;
        }
    }
    Ok(())
}

/// Creates a random secret for this scenario.
fn make_key(directory: &Path) -> std::io::Result<PathBuf> {
    let mut bytes = [0; 24];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let path = directory.join("redirect.key");
    fs::write(&path, bytes.map(|byte| format!("{byte:02x}")).concat())?;
    Ok(path)
}

fn storage_config(
    server: &Server,
    tls: Option<&Certificates>,
    key: Option<&Path>,
    trusted: &[IpAddr],
) -> String {
    let mut area = key.map_or_else(String::new, |key| format!("redirect-key-file = {key:?}\n"));
    if !trusted.is_empty() {
        let trusted: Vec<String> = trusted.iter().map(ToString::to_string).collect();
        area.push_str(&format!(
            "accel-redirect = {{ prefix = \"/{}\", trusted = {trusted:?} }}\n",
            server.name
        ));
    }
    let tls = tls.map_or_else(String::new, |pem| {
        format!(
            "tls = {{ certificates = {:?}, min-version = \"1.3\", ciphers = [\"{CIPHER}\"] }}\n",
            pem.site
        )
    });
    format!(
        "[weir]\nworkers = 1\nstate = false\ncontrol = {:?}\n\n[listener.files]\nbind = \"{}\"\n{tls}\n[[route]]\npath = \"/\"\nstorage = \"files\"\n\
         response-headers = {{ set = {{ X-Origin = \"{}\" }} }}\n\n[storage-area.files]\nroot = {:?}\nlisting = true\n{area}\n\
         [[storage-area.files.access.policy]]\ndescription = \"everybody may do everything\"\neffect = \"permit\"\nactions = \"all\"\n\
         principals = [{{ type = \"anyone\" }}]\n",
        server.directory.join("weir.sock"),
        server.address,
        server.name,
        server.directory.join("root"),
    )
}

fn nginx_config(server: &Server, tls: Option<&Certificates>) -> String {
    let (ssl, tls) = match tls {
        None => ("", String::new()),
        Some(pem) => {
            let pem = pem.site.display();
            (
                " ssl",
                format!(
                    "    ssl_certificate {pem};\n    ssl_certificate_key {pem};\n    ssl_protocols TLSv1.3;\n    ssl_conf_command Ciphersuites {CIPHER};\n"
                ),
            )
        }
    };
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid nginx.pid;
error_log stderr crit;
{user}events {{ worker_connections 32768; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {{
    listen {bind}{ssl} backlog=4096;
    server_name {HOST};
{tls}    root {root};
    add_header X-Origin {name} always;
    location = /health {{ return 200; }}
  }}
}}
",
        user = nginx_user(),
        bind = server.address,
        root = server.directory.join("root").display(),
        name = server.name,
    )
}

/// Returns a configuration of one process of the event MPM, with kept connections.
fn apache_config(server: &Server, tls: Option<&Certificates>) -> String {
    let mut modules = vec!["mpm_event", "authz_core", "unixd", "headers"];
    let tls = tls.map_or_else(String::new, |pem| {
        modules.extend(["socache_shmcb", "ssl"]);
        let pem = pem.site.display();
        format!(
            "SSLEngine on\nSSLProtocol TLSv1.3\nSSLCipherSuite TLSv1.3 {CIPHER}\nSSLCertificateFile {pem}\nSSLCertificateKeyFile {pem}\n"
        )
    });
    // Apache refuses to serve as root, and all users may read the files of the run.
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
ListenBacklog 4096
ServerLimit 1
StartServers 1
ThreadLimit 400
ThreadsPerChild 400
MaxRequestWorkers 400
MinSpareThreads 1
MaxSpareThreads 401
AsyncRequestWorkerFactor 64
MaxKeepAliveRequests 0
KeepAliveTimeout 75
EnableSendfile On
{tls}DocumentRoot {root}
Header always set X-Origin {name}
",
        directory = server.directory.display(),
        loads = apache_modules(&modules),
        bind = server.address,
        root = server.directory.join("root").display(),
        name = server.name,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_servers_configuration_is_proved() {
        let server = Server {
            name: "s1".to_owned(),
            address: "127.0.0.1:9000".parse().unwrap(),
            directory: PathBuf::from("/tmp/s1"),
            process: None,
        };
        let pem = Certificates { site: "/tmp/site.pem".into(), authority: "/tmp/ca.pem".into() };
        for tls in [None, Some(&pem)] {
            let config = storage_config(&server, tls, None, &[]);
            let loaded =
                weir_config::load(&[weir_config::Source::new("weir.toml", config.clone())], &|_| None);
            assert!(loaded.is_ok(), "{:?}\n{config}", loaded.unwrap_err());
        }
        let trusted = ["198.18.0.2".parse().unwrap()];
        let config = storage_config(&server, None, Some(Path::new("/tmp/redirect.key")), &trusted);
        let loaded = weir_config::load(&[weir_config::Source::new("weir.toml", config.clone())], &|_| None);
        assert!(loaded.is_ok() && config.contains("accel-redirect"), "{:?}\n{config}", loaded.unwrap_err());
    }
}
