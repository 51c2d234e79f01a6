//! Puts load on the program while its profile is taken: the usual work of a balancer and a file server, in
//! proportions that let no kind dominate.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::site::{HOST, Site, counting};
use crate::command;

/// Text in the report of `weir load` if every response was the expected one.
const ALL_ANSWERED: &str = "as expected (100.00%)";

/// Runs the whole training. Each process writes its counts into `counts`.
///
/// # Errors
/// If a process cannot be started, or a response is not the expected one.
pub(super) fn run(program: &Path, directory: &Path, counts: &Path) -> Result<(), String> {
    let site = Site::build(directory)?;
    let trainer = Trainer { program, site: &site, counts };

    let origin = site.start_origin(program, counts)?;
    let balancer = site.start_balancer(program, counts, "")?;
    for (scheme, address) in [("http", site.plain), ("https", site.tls), ("https", site.tls_both)] {
        trainer.load(scheme, address, "1k", &["-c64", "-n100000"])?;
        trainer.load(scheme, address, "8k", &["-c64", "-n20000"])?;
        trainer.load(scheme, address, "64k", &["-c64", "-n20000"])?;
        trainer.load(scheme, address, "1m", &["-c64", "-n2000"])?;
        trainer.load(scheme, address, "1k", &["-c64", "-n10000", "--no-keep-alive"])?;
    }
    trainer.load("http", site.plain, "1k", &["-r2000", "-d3s"])?;
    trainer.load("http", site.plain, "stored-{i%100}", &["-c16", "-n5000", "-mPUT", "--body-size=64KiB"])?;
    trainer.load("http", site.plain, "many/{i%50}", &["-c64", "-n20000"])?;
    trainer.load("http", site.tcp, "1k", &["-c64", "-n20000"])?;
    trainer.load("http", site.tcp, "64k", &["-c64", "-n5000"])?;
    trainer.load("http", site.tcp, "1k", &["-c64", "-n10000", "--no-keep-alive"])?;
    balancer.stop()?;

    let log = format!("[access-log]\nto = {:?}\n", site.path("access.log"));
    let balancer = site.start_balancer(program, counts, &log)?;
    trainer.load("http", site.plain, "1k", &["-c64", "-n50000"])?;
    balancer.stop()?;

    trainer.load("http", site.origin, "64k", &["-c64", "-n20000"])?;
    trainer.load("https", site.origin_tls, "1m", &["-c16", "-n2000"])?;
    trainer.load("http", site.origin, "stored-{i%100}", &["-c16", "-n5000", "-mPUT", "--body-size=1MiB"])?;
    trainer.load("http", site.origin, "1k", &["-c16", "-n5000", "-mHEAD"])?;
    trainer.load("http", site.origin, "many", &["-c16", "-n2000", "-mPROPFIND", "-HDepth: 1"])?;
    origin.stop()
}

/// Load generator: the program itself, so that `weir load` is part of the profile.
struct Trainer<'a> {
    program: &'a Path,
    site: &'a Site,
    counts: &'a Path,
}

impl Trainer<'_> {
    fn load(&self, scheme: &str, address: SocketAddr, path: &str, how: &[&str]) -> Result<(), String> {
        let mut load = Command::new(self.program);
        load.args(["load", "--quiet"]).args(how);
        if scheme == "https" {
            load.arg("--ca").arg(self.site.certificate()).args(["--server-name", HOST]);
        }
        load.arg(format!("{scheme}://{address}/{path}"));
        counting(&mut load, self.counts);
        println!("profile: {}", command::spelled(&load));
        let output = load.stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{}: {error}", command::spelled(&load)))?;
        let [out, error] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        // Its exit status also rejects imprecise measurements. The processors are shared here, and only the
        // responses matter.
        if out.contains(ALL_ANSWERED) {
            return Ok(());
        }
        Err(format!("{}: {}\n{out}{error}", command::spelled(&load), output.status))
    }
}
