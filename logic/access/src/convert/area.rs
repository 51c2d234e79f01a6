use std::collections::BTreeSet;

use super::properties::{Properties, Property};
use super::{Notes, Place};
use crate::rule::{AreaSpec, Principal};

/// One storage area on its way.
#[derive(Debug, Clone)]
pub(super) struct Area {
    pub(super) name: String,
    pub(super) root: String,
    pub(super) access_points: Vec<String>,
    pub(super) rules: AreaSpec,
    /// Where its issuers are listed.
    pub(super) issuers_place: Place,
    /// Where each of its policies stands.
    pub(super) policy_places: Vec<Place>,
}

impl Area {
    /// Reads one file of `sa.d`. `None`: without a name, a root or an access point there is no area, as notes say.
    pub(super) fn read(text: &str, notes: &mut Notes<'_>) -> Option<Self> {
        let properties = match Properties::parse(text) {
            Ok(properties) => properties,
            Err(error) => {
                notes.add(error.line, "\\u without four hexadecimal digits: the file is left out");
                return None;
            }
        };
        // What StoRM takes for granted where nothing is said.
        let mut area = Self {
            name: String::new(),
            root: String::new(),
            access_points: Vec::new(),
            rules: AreaSpec { policies: false, ..AreaSpec::default() },
            issuers_place: notes.place(properties.get("orgs").map_or(1, |entry| entry.line)),
            policy_places: Vec::new(),
        };
        for entry in properties.entries() {
            area.take(entry, notes);
        }
        let given = [
            ("name", !area.name.is_empty()),
            ("rootPath", !area.root.is_empty()),
            ("accessPoints", !area.access_points.is_empty()),
        ];
        if let Some((missing, _)) = given.iter().find(|(_, given)| !given) {
            notes.add(1, format!("{missing} is missing: the file is left out"));
            return None;
        }
        if !area.root.starts_with('/') || area.root.contains('\0') {
            notes.add(1, "rootPath does not begin with a /: the file is left out");
            return None;
        }
        let mut seen = BTreeSet::new();
        area.access_points.retain(|point| seen.insert(point.clone()));
        let points: Vec<_> = area.access_points.iter().map(String::as_str).collect();
        if let Err(error) = area.rules.resolve(&area.name, &points) {
            notes.add(1, format!("{error}: the file is left out"));
            return None;
        }
        if area.rules.token_scopes && (area.rules.issuers_read || area.rules.issuers_write) {
            let line = properties.get("wlcgScopeAuthzEnabled").map_or(1, |entry| entry.line);
            let text =
                "tokens with storage scopes are limited to them here; orgsGrant* is for tokens without";
            notes.add(line, text);
        }
        Some(area)
    }

    /// The organisations of which a file may say who is a member, as its rules count that.
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
        let rules = &mut self.rules;
        let switch = match entry.key.as_str() {
            "name" => return value.clone_into(&mut self.name),
            "rootPath" => return value.clone_into(&mut self.root),
            "accessPoints" => return self.access_points = parts(value),
            "vos" => {
                rules.vos = parts(value);
                if !rules.vos.is_empty() {
                    notes.add(
                        entry.line,
                        "vos: who is a member says a proxy in front (identity-from) or a file (vo-maps): VOMS attributes of \
                         certificates are not read here",
                    );
                }
                return;
            }
            "orgs" => return rules.issuers = parts(value),
            "authenticatedReadEnabled" => &mut rules.authenticated_read,
            "anonymousReadEnabled" => &mut rules.anonymous_read,
            "voMapEnabled" => &mut rules.vo_map_read,
            "voMapGrantsWriteAccess" => &mut rules.vo_map_write,
            "orgsGrantReadPermission" => &mut rules.issuers_read,
            "orgsGrantWritePermission" => &mut rules.issuers_write,
            "wlcgScopeAuthzEnabled" => &mut rules.token_scopes,
            "fineGrainedAuthzEnabled" => &mut rules.policies,
            "tapeEnabled" => {
                if value.eq_ignore_ascii_case("true") {
                    notes.add(
                        entry.line,
                        "tapeEnabled is not carried over: files that are on tape only are not recognised",
                    );
                }
                return;
            }
            other => return notes.add(entry.line, format!("{other} is not known here")),
        };
        *switch = value.eq_ignore_ascii_case("true");
        if !*switch && !value.eq_ignore_ascii_case("false") {
            notes.add(entry.line, format!("{} is neither true nor false: taken as false", entry.key));
        }
    }
}

/// Parted at commas.
fn parts(value: &str) -> Vec<String> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
