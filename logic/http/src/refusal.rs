//! The rules that a refused request broke, with their names in logs and metrics.

use crate::{ChunkError, HeaderFault, PathFault, RequestError, TrailerFault};

macro_rules! refusals {
    ($(#[doc = $meaning:literal] $variant:ident = $name:literal,)*) => {
        /// The reason why Weir refuses a request, or stops reading it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum RefusalRule {
            $(#[doc = $meaning] $variant,)*
        }

        impl RefusalRule {
            /// Every rule, at the index of its number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name, which stays the same across versions.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the meaning, as text for people.
            pub fn meaning(self) -> &'static str {
                let meaning = match self { $(Self::$variant => $meaning,)* };
                meaning.trim()
            }
        }
    };
}

refusals! {
    /// The request's head did not come in time, or what is waited for before it: a PROXY header, in TCP mode the ClientHello.
    HeadTimeout = "head-timeout",
    /// A peer that must send a PROXY header has sent none, or a malformed one.
    ProxyHeader = "proxy-header",
    /// Plain HTTP where TLS is spoken.
    TlsPlainHttp = "tls-plain-http",
    /// A TLS client without the certificate that it must have.
    TlsNoCertificate = "tls-no-certificate",
    /// The certificate of a TLS client is not accepted: expired, revoked, or of another authority.
    TlsCertificate = "tls-certificate",
    /// A TLS client with which there is no version, cipher suite or the like in common.
    TlsNothingInCommon = "tls-nothing-in-common",
    /// A TLS client has broken the handshake off with an alert: it does not trust the certificate, for instance.
    TlsAlert = "tls-alert",
    /// What comes in place of a TLS handshake breaks the protocol, or is of another one.
    TlsProtocol = "tls-protocol",
    /// No `sni` entry of a TCP listener takes the server name that was asked for, or that none was.
    ServerName = "server-name",
    /// The head is over `limits.head`.
    HeadTooLarge = "head-too-large",
    /// More header lines than `limits.headers`.
    TooManyHeaders = "too-many-headers",
    /// The target is over `limits.target`.
    TargetTooLong = "target-too-long",
    /// The method has more than 64 bytes.
    MethodTooLong = "method-too-long",
    /// The method is empty, or has a character that no token has (RFC 9110 section 9.1).
    MethodByte = "method-byte",
    /// A space too many in the request line (RFC 9112 section 3).
    RequestLineSpace = "request-line-space",
    /// A character that is not permitted in the target (RFC 9112 section 3.2).
    TargetByte = "target-byte",
    /// A target of no form that fits its method (RFC 9112 section 3.2).
    TargetForm = "target-form",
    /// The path has a `%` without two hexadecimal digits (`paths.bad-escape`).
    PathEscape = "path-escape",
    /// The path has an encoded NUL (`paths.nul`).
    PathNul = "path-nul",
    /// The path has an encoded slash (`paths.encoded-slash`).
    PathEncodedSlash = "path-encoded-slash",
    /// The path has a backslash (`paths.backslash`).
    PathBackslash = "path-backslash",
    /// The path leads above the root (`paths.above-root`).
    PathAboveRoot = "path-above-root",
    /// The path has parameters of a segment that are refused, or of a dot segment (`paths.parameters`).
    PathParameters = "path-parameters",
    /// `Destination` of a COPY or MOVE (RFC 4918 section 10.3) is ambiguous, or its path is one that a route answers by itself.
    Destination = "destination",
    /// An authority in the target that is none (RFC 9110 section 4.2).
    Authority = "authority",
    /// A request line without version: HTTP/0.9 (RFC 9112 section 3).
    NoVersion = "no-version",
    /// What stands in the version's place is none (RFC 9112 section 2.3).
    VersionForm = "version-form",
    /// A version other than 1.0 and 1.1 (RFC 9112 section 2.3).
    Version = "version",
    /// HTTP/1.1 without Host (RFC 9112 section 3.2).
    NoHost = "no-host",
    /// More than one Host line (RFC 9112 section 3.2).
    SecondHost = "second-host",
    /// Host is empty or invalid (RFC 9110 section 7.2).
    Host = "host",
    /// Max-Forwards of TRACE or OPTIONS is not one number (RFC 9110 section 7.6.2).
    MaxForwards = "max-forwards",
    /// CR without LF (RFC 9112 section 2.2).
    BareCr = "bare-cr",
    /// LF without CR (RFC 9112 section 2.2).
    BareLf = "bare-lf",
    /// A header line that begins with whitespace: obs-fold (RFC 9112 section 5.2).
    LeadingSpace = "leading-space",
    /// A header line without a name (RFC 9112 section 5).
    EmptyName = "empty-name",
    /// Whitespace between header name and colon (RFC 9112 section 5.1).
    SpaceBeforeColon = "space-before-colon",
    /// A header line without colon (RFC 9112 section 5).
    NoColon = "no-colon",
    /// A character that is not permitted in a header name (RFC 9110 section 5.1).
    NameByte = "name-byte",
    /// Content-Length or Transfer-Encoding spelled with other punctuation.
    DisguisedFraming = "disguised-framing",
    /// A control character in a header value (RFC 9110 section 5.5).
    ValueByte = "value-byte",
    /// Content-Length is not a plain number (RFC 9110 section 8.6).
    ContentLength = "content-length",
    /// Content-Length is over 2^63-1 (RFC 9110 section 8.6).
    ContentLengthTooLarge = "content-length-too-large",
    /// More than one Content-Length line, equal or not (RFC 9112 section 6.3).
    SecondContentLength = "second-content-length",
    /// Both Content-Length and Transfer-Encoding (RFC 9112 section 6.3).
    LengthAndTransferEncoding = "length-and-transfer-encoding",
    /// A Transfer-Encoding other than one `chunked` (RFC 9112 section 6.1).
    TransferCoding = "transfer-coding",
    /// More than one Transfer-Encoding line (RFC 9112 section 6.1).
    SecondTransferEncoding = "second-transfer-encoding",
    /// Transfer-Encoding in HTTP/1.0 (RFC 9112 section 6.1).
    TransferEncodingInHttp10 = "transfer-encoding-in-http10",
    /// More than 32 options in the Connection lines (RFC 9110 section 7.6.1).
    TooManyConnectionOptions = "too-many-connection-options",
    /// The body did not go on in time.
    BodyTimeout = "body-timeout",
    /// The body is over the route's `max-body`.
    BodyTooLarge = "body-too-large",
    /// A chunk's size is not a hexadecimal number (RFC 9112 section 7.1).
    ChunkSize = "chunk-size",
    /// A chunk's size is over 2^56-1, or has more than 14 digits (RFC 9112 section 7.1).
    ChunkSizeTooLarge = "chunk-size-too-large",
    /// A chunk extension, or whitespace after a chunk's size (RFC 9112 section 7.1.1).
    ChunkExtension = "chunk-extension",
    /// A line of chunk framing that does not end in CR LF (RFC 9112 section 7.1).
    ChunkLineEnd = "chunk-line-end",
    /// A trailer line that would be refused as a header line, too.
    TrailerLine = "trailer-line",
    /// A trailer that must stand in the head (RFC 9110 section 6.5.1), or that a rule removes from requests.
    TrailerForbidden = "trailer-forbidden",
    /// Trailers over 16 KiB.
    TrailersTooLarge = "trailers-too-large",
}

