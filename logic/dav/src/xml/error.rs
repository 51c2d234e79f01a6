use crate::outcome::Outcome;

/// Why an XML body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// Over a size limit of [`super::XmlLimits`].
    #[error("the XML is too large")]
    TooLarge,
    /// Elements are nested too deeply.
    #[error("the XML is nested too deeply")]
    TooDeep,
    /// Too many elements, attributes or namespaces.
    #[error("the XML has too many elements, attributes or namespaces")]
    TooMany,
    /// Neither UTF-8 nor UTF-16, or not what the XML declaration says.
    #[error("the XML is in another encoding than UTF-8 or UTF-16, or than it says")]
    Encoding,
    /// A document type, which WebDAV has no use for and attackers have.
    #[error("document types are not accepted (RFC 4918 section 20.6)")]
    DocumentType,
    /// An entity that XML does not define by itself.
    #[error("entities other than those of XML itself are not accepted (RFC 4918 section 20.6)")]
    Entity,
    /// A prefix that is not declared, or a declaration that is not allowed (Namespaces in XML 1.0).
    #[error("an undeclared or misused namespace prefix")]
    Namespace,
    /// Not well-formed (XML 1.0).
    #[error("the XML is not well-formed")]
    Malformed,
    /// Well-formed, but not the element that the method takes (RFC 4918 section 9).
    #[error("the XML is not the element that the method takes (RFC 4918 section 9)")]
    WrongRoot,
    /// The right element with contents that make no sense (RFC 4918 sections 11.2 and 14).
    #[error("the contents of the XML make no sense (RFC 4918 section 14)")]
    Content,
}

impl XmlError {
    /// What the client gets.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::TooLarge | Self::TooDeep | Self::TooMany => Outcome::BodyTooLarge,
            Self::Content => Outcome::Unprocessable,
            _ => Outcome::BadBody,
        }
    }
}
