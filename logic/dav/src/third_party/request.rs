//! The request headers of a third-party copy.

use super::TransferError;
use crate::header::{Destination, OwnNames, RemoteUrl, overwrites};
use crate::path::PathLimits;
use crate::text::{exact_number, is_token, trim};

/// A COPY between this server and another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    /// Direction of the transfer.
    pub direction: Direction,
    /// URL of the file on the other server.
    pub remote: RemoteUrl,
    /// True if the copy may replace an existing file.
    pub overwrite: bool,
    /// Checksum verification that the client requires.
    pub verification: Verification,
    /// Connections that the client requests, at least 1; the server has its own limit.
    pub streams: u16,
    /// `SciTag`: experiment and activity that the traffic belongs to, 65 to 65535.
    pub sci_tag: Option<u16>,
    /// Headers for the other server, from `TransferHeader...` headers.
    pub passed: Vec<(String, Vec<u8>)>,
}

/// The direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the other server (Source).
    Pull,
    /// To the other server (Destination).
    Push,
}

/// The value of RequireChecksumVerification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// `true`: the transfer fails without a matching checksum from the other server.
    Required,
    /// No header: if the other server sends a checksum without a request, it must match.
    IfTold,
    /// `false`: checksums are ignored.
    Off,
}

/// Prefix of the headers to pass on.
const PASSED: &str = "transferheader";

/// Maximum length of the client's text in an error message; names of delegation methods are short.
const CREDENTIAL_BYTES_SHOWN: usize = 40;

/// Headers of the connection, of the framing, or of the transfer itself.
const OWN_HEADERS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-digest",
    "content-encoding",
    "content-length",
    "content-range",
    "digest",
    "expect",
    "host",
    "if",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "repr-digest",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "want-digest",
    "want-repr-digest",
];

/// Headers in which a proxy sends the identity of its client. The other server may trust this one as its
/// proxy and would then accept the identity.
const IDENTITY_HEADERS: &[&str] = &[
    "client-cert",
    "client-cert-chain",
    "forwarded",
    "proxy",
    "remote-user",
    "true-client-ip",
    "via",
    "x-real-ip",
    "x-remote-user",
];

/// Prefixes of more identity headers.
const IDENTITY_PREFIXES: &[&str] =
    &["x-accel-", "x-client-", "x-forwarded-", "x-remote-", "x-sendfile", "x-ssl-", "x-voms-"];

impl Direction {
    /// Returns `pull` or `push`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "push",
        }
    }
}

impl TransferRequest {
    /// Parses the headers of a COPY. Returns `None` for a copy within this server.
    pub fn read<'a>(
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
        own: &OwnNames,
        limits: &PathLimits,
    ) -> Result<Option<Self>, TransferError> {
        let one = |wanted: &str| {
            let mut found = headers.clone().filter(|(name, _)| name.eq_ignore_ascii_case(wanted.as_bytes()));
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => Err(TransferError::Repeated),
                (first, _) => Ok(first.map(|(_, value)| trim(value))),
            }
        };
        let source = one("Source")?;
        let destination = match one("Destination")? {
            Some(text) => Some(Destination::parse(text, own, limits)?),
            None => None,
        };
        let (direction, remote) = match (source, destination) {
            (Some(_), Some(Destination::Elsewhere(_))) => return Err(TransferError::BothElsewhere),
            // A Destination on this server repeats the request target.
            (Some(text), _) => (Direction::Pull, of_source(text, limits)?),
            (None, Some(Destination::Elsewhere(url))) => (Direction::Push, url),
            (None, _) => return Ok(None),
        };
        let credential = one("Credential")?;
        if let Some(text) = credential.filter(|text| !text.eq_ignore_ascii_case(b"none")) {
            let shown = &text[..text.len().min(CREDENTIAL_BYTES_SHOWN)];
            return Err(TransferError::Credential(shown.escape_ascii().to_string()));
        }
        let verification = match one("RequireChecksumVerification")? {
            None => Verification::IfTold,
            Some(text) if text.eq_ignore_ascii_case(b"true") => Verification::Required,
            Some(text) if text.eq_ignore_ascii_case(b"false") => Verification::Off,
            Some(_) => return Err(TransferError::Verification),
        };
        let streams = match one("X-Number-Of-Streams")? {
            None => 1,
            Some(text) => exact_number(text).ok_or(TransferError::Streams)?,
        };
        let sci_tag = one("SciTag")?.and_then(exact_number).and_then(|tag| u16::try_from(tag).ok());
        Ok(Some(Self {
            direction,
            remote,
            overwrite: overwrites(one("Overwrite")?)?,
            verification,
            streams: u16::try_from(streams).unwrap_or(u16::MAX).max(1),
            // Smaller numbers are not valid tags and are ignored.
            sci_tag: sci_tag.filter(|tag| *tag >= 65),
            passed: passed(headers.clone())?,
        }))
    }
}

/// Parses Source; accepts any host, because a server can also pull from itself.
fn of_source(text: &[u8], limits: &PathLimits) -> Result<RemoteUrl, TransferError> {
    match Destination::parse(text, &OwnNames::default(), limits) {
        Ok(Destination::Elsewhere(url)) => Ok(url),
        Ok(Destination::Own(_)) | Err(_) => Err(TransferError::Source),
    }
}

/// Returns true for a header that only a proxy may set, because it carries the identity of a client.
fn tells_identity(name: &str) -> bool {
    // CGI maps all punctuation to one character, so variants of a name are equal.
    let name = name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    IDENTITY_HEADERS.contains(&name.as_str())
        || IDENTITY_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn passed<'a>(
    headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<Vec<(String, Vec<u8>)>, TransferError> {
    let mut passed = Vec::new();
    for (name, value) in headers {
        let Some((start, rest)) = name.split_at_checked(PASSED.len()) else { continue };
        if !start.eq_ignore_ascii_case(PASSED.as_bytes()) {
            continue;
        }
        let name = std::str::from_utf8(rest).map_err(|_| TransferError::PassedHeader)?;
        let is_own = OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) || tells_identity(name);
        let is_sound = !rest.is_empty() && rest.iter().all(|byte| is_token(*byte));
        if is_own || !is_sound || value.iter().any(|byte| (*byte < 0x20 && *byte != b'\t') || *byte == 0x7f) {
            return Err(TransferError::PassedHeader);
        }
        passed.push((name.to_owned(), trim(value).to_vec()));
    }
    Ok(passed)
}
