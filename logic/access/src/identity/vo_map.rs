//! VO map files: assign certificates to organisations without VOMS.

use std::collections::BTreeMap;
use std::fmt;

use super::dn::rfc2253_from_slashes;

/// Certificate subjects and the organisations that the files assign to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VoMap {
    vos_by_subject: BTreeMap<String, Vec<Membership>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Membership {
    vo: String,
    /// Issuer of the certificate; `None` = any issuer.
    issuer: Option<String>,
}

/// Reason why a line of a map file is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoMapError {
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub why: String,
}

impl VoMap {
    /// Adds a file for the organisation `vo`. Its lines are `subject,issuer,email` with OpenSSL's names
    /// (`/C=IT/CN=Jo`), quoted or not (RFC 4180). Ignores empty lines and lines that begin with `#`.
    ///
    /// # Errors
    /// If a line is invalid; the error names the first one. Nothing is added then.
    pub fn add_file(&mut self, vo: &str, text: &str) -> Result<(), VoMapError> {
        let mut added = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fail = |why: String| VoMapError { line: at + 1, why };
            let fields = fields(line).ok_or_else(|| fail("a quote that does not end".to_owned()))?;
            let name = |field: &String| rfc2253_from_slashes(field).map_err(|error| fail(error.to_string()));
            let subject = name(fields.first().unwrap_or(&String::new()))?;
            let issuer = fields.get(1).filter(|issuer| !issuer.is_empty()).map(name).transpose()?;
            added.push((subject, Membership { vo: vo.to_owned(), issuer }));
        }
        for (subject, membership) in added {
            self.vos_by_subject.entry(subject).or_default().push(membership);
        }
        Ok(())
    }

    /// Returns the organisations of a certificate. Subject and issuer are in the form of RFC 2253.
    pub fn vos(&self, subject: &str, issuer: Option<&str>) -> Vec<String> {
        let mut vos = Vec::new();
        for membership in self.vos_by_subject.get(subject).into_iter().flatten() {
            let fits = membership.issuer.is_none() || membership.issuer.as_deref() == issuer;
            if fits && !vos.contains(&membership.vo) {
                vos.push(membership.vo.clone());
            }
        }
        vos
    }

    /// Returns the organisations of a subject with certificates from any issuer.
    pub fn vos_by_any_issuer(&self, subject: &str) -> Vec<String> {
        let mut vos = Vec::new();
        for membership in self.vos_by_subject.get(subject).into_iter().flatten() {
            if !vos.contains(&membership.vo) {
                vos.push(membership.vo.clone());
            }
        }
        vos
    }
}

/// Splits one line into fields. Returns `None` if a quote does not end.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted || field.is_empty() => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => field.push(c),
        }
    }
    (!quoted).then_some(fields)
}

impl fmt::Display for VoMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for VoMapError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_belongs_to_the_organisations_whose_files_name_it() {
        let mut map = VoMap::default();
        map.add_file("cms", "# members\n/C=IT/CN=Jo,/C=IT/CN=CA,jo@example.org\n\n\"/O=A, B/CN=Al\",,\n")
            .unwrap();
        map.add_file("atlas", "/C=IT/CN=Jo\n").unwrap();
        assert_eq!(map.vos("CN=Jo,C=IT", Some("CN=CA,C=IT")), ["cms", "atlas"]);
        assert_eq!(map.vos("CN=Jo,C=IT", Some("CN=Other,C=IT")), ["atlas"]);
        assert_eq!(map.vos_by_any_issuer("CN=Jo,C=IT"), ["cms", "atlas"]);
        assert_eq!(map.vos("CN=Al,O=A\\, B", None), ["cms"]);
        assert_eq!(map.vos("CN=Nobody,C=IT", None), [""; 0]);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named_and_nothing_is_added() {
        let mut map = VoMap::default();
        let error = map.add_file("cms", "/C=IT/CN=Jo\nCN=x\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: a distinguished name with slashes begins with /");
        assert_eq!(map, VoMap::default());
        assert_eq!(map.add_file("cms", "\"/C=IT").unwrap_err().line, 1);
    }
}
