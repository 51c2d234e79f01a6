//! Conversion of identities, paths and request attributes to Cedar entities.

use std::collections::{HashMap, HashSet};

use cedar_policy::{Context, Entity, EntityUid, RestrictedExpression};

use super::words::{Words, uid};
use crate::AccessPath;
use crate::identity::Identity;
use crate::rule::Circumstances;

impl Words {
    /// Returns the entity of an identity. One of Weir's own tokens counts as its holder.
    pub(super) fn principal(&self, identity: &Identity) -> Result<Entity, String> {
        let of = |id: &str, kind: &str, about: About<'_>| {
            let mut attributes = HashMap::from([
                ("kind".to_owned(), text(kind)),
                ("subject".to_owned(), text(about.subject)),
                ("groups".to_owned(), texts(about.groups)),
                ("scopes".to_owned(), texts(about.scopes)),
            ]);
            attributes.extend(about.issuer.map(|issuer| ("issuer".to_owned(), text(issuer))));
            attributes.extend(about.client.map(|client| ("client".to_owned(), text(client))));
            Entity::new(uid(&self.user, id), attributes, self.groups(identity)).map_err(|e| e.to_string())
        };
        match identity {
            Identity::Anonymous => Ok(Entity::with_uid(self.principal_uid(identity))),
            Identity::Delegated(delegation) => self.principal(&delegation.holder),
            // A user name contains no colon, so it never equals the id of a token or a certificate.
            Identity::Basic(user) => {
                of(&user.name, "password", About { subject: &user.name, ..About::default() })
            }
            Identity::Token(token) => {
                let about = About {
                    subject: &token.subject,
                    issuer: Some(&token.issuer),
                    client: token.client_id.as_deref(),
                    groups: &token.groups,
                    scopes: &token.scopes,
                };
                of(&id_of(identity), "token", about)
            }
            Identity::X509(x509) => {
                let groups = x509.voms.as_ref().map_or(&[][..], |voms| &voms.fqans);
                let issuer = x509.issuer.as_deref();
                let about = About { subject: &x509.subject, issuer, groups, ..About::default() };
                of(&id_of(identity), "certificate", about)
            }
        }
    }

    /// Returns the entity id of an identity.
    pub(super) fn principal_uid(&self, identity: &Identity) -> EntityUid {
        match identity {
            Identity::Anonymous => uid(&self.anonymous, ""),
            Identity::Delegated(delegation) => self.principal_uid(&delegation.holder),
            _ => uid(&self.user, &id_of(identity)),
        }
    }

    /// Returns the groups of an identity.
    pub(super) fn groups(&self, identity: &Identity) -> HashSet<EntityUid> {
        let group = |id: String| uid(&self.group, &id);
        match identity {
            Identity::Anonymous | Identity::Basic(_) => HashSet::new(),
            Identity::Delegated(delegation) => self.groups(&delegation.holder),
            Identity::Token(token) => {
                token.groups.iter().map(|name| group(format!("{}#{name}", token.issuer))).collect()
            }
            Identity::X509(x509) => {
                let fqans = x509.voms.iter().flat_map(|voms| &voms.fqans);
                let stated = fqans.map(|fqan| group(format!("voms:{fqan}")));
                let mapped = x509.mapped_vos.iter().map(|vo| group(format!("vo-map:{vo}")));
                stated.chain(mapped).collect()
            }
        }
    }

    /// Returns the entity of a path with all its ancestors. Cedar's `in` needs no other entities.
    pub(super) fn resource(&self, area: &str, path: &AccessPath) -> Result<Entity, String> {
        let mut above = HashSet::from([uid(&self.area, area), uid(&self.directory, "/")]);
        let mut written = String::new();
        for component in path.components() {
            written.push('/');
            written.push_str(component);
            above.insert(uid(&self.directory, &written));
        }
        if written.is_empty() {
            written.push('/');
        }
        let name = path.components().last().map_or("", String::as_str);
        let attributes = HashMap::from([
            ("path".to_owned(), text(&written)),
            ("name".to_owned(), text(name)),
            ("area".to_owned(), text(area)),
            ("directory".to_owned(), RestrictedExpression::new_bool(path.is_directory())),
        ]);
        Entity::new(uid(&self.path, &written), attributes, above).map_err(|error| error.to_string())
    }
}

impl Circumstances {
    pub(super) fn to_context(&self) -> Result<Context, String> {
        let now = RestrictedExpression::new_datetime(date_time(self.now_unix_secs));
        let client = self.client.map(|client| {
            ("client".to_owned(), RestrictedExpression::new_ip(client.to_canonical().to_string()))
        });
        let pairs = [("method".to_owned(), text(&self.method)), ("now".to_owned(), now)];
        Context::from_pairs(pairs.into_iter().chain(client)).map_err(|error| error.to_string())
    }
}

/// Attributes of a user.
#[derive(Default)]
struct About<'a> {
    subject: &'a str,
    issuer: Option<&'a str>,
    client: Option<&'a str>,
    groups: &'a [String],
    scopes: &'a [String],
}

fn id_of(identity: &Identity) -> String {
    match identity {
        Identity::Anonymous => String::new(),
        Identity::Basic(user) => user.name.clone(),
        Identity::Token(token) => format!("token:{}#{}", token.issuer, token.subject),
        Identity::X509(x509) => format!("certificate:{}", x509.subject),
        Identity::Delegated(delegation) => id_of(&delegation.holder),
    }
}

fn text(text: &str) -> RestrictedExpression {
    RestrictedExpression::new_string(text.to_owned())
}

fn texts(texts: &[String]) -> RestrictedExpression {
    RestrictedExpression::new_set(texts.iter().map(|one| text(one)))
}

/// Formats a time for Cedar: `2026-11-22T02:40:00Z`. Cedar's years have four digits, so later times become
/// the end of the year 9999.
fn date_time(unix_secs: u64) -> String {
    /// Last second of the year 9999.
    const LAST: u64 = 253_402_300_799;
    let secs = unix_secs.min(LAST);
    let (days, secs) = (secs / 86_400, secs % 86_400);
    // Convert days to a date in years that begin in March, so that a leap day is the last day of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (secs / 3_600, secs / 60 % 60, secs % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (1_800_000_000, "2027-01-15T08:00:00Z"),
            (u64::MAX, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(date_time(secs), text);
        }
    }
}
