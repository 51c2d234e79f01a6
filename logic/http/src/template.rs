//! Templates of header values and redirect locations.

use std::fmt;

/// A compiled header value or redirect location with variables. `{{` and `}}` stand for braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// The values of the variables of a [`Template`]; unknown values are empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Variables<'a> {
    /// `{client_ip}`: the client as routes see it, which a trusted peer may name.
    pub client_ip: &'a [u8],
    /// `{client_port}`; 0 = none or unknown.
    pub client_port: u16,
    /// `{host}`: as sent by the client, without port.
    pub host: &'a [u8],
    /// `{path}`: as for the server, before a rewrite.
    pub path: &'a [u8],
    /// `{query}`: without `?`. `{uri}` is the path, with `?` and the query if there is one.
    pub query: Option<&'a [u8]>,
    /// `{method}`
    pub method: &'a [u8],
    /// `{scheme}`
    pub scheme: &'a str,
    /// `{listener}`
    pub listener: &'a str,
    /// `{route}`
    pub route: &'a str,
    /// `{pool}`
    pub pool: &'a str,
    /// `{server}`
    pub server: &'a str,
    /// `{request_id}`
    pub request_id: &'a str,
    /// `{tls_version}`
    pub tls_version: &'a str,
    /// `{tls_cipher}`
    pub tls_cipher: &'a str,
    /// `{tls_sni}`
    pub tls_sni: &'a str,
    /// `{tls_client_subject}`
    pub tls_client_subject: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(Box<[u8]>),
    Variable(Variable),
}

/// The reason why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateError {
    /// `{` without `}`.
    Unclosed,
    /// `}` without `{`.
    Unopened,
    /// A variable with this name does not exist.
    Unknown(String),
    /// A control character, which no header value may contain.
    Control(char),
}

macro_rules! variables {
    ($($variant:ident = $name:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        enum Variable { $($variant,)* }

        impl Variable {
            fn of_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }
        }

        impl Template {
            /// Names of all variables.
            pub const VARIABLES: &[&str] = &[$($name,)*];
        }
    };
}

variables! {
    ClientIp = "client_ip",
    ClientPort = "client_port",
    Host = "host",
    Path = "path",
    Query = "query",
    Uri = "uri",
    Method = "method",
    Scheme = "scheme",
    Listener = "listener",
    Route = "route",
    Pool = "pool",
    Server = "server",
    RequestId = "request_id",
    TlsVersion = "tls_version",
    TlsCipher = "tls_cipher",
    TlsSni = "tls_sni",
    TlsClientSubject = "tls_client_subject",
}

impl Template {
    /// Compiles `text`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if let Some(control) = text.chars().find(|c| c.is_control() && *c != '\t') {
            return Err(TemplateError::Control(control));
        }
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.extend_from_slice(&rest.as_bytes()[..at]);
            let brace = rest.as_bytes()[at];
            let after = &rest[at + 1..];
            if after.as_bytes().first() == Some(&brace) {
                literal.push(brace);
                rest = &after[1..];
                continue;
            }
            if brace == b'}' {
                return Err(TemplateError::Unopened);
            }
            let (name, behind) = after.split_once('}').ok_or(TemplateError::Unclosed)?;
            let variable = Variable::of_name(name).ok_or_else(|| TemplateError::Unknown(name.to_owned()))?;
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal).into()));
            }
            parts.push(Part::Variable(variable));
            rest = behind;
        }
        literal.extend_from_slice(rest.as_bytes());
        if !literal.is_empty() {
            parts.push(Part::Literal(literal.into()));
        }
        Ok(Self { parts })
    }

    /// Appends the text with the values of its variables. Drops control characters in the values.
    pub fn expand(&self, out: &mut Vec<u8>, variables: &Variables<'_>) {
        for part in &self.parts {
            match part {
                Part::Literal(text) => out.extend_from_slice(text),
                Part::Variable(variable) => variables.append(*variable, out),
            }
        }
    }

    /// Appends the text for a Location header. `//host` and `/\\host` refer to another host (RFC 3986 section
    /// 4.2, and browsers). Only the template itself may begin with such a reference; the path of a request
    /// never becomes a host.
    pub fn expand_location(&self, out: &mut Vec<u8>, variables: &Variables<'_>) {
        let names_host = |text: &[u8]| matches!(text, [b'/', b'/' | b'\\', ..]);
        let start = out.len();
        self.expand(out, variables);
        let is_meant = matches!(self.parts.first(), Some(Part::Literal(text)) if names_host(text));
        if !is_meant && names_host(&out[start..]) {
            out.splice(start..start, *b"/.");
        }
    }

    /// Returns true if the template uses data of the request (`{method}`, `{host}`, `{path}`, `{query}`,
    /// `{uri}`). A caller that expands it after the request's buffer is gone must keep that data.
    pub fn needs_request(&self) -> bool {
        self.parts.iter().any(|part| {
            matches!(
                part,
                Part::Variable(
                    Variable::Method | Variable::Host | Variable::Path | Variable::Query | Variable::Uri
                )
            )
        })
    }
}

