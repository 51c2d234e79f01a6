/// What a request body may cost. Anything over it is refused, before it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XmlLimits {
    /// The body; also what the values of all properties of a PROPPATCH may have together, after their namespaces were
    /// written into them.
    pub bytes_max: usize,
    /// Elements within each other.
    pub depth_max: usize,
    /// All elements.
    pub elements_max: usize,
    /// Attributes of one element, namespace declarations included; also namespace declarations in force at one place.
    pub attributes_max: usize,
    /// A name, or the URI of a namespace.
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
