//! Client certificates from the headers of a trusted proxy, such as NGINX with VOMS in front of a storage
//! service.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::dn::rfc2253_from_slashes;
use super::x509::{Voms, X509Subject};

/// Networks of the peers whose headers are trusted. An empty list trusts no peer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustedProxies(pub Vec<IpNet>);

/// Reason why the headers of a trusted proxy are unusable. Weir refuses the request, because guessing the
/// meaning of a trusted proxy's headers is unsafe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeaderFault {
    /// A header occurs twice.
    Repeated(&'static str),
    /// A header has an invalid value.
    Invalid(&'static str),
}

const SUBJECT: &str = "X-VOMS-ssl_client_ee_s_dn";
const ISSUER: &str = "X-VOMS-ssl_client_ee_i_dn";
const USER: &str = "X-VOMS-voms_user";
const VO: &str = "X-VOMS-voms_vo";
const FQANS: &str = "X-VOMS-voms_fqans";
const NOT_BEFORE: &str = "X-VOMS-voms_not_before";
const NOT_AFTER: &str = "X-VOMS-voms_not_after";
const NAMES: [&str; 7] = [SUBJECT, ISSUER, USER, VO, FQANS, NOT_BEFORE, NOT_AFTER];

impl TrustedProxies {
    /// Returns true if the peer of the connection is in a listed network.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        self.0.iter().any(|network| network.contains(&peer))
    }
}

/// Returns the certificate that the request headers describe. Returns `None` if they describe none, or if the
/// peer is not trusted; its headers are then ignored.
///
/// A VOMS statement outside its validity period is dropped; the subject remains.
///
/// # Errors
/// If a trusted peer repeats a header or sends an invalid value.
pub fn certificate_from_headers<'a>(
    trusted: &TrustedProxies,
    peer: IpAddr,
    now_unix_secs: u64,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Option<X509Subject>, ProxyHeaderFault> {
    if !trusted.trusts(peer) {
        return Ok(None);
    }
    let mut values = [None; NAMES.len()];
    for (name, value) in headers {
        let Some(at) = NAMES.iter().position(|known| known.eq_ignore_ascii_case(name)) else { continue };
        if values[at].replace(value.trim()).is_some() {
            return Err(ProxyHeaderFault::Repeated(NAMES[at]));
        }
    }
    let [subject, issuer, user, vo, fqans, not_before, not_after] =
        values.map(|value| value.filter(|v| !v.is_empty()));
    let Some((subject, from)) = subject.map(|s| (s, SUBJECT)).or(user.map(|u| (u, USER))) else {
        return Ok(None);
    };
    let voms = match vo {
        None => None,
        Some(vo) => {
            let not_before = not_before.map(|text| date(text, NOT_BEFORE)).transpose()?;
            let not_after = not_after.map(|text| date(text, NOT_AFTER)).transpose()?;
            let fqans = fqans.into_iter().flat_map(|list| list.split(',')).map(str::trim);
            let fqans = fqans.filter(|fqan| !fqan.is_empty()).map(str::to_owned).collect();
            let current = not_before.is_none_or(|from| from <= now_unix_secs)
                && not_after.is_none_or(|end| now_unix_secs < end);
            current.then(|| Voms { vo: vo.to_owned(), fqans, not_after_unix_secs: not_after })
        }
    };
    let issuer = issuer.map(|text| name(text, ISSUER)).transpose()?;
    Ok(Some(X509Subject { subject: name(subject, from)?, issuer, voms, ..X509Subject::default() }))
}

/// Accepts both forms of a distinguished name and returns that of RFC 2253.
fn name(text: &str, header: &'static str) -> Result<String, ProxyHeaderFault> {
    if !text.starts_with('/') {
        return if text.contains('=') { Ok(text.to_owned()) } else { Err(ProxyHeaderFault::Invalid(header)) };
    }
    rfc2253_from_slashes(text).map_err(|_| ProxyHeaderFault::Invalid(header))
}

