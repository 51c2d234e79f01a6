//! Conversion of a storage area's properties file.

use std::collections::BTreeSet;

use super::properties::{Properties, Property};
use super::{Notes, Place};
use crate::rule::{AreaSpec, Principal};

/// One storage area during the conversion.
#[derive(Debug, Clone)]
pub(super) struct Area {
    pub(super) name: String,
    pub(super) root: String,
    pub(super) access_points: Vec<String>,
    pub(super) rules: AreaSpec,
    /// Position of the list of its issuers.
    pub(super) issuers_place: Place,
    /// Position of each of its policies.
    pub(super) policy_places: Vec<Place>,
}

/// The switches of a properties file. A missing key has the default of StoRM's code (`OwnerStorageAreaInfo`).
#[derive(Debug, Clone, Copy)]
struct FileSwitches {
    anonymous_read: bool,
    authenticated_read: bool,
    vo_map_enabled: bool,
    vo_map_grants_write: bool,
    orgs_grant_read: bool,
    /// Default true in StoRM's code, although its documentation says false.
    orgs_grant_write: bool,
    wlcg_scopes: bool,
    fine_grained: bool,
}

/// Keys that StoRM's documentation or examples contain but its code ignores, with the keys that the code
/// reads instead.
const DEAD_KEYS: [(&str, &str); 2] = [
    ("voMapGrantsWriteAccess", "voMapGrantsWritePermission"),
    ("orgsGrantWritePermissions", "orgsGrantWritePermission"),
];

/// Notes on the tokens that only one of StoRM and Weir accepts (`TrustedJwtDecoderCacheLoader`,
/// `WlcgProfileValidator`).
const FOR_TOKENS: [&str; 2] = [
    "refused here, accepted by StoRM: tokens that are no access tokens (ID tokens, logout tokens), that have no exp, or that are valid for \
     more than 7 days (max-lifetime of [token-issuer.NAME])",
    "accepted here, refused by StoRM: tokens of the WLCG profile without nbf, or of a version 1.x other than 1.0",
];

/// Note on the different meaning of storage scopes (`WlcgStructuredPathAuthorizationPdp`,
/// `StructuredPathScopeMatcher`).
const STORAGE_SCOPES: &str = "storage.stage does not permit to read here, and the path of a scope ends with a whole name; StoRM reads with \
                              storage.stage, and takes /foo of a scope for /foobar, too";

impl Default for FileSwitches {
    fn default() -> Self {
        Self {
            anonymous_read: false,
            authenticated_read: false,
            vo_map_enabled: true,
            vo_map_grants_write: false,
            orgs_grant_read: true,
            orgs_grant_write: true,
            wlcg_scopes: false,
            fine_grained: false,
        }
    }
}

impl Area {
    /// Reads one file of `sa.d`. Returns `None`, with a note, if the file has no name, root or access point,
    /// or is invalid.
    pub(super) fn read(text: &str, notes: &mut Notes<'_>) -> Option<Self> {
        let properties = match Properties::parse(text) {
            Ok(properties) => properties,
            Err(error) => {
                notes.access(error.line, "\\u without four hexadecimal digits: the file is left out");
                return None;
            }
        };
        let line_of = |key: &str| properties.get(key).map_or(1, |entry| entry.line);
        let mut area = Self {
            name: String::new(),
            root: String::new(),
            access_points: Vec::new(),
            rules: AreaSpec::default(),
            issuers_place: notes.place(line_of("orgs")),
            policy_places: Vec::new(),
        };
        let mut switches = FileSwitches::default();
        for entry in properties.entries() {
            match switches.place_of(&entry.key) {
                Some(place) => *place = flag(entry, notes)?,
                None => area.take(entry, notes),
            }
        }
        let given = [
            ("name", !area.name.is_empty()),
            ("rootPath", !area.root.is_empty()),
            ("accessPoints", !area.access_points.is_empty()),
        ];
        if let Some((missing, _)) = given.iter().find(|(_, given)| !given) {
            notes.access(1, format!("{missing} is missing: the file is left out"));
            return None;
        }
        if !area.root.starts_with('/') || area.root.contains('\0') {
            notes.access(1, "rootPath does not begin with a /: the file is left out");
            return None;
        }
        let mut seen = BTreeSet::new();
        area.access_points.retain(|point| seen.insert(point.clone()));
        let points: Vec<_> = area.access_points.iter().map(String::as_str).collect();
        if let Err(error) = area.rules.resolve(&area.name, &points) {
            notes.access(1, format!("{error}: the file is left out"));
            return None;
        }
        switches.apply(&mut area.rules);
        area.note_rights(&properties, switches, notes);
        Some(area)
    }

    /// Returns the organisations whose members a VO map file may define, if the area's rules use such files.
    pub(super) fn mapped_organisations(&self) -> BTreeSet<&str> {
        let by_switch = self.rules.vo_map_read || self.rules.vo_map_write;
        let of_switches = self.rules.vos.iter().filter(|_| by_switch);
        let principals = self.rules.policy.iter().flat_map(|policy| &policy.principals);
        let of_policies = principals.filter_map(|principal| match principal {
            Principal::VoMap { vo } => Some(vo),
            _ => None,
        });
        of_switches.chain(of_policies).map(String::as_str).collect()
    }

