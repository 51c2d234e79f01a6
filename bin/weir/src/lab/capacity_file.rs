//! Writes the measured capacity of a server into the config of a fleet. Changes only that value and keeps the
//! rest of the text.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use weir_config::Source;
use weir_scale::Capacity;

use crate::check;
use crate::config_files;

/// The place of a fleet's capacity in the config.
#[derive(Debug)]
pub(super) struct Place {
    fleet: String,
    sources: Vec<Source>,
    /// Index of the source that defines the fleet.
    at: usize,
}

impl Place {
    /// Finds the fleet. Checks before the measurement that its capacity can be written.
    ///
    /// # Errors
    /// If the config has no such fleet, or if its table has a form that cannot be edited.
    pub(super) fn find(config: &Path, fleet: &str) -> Result<Self, String> {
        let sources = config_files::read(config).map_err(|cause| cause.to_string())?;
        let header = |source: &Source| source.text.lines().any(|line| is_header(line, fleet));
        let at = sources.iter().position(header).ok_or_else(|| {
            format!("{}: there is no table [fleet.{fleet}] to write a capacity into", config.display())
        })?;
        let place = Self { fleet: fleet.to_owned(), sources, at };
        place.proved(1.0)?;
        Ok(place)
    }

    /// Writes the capacity, which applies after the next reload. Returns the path of the file.
    ///
    /// # Errors
    /// If the file cannot be written, or if it has changed since [`Place::find`].
    pub(super) fn write(&self, capacity: f64) -> Result<PathBuf, String> {
        let source = &self.sources[self.at];
        let failed = |cause: std::io::Error| format!("{}: {cause}", source.name);
        // Keeps a symbolic link and replaces its target.
        let path = fs::canonicalize(&source.name).map_err(failed)?;
        let text = self.proved(capacity)?;
        if fs::read_to_string(&path).map_err(failed)? != source.text {
            return Err(format!("{}: it has changed meanwhile; capacity = {capacity}", source.name));
        }
        let replace = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
            file.write_all(text.as_bytes())?;
            let old = fs::metadata(&path)?;
            // The user that runs Weir must still be able to read the file.
            if (old.uid(), old.gid()) != (file.as_file().metadata()?.uid(), file.as_file().metadata()?.gid())
            {
                fchown(file.as_file(), Some(old.uid()), Some(old.gid()))?;
            }
            file.as_file().set_permissions(old.permissions())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|cause| cause.error)?;
            Ok(())
        };
        replace().map_err(failed)?;
        Ok(path)
    }

    /// Returns the text with this capacity, after a check that the config with it is valid and has this
    /// value.
    fn proved(&self, capacity: f64) -> Result<String, String> {
        let source = &self.sources[self.at];
        let text = with_capacity(&source.text, &self.fleet, capacity)
            .map_err(|cause| format!("{}: {cause}", source.name))?;
        let mut sources = self.sources.clone();
        sources[self.at].text.clone_from(&text);
        let loaded = check::load_sources(&sources).map_err(|diagnostics| {
            let first = diagnostics.first().map(ToString::to_string).unwrap_or_default();
            format!("{}: with a capacity in it: {first}", source.name)
        })?;
        let fleet = loaded.plan.fleets.iter().find(|fleet| fleet.name.as_str() == self.fleet);
        match fleet.map(|fleet| &fleet.rules.capacity.standard) {
            Some(Capacity::Given(given)) if *given == capacity => Ok(text),
            _ => Err(format!(
                "{}: [fleet.{}] is not written so that its capacity can be replaced: write capacity = {capacity} there",
                source.name, self.fleet
            )),
        }
    }
}