/// Parses a time such as `20261121165749Z` to seconds since 1970.
fn date(text: &str, header: &'static str) -> Result<u64, ProxyHeaderFault> {
    let parse = || {
        let digits =
            text.strip_suffix('Z').filter(|d| d.len() == 14 && d.bytes().all(|b| b.is_ascii_digit()))?;
        let number = |from: usize, to: usize| digits[from..to].parse::<u64>().ok();
        let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
        let (hour, minute, second) = (number(8, 10)?, number(10, 12)?, number(12, 14)?);
        let sound = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
        let sound = sound && hour < 24 && minute < 60 && second <= 60;
        sound.then(|| days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
    };
    parse().ok_or(ProxyHeaderFault::Invalid(header))
}

/// Counts the days since 1970 in the Gregorian calendar. Its years begin in March, so that the leap day comes
/// last.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    days - 719_469
}

impl fmt::Display for ProxyHeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated(name) => write!(f, "the proxy sent {name} twice"),
            Self::Invalid(name) => write!(f, "the proxy sent an invalid {name}"),
        }
    }
}

impl std::error::Error for ProxyHeaderFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies() -> TrustedProxies {
        TrustedProxies(vec!["127.0.0.0/8".parse().unwrap()])
    }

    const HEADERS: [(&str, &str); 5] = [
        ("x-voms-SSL_client_ee_s_dn", "CN=Jo,O=Example"),
        ("X-VOMS-ssl_client_ee_i_dn", "/C=IT/CN=CA"),
        ("X-VOMS-voms_vo", "cms"),
        ("X-VOMS-voms_fqans", "/cms,/cms/Role=production"),
        ("X-VOMS-voms_not_after", "20261121000000Z"),
    ];

    fn at(peer: &str, now: u64) -> Result<Option<X509Subject>, ProxyHeaderFault> {
        certificate_from_headers(&proxies(), peer.parse().unwrap(), now, HEADERS)
    }

    #[test]
    fn a_listed_peer_is_believed() {
        let subject = at("127.0.0.1", 1_700_000_000).unwrap().unwrap();
        assert_eq!(subject.subject, "CN=Jo,O=Example");
        assert_eq!(subject.issuer.as_deref(), Some("CN=CA,C=IT"));
        let voms = subject.voms.unwrap();
        assert_eq!((voms.vo.as_str(), voms.fqans.len()), ("cms", 2));
        assert_eq!(voms.not_after_unix_secs, Some(1_795_219_200));
        assert!(at("::ffff:127.0.0.1", 0).unwrap().is_some(), "the same peer over IPv6");
    }

    #[test]
    fn another_peer_says_nothing() {
        assert_eq!(at("192.0.2.1", 0), Ok(None));
    }

    #[test]
    fn a_statement_past_its_end_is_left_out() {
        assert_eq!(at("127.0.0.1", 1_795_219_200).unwrap().unwrap().voms, None);
    }

    #[test]
    fn nonsense_from_a_trusted_peer_is_refused() {
        let ask = |headers: &[(&'static str, &'static str)]| {
            certificate_from_headers(&proxies(), "127.0.0.1".parse().unwrap(), 0, headers.iter().copied())
        };
        assert_eq!(ask(&[(SUBJECT, "CN=a"), (SUBJECT, "CN=b")]), Err(ProxyHeaderFault::Repeated(SUBJECT)));
        assert_eq!(ask(&[(SUBJECT, "jo")]), Err(ProxyHeaderFault::Invalid(SUBJECT)));
        let wrong = [(SUBJECT, "CN=a"), (VO, "cms"), (NOT_AFTER, "20261321000000Z")];
        assert_eq!(ask(&wrong), Err(ProxyHeaderFault::Invalid(NOT_AFTER)));
        assert_eq!(ask(&[(VO, "cms")]), Ok(None), "no subject, no identity");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
    }
}
