//! Limits of path length and depth.

/// Limits of a path, after decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathLimits {
    /// Length of the whole path in bytes, slashes included.
    pub bytes_max: usize,
    /// Length of one segment in bytes.
    pub name_bytes_max: usize,
    /// Number of segments.
    pub depth_max: usize,
}

impl PathLimits {
    /// No limits, for paths that passed the limits before.
    pub const NONE: Self = Self { bytes_max: usize::MAX, name_bytes_max: usize::MAX, depth_max: usize::MAX };
}

/// The limits of Linux file systems, PATH_MAX and NAME_MAX, with 256 segments.
impl Default for PathLimits {
    fn default() -> Self {
        Self { bytes_max: 4095, name_bytes_max: 255, depth_max: 256 }
    }
}