    fn take(&mut self, entry: &Property, notes: &mut Notes<'_>) {
        let value = entry.value.trim();
        match entry.key.as_str() {
            "name" => value.clone_into(&mut self.name),
            "rootPath" => value.clone_into(&mut self.root),
            "accessPoints" => self.access_points = parts(value),
            "vos" => {
                self.rules.vos = parts(value);
                if !self.rules.vos.is_empty() {
                    notes.access(
                        entry.line,
                        "vos: a proxy in front (identity-from) or a file (vo-maps) must say who is a member: Weir does not read VOMS \
                         attributes of certificates",
                    );
                }
            }
            "orgs" => self.rules.issuers = parts(value),
            // StoRM reads this key but does not use it.
            "filesystemType" => {}
            "tapeEnabled" => {
                if value.eq_ignore_ascii_case("true") {
                    notes.add(
                        entry.line,
                        "tapeEnabled is not carried over: files that are on tape only are not recognised",
                    );
                }
            }
            key => match DEAD_KEYS.iter().find(|(dead, _)| *dead == key) {
                Some((dead, live)) => {
                    notes.access(
                        entry.line,
                        format!(
                            "{dead} has no effect in StoRM, whose code reads {live}; it has none here, either"
                        ),
                    );
                }
                None => notes.add(entry.line, format!("{key} is no key that StoRM's code reads: left out")),
            },
        }
    }

    /// Notes each right that differs from StoRM's code or from StoRM's documentation.
    fn note_rights(&self, properties: &Properties, switches: FileSwitches, notes: &mut Notes<'_>) {
        let line_of = |key: &str| properties.get(key).map_or(1, |entry| entry.line);
        let rules = &self.rules;
        if rules.anonymous_read {
            notes.access(
                line_of("anonymousReadEnabled"),
                "anonymousReadEnabled: bearers of tokens read, too; StoRM refuses those whose issuer is not in orgs",
            );
        }
        if !rules.vos.is_empty() && switches.vo_map_grants_write && !switches.vo_map_enabled {
            notes.add(
                line_of("voMapGrantsWritePermission"),
                "voMapGrantsWritePermission without voMapEnabled lets nobody write, as before",
            );
        }
        if rules.issuers.is_empty() {
            return;
        }
        let orgs = line_of("orgs");
        if rules.issuers_write && properties.get("orgsGrantWritePermission").is_none() {
            notes.access(
                orgs,
                "orgsGrantWritePermission is not set, and StoRM's code takes true for it, not false as its documents say: \
                 bearers of tokens may write, as before; if they must not, write issuers-write = false",
            );
        }
        if properties.get("orgsGrantWritePermission").is_some()
            && switches.orgs_grant_write
            && !switches.orgs_grant_read
        {
            notes.add(
                line_of("orgsGrantWritePermission"),
                "orgsGrantWritePermission without orgsGrantReadPermission lets nobody write, as before",
            );
        }
        if rules.issuers_read || rules.issuers_write {
            notes.access(
                orgs,
                "tokens with storage scopes are limited to them here; orgsGrant* is for tokens without",
            );
        }
        for what in FOR_TOKENS {
            notes.access(orgs, what);
        }
        if rules.token_scopes {
            notes.access(line_of("wlcgScopeAuthzEnabled"), STORAGE_SCOPES);
        }
    }
}

impl FileSwitches {
    fn place_of(&mut self, key: &str) -> Option<&mut bool> {
        Some(match key {
            "anonymousReadEnabled" => &mut self.anonymous_read,
            "authenticatedReadEnabled" => &mut self.authenticated_read,
            "voMapEnabled" => &mut self.vo_map_enabled,
            "voMapGrantsWritePermission" => &mut self.vo_map_grants_write,
            "orgsGrantReadPermission" => &mut self.orgs_grant_read,
            "orgsGrantWritePermission" => &mut self.orgs_grant_write,
            "wlcgScopeAuthzEnabled" => &mut self.wlcg_scopes,
            "fineGrainedAuthzEnabled" => &mut self.fine_grained,
            _ => return None,
        })
    }

    /// Sets the rules from the switches. In StoRM, a client needs the right to read in order to write
    /// (`SecurityConfig`, `VOMSPolicyService`). `authenticatedReadEnabled` applies only to certificates:
    /// tokens get rights only through their issuers (`GrantedAuthoritiesMapperSupport`).
    fn apply(self, rules: &mut AreaSpec) {
        rules.anonymous_read = self.anonymous_read;
        rules.certificate_read = self.authenticated_read;
        rules.vo_map_read = self.vo_map_enabled;
        rules.vo_map_write = self.vo_map_enabled && self.vo_map_grants_write;
        rules.issuers_read = self.orgs_grant_read;
        rules.issuers_write = self.orgs_grant_read && self.orgs_grant_write;
        rules.token_scopes = self.wlcg_scopes;
        rules.policies = self.fine_grained;
    }
}

/// Parses the value of a switch. StoRM does not start with an invalid value. For a switch that can deny, the
/// function then returns `None`, because ignoring the value could lose denials.
fn flag(entry: &Property, notes: &mut Notes<'_>) -> Option<bool> {
    let (key, value) = (&entry.key, entry.value.trim());
    if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") {
        return Some(value.eq_ignore_ascii_case("true"));
    }
    let denies = key == "fineGrainedAuthzEnabled";
    let consequence = if denies { "the file is left out" } else { "taken as false" };
    notes.access(entry.line, format!("{key} is neither true nor false: {consequence}"));
    (!denies).then_some(false)
}

/// Splits a value at commas.
fn parts(value: &str) -> Vec<String> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
