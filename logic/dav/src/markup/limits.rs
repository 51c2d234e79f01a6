//! Limits of XML request bodies.

/// Limits of a request body. A body over a limit is refused before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XmlLimits {
    /// Maximum size of the body in bytes. Also limits all property values of one PROPPATCH together, with the
    /// namespace declarations that are added to each value.
    pub bytes_max: usize,
    /// Maximum nesting depth of elements.
    pub depth_max: usize,
    /// Maximum number of elements.
    pub elements_max: usize,
    /// Maximum of attributes of one element, namespace declarations included. Also the maximum of namespace
    /// declarations in scope.
    pub attributes_max: usize,
    /// Maximum length of a name or a namespace URI in bytes.
    pub name_bytes_max: usize,
}

impl Default for XmlLimits {
    fn default() -> Self {
        Self {
            bytes_max: 1 << 20,
            depth_max: 64,
            elements_max: 10_000,
            attributes_max: 64,
            name_bytes_max: 1_024,
        }
    }
}
