//! Contestants and their configurations. All have the same servers, algorithm (least connections), timeouts,
//! checks and TLS cipher. Everything else is set to each contestant's advantage.

mod haproxy;
mod nginx;
mod weir;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::options::Compare;
use crate::origin::Origin;
use crate::process::{Cores, Process};
use crate::scenario::Setup;
use crate::workshop::{Workshop, free_addresses};

/// A product in one of its configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Product {
    Weir,
    HaProxy,
    /// With `option splice-response`.
    HaProxySplice,
    Nginx,
}

impl Product {
    pub(crate) fn is_haproxy(self) -> bool {
        matches!(self, Self::HaProxy | Self::HaProxySplice)
    }
}

/// One contestant of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Contestant {
    /// Name of product and version, e.g. `haproxy-2.6.12+splice`.
    pub(crate) name: String,
    pub(crate) product: Product,
    pub(crate) program: PathBuf,
}

/// Parameters of a config.
struct Assignment<'a> {
    workshop: &'a Workshop,
    setup: Setup,
    bind: SocketAddr,
    servers: &'a [SocketAddr],
    /// Path for active health checks.
    health: &'a str,
}

/// A running contestant.
#[derive(Debug)]
pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    /// File with access log lines, which is removed after each turn.
    access_log: Option<PathBuf>,
}

