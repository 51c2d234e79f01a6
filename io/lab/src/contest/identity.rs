//! Facts that influence the figures besides the scenario: programs, kernel, machine. All runs of a file must
//! agree in them. Otherwise, a continued file would compare one rival before a change with another one after
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use weir_config::lab::{Product, Rival};

use super::machine;
use super::play::{Play, PlayError};
use super::remote::Hosts;
use super::rivals::{Program, in_path};
use super::servers::usual_names;
use super::stage::Place;
use super::store::Store;

/// Key under which the identity is stored.
pub(super) const KEY: &str = "identity";

/// Stores the identity in a file without runs, and compares it with a file that has runs.
pub(super) fn compare(
    store: &Store,
    play: &Play<'_>,
    rivals: &[(Rival, Program)],
    (topology, hosts): (&str, Option<&Hosts>),
) -> Result<(), PlayError> {
    let mut own = of(play, rivals, topology, hosts).map_err(PlayError::Other)?;
    for host in hosts.map(Hosts::each).unwrap_or_default() {
        own.extend(host.facts().map_err(PlayError::Other)?);
    }
    let refused = |what: &str| {
        PlayError::Other(format!(
            "the file has runs of another state of things, which must not be mixed with new ones: {what}. Give --output another name"
        ))
    };
    let there: Option<BTreeMap<String, String>> =
        store.meta(KEY)?.and_then(|text| serde_json::from_str(&text).ok());
    match there {
        Some(there) if there == own => return Ok(()),
        Some(there) if !store.done()?.is_empty() => return Err(refused(&differences(&there, &own))),
        None if !store.done()?.is_empty() => {
            return Err(refused("it does not say which programs they are of"));
        }
        _ => {}
    }
    let text = serde_json::to_string(&own).map_err(|cause| PlayError::Other(cause.to_string()))?;
    Ok(store.set_meta(KEY, &text)?)
}

/// Returns the identity as names and values.
fn of(
    play: &Play<'_>,
    rivals: &[(Rival, Program)],
    topology: &str,
    hosts: Option<&Hosts>,
) -> Result<BTreeMap<String, String>, String> {
    let mut identity: BTreeMap<String, String> = BTreeMap::new();
    let mut known: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut of_program = |path: &Path| -> Result<String, String> {
        if let Some(known) = known.get(path) {
            return Ok(known.clone());
        }
        let own = checksum(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        known.insert(path.to_owned(), own.clone());
        Ok(own)
    };
    identity.insert("program weir".to_owned(), of_program(play.own)?);
    let at = |place| hosts.and_then(|hosts| hosts.at(place));
    for rival in &play.scenario.rivals {
        let found = rivals.iter().find(|(other, _)| other.name == rival.name);
        let what = match found {
            None => "not there".to_owned(),
            Some(_) if rival.product == Product::None => continue,
            Some((_, program)) => {
                let checksum = match at(Place::Balancer) {
                    Some(host) => host.checksum(&program.path)?,
                    None => of_program(&program.path)?,
                };
                format!("{} {checksum}", program.version)
            }
        };
        identity.insert(format!("rival {}", rival.name), what);
    }
    let servers = match (&play.scenario.servers.program, play.scenario.servers.kind) {
        (Some(program), _) => Some(program.clone()),
        (None, kind) if hosts.is_some() => usual_names(kind).first().map(PathBuf::from),
        (None, kind) => in_path(usual_names(kind)),
    };
    if let Some(program) = servers {
        // The start of servers reports a missing program.
        let checksum = match at(Place::Server(0)) {
            Some(host) => host.checksum(&program),
            None => of_program(&program),
        };
        identity.insert("servers".to_owned(), checksum.unwrap_or_default());
    }
    identity.extend(machine::lasting());
    identity.insert("topology".to_owned(), topology.to_owned());
    Ok(identity)
}

/// Returns each name with different values, and both values.
fn differences(there: &BTreeMap<String, String>, own: &BTreeMap<String, String>) -> String {
    let names: BTreeSet<&String> = there.keys().chain(own.keys()).collect();
    let shown = |all: &BTreeMap<String, String>, name: &str| {
        all.get(name).filter(|value| !value.is_empty()).cloned().unwrap_or_else(|| "none".to_owned())
    };
    let changed = names.into_iter().filter(|name| there.get(*name) != own.get(*name));
    let told = changed.map(|name| format!("{name} was {}, is {}", shown(there, name), shown(own, name)));
    told.collect::<Vec<_>>().join("; ")
}

/// Returns the beginning of a program's SHA-256, because two builds may report the same version.
pub(super) fn checksum(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            bytes => context.update(&piece[..bytes]),
        }
    }
    Ok(context.finish().as_ref()[..6].iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::super::store::Played;
    use super::*;

    use weir_config::Source;
    use weir_config::lab::{self, Scenario};

    struct Bench {
        directory: tempfile::TempDir,
        scenario: Scenario,
        source: Source,
    }

    impl Bench {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join("weir"), "one").unwrap();
            std::fs::write(directory.path().join("haproxy"), "one").unwrap();
            let text = "rivals = [\"none\", \"weir\", \"haproxy\"]\n[[test]]\nrate = 1\npath = \"/\"\n";
            let source = Source::new("x", text);
            let scenario = lab::load(&source, false, &|_| None).unwrap();
            Self { directory, scenario, source }
        }

        fn compare(&self, store: &Store, versions: &[&str], topology: &str) -> Result<(), String> {
            let own = self.directory.path().join("weir");
            let play = Play { scenario: &self.scenario, source: &self.source, quick: false, own: &own };
            let program = |name: &str, version: &str| Program {
                path: self.directory.path().join(name),
                version: version.to_owned(),
            };
            let names = ["none", "weir", "haproxy"];
            let found = names.iter().zip(versions).zip(&self.scenario.rivals);
            let found: Vec<_> =
                found.map(|((name, version), rival)| (rival.clone(), program(name, version))).collect();
            compare(store, &play, &found, (topology, None)).map_err(|cause| match cause {
                PlayError::Other(said) => said,
                other => panic!("{other:?}"),
            })
        }
    }

    #[test]
    fn runs_of_other_programs_or_places_are_not_gone_on_with() {
        let bench = Bench::new();
        let mut store = Store::open(&bench.directory.path().join("x")).unwrap();
        let versions = ["", "1.0", "2.0"];
        // A file without runs cannot mix different identities.
        bench.compare(&store, &versions, "loopback").unwrap();
        bench.compare(&store, &versions, "namespaces").unwrap();
        store.add(&Played::default()).unwrap();
        bench.compare(&store, &versions, "namespaces").unwrap();
        let refused = |versions: &[&str], topology| bench.compare(&store, versions, topology).unwrap_err();
        let said = refused(&versions, "loopback");
        assert!(said.contains("topology was namespaces, is loopback") && said.contains("--output"), "{said}");
        let said = refused(&["", "1.0", "2.1"], "namespaces");
        assert!(said.contains("rival haproxy was 2.0 ") && !said.contains("kernel"), "{said}");
        let said = refused(&["", "1.0"], "namespaces");
        assert!(said.contains(", is not there"), "{said}");
        // Another build of a program with the same version.
        std::fs::write(bench.directory.path().join("weir"), "another").unwrap();
        let said = refused(&versions, "namespaces");
        assert!(said.contains("program weir was ") && said.contains("rival weir was 1.0 "), "{said}");
        store.set_meta(KEY, "").unwrap();
        assert!(refused(&versions, "namespaces").contains("which programs"));
    }
}
