//! Rivals of a comparison. Generates a configuration for each product from one description of listener,
//! servers, algorithm and TLS.

mod apache;
mod caddy;
mod comparison;
mod envoy;
mod haproxy;
mod kernel;
mod nginx;
mod pound;
mod sozu;
#[cfg(test)]
mod tests;
mod traefik;
mod weir;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) use apache::load_modules as apache_modules;

use rustix::process::Signal;
use weir_config::lab::{FleetSetup, Product, Scheme, Way};

pub use comparison::ConfigSize;

/// Task of a balancer, independent of the product.
#[derive(Debug, Clone)]
pub struct Assignment<'a> {
    /// Address of the listener.
    pub bind: SocketAddr,
    /// Servers by name.
    pub servers: &'a [(String, SocketAddr)],
    /// Weights in the order of `servers`; empty = equal weights.
    pub weights: &'a [u32],
    /// Balancing algorithm.
    pub scheme: Scheme,
    /// Name of an LVS scheduler that replaces `scheme`.
    pub scheduler: Option<&'a str>,
    /// The `balance` of Weir's pool as TOML, which replaces `scheme`.
    pub balance: Option<&'a str>,
    /// Path of responses to clients: through the balancer, or past it.
    pub way: Way,
    /// Directories that the servers serve, in the order of `servers`, if they serve files.
    pub roots: &'a [PathBuf],
    /// Secret of tickets for servers.
    pub key: Option<&'a Path>,
    /// Number of threads or processes.
    pub workers: u32,
    /// Path of active checks; empty = none.
    pub check: &'a str,
    /// Certificate and key in one file, if clients use TLS.
    pub tls_in: Option<&'a Path>,
    /// Authority of the servers' certificates, if servers use TLS.
    pub tls_out: Option<&'a Path>,
    /// Directory for its own files.
    pub directory: &'a Path,
    /// Fleet of servers that the balancer starts and stops itself.
    pub fleet: Option<FleetAssignment>,
    /// Set when the balancer must support a reload.
    pub reloads: bool,
}

/// Servers that a balancer starts and stops.
#[derive(Debug, Clone)]
pub struct FleetAssignment {
    /// Size and scaling policy.
    pub setup: FleetSetup,
    /// Program and arguments of a server, with `{address}`, `{port}` and `{machine}`.
    pub command: Vec<String>,
    /// Name and value of an environment variable.
    pub environment: (String, String),
}

/// TLS cipher towards balancers and servers. It is the preference of the lab's client, and is configured in
/// every product that would choose another one, because the cipher influences the CPU time. Libraries in Go
/// cannot be configured and prefer AES-128 towards clients.
pub const CIPHER: &str = "TLS_AES_256_GCM_SHA384";

/// Host name in certificates.
pub const HOST: &str = "lab.test";

