use std::fmt;

/// Why storage areas cannot be served as a plan has them: each complaint names its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayError(pub Vec<String>);

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for GatewayError {}
