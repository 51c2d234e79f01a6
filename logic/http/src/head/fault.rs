//! Errors of header sections and trailers.

use std::fmt;

/// The error of a header section, or of the trailers of a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFault {
    /// CR without LF.
    BareCr,
    /// LF without CR.
    BareLf,
    /// A line that begins with a space or tab: obs-fold, or whitespace before the first header.
    LeadingSpace,
    /// A colon with no name before it.
    EmptyName,
    /// A space or tab between name and colon.
    SpaceBeforeColon,
    /// A line without colon.
    NoColon,
    /// A byte in the name that is not allowed in a token.
    NameByte,
    /// A name such as Content_Length or Transfer.Encoding, which CGI servers read as the name with `-`.
    DisguisedFraming,
    /// NUL, another control character or DEL in the value.
    ValueByte,
    /// Content-Length is not a number: digits only, no sign, no list.
    ContentLength,
    /// Content-Length is over 2^63-1.
    ContentLengthTooLarge,
    /// A second Content-Length line, with an equal or a different value.
    SecondContentLength,
    /// Content-Length and Transfer-Encoding in one message.
    LengthAndTransferEncoding,
    /// Transfer-Encoding is not exactly `chunked`.
    TransferCoding,
    /// A second Transfer-Encoding line.
    SecondTransferEncoding,
    /// Transfer-Encoding in an HTTP/1.0 message.
    TransferEncodingInHttp10,
    /// More than 32 options in the Connection lines.
    TooManyConnectionOptions,
    /// More header lines than the limit.
    TooManyHeaders,
    /// The head is larger than the limit.
    HeadTooLarge,
}

impl HeaderFault {
    pub(crate) const fn is_limit(self) -> bool {
        matches!(self, Self::TooManyHeaders | Self::HeadTooLarge)
    }
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BareCr => "CR without LF (RFC 9112 section 2.2)",
            Self::BareLf => "LF without CR (RFC 9112 section 2.2)",
            Self::LeadingSpace => "a header line begins with whitespace: obs-fold (RFC 9112 section 5.2)",
            Self::EmptyName => "a header line without a name (RFC 9112 section 5)",
            Self::SpaceBeforeColon => "whitespace between header name and colon (RFC 9112 section 5.1)",
            Self::NoColon => "a header line without colon (RFC 9112 section 5)",
            Self::NameByte => "a character that is not permitted in a header name (RFC 9110 section 5.1)",
            Self::DisguisedFraming => "Content-Length or Transfer-Encoding spelled with other punctuation",
            Self::ValueByte => "a control character in a header value (RFC 9110 section 5.5)",
            Self::ContentLength => "Content-Length is not a plain number (RFC 9110 section 8.6)",
            Self::ContentLengthTooLarge => "Content-Length is over 2^63-1 (RFC 9110 section 8.6)",
            Self::SecondContentLength => "more than one Content-Length line (RFC 9112 section 6.3)",
            Self::LengthAndTransferEncoding => {
                "both Content-Length and Transfer-Encoding (RFC 9112 section 6.3)"
            }
            Self::TransferCoding => "a Transfer-Encoding other than chunked (RFC 9112 section 6.1)",
            Self::SecondTransferEncoding => "more than one Transfer-Encoding line (RFC 9112 section 6.1)",
            Self::TransferEncodingInHttp10 => "Transfer-Encoding in HTTP/1.0 (RFC 9112 section 6.1)",
            Self::TooManyConnectionOptions => "more than 32 Connection options (RFC 9110 section 7.6.1)",
            Self::TooManyHeaders => "too many header lines",
            Self::HeadTooLarge => "the head is too large",
        })
    }
}

impl std::error::Error for HeaderFault {}