impl From<RequestError> for RefusalRule {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::MethodByte => Self::MethodByte,
            RequestError::MethodTooLong => Self::MethodTooLong,
            RequestError::RequestLineSpace => Self::RequestLineSpace,
            RequestError::TargetTooLong => Self::TargetTooLong,
            RequestError::TargetByte => Self::TargetByte,
            RequestError::TargetForm => Self::TargetForm,
            RequestError::Authority => Self::Authority,
            RequestError::NoVersion => Self::NoVersion,
            RequestError::VersionForm => Self::VersionForm,
            RequestError::Version => Self::Version,
            RequestError::NoHost => Self::NoHost,
            RequestError::SecondHost => Self::SecondHost,
            RequestError::Host => Self::Host,
            RequestError::MaxForwards => Self::MaxForwards,
            RequestError::Header(fault) => fault.into(),
        }
    }
}

impl From<HeaderFault> for RefusalRule {
    fn from(fault: HeaderFault) -> Self {
        match fault {
            HeaderFault::BareCr => Self::BareCr,
            HeaderFault::BareLf => Self::BareLf,
            HeaderFault::LeadingSpace => Self::LeadingSpace,
            HeaderFault::EmptyName => Self::EmptyName,
            HeaderFault::SpaceBeforeColon => Self::SpaceBeforeColon,
            HeaderFault::NoColon => Self::NoColon,
            HeaderFault::NameByte => Self::NameByte,
            HeaderFault::DisguisedFraming => Self::DisguisedFraming,
            HeaderFault::ValueByte => Self::ValueByte,
            HeaderFault::ContentLength => Self::ContentLength,
            HeaderFault::ContentLengthTooLarge => Self::ContentLengthTooLarge,
            HeaderFault::SecondContentLength => Self::SecondContentLength,
            HeaderFault::LengthAndTransferEncoding => Self::LengthAndTransferEncoding,
            HeaderFault::TransferCoding => Self::TransferCoding,
            HeaderFault::SecondTransferEncoding => Self::SecondTransferEncoding,
            HeaderFault::TransferEncodingInHttp10 => Self::TransferEncodingInHttp10,
            HeaderFault::TooManyConnectionOptions => Self::TooManyConnectionOptions,
            HeaderFault::TooManyHeaders => Self::TooManyHeaders,
            HeaderFault::HeadTooLarge => Self::HeadTooLarge,
        }
    }
}

