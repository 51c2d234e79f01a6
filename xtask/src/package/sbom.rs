//! Writes the software bill of materials of a package: every crate that is compiled into the program, as
//! CycloneDX 1.5 (<https://cyclonedx.org/docs/1.5/json/>). Vulnerability scanners read it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Release;
use crate::command;

/// Features of the packaged program. With more, the bill would list crates that packages do not contain.
const FEATURES: &str = "weir/kubernetes";

/// Writes the bill into `out` and returns its path.
pub(super) fn build(release: &Release, out: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&release.root).args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--features",
        FEATURES,
    ]);
    cargo.args(["--filter-platform", &format!("{}-unknown-linux-gnu", std::env::consts::ARCH)]);
    let metadata = command::output(&mut cargo)?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|cause| format!("cargo metadata: {cause}"))?;
    let lock = release.root.join("Cargo.lock");
    let at = lock.display();
    let lock = fs::read_to_string(&lock).map_err(|cause| format!("{at}: {cause}"))?;
    let lock: toml::Table = lock.parse().map_err(|cause| format!("{at}: {cause}"))?;
    let bill = bill(&metadata, &checksums(&lock), &release.version)?;
    let path = out.join(format!("weir_{}_{}.cdx.json", release.version, release.architecture));
    fs::write(&path, format!("{bill:#}\n")).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(path)
}

/// Returns the SHA-256 of the sources of each crate, by name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let checksum = |package: &toml::Value| {
        let text = |key: &str| package.get(key)?.as_str().map(str::to_owned);
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    packages.filter_map(checksum).collect()
}

fn bill(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    version: &str,
) -> Result<Value, String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
    // Dependencies by package, without those that only its tests need.
    let needs: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            let ships =
                |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev");
            let needed = list(&node["deps"]);
            (text(&node["id"]), needed.iter().filter(ships).map(|needed| text(&needed["pkg"])).collect())
        })
        .collect();
    let program = packages.iter().find(|(_, package)| package["name"] == "weir").map(|(id, _)| id.clone());
    let program = program.ok_or("cargo metadata: there is no package weir")?;
    let mut reached = BTreeSet::new();
    let mut next = vec![program.clone()];
    while let Some(id) = next.pop() {
        if reached.insert(id.clone()) {
            next.extend(needs.get(&id).into_iter().flatten().cloned());
        }
    }
    let name =
        |id: &str| format!("pkg:cargo/{}@{}", text(&packages[id]["name"]), text(&packages[id]["version"]));
    let components = reached.iter().filter(|id| **id != program).map(|id| {
        let package = &packages[id];
        let mut component = json!({
            "type": "library",
            "bom-ref": name(id),
            "name": package["name"],
            "version": package["version"],
            "purl": name(id),
        });
        if let Some(license) = package["license"].as_str() {
            // `MIT/Apache-2.0` is an older way to write `MIT OR Apache-2.0`.
            component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
        }
        if let Some(sum) = checksums.get(&(text(&package["name"]), text(&package["version"]))) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    });
    let dependencies = reached.iter().map(|id| {
        let needed: BTreeSet<String> = needs.get(id).into_iter().flatten().map(|id| name(id)).collect();
        json!({ "ref": name(id), "dependsOn": needed })
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": { "type": "application", "bom-ref": name(&program), "name": "weir", "version": version },
        },
        "components": components.collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}
