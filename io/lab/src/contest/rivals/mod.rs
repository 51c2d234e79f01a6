//! Who is compared: from one description of listener, servers, algorithm and TLS, a configuration for each.

mod apache;
mod comparison;
mod haproxy;
mod nginx;
#[cfg(test)]
mod tests;
mod weir;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use weir_config::lab::{Product, Scheme};

pub use comparison::ConfigSize;

/// What a balancer is to do, in nobody's language.
#[derive(Debug, Clone)]
pub struct Assignment<'a> {
    /// Where it listens.
    pub bind: SocketAddr,
    /// Behind it, by name.
    pub servers: &'a [(String, SocketAddr)],
    /// How it chooses.
    pub scheme: Scheme,
    /// Threads or processes.
    pub workers: u32,
    /// Path of active checks; empty = none.
    pub check: &'a str,
    /// Certificate and key in one file, if clients speak TLS.
    pub tls_in: Option<&'a Path>,
    /// The authority of the servers' certificates, if servers speak TLS.
    pub tls_out: Option<&'a Path>,
    /// Where it may keep files of its own.
    pub directory: &'a Path,
    /// It will be told to read its configuration again.
    pub reloads: bool,
}

/// The name in certificates.
pub const HOST: &str = "lab.test";

/// What a product needs to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The name of its configuration file.
    pub file: &'static str,
    /// What stands in it.
    pub config: String,
    /// Its arguments; the file is `{config}`.
    pub arguments: Vec<String>,
}

/// How a product is set up; `None` for no balancer.
pub fn recipe(product: Product, assignment: &Assignment<'_>) -> Option<Recipe> {
    let (file, config, arguments) = match product {
        Product::None => return None,
        Product::Weir => ("weir.toml", weir::config(assignment), vec!["run", "{config}"]),
        // Only with a master can it.
        Product::Haproxy => {
            let mode = if assignment.reloads { "-W" } else { "-db" };
            ("haproxy.cfg", haproxy::config(assignment), vec![mode, "-f", "{config}"])
        }
        Product::Nginx => (
            "nginx.conf",
            nginx::config(assignment),
            vec!["-p", "{directory}", "-e", "stderr", "-c", "{config}"],
        ),
        Product::Apache => {
            ("apache.conf", apache::config(assignment), vec!["-D", "FOREGROUND", "-f", "{config}"])
        }
    };
    let directory = assignment.directory.display().to_string();
    let path = assignment.directory.join(file).display().to_string();
    let filled = |argument: &str| argument.replace("{config}", &path).replace("{directory}", &directory);
    Some(Recipe { file, config, arguments: arguments.into_iter().map(filled).collect() })
}

/// The signal by which a product reads its configuration again.
pub(crate) fn reload_signal(product: Product) -> Option<Signal> {
    match product {
        Product::None => None,
        Product::Weir | Product::Nginx => Some(Signal::HUP),
        Product::Haproxy => Some(Signal::USR2),
        Product::Apache => Some(Signal::USR1),
    }
}

/// A program, and which version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// As it says itself; empty = it does not.
    pub version: String,
}

/// Finds the program of a product: the one that is named, or by its usual names. `weir` is this program itself.
///
/// # Errors
/// It is not there, or does not run; the text says what was looked for.
pub fn find(product: Product, named: Option<&Path>, own: &Path) -> Result<Program, String> {
    let (names, option): (&[&str], &str) = match product {
        Product::None => return Ok(Program { path: PathBuf::new(), version: String::new() }),
        Product::Weir => (&[], "--version"),
        Product::Haproxy => (&["haproxy"], "-v"),
        Product::Nginx => (&["nginx"], "-v"),
        Product::Apache => (&["apache2", "httpd"], "-v"),
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

/// The first of these programs that is there.
pub(crate) fn in_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"].map(PathBuf::from);
    let directories: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    names
        .iter()
        .find_map(|name| directories.iter().map(|directory| directory.join(name)).find(|path| path.is_file()))
}

/// The first number with a dot in what a program says of itself.
fn version_in(said: &str) -> Option<String> {
    let words = said.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+')));
    let is_version = |word: &&str| {
        word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()) && !word.ends_with('.')
    };
    words.filter(is_version).map(str::to_owned).next()
}

/// Servers one after another.
fn each(assignment: &Assignment<'_>, line: impl Fn(&str, SocketAddr) -> String) -> String {
    assignment.servers.iter().map(|(name, address)| line(name, *address)).collect()
}