impl From<PathFault> for RefusalRule {
    fn from(fault: PathFault) -> Self {
        match fault {
            PathFault::BadEscape => Self::PathEscape,
            PathFault::Nul => Self::PathNul,
            PathFault::EncodedSlash => Self::PathEncodedSlash,
            PathFault::Backslash => Self::PathBackslash,
            PathFault::AboveRoot => Self::PathAboveRoot,
            PathFault::Parameters => Self::PathParameters,
        }
    }
}

impl From<ChunkError> for RefusalRule {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::Size => Self::ChunkSize,
            ChunkError::SizeTooLarge => Self::ChunkSizeTooLarge,
            // `MalformedExtension` occurs only in responses.
            ChunkError::Extension | ChunkError::MalformedExtension => Self::ChunkExtension,
            ChunkError::LineEnd => Self::ChunkLineEnd,
            ChunkError::Trailer(TrailerFault::Line(_)) => Self::TrailerLine,
            ChunkError::Trailer(TrailerFault::Forbidden) => Self::TrailerForbidden,
            ChunkError::TrailersTooLarge => Self::TrailersTooLarge,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_stands_at_its_number_under_a_name_of_its_own() {
        for (index, rule) in RefusalRule::ALL.iter().enumerate() {
            assert_eq!(*rule as usize, index);
            let name = rule.name();
            assert!(
                name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            );
            assert!(rule.meaning().ends_with('.'), "{name}");
        }
        let mut names: Vec<_> = RefusalRule::ALL.iter().map(|rule| rule.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RefusalRule::ALL.len());
    }

    #[test]
    fn what_is_refused_is_told_by_the_rule_that_it_breaks() {
        let limit = RequestError::Header(HeaderFault::HeadTooLarge);
        assert_eq!(RefusalRule::from(limit).name(), "head-too-large");
        let twice = RequestError::Header(HeaderFault::SecondContentLength);
        assert_eq!(RefusalRule::from(twice).name(), "second-content-length");
        let trailer = ChunkError::Trailer(TrailerFault::Line(HeaderFault::BareLf));
        assert_eq!(RefusalRule::from(trailer).name(), "trailer-line");
    }
}
