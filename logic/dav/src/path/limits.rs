/// How long and deep a path may be, counted after decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathLimits {
    /// All of it, slashes included.
    pub bytes_max: usize,
    /// One segment.
    pub name_bytes_max: usize,
    /// Number of segments.
    pub depth_max: usize,
}

impl PathLimits {
    /// No limits, for paths that have been judged before.
    pub const NONE: Self = Self { bytes_max: usize::MAX, name_bytes_max: usize::MAX, depth_max: usize::MAX };
}

/// What Linux file systems take: PATH_MAX and NAME_MAX, and 256 segments.
impl Default for PathLimits {
    fn default() -> Self {
        Self { bytes_max: 4095, name_bytes_max: 255, depth_max: 256 }
    }
}
