//! Heads of HTTP/2 requests.

use http::uri::{Authority, Parts, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version};

use super::TargetSpec;
use super::upload::is_upload;
use crate::template::Template;
use crate::url::Url;

/// Head of an HTTP/2 request.
#[derive(Debug, Clone)]
pub(crate) struct Http2Head {
    method: Method,
    scheme: Scheme,
    authority: Authority,
    path: Part<PathAndQuery>,
    fields: Vec<(HeaderName, Part<HeaderValue>)>,
}

/// Part of a head that is the same in every request, or contains the number of the request.
#[derive(Debug, Clone)]
enum Part<T> {
    Fixed(T),
    Numbered(Template),
}

/// HTTP/1 headers for the use of a connection, which HTTP/2 does not have (RFC 9113 section 8.2.2).
const OF_CONNECTIONS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "upgrade", "transfer-encoding"];

impl Http2Head {
    /// Creates the head for a target with a valid method and valid headers.
    ///
    /// # Errors
    /// If HTTP/2 cannot send it.
    pub(super) fn new(spec: &TargetSpec, url: &Url) -> Result<Self, String> {
        let method = Method::from_bytes(spec.method.as_bytes()).map_err(|cause| cause.to_string())?;
        let mut authority = url.origin.authority();
        let mut fields = Vec::with_capacity(spec.headers.len() + 2);
        let mut has_agent = false;
        for (name, value) in &spec.headers {
            let lower = name.to_ascii_lowercase();
            if OF_CONNECTIONS.contains(&lower.as_str()) || (lower == "te" && value != "trailers") {
                return Err(format!("{name}: {value}: HTTP/2 has no such header"));
            }
            match lower.as_str() {
                "host" => authority.clone_from(value),
                "content-length" => {}
                _ => {
                    has_agent |= lower == "user-agent";
                    let name = HeaderName::from_bytes(lower.as_bytes())
                        .map_err(|cause| format!("{name}: {cause}"))?;
                    let value = Part::new(value, HeaderValue::from_bytes)
                        .map_err(|cause| format!("{name}: {value:?}: {cause}"))?;
                    fields.push((name, value));
                }
            }
        }
        if !has_agent {
            let agent = Part::Fixed(HeaderValue::from_static("weir-load"));
            fields.push((http::header::USER_AGENT, agent));
        }
        if spec.body.bytes() > 0 || is_upload(&spec.method) {
            let length = Part::Fixed(HeaderValue::from(spec.body.bytes()));
            fields.push((http::header::CONTENT_LENGTH, length));
        }
        let path = Part::new(&url.path, |text| PathAndQuery::try_from(text));
        Ok(Self {
            method,
            scheme: if url.origin.is_tls { Scheme::HTTPS } else { Scheme::HTTP },
            authority: Authority::try_from(authority.as_str())
                .map_err(|cause| format!("{authority}: {cause}"))?,
            path: path.map_err(|cause| format!("{}: {cause}", url.path))?,
            fields,
        })
    }

    /// Returns the head of request `number`. If `onward` is set, the head is for that URL.
    pub(crate) fn request(&self, number: u64, onward: Option<&Url>) -> Request<()> {
        let mut fields = HeaderMap::with_capacity(self.fields.len());
        for (name, value) in &self.fields {
            let value = value.of(number, |text| HeaderValue::from_bytes(text).ok());
            if let Some(value) = value {
                fields.append(name.clone(), value);
            }
        }
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = self.path.of(number, |text| PathAndQuery::try_from(text).ok());
        if let Some(url) = onward {
            parts.scheme = Some(if url.origin.is_tls { Scheme::HTTPS } else { Scheme::HTTP });
            parts.authority = url.origin.authority().parse().ok().or(parts.authority);
            parts.path_and_query = url.path.parse().ok();
        }
        let mut request = Request::new(());
        *request.method_mut() = self.method.clone();
        // Other digits in place of digits cannot make a valid text invalid.
        *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
        *request.version_mut() = Version::HTTP_2;
        *request.headers_mut() = fields;
        request
    }
}

/// Returns the size of a head before compression.
pub(crate) fn head_bytes(request: &Request<()>) -> u32 {
    let uri = request.uri();
    let pseudo = [
        request.method().as_str(),
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", Authority::as_str),
        uri.path_and_query().map_or("", PathAndQuery::as_str),
        ":method:scheme:authority:path",
    ];
    let fields: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    u32::try_from(fields + pseudo.map(str::len).iter().sum::<usize>()).unwrap_or(u32::MAX)
}

impl<T: Clone> Part<T> {
    /// Parses the text as fixed or numbered.
    ///
    /// # Errors
    /// If `parse` rejects the text.
    fn new<E>(text: &str, parse: impl Fn(&[u8]) -> Result<T, E>) -> Result<Self, E> {
        let template = Template::parse(text.as_bytes());
        let mut first = Vec::new();
        template.render(0, &mut first);
        let fixed = parse(&first)?;
        Ok(if first == text.as_bytes() { Self::Fixed(fixed) } else { Self::Numbered(template) })
    }

    fn of(&self, number: u64, parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        match self {
            Self::Fixed(value) => Some(value.clone()),
            Self::Numbered(template) => {
                let mut text = Vec::new();
                template.render(number, &mut text);
                parse(&text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Body;

    fn head(spec: &TargetSpec) -> Result<Http2Head, String> {
        Http2Head::new(spec, &spec.url.parse().unwrap())
    }

    fn put() -> TargetSpec {
        TargetSpec {
            method: "PUT".to_owned(),
            url: "https://a:81/f-{i}?x={i%10}".to_owned(),
            headers: vec![("X-Y".to_owned(), "z {i}".to_owned()), ("Depth".to_owned(), "1".to_owned())],
            body: Body::Generated { bytes: 10 },
            weight: None,
        }
    }

    #[test]
    fn a_request_has_what_http_2_asks_for_and_what_was_given() {
        let request = head(&put()).unwrap().request(17, None);
        assert_eq!(request.method(), "PUT");
        assert_eq!(request.uri().to_string(), "https://a:81/f-17?x=7");
        let field = |name: &str| request.headers()[name].to_str().unwrap();
        assert_eq!((field("x-y"), field("depth"), field("content-length")), ("z 17", "1", "10"));
        assert_eq!(field("user-agent"), "weir-load");
        assert!(head_bytes(&request) > 60);
    }

    #[test]
    fn a_given_host_is_the_authority_and_a_redirect_leads_elsewhere() {
        let mut spec = put();
        spec.headers = vec![("Host".to_owned(), "b".to_owned())];
        let head = head(&spec).unwrap();
        let request = head.request(1, None);
        assert_eq!((request.uri().host(), request.headers().contains_key("host")), (Some("b"), false));
        let url = "http://c:82/y".parse().unwrap();
        assert_eq!(head.request(1, Some(&url)).uri().to_string(), "http://c:82/y");
    }

    #[test]
    fn headers_of_connections_are_refused() {
        for (name, value) in [("Connection", "close"), ("TE", "gzip"), ("Upgrade", "h2c")] {
            let mut spec = put();
            spec.headers = vec![(name.to_owned(), value.to_owned())];
            let error = head(&spec).unwrap_err();
            assert!(error.contains(name) && error.contains("HTTP/2 has no such header"), "{error}");
        }
    }
}
