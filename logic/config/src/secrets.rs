//! Secrets in a plan: values of headers and environment variables that prove who someone is. They are masked where a plan is
//! shown to people.
//!
//! Secrets in files are in no plan. A header's value is a secret if its name says so (`Authorization`, `X-Api-Key`), and if
//! it comes from an environment variable. Texts that every client gets anyway (locations, fixed responses) are none.

use std::collections::BTreeSet;

use weir_http::{HeaderAction, HeaderRule, HeaderTest, RouteHeaders, RouteMatch};

use crate::Plan;
use crate::outline::Outline;
use crate::plan::{CheckKind, FleetProvider, Mode};
use crate::source::SourceMap;
use crate::tree::{Node, Value};

/// What stands in the place of a secret.
const MASK: &str = "********";

/// Words at the end of a part of a name that is a secret's: `X-Auth-Token`, `DB_PASSWORD`, `apikey`.
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

/// Masks the secrets of a plan.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Texts that hold an environment variable, filled in.
    from_environment: BTreeSet<String>,
}

impl Secrets {
    pub(crate) fn of(outline: &Outline) -> Self {
        let mut secrets = Self::default();
        secrets.collect(&SourceMap::new(&outline.sources), &outline.root);
        secrets
    }

    /// The plan with a mask in the place of each secret, for people. It does not run as the plan does.
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

    /// What a route asks of requests, with its secrets masked.
    pub fn mask_match(&self, matches: &RouteMatch) -> RouteMatch {
        let mut matches = matches.clone();
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
            mask_literals(expression);
        }
        matches
    }

    /// What a route writes into heads, with its secrets masked.
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

    /// Masks a text that may hold an environment variable.
    fn mask_text(&self, text: &mut String) {
        if self.from_environment.contains(text.as_str()) {
            MASK.clone_into(text);
        }
    }

    /// Masks a value whose name says that it is a secret.
    fn mask_named(&self, name: &str, value: &mut String) {
        self.mask_text(value);
        if is_secret(name) && !is_one_variable(value) {
            MASK.clone_into(value);
        }
    }
}

/// Whether the name of a header or of an environment variable is that of a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| WORDS.iter().any(|word| part.ends_with(word)))
}

/// Whether a value is filled in for each request: `{tls_client_subject}`.
fn is_one_variable(value: &str) -> bool {
    let inner = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(['{', '}']))
}

/// Masks the texts of an expression that reads a secret header, but for the names of such headers.
fn mask_literals(expression: &mut String) {
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let reads_secret = expression
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .any(|word| is_name(word) && is_secret(word));
    if !reads_secret {
        return;
    }
    let mut masked = String::with_capacity(expression.len());
    let mut rest = expression.as_str();
    while let Some(start) = rest.find(['\'', '"']) {
        let (before, literal) = rest.split_at(start);
        let quote = &literal[..1];
        masked.push_str(before);
        let Some(end) = end_of_literal(literal) else {
            masked.push_str(quote);
            masked.push_str(MASK);
            rest = "";
            break;
        };
        let text = &literal[1..end - 1];
        // `headers['x-api-key']`, `'x-api-key' in headers`
        let is_header = before.ends_with('[')
            || before.ends_with("[?")
            || literal[end..].trim_start().starts_with("in headers");
        masked.push_str(quote);
        masked.push_str(if is_header && is_name(text) { text } else { MASK });
        masked.push_str(quote);
        rest = &literal[end..];
    }
    masked.push_str(rest);
    *expression = masked;
}

/// The byte behind the closing quote of the literal at the start of a text.
fn end_of_literal(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate();
    let (_, quote) = bytes.next()?;
    let mut is_escaped = false;
    for (at, byte) in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
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
    fn an_expression_about_a_secret_header_loses_its_texts() {
        let masked = |text: &str| {
            let mut text = text.to_owned();
            mask_literals(&mut text);
            text
        };
        assert_eq!(
            masked("'x-api-key' in headers && headers['x-api-key'] == 'k\\'1' && path != \"/a\""),
            "'x-api-key' in headers && headers['x-api-key'] == '********' && path != \"********\""
        );
        assert_eq!(masked("headers.authorization == 'Bearer a'"), "headers.authorization == '********'");
        assert_eq!(
            masked("headers[?'cookie'].orValue('') != 'a"),
            "headers[?'cookie'].orValue('********') != '********"
        );
        assert_eq!(masked("headers['x-tenant'] == 'a'"), "headers['x-tenant'] == 'a'");
    }
}
