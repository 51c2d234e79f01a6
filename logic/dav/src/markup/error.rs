//! Errors of XML bodies.

use crate::outcome::Outcome;

/// The reason to refuse an XML body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum XmlError {
    /// The body is over a size limit of [`super::XmlLimits`].
    #[error("the XML is too large")]
    TooLarge,
    /// Elements are nested too deeply.
    #[error("the XML is nested too deeply")]
    TooDeep,
    /// The body has too many elements, attributes or namespaces.
    #[error("the XML has too many elements, attributes or namespaces")]
    TooMany,
    /// The body is neither UTF-8 nor UTF-16, or its encoding contradicts the XML declaration.
    #[error("the XML is in another encoding than UTF-8 or UTF-16, or than it says")]
    Encoding,
    /// The body has a document type, which WebDAV does not need and attackers exploit.
    #[error("document types are not accepted (RFC 4918 section 20.6)")]
    DocumentType,
    /// The body refers to an entity that XML does not predefine.
    #[error("entities other than those of XML itself are not accepted (RFC 4918 section 20.6)")]
    Entity,
    /// A namespace prefix is undeclared, or a declaration is not allowed (Namespaces in XML 1.0).
    #[error("an undeclared or misused namespace prefix")]
    Namespace,
    /// The body is not well-formed (XML 1.0).
    #[error("the XML is not well-formed")]
    Malformed,
    /// The root element is not one that the method accepts (RFC 4918 section 9).
    #[error("the XML is not the element that the method takes (RFC 4918 section 9)")]
    WrongRoot,
    /// The root element is right, but its contents are invalid (RFC 4918 sections 11.2 and 14).
    #[error("the contents of the XML make no sense (RFC 4918 section 14)")]
    Content,
}

impl XmlError {
    /// Returns the outcome for the client.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::TooLarge | Self::TooDeep | Self::TooMany => Outcome::BodyTooLarge,
            Self::Content => Outcome::Unprocessable,
            _ => Outcome::BadBody,
        }
    }
}
