//! keepalived, which gives the shared address to one of two balancers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use weir_config::lab::Loss;

use super::flaw::RunFlaw;
use super::rivals::{Program, in_path, version_in};
use super::stage::{Network, Place, SHARED};
use super::store::Sample;

/// Finds the program: the named one, or `keepalived` in PATH.
///
/// # Errors
/// If it is missing or does not run. The text contains the searched name.
pub(crate) fn find(named: Option<&Path>) -> Result<Program, String> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => in_path(&["keepalived"])
            .ok_or("a pair: there is no program keepalived in PATH or the usual directories")?,
    };
    let output = Command::new(&path).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|cause| format!("{} --version: {cause}", path.display()))?;
    let said = [output.stdout, output.stderr].concat();
    let version = version_in(&String::from_utf8_lossy(&said)).unwrap_or_default();
    Ok(Program { path, version })
}

/// Returns the configuration for one balancer of the pair, with this process id. Its checks run at most once
/// a second, because keepalived has no fractions for that interval.
pub(crate) fn config(place: Place, interval: Duration, balancer: u32) -> String {
    let priority = if place == Place::Spare { 190 } else { 200 };
    format!(
        "global_defs {{
  vrrp_version 3
  script_user root
  enable_script_security
}}
vrrp_script balancer {{
  script \"/usr/bin/test -e /proc/{balancer}\"
  interval 1
  fall 1
  rise 1
}}
vrrp_instance pair {{
  state BACKUP
  interface eth0
  virtual_router_id 51
  priority {priority}
  advert_int {interval_s:.2}
  virtual_ipaddress {{
    {SHARED}/16
  }}
  track_script {{
    balancer
  }}
}}
",
        interval_s = interval.as_secs_f64(),
    )
}

/// Returns the arguments: in the foreground, with all files in its own directory, so that other instances on
/// this machine are not disturbed.
pub(crate) fn arguments(directory: &Path) -> Vec<String> {
    let file = |name: &str| directory.join(name).display().to_string();
    let options = ["--dont-fork", "--log-console", "--no-syslog", "--vrrp", "--use-file"].map(str::to_owned);
    let own =
        [file("keepalived.conf"), "--pid".to_owned(), file("pid"), "--vrrp_pid".to_owned(), file("vrrp.pid")];
    [options.to_vec(), own.to_vec()].concat()
}

/// Owners of the shared address, as their networks show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owners {
    pub(crate) active: bool,
    pub(crate) passive: bool,
}

impl Owners {
    /// Reads the present owners.
    pub(crate) fn look(network: &Network) -> Self {
        Self { active: network.has_shared(Place::Balancer), passive: network.has_shared(Place::Spare) }
    }

    /// Returns samples for the file of results.
    pub(crate) fn samples(self, at_s: f64) -> [Sample; 2] {
        [("active", self.active), ("passive", self.passive)].map(|(subject, has)| Sample {
            at_s,
            source: "pair",
            subject: subject.to_owned(),
            figure: "has_address",
            value: f64::from(u8::from(has)),
        })
    }
}

/// Returns a flaw if the passive balancer did not take over. A balancer that has lost its machine may still
/// have the address, but clients cannot reach it.
pub(crate) fn flaw(loss: Loss, before: Owners, after: Owners) -> Option<RunFlaw> {
    let said = match (before, after) {
        (Owners { active: false, .. }, _) => "the active one did not have the address before it was lost",
        (Owners { passive: true, .. }, _) => "the passive one had the address before anything was lost",
        (_, Owners { passive: false, .. }) => "the address did not move to the passive one",
        (_, Owners { active: true, .. }) if loss == Loss::Program => {
            "the active one still has the address, and the passive one has it, too: who answered is not known"
        }
        _ => return None,
    };
    Some(RunFlaw::of_lab(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_which_the_address_does_not_move_shows_no_take_over() {
        let of = |active, passive| Owners { active, passive };
        let said = |loss, before, after| flaw(loss, before, after).map(|flaw| flaw.text).unwrap_or_default();
        for loss in [Loss::Machine, Loss::Program] {
            assert_eq!(flaw(loss, of(true, false), of(false, true)), None);
            assert!(said(loss, of(true, false), of(true, false)).contains("did not move"));
            assert!(said(loss, of(true, false), of(false, false)).contains("did not move"));
            assert!(said(loss, of(false, true), of(false, true)).contains("did not have the address"));
            assert!(said(loss, of(true, true), of(false, true)).contains("before anything was lost"));
        }
        assert_eq!(flaw(Loss::Machine, of(true, false), of(true, true)), None);
        assert!(said(Loss::Program, of(true, false), of(true, true)).contains("who answered is not known"));
        let seen = of(true, false).samples(1.5);
        assert_eq!((seen[0].subject.as_str(), seen[0].value, seen[1].value), ("active", 1.0, 0.0));
    }

    #[test]
    fn the_active_one_has_the_higher_priority() {
        insta::assert_snapshot!(config(Place::Balancer, Duration::from_millis(200), 4711));
        let spare = config(Place::Spare, Duration::from_secs(1), 1);
        assert!(spare.contains("priority 190") && spare.contains("advert_int 1.00"), "{spare}");
    }

    #[test]
    fn keepalived_takes_what_is_made_for_it() {
        let program = match find(None) {
            Ok(program) if super::super::stage::is_root() => program,
            _ => return weir_testkit::untested("needs root and keepalived"),
        };
        assert!(program.version.contains('.'), "{program:?}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keepalived.conf");
        std::fs::write(&path, config(Place::Balancer, Duration::from_millis(200), 1)).unwrap();
        // keepalived requires an interface other than loopback.
        let script =
            "ip link add name eth0 type veth peer name other && exec \"$0\" --config-test --use-file \"$1\"";
        let mut command = Command::new("unshare");
        command.args(["--net", "/bin/sh", "-c", script]).arg(&program.path).arg(&path);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