/// Files, arguments and environment to run a product.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recipe {
    /// Name of its configuration file.
    pub file: &'static str,
    /// Content of the configuration file.
    pub config: String,
    /// Further files, by name.
    pub others: Vec<(&'static str, String)>,
    /// Arguments, with the paths of its files.
    pub arguments: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(&'static str, String)>,
    /// Shell script that runs in place of the program, with program and arguments as its arguments.
    pub script: Option<&'static str>,
}

impl Recipe {
    /// Returns the content of all files.
    pub fn shown(&self) -> String {
        let others = self.others.iter().map(|(name, text)| format!("\n# {name}\n{text}"));
        std::iter::once(self.config.clone()).chain(others).collect()
    }

    /// Returns the command that starts it.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match self.script {
            None => Command::new(program),
            Some(script) => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", script]).arg(program);
                command
            }
        };
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Returns the set-up of a product; `None` for no balancer.
pub fn recipe(product: Product, assignment: &Assignment<'_>) -> Option<Recipe> {
    let plain = |file, config, arguments: &[&str]| {
        (Recipe { file, config, ..Recipe::default() }, arguments.join("\n"))
    };
    // Programs in Go use all processors by default.
    let processors = || vec![("GOMAXPROCS", assignment.workers.to_string())];
    let (recipe, arguments) = match product {
        Product::None => return None,
        Product::Weir => plain("weir.toml", weir::config(assignment), &["run", "{config}"]),
        // Only the master-worker mode supports a reload.
        Product::Haproxy => {
            let mode = if assignment.reloads { "-W" } else { "-db" };
            plain("haproxy.cfg", haproxy::config(assignment), &[mode, "-f", "{config}"])
        }
        Product::Nginx => plain(
            "nginx.conf",
            nginx::config(assignment),
            &["-p", "{directory}", "-e", "stderr", "-c", "{config}"],
        ),
        Product::Apache => {
            plain("apache.conf", apache::config(assignment), &["-D", "FOREGROUND", "-f", "{config}"])
        }
        Product::Envoy => {
            let workers = assignment.workers.to_string();
            let arguments = [
                "-c",
                "{config}",
                "--disable-hot-restart",
                "--log-level",
                "error",
                "--concurrency",
                &workers,
            ];
            plain("envoy.yaml", envoy::config(assignment), &arguments)
        }
        Product::Caddy => {
            let (recipe, arguments) = plain(
                "Caddyfile",
                caddy::config(assignment),
                &["run", "--config", "{config}", "--adapter", "caddyfile"],
            );
            let home = assignment.directory.display().to_string();
            let own = ["XDG_DATA_HOME", "XDG_CONFIG_HOME"].map(|name| (name, home.clone()));
            (Recipe { environment: [processors(), own.to_vec()].concat(), ..recipe }, arguments)
        }
        Product::Traefik => {
            let (recipe, arguments) =
                plain("traefik.toml", traefik::config(assignment), &["--configFile={config}"]);
            let others = vec![(traefik::DYNAMIC, traefik::dynamic(assignment))];
            (Recipe { others, environment: processors(), ..recipe }, arguments)
        }
        Product::Pound => plain("pound.cfg", pound::config(assignment), &["-e", "-f", "{config}"]),
        Product::Sozu => plain("sozu.toml", sozu::config(assignment), &["start", "-c", "{config}"]),
        Product::Lvs => {
            let (recipe, arguments) =
                plain("ipvsadm.rules", kernel::lvs(assignment), &["{config}", "{directory}/masquerade.nft"]);
            let others = vec![("masquerade.nft", kernel::LVS_MASQUERADE.to_owned())];
            (Recipe { others, script: Some(kernel::LVS_START), ..recipe }, arguments)
        }
        Product::Nftables => {
            let (recipe, arguments) = plain("rules.nft", kernel::nftables(assignment), &["{config}"]);
            (Recipe { script: Some(kernel::NFTABLES_START), ..recipe }, arguments)
        }
    };
    let directory = assignment.directory.display().to_string();
    let path = assignment.directory.join(recipe.file).display().to_string();
    let filled = |argument: &str| argument.replace("{config}", &path).replace("{directory}", &directory);
    Some(Recipe { arguments: arguments.lines().map(filled).collect(), ..recipe })
}

/// Returns the signal that makes a product reload its configuration.
pub(crate) fn reload_signal(product: Product) -> Option<Signal> {
    match product {
        Product::Weir | Product::Nginx => Some(Signal::HUP),
        Product::Haproxy => Some(Signal::USR2),
        Product::Apache => Some(Signal::USR1),
        // The scenario parser refuses reloads of other products.
        _ => None,
    }
}

/// Program with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Path of the program.
    pub path: PathBuf,
    /// Version that the program reports; empty = none.
    pub version: String,
}

/// Finds the program of a product: the named one, or one of its usual names. For `weir`, it is this program.
///
/// # Errors
/// If the program is missing or does not run. The text contains the searched names.
pub fn find(product: Product, named: Option<&Path>, own: &Path) -> Result<Program, String> {
    let (names, option): (&[&str], &str) = match product {
        Product::None => return Ok(Program { path: PathBuf::new(), version: String::new() }),
        Product::Weir => (&[], "--version"),
        Product::Haproxy => (&["haproxy"], "-v"),
        Product::Nginx => (&["nginx"], "-v"),
        Product::Apache => (&["apache2", "httpd"], "-v"),
        Product::Envoy => (&["envoy"], "--version"),
        Product::Caddy => (&["caddy"], "version"),
        Product::Traefik => (&["traefik"], "version"),
        Product::Pound => (&["pound"], "-V"),
        Product::Sozu => (&["sozu"], "--version"),
        Product::Lvs => (&["ipvsadm"], "--version"),
        Product::Nftables => (&["nft"], "--version"),
    };
    let path = match named {
        Some(path) => path.to_owned(),
        None if product == Product::Weir => own.to_owned(),
        None => in_path(names).ok_or_else(|| {
            format!("there is no program {} in PATH or the usual directories", names.join(" or "))
        })?,
    };
    let output = Command::new(&path).arg(option).stdin(Stdio::null()).output();
    let output = output.map_err(|cause| format!("{} {option}: {cause}", path.display()))?;
    let said = [output.stdout, output.stderr].concat();
    Ok(Program { path, version: version_in(&String::from_utf8_lossy(&said)).unwrap_or_default() })
}

