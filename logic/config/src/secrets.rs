//! Finds secrets in a plan: values of headers and environment variables that authenticate someone. Weir masks
//! them when it shows a plan.
//!
//! A plan never contains secrets from files. The value of a header is secret if its name shows it
//! (`Authorization`, `X-Api-Key`), or if it comes from an environment variable. Texts that every client gets
//! (locations, fixed responses) are not secret.

use std::collections::BTreeSet;

use weir_http::{HeaderAction, HeaderRule, HeaderTest, HostPattern, PathPattern, RouteHeaders, RouteMatch};

use crate::Plan;
use crate::plan::{CheckKind, FleetProvider, Mode};
use crate::syntax::outline::Outline;
use crate::syntax::source::SourceMap;
use crate::syntax::tree::{Node, Value};

/// Text that replaces a secret.
const MASK: &str = "********";

/// Words that mark a name as that of a secret, at the end of a part of it: `X-Auth-Token`, `DB_PASSWORD`,
/// `apikey`.
const WORDS: [&str; 13] = [
    "auth",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "signature",
    "token",
];

/// The secrets of a plan, to mask them.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Texts with the values of environment variables.
    from_environment: BTreeSet<String>,
}

impl Secrets {
    pub(crate) fn of(outline: &Outline) -> Self {
        let mut secrets = Self::default();
        secrets.collect(&SourceMap::new(&outline.sources), &outline.root);
        secrets
    }

    /// Returns the plan with all secrets masked, only for display: the masked plan does not behave like the
    /// plan.
    pub fn mask(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        for listener in &mut plan.listeners {
            let Mode::Http(http) = &mut listener.mode else { continue };
            for route in &mut http.routes {
                route.matches = self.mask_match(&route.matches);
                route.headers = self.mask_headers(&route.headers);
            }
        }
        for pool in &mut plan.pools {
            if let Some(send) = pool.agent.as_mut().and_then(|agent| agent.send.as_mut()) {
                self.mask_text(send);
            }
            let Some(CheckKind::Http(check)) = pool.check.as_mut().map(|check| &mut check.kind) else {
                continue;
            };
            let headers = check.headers.iter_mut().chain(&mut check.expect_header);
            headers.for_each(|(name, value)| self.mask_named(name, value));
            self.mask_text(&mut check.path);
            check.expect_body.iter_mut().for_each(|body| self.mask_text(body));
        }
        for fleet in &mut plan.fleets {
            let (command, named) = match &mut fleet.provider {
                FleetProvider::Process(it) => (&mut it.command[..], Some(&mut it.environment)),
                FleetProvider::Exec(it) => (&mut it.command[..], Some(&mut it.environment)),
                FleetProvider::OpenStack(it) => (&mut it.tags[..], Some(&mut it.metadata)),
                FleetProvider::Kubernetes(_) => (&mut [][..], None),
            };
            command.iter_mut().for_each(|text| self.mask_text(text));
            named.into_iter().flatten().for_each(|(name, value)| self.mask_named(name, value));
        }
        plan
    }

    /// Returns the conditions of a route, with secrets masked.
    pub fn mask_match(&self, matches: &RouteMatch) -> RouteMatch {
        let mut matches = matches.clone();
        for HostPattern::Exact(text) | HostPattern::Wildcard(text) in &mut matches.hosts {
            self.mask_text(text);
        }
        for PathPattern::Exact(text) | PathPattern::Prefix(text) | PathPattern::Glob(text) in
            &mut matches.paths
        {
            self.mask_text(text);
        }
        for header in &mut matches.headers {
            match &mut header.test {
                HeaderTest::Present | HeaderTest::Absent => {}
                HeaderTest::Exact(value) | HeaderTest::Contains(value) => {
                    self.mask_named(&header.name, value)
                }
            }
        }
        if let Some(expression) = &mut matches.expression {
            self.mask_text(expression);
            mask_expression(expression);
        }
        matches
    }

    /// Returns the header rules of a route, with secrets masked.
    pub fn mask_headers(&self, headers: &RouteHeaders) -> RouteHeaders {
        let mask = |rule: &HeaderRule| {
            let mut rule = rule.clone();
            match &mut rule.action {
                HeaderAction::Remove => {}
                HeaderAction::Set(value) | HeaderAction::Add(value) => self.mask_named(&rule.name, value),
            }
            rule
        };
        RouteHeaders {
            request: headers.request.iter().map(mask).collect(),
            response: headers.response.iter().map(mask).collect(),
        }
    }

    fn collect(&mut self, map: &SourceMap<'_>, node: &Node) {
        match &node.value {
            Value::Text(text) => {
                let written = map.text(node.span).unwrap_or_default();
                if written.replace("$${", "").contains("${") {
                    self.from_environment.insert(text.text.clone());
                }
            }
            Value::List(nodes) => nodes.iter().for_each(|node| self.collect(map, node)),
            Value::Table(entries) => entries.iter().for_each(|(_, node)| self.collect(map, node)),
            _ => {}
        }
    }

    /// Masks a text that may contain an environment variable, or may be a part of such a text.
    fn mask_text(&self, text: &mut String) {
        // Shorter parts reveal little, and occur in too many other texts.
        const PART_BYTES_MIN: usize = 4;
        let is_from_environment =
            |whole: &String| whole == text || (text.len() >= PART_BYTES_MIN && whole.contains(text.as_str()));
        if self.from_environment.iter().any(is_from_environment) {
            MASK.clone_into(text);
        }
    }

    /// Masks a value if its name is that of a secret.
    fn mask_named(&self, name: &str, value: &mut String) {
        self.mask_text(value);
        if is_secret(name) && !is_one_variable(value) {
            MASK.clone_into(value);
        }
    }
}

/// Returns true if the name of a header or environment variable is that of a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| WORDS.iter().any(|word| part.ends_with(word)))
}

/// Returns true if the value is one variable that Weir fills in for each request, such as
/// `{tls_client_subject}`.
fn is_one_variable(value: &str) -> bool {
    let inner = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(['{', '}']))
}

/// Masks a whole expression that reads a secret header: its texts have too many forms to find the secret one
/// safely.
fn mask_expression(expression: &mut String) {
    let mut words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    if words.any(|word| !word.is_empty() && is_secret(word)) {
        MASK.clone_into(expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "X-Api-Key",
            "X-Auth-Token",
            "DB_PASSWORD",
            "ApiKey",
            "x-consumer-secret",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["Host", "X-Client", "X-Forwarded-For", "Accept", "PATH", "X-Tenant", "Keyboard", "X-Author"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn an_expression_about_a_secret_header_is_masked_as_a_whole() {
        let masked = |text: &str| {
            let mut text = text.to_owned();
            mask_expression(&mut text);
            text
        };
        for secret in [
            "headers['x-api-key'] == 'k'",
            "headers.authorization == 'Bearer a'",
            "headers['x-api-key'] == r'a\\' || headers['x-api-key'] == 'k'",
            "headers['x-api-key'] in ['k1', 'k2']",
        ] {
            assert_eq!(masked(secret), MASK, "{secret}");
        }
        assert_eq!(masked("headers['x-tenant'] == 'a'"), "headers['x-tenant'] == 'a'");
    }
}
