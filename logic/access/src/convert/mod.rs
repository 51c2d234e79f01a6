//! Conversion of a StoRM WebDAV configuration: `sa.d/*.properties` and `application.yml` become TOML for
//! Weir.
//!
//! Keys and defaults are those of StoRM's code (`OwnerStorageAreaInfo`, `OAuthProperties`,
//! `ServiceConfigurationProperties`, `ThirdPartyCopyProperties`). Its documentation differs in some places.
//!
//! Settings that cannot be converted are listed with file and line, never dropped silently. Notes about a
//! change of rights are marked ([`Note::is_about_access`]). Intended differences in meaning are noted too;
//! see the decision record on denials and scopes.

mod application;
mod area;
mod fit;
mod policy;
mod properties;
mod service;
mod token_issuer;
mod write;
mod yaml;

pub use properties::{Properties, PropertiesError, Property};

use std::fmt;

use application::Application;
use area::Area;

/// A file to convert.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Name of the file, for notes.
    pub name: &'a str,
    /// Text of the file.
    pub text: &'a str,
}

/// The result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Storage areas, their rules and token issuers, as TOML.
    pub toml: String,
    /// Notes on settings that were not converted or have another meaning, in the order of the files.
    pub notes: Vec<Note>,
}

/// A remark that the administrator should check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Name of the file.
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// Description, with the reason.
    pub what: String,
    /// Set when clients may do more or less than before, or may do what StoRM's documentation says is denied.
    pub is_about_access: bool,
}

/// A file and a line number, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    file: String,
    line: usize,
}

/// The notes collected so far and the name of the current file.
struct Notes<'a> {
    file: &'a str,
    notes: Vec<Note>,
}

impl Notes<'_> {
    fn add(&mut self, line: usize, what: impl Into<String>) {
        self.at(&self.place(line), what);
    }

    /// Adds a note about a position in any file.
    fn at(&mut self, place: &Place, what: impl Into<String>) {
        self.push(place, what.into(), false);
    }

    /// Adds a note about a change of rights.
    fn access(&mut self, line: usize, what: impl Into<String>) {
        self.access_at(&self.place(line), what);
    }

    /// Adds a note about a change of rights, at a position in any file.
    fn access_at(&mut self, place: &Place, what: impl Into<String>) {
        self.push(place, what.into(), true);
    }

    fn push(&mut self, place: &Place, what: String, is_about_access: bool) {
        self.notes.push(Note { file: place.file.clone(), line: place.line, what, is_about_access });
    }

    /// Returns the position of a line in the current file.
    fn place(&self, line: usize) -> Place {
        Place { file: self.file.to_owned(), line }
    }
}

/// Notes that apply to every area and that no line of StoRM's files states; `true` = about rights.
const FOR_ALL_AREAS: [(&str, bool); 6] = [
    ("symbolic links were followed; here they are not, in no area (symlinks = \"never\")", true),
    (
        "files are copied from and to other servers, as before (third-party-copy = true); those without TLS, with private \
         addresses, or certificates that the system does not trust, need http, private and ca of [third-party-copy]",
        false,
    ),
    ("a COPY to another server takes the right to read here; StoRM asks for the right to write", true),
    (
        "clients are asked for certificates only with [listener.https.tls.client-auth]: its ca is a PEM file of authorities",
        true,
    ),
    (
        "tokens and macaroons are issued only by a [token-endpoint.NAME] that areas name (token-endpoint)",
        false,
    ),
    (
        "variables of the environment (STORM_WEBDAV_..., in StoRM's systemd unit) are not read: ports, certificate, limits and VO map \
         files that they set are yours to carry over",
        false,
    ),
];

/// Note for a configuration in which StoRM's TLS listener rejects clients without a certificate.
const WITHOUT_CERTIFICATE: &str = "StoRM refuses TLS clients without a certificate (requireClientCert is true unless the files say otherwise); \
                                   here they connect, and may do what anonymous clients and bearers of tokens may";

/// Maximum size of a file, in bytes.
pub const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Converts the properties files of the storage areas and the YAML files of the service. The YAML files are
/// those of the active profiles, in their order; a later file overrides an earlier one.
///
/// # Errors
/// If a file of the service is unreadable. Its denials would be lost.
pub fn convert_storm(areas: &[Source<'_>], application: &[Source<'_>]) -> Result<Converted, Note> {
    let mut notes = Notes { file: "", notes: Vec::new() };
    let mut converted: Vec<Area> = Vec::new();
    for source in areas {
        notes.file = source.name;
        if let Some(area) = within_bounds(source, &mut notes).and_then(|text| Area::read(text, &mut notes)) {
            let name = fit::name(&area.name);
            match converted.iter().any(|other| other.name == area.name || fit::name(&other.name) == name) {
                true => {
                    notes.access(1, format!("another file has an area '{}': this one is left out", area.name))
                }
                false => converted.push(area),
            }
        }
    }
    let mut service = Application::default();
    for source in application {
        notes.file = source.name;
        let unreadable =
            |line, what| Note { file: source.name.to_owned(), line, what, is_about_access: false };
        let text = within_bounds(source, &mut notes)
            .ok_or_else(|| unreadable(1, format!("the file is longer than {BYTES_MAX} bytes")))?;
        service.read(text, &mut notes).map_err(|error| unreadable(error.line, error.why))?;
    }
    if let Some(first) = areas.first().filter(|_| !converted.is_empty()) {
        notes.file = first.name;
        for_all_areas(&service, &mut notes);
    }
    service.hand_out_policies(&mut converted, &mut notes);
    let issuers = fit::issuers(service.issuers, &mut notes);
    fit::areas(&mut converted, &issuers, &mut notes);
    for area in &mut converted {
        area.name = fit::name(&area.name);
    }
    let mut notes = notes.notes;
    // Sort by file and line, independent of the order of the findings.
    let sources: Vec<_> = areas.iter().chain(application).map(|source| source.name).collect();
    notes.sort_by_key(|note| (sources.iter().position(|name| *name == note.file), note.line));
    Ok(Converted { toml: write::toml(&converted, &issuers, &service.service), notes })
}

fn for_all_areas(service: &Application, notes: &mut Notes<'_>) {
    let place = notes.place(1);
    for (what, is_about_access) in FOR_ALL_AREAS {
        notes.push(&place, what.to_owned(), is_about_access);
    }
    if service.service.requires_certificates() {
        notes.access(1, WITHOUT_CERTIFICATE);
    }
}

fn within_bounds<'a>(source: &Source<'a>, notes: &mut Notes<'_>) -> Option<&'a str> {
    if source.text.len() <= BYTES_MAX {
        return Some(source.text);
    }
    notes.access(1, format!("the file is longer than {BYTES_MAX} bytes: left out"));
    None
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_about_access { "access: " } else { "" };
        write!(f, "{}:{}: {mark}{}", self.file, self.line, self.what)
    }
}
