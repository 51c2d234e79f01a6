//! A StoRM WebDAV configuration, carried over: `sa.d/*.properties` and `application.yml` become TOML for Weir.
//!
//! What cannot be carried over is listed with file and line, never dropped in silence. The meaning that differs on purpose is
//! noted, too: see the decision record on denials and scopes.

mod application;
mod area;
mod fit;
mod properties;
mod service;
mod write;
mod yaml;

pub use properties::{Properties, PropertiesError, Property};

use std::fmt;

use application::Application;
use area::Area;

/// A file to convert.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name, for notes.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Storage areas, their rules and token issuers.
    pub toml: String,
    /// What was not carried over, or means something else, in the order of the files.
    pub notes: Vec<Note>,
}

/// One thing that needs a look.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The file.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What, and why.
    pub what: String,
}

/// Where notes are collected for one file.
struct Notes<'a> {
    file: &'a str,
    notes: Vec<Note>,
}

impl Notes<'_> {
    fn add(&mut self, line: usize, what: impl Into<String>) {
        self.notes.push(Note { file: self.file.to_owned(), line, what: what.into() });
    }

    /// In the order of the lines, whenever each was noticed.
    fn hand_over(mut self, all: &mut Vec<Note>) {
        self.notes.sort_by_key(|note| note.line);
        all.append(&mut self.notes);
    }
}

/// Largest file, in bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Converts the properties files of storage areas and the service's YAML files, of which the later ones add to the first.
pub fn convert_storm(areas: &[Source<'_>], application: &[Source<'_>]) -> Converted {
    let mut all_notes = Vec::new();
    let mut converted: Vec<Area> = Vec::new();
    for source in areas {
        let mut notes = Notes { file: source.name, notes: Vec::new() };
        if let Some(area) = within_bounds(source, &mut notes).and_then(|text| Area::read(text, &mut notes)) {
            let name = fit::name(&area.name);
            match converted.iter().any(|other| other.name == area.name || fit::name(&other.name) == name) {
                true => {
                    notes.add(1, format!("another file has an area '{}': this one is left out", area.name))
                }
                false => converted.push(area),
            }
        }
        notes.hand_over(&mut all_notes);
    }
    let mut service = Application::default();
    for source in application {
        let mut notes = Notes { file: source.name, notes: Vec::new() };
        if let Some(text) = within_bounds(source, &mut notes) {
            service.read(text, &mut notes);
            service.hand_out_policies(&mut converted, &mut notes);
        }
        notes.hand_over(&mut all_notes);
    }
    let mut notes =
        Notes { file: application.last().map_or("application.yml", |last| last.name), notes: Vec::new() };
    let issuers = fit::issuers(service.issuers, &mut notes);
    fit::areas(&mut converted, &issuers, &mut notes);
    notes.hand_over(&mut all_notes);
    for area in &mut converted {
        area.name = fit::name(&area.name);
    }
    Converted { toml: write::toml(&converted, &issuers, &service.service), notes: all_notes }
}

fn within_bounds<'a>(source: &Source<'a>, notes: &mut Notes<'_>) -> Option<&'a str> {
    if source.text.len() <= BYTES_MAX {
        return Some(source.text);
    }
    notes.add(1, format!("the file is longer than {BYTES_MAX} bytes: left out"));
    None
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}