impl Contestant {
    /// Returns all contestants that the options and the environment name, Weir first.
    pub(crate) fn all(options: &Compare) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        if !options.without_weir {
            all.push(Self::weir()?);
        }
        for program in haproxy_programs() {
            all.push(Self::of(Product::HaProxy, program.clone())?);
            all.push(Self::of(Product::HaProxySplice, program)?);
        }
        for program in nginx_programs() {
            all.push(Self::of(Product::Nginx, program)?);
        }
        if !options.rivals.is_empty() {
            for wanted in &options.rivals {
                if !all.iter().any(|contestant| contestant.name.starts_with(wanted.as_str())) {
                    let names: Vec<_> = all.iter().map(|contestant| contestant.name.as_str()).collect();
                    return Err(Error::new(format!("no rival {wanted:?}: there are {}", names.join(", "))));
                }
            }
            let wanted = |name: &str| options.rivals.iter().any(|wanted| name.starts_with(wanted.as_str()));
            all.retain(|contestant| contestant.product == Product::Weir || wanted(&contestant.name));
        }
        if all.is_empty() {
            return Err(Error::new("nobody is left to be measured"));
        }
        Ok(all)
    }

    /// Returns the Weir that the variable WEIR names, or else the release build.
    pub(crate) fn weir() -> Result<Self> {
        Self::of(Product::Weir, from_environment("WEIR").pop().unwrap_or_else(release_build))
    }

    /// Returns the path of its program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the first program of a product that the environment names, or else the one that Debian
    /// installs.
    pub(crate) fn first(product: Product) -> Result<Self> {
        let programs = match product {
            Product::Weir => return Self::weir(),
            Product::HaProxy | Product::HaProxySplice => haproxy_programs(),
            Product::Nginx => nginx_programs(),
        };
        let program = programs.into_iter().next().ok_or_else(|| Error::new("no program to compare with"))?;
        Self::of(product, program)
    }

    fn of(product: Product, program: PathBuf) -> Result<Self> {
        let (stem, version) = match product {
            Product::Weir => ("weir", version(&program, "--version")?),
            Product::HaProxy | Product::HaProxySplice => ("haproxy", version(&program, "-v")?),
            Product::Nginx => ("nginx", version(&program, "-v")?),
        };
        let suffix = if product == Product::HaProxySplice { "+splice" } else { "" };
        Ok(Self { name: format!("{stem}-{version}{suffix}"), product, program })
    }

    /// Starts the contestant on its core in front of `origin`, and waits until it responds.
    pub(crate) fn start(&self, workshop: &Workshop, origin: &Origin, setup: Setup) -> Result<Balancer> {
        self.start_before(workshop, origin.addresses(setup.tls_out), "/health", setup)
    }

    /// Starts the contestant on its core in front of servers that respond to a GET of `health` with 200, and
    /// waits until it responds.
    pub(crate) fn start_before(
        &self,
        workshop: &Workshop,
        servers: &[SocketAddr],
        health: &str,
        setup: Setup,
    ) -> Result<Balancer> {
        let [bind] = free_addresses()?;
        let assignment = Assignment { workshop, setup, bind, servers, health };
        let cores = if setup.workers > 1 { Cores::All } else { Cores::Balancer };
        let mut command = cores.command(&self.program);
        let access_log = setup.access_log.then(|| workshop.path("access.log"));
        match self.product {
            Product::Weir => weir::configure(&mut command, &assignment)?,
            Product::HaProxy => haproxy::configure(&mut command, &assignment, false)?,
            Product::HaProxySplice => haproxy::configure(&mut command, &assignment, true)?,
            Product::Nginx => nginx::configure(&mut command, &assignment)?,
        }
        let log = workshop.path("balancer.log");
        // HAProxy logs to standard output; the others open the file themselves.
        let output = if self.product.is_haproxy() { access_log.as_deref() } else { None };
        let mut process = Process::start(&self.name, &mut command, output, &log)?;
        let path = if setup.tls_in { None } else { Some(health) };
        process.wait_ready_at(bind, path, Duration::from_secs(10), &log)?;
        Ok(Balancer { address: bind, process, access_log })
    }

    /// Starts the contestant on its core with the given config, which listens at `bind`, and waits until it
    /// responds.
    pub(crate) fn start_with(&self, workshop: &Workshop, config: &str, bind: SocketAddr) -> Result<Balancer> {
        let mut command = Cores::Balancer.command(&self.program);
        match self.product {
            Product::Weir => command.arg("run").arg(workshop.write("weir.toml", config)?),
            Product::HaProxy | Product::HaProxySplice => {
                command.arg("-db").arg("-f").arg(workshop.write("haproxy.cfg", config)?)
            }
            Product::Nginx => {
                let config = workshop.write("nginx.conf", config)?;
                command.arg("-p").arg(workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config)
            }
        };
        let log = workshop.path("balancer.log");
        let mut process = Process::start(&self.name, &mut command, None, &log)?;
        process.wait_ready(bind, false, &log)?;
        Ok(Balancer { address: bind, process, access_log: None })
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        if let Some(path) = &self.access_log {
            // The lines of a turn use tens of megabytes of memory.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns the paths of all NGINX programs; the first one runs the origin.
pub(crate) fn nginx_programs() -> Vec<PathBuf> {
    or_default(from_environment("NGINX"), "/usr/sbin/nginx")
}

fn haproxy_programs() -> Vec<PathBuf> {
    or_default(from_environment("HAPROXY"), "/usr/sbin/haproxy")
}

/// Returns the paths in an environment variable, separated by commas.
pub(crate) fn from_environment(name: &str) -> Vec<PathBuf> {
    let value = std::env::var(name).unwrap_or_default();
    value.split(',').map(str::trim).filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

fn or_default(paths: Vec<PathBuf>, default: &str) -> Vec<PathBuf> {
    if paths.is_empty() { vec![PathBuf::from(default)] } else { paths }
}

/// Returns the release build in the target directory that contains this program.
fn release_build() -> PathBuf {
    let here = std::env::current_exe().ok();
    let target = here.as_deref().and_then(|path| path.parent()?.parent());
    target.unwrap_or(Path::new("target")).join("release/weir")
}

/// Returns the first number with a dot in what the program prints about itself.
fn version(program: &Path, option: &str) -> Result<String> {
    let failed =
        |cause: &dyn std::fmt::Display| Error::new(format!("{} {option}: {cause}", program.display()));
    let output = Command::new(program).arg(option).output().map_err(|error| failed(&error))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    find_version(&text).ok_or_else(|| failed(&"it does not say which version it is"))
}

fn find_version(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')));
    let numbers = words.map(|word| word.split('-').next().unwrap_or(word));
    let mut versions =
        numbers.filter(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()));
    versions.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let haproxy =
            "HAProxy version 2.6.12-1+deb12u4 2026/05/01 - https://haproxy.org/\nStatus: long-term\n";
        assert_eq!(find_version(haproxy).as_deref(), Some("2.6.12"));
        assert_eq!(find_version("nginx version: nginx/1.22.1\n").as_deref(), Some("1.22.1"));
        assert_eq!(find_version("weir 0.1.0\n").as_deref(), Some("0.1.0"));
        assert_eq!(find_version("usage: true"), None);
    }
}