/// Returns the text with `capacity` in the table of the fleet: in place of the old value, or as the first
/// line.
fn with_capacity(text: &str, fleet: &str, capacity: f64) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let header = lines.iter().position(|line| is_header(line, fleet));
    let header = header.ok_or_else(|| format!("there is no table [fleet.{fleet}]"))?;
    let rest = &lines[header + 1..];
    let length = rest.iter().position(|line| line.trim_start().starts_with('[')).unwrap_or(rest.len());
    let is_capacity = |line: &&str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "capacity");
    let mut out: String = lines[..=header].concat();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    match rest[..length].iter().position(is_capacity) {
        None => out.push_str(&format!("capacity = {capacity}\n{}", rest.concat())),
        Some(at) => {
            let line = rest[at];
            let key = line.split_once('=').map_or("capacity ", |(key, _)| key);
            // A number, a word or a table of numbers contains no `#`, so the first `#` starts the comment.
            let remark = line.find('#').map_or("", |from| &line[from..]).trim_end();
            let gap = if remark.is_empty() { "" } else { "  " };
            let (before, after) = (rest[..at].concat(), rest[at + 1..].concat());
            out.push_str(&format!("{before}{key}= {capacity}{gap}{remark}\n{after}"));
        }
    }
    Ok(out)
}

/// Returns true for `[fleet.NAME]`, optionally with blanks and a comment.
fn is_header(line: &str, fleet: &str) -> bool {
    let line = line.split('#').next().unwrap_or(line).trim();
    let Some(inner) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    inner.split_once('.').is_some_and(|(table, name)| {
        table.trim() == "fleet" && name.trim().trim_matches(['"', '\'']) == fleet
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "# Ours\n[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\ncheck = \"GET /health\"\n\n\
        [fleet.web] # servers\npool = \"web\"\nmax = 3\ncapacity = 10 # guessed\n\n[fleet.web.process]\ncommand = \"/bin/true\"\n";

    #[test]
    fn one_value_is_replaced_and_the_rest_stays_to_the_byte() {
        let out = with_capacity(CONFIG, "web", 93.5).unwrap();
        assert_eq!(out, CONFIG.replace("capacity = 10 # guessed", "capacity = 93.5  # guessed"));
        let without = CONFIG.replace("capacity = 10 # guessed\n", "");
        let out = with_capacity(&without, "web", 93.0).unwrap();
        assert_eq!(out, without.replace("# servers\n", "# servers\ncapacity = 93\n"));
        assert!(with_capacity(CONFIG, "other", 1.0).is_err());
        assert!(with_capacity("[fleet.\"web\"]", "web", 2.0).unwrap().ends_with("]\ncapacity = 2\n"));
    }

    #[test]
    fn a_capacity_is_written_into_the_file_that_has_the_fleet() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("1.toml"), directory.path().join("2.toml"));
        let (first, second) = CONFIG.split_once("[fleet.web]").unwrap();
        fs::write(&one, first).unwrap();
        fs::write(&two, format!("[fleet.web]{second}")).unwrap();
        let place = Place::find(directory.path(), "web").unwrap();
        assert_eq!(place.write(70.0).unwrap(), fs::canonicalize(&two).unwrap());
        assert_eq!(fs::read_to_string(&one).unwrap(), first);
        assert!(fs::read_to_string(&two).unwrap().contains("capacity = 70  # guessed"));
        let again = place.write(71.0).unwrap_err();
        assert!(again.contains("has changed meanwhile"), "{again}");
    }

    #[test]
    fn the_file_belongs_to_whom_it_belonged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("weir.toml");
        fs::write(&path, CONFIG).unwrap();
        if std::os::unix::fs::chown(&path, Some(4243), Some(4244)).is_err() {
            return weir_testkit::untested("needs root");
        }
        Place::find(&path, "web").unwrap().write(70.0).unwrap();
        let written = fs::metadata(&path).unwrap();
        assert_eq!((written.uid(), written.gid()), (4243, 4244));
    }

    #[test]
    fn what_cannot_be_written_is_told_before_anything_is_measured() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("weir.toml");
        let table = CONFIG.replace("capacity = 10 # guessed\n", "") + "[fleet.web.capacity]\ninitial = 5\n";
        let inline = "[listener.web]\nbind = \":0\"\npool = \"web\"\n[pool.web]\ncheck = \"GET /\"\n\
            [fleet]\nweb = { pool = \"web\", max = 3, capacity = 10, process = { command = \"/bin/true\" } }\n";
        for (config, said) in [
            (table.as_str(), "with a capacity in it"),
            (inline, "there is no table [fleet.web]"),
            ("[fleet.web]\n", "with a capacity in it"),
        ] {
            fs::write(&path, config).unwrap();
            let error = Place::find(&path, "web").unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), config);
        }
    }
}