/// Checks that the kernel supports a rival's rules, which requires root, or that the version of a program
/// supports weights.
///
/// # Errors
/// If it does not. The text contains the output.
pub(crate) fn is_able(
    product: Product,
    (scheme, scheduler): (Scheme, Option<&str>),
    has_weights: bool,
    program: &Program,
) -> Result<(), String> {
    if has_weights {
        knows_weights(product, &program.version)?;
    }
    if !product.is_kernel() {
        return Ok(());
    }
    let weights: &[u32] = if has_weights { &[2, 1] } else { &[] };
    let directory = tempfile::tempdir().map_err(|cause| format!("a directory: {cause}"))?;
    let servers = [1, 2].map(|at| (format!("s{at}"), SocketAddr::from(([198, 18, 1, at], 8_000))));
    let tried = Assignment {
        bind: SocketAddr::from(([198, 18, 0, 2], 8_000)),
        servers: &servers,
        weights,
        scheme,
        scheduler,
        balance: None,
        way: Way::Proxied,
        roots: &[],
        key: None,
        workers: 1,
        check: "",
        tls_in: None,
        tls_out: None,
        directory: directory.path(),
        fleet: None,
        reloads: false,
    };
    let recipe = recipe(product, &tried).ok_or("it is no balancer")?;
    kernel::is_able(&program.path, &recipe, directory.path())
}

/// Checks that a version of a product supports weights. A program without a version, for example a private
/// build, is configured anyway. If it does not support weights, it reports that at its start.
fn knows_weights(product: Product, version: &str) -> Result<(), String> {
    if version.is_empty() {
        return Ok(());
    }
    let (since, name) = match product {
        // Version that introduced `weighted_round_robin`.
        Product::Caddy => ([2, 7], "2.7"),
        // Version that introduced `weight` of a server. Earlier versions refuse the whole file.
        Product::Traefik => ([3, 0], "3.0"),
        _ => return Ok(()),
    };
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let own = [(); 2].map(|()| parts.next().unwrap_or(0));
    let said = || format!("{} has weights since {name}; this is {version}", product.name());
    (own >= since).then_some(()).ok_or_else(said)
}

/// Returns commands that remove a product's rules from the kernel, with the program that created them:
/// programs and their arguments.
pub(crate) fn forgetting(product: Product, program: &Path) -> Vec<(PathBuf, &'static [&'static str])> {
    kernel::forgetting(product, program)
}

/// Returns the first of these programs that exists.
pub(crate) fn in_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"].map(PathBuf::from);
    let directories: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    names
        .iter()
        .find_map(|name| directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file()))
}

/// Returns the first number with a dot in the output of a program.
pub(crate) fn version_in(said: &str) -> Option<String> {
    let words = said.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')));
    let words = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    let is_version = |word: &&str| {
        word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()) && !word.ends_with('.')
    };
    words.filter(is_version).map(str::to_owned).next()
}

/// Formats all servers. `weight` formats the weight of a server and is called only if there are weights.
fn each(
    assignment: &Assignment<'_>,
    weight: impl Fn(u32) -> String,
    line: impl Fn(&str, SocketAddr, &str) -> String,
) -> String {
    let servers = assignment.servers.iter().enumerate();
    let weight = |at: usize| assignment.weights.get(at).map_or_else(String::new, |own| weight(*own));
    servers.map(|(at, (name, address))| line(name, *address, &weight(at))).collect()
}
