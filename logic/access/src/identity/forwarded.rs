//! The `Forwarded` header (RFC 7239).

use std::net::{IpAddr, Ipv6Addr};

/// One hop: what a proxy says of whom it spoke to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForwardedHop {
    /// `for`: the address, if it is one and neither `unknown` nor a name that hides it.
    pub client: Option<IpAddr>,
    /// `proto`, in lower case.
    pub proto: Option<String>,
    /// `host`.
    pub host: Option<String>,
    /// `by`.
    pub by: Option<String>,
}

/// The last hop of a header, which the peer itself has written; earlier ones are hearsay. `None`: the header does not
/// follow the grammar, names a parameter twice, or is empty.
pub fn parse_forwarded(value: &str) -> Option<ForwardedHop> {
    let mut hop = ForwardedHop::default();
    let mut seen: Vec<String> = Vec::new();
    let mut rest = value.trim();
    loop {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim().to_ascii_lowercase();
        if !is_token(&name) || seen.contains(&name) {
            return None;
        }
        let (text, after) = value_of(after)?;
        match name.as_str() {
            "for" => hop.client = address(&text),
            "proto" => hop.proto = Some(text.to_ascii_lowercase()),
            "host" => hop.host = Some(text),
            "by" => hop.by = Some(text),
            _ => {}
        }
        seen.push(name);
        let after = after.trim_start();
        rest = match after.chars().next() {
            None => return Some(hop),
            Some(';') => &after[1..],
            Some(',') => {
                hop = ForwardedHop::default();
                seen.clear();
                &after[1..]
            }
            Some(_) => return None,
        };
    }
}

/// A token or a quoted string, and what follows it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',', ' ', '\t']).unwrap_or(text.len());
        return is_token(&text[..end]).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            _ => value.push(c),
        }
    }
    None
}

/// RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]` or `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    if let Some(inner) = text.strip_prefix('[') {
        return inner.split_once(']')?.0.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    text.split(':').next()?.parse().ok().map(IpAddr::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hop_counts() {
        let hop =
            parse_forwarded("for=10.9.9.9, for=\"[2001:db8::1]:4711\";Proto=HTTPS; host=h.example;by=_p")
                .unwrap();
        assert_eq!(hop.client, "2001:db8::1".parse().ok());
        assert_eq!((hop.proto.as_deref(), hop.host.as_deref()), (Some("https"), Some("h.example")));
        assert_eq!(parse_forwarded("for=192.0.2.7").unwrap().client, "192.0.2.7".parse().ok());
        assert_eq!(parse_forwarded("for=unknown").unwrap().client, None);
        assert_eq!(parse_forwarded("for=_hidden").unwrap().client, None);
    }

    #[test]
    fn what_breaks_the_grammar_says_nothing() {
        for text in ["", "for", "for=", "for=a;for=b", "for=\"x", "for=a b", ";", "for=a,,"] {
            assert_eq!(parse_forwarded(text), None, "{text}");
        }
    }
}