impl Template {
    /// Returns true if the template uses the server's name (`{server}`), which is unknown until a server is
    /// chosen.
    pub fn needs_server(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(Variable::Server)))
    }
}

impl Variables<'_> {
    fn append(&self, variable: Variable, out: &mut Vec<u8>) {
        match variable {
            Variable::ClientIp => append_clean(out, self.client_ip),
            Variable::ClientPort if self.client_port == 0 => {}
            Variable::ClientPort => crate::number::append(out, u64::from(self.client_port)),
            Variable::Host => append_clean(out, self.host),
            Variable::Path => append_clean(out, self.path),
            Variable::Query => append_clean(out, self.query.unwrap_or_default()),
            Variable::Uri => {
                append_clean(out, self.path);
                if let Some(query) = self.query {
                    out.push(b'?');
                    append_clean(out, query);
                }
            }
            Variable::Method => append_clean(out, self.method),
            Variable::Scheme => append_clean(out, self.scheme.as_bytes()),
            Variable::Listener => append_clean(out, self.listener.as_bytes()),
            Variable::Route => append_clean(out, self.route.as_bytes()),
            Variable::Pool => append_clean(out, self.pool.as_bytes()),
            Variable::Server => append_clean(out, self.server.as_bytes()),
            Variable::RequestId => append_clean(out, self.request_id.as_bytes()),
            Variable::TlsVersion => append_clean(out, self.tls_version.as_bytes()),
            Variable::TlsCipher => append_clean(out, self.tls_cipher.as_bytes()),
            Variable::TlsSni => append_clean(out, self.tls_sni.as_bytes()),
            Variable::TlsClientSubject => append_clean(out, self.tls_client_subject.as_bytes()),
        }
    }
}

fn append_clean(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().filter(|b| **b >= 0x20 && **b != 0x7f));
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unclosed => f.write_str("`{` without `}` (write `{{` for a brace)"),
            Self::Unopened => f.write_str("`}` without `{` (write `}}` for a brace)"),
            Self::Unknown(name) => {
                write!(f, "no variable {{{name}}}; there are: {}", Template::VARIABLES.join(", "))
            }
            Self::Control(c) => write!(f, "{c:?} cannot stand in a header value"),
        }
    }
}

impl std::error::Error for TemplateError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, variables: &Variables<'_>) -> String {
        let mut out = Vec::new();
        Template::parse(text).unwrap().expand(&mut out, variables);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn variables_are_filled_in_and_double_braces_are_braces() {
        let variables = Variables { host: b"h", path: b"/p", query: Some(b"q"), ..Variables::default() };
        assert_eq!(expand("https://{host}{uri}", &variables), "https://h/p?q");
        assert_eq!(expand("{{{path}}}{{}}", &variables), "{/p}{}");
        assert_eq!(expand("", &variables), "");
        let without_query = Variables { query: None, ..variables };
        assert_eq!(expand("{uri}|{query}|{client_port}", &without_query), "/p||");
    }

    #[test]
    fn the_path_of_a_request_never_becomes_the_host_of_a_location() {
        let location = |text: &str, path: &str| {
            let mut out = b"before".to_vec();
            let variables = Variables { path: path.as_bytes(), host: b"h", ..Variables::default() };
            Template::parse(text).unwrap().expand_location(&mut out, &variables);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(location("{path}/", "//evil.example"), "before/.//evil.example/");
        assert_eq!(location("{uri}", "/\\evil.example"), "before/./\\evil.example");
        assert_eq!(location("/{path}", "/evil.example"), "before/.//evil.example");
        assert_eq!(location("{path}", "/a//b"), "before/a//b");
        assert_eq!(location("//{host}{path}", "/a"), "before//h/a");
    }

    #[test]
    fn a_value_cannot_start_a_line_of_its_own() {
        let variables = Variables { tls_client_subject: "CN=a\r\nX-Evil: b\0\u{7f}", ..Variables::default() };
        assert_eq!(expand("{tls_client_subject}", &variables), "CN=aX-Evil: b");
    }

    #[test]
    fn a_mistake_is_told() {
        let error = |text: &str| Template::parse(text).unwrap_err().to_string();
        assert_eq!(error("a{host"), "`{` without `}` (write `{{` for a brace)");
        assert_eq!(error("a}b"), "`}` without `{` (write `}}` for a brace)");
        assert!(error("{hosts}").starts_with("no variable {hosts}; there are: client_ip, client_port,"));
        assert_eq!(error("a\r\nb"), "'\\r' cannot stand in a header value");
    }

    #[test]
    fn it_is_known_which_templates_need_the_request() {
        assert!(Template::parse("{host}").unwrap().needs_request());
        assert!(!Template::parse("{server} {client_ip}").unwrap().needs_request());
    }
}
