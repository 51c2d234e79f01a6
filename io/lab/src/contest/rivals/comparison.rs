//! Size of configurations.

/// Size of a configuration, and its number of special characters: a measure of the work to read and write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ConfigSize {
    /// Lines that are neither empty nor comments.
    pub lines: usize,
    /// Characters of these lines, without spaces at both ends.
    pub characters: usize,
    /// Characters other than letters, digits and spaces, such as `{`, `;` and `"`.
    pub special: usize,
}

impl ConfigSize {
    /// Measures a configuration.
    pub fn of(config: &str) -> Self {
        let lines: Vec<&str> =
            config.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let is_special = |c: &char| !c.is_alphanumeric() && !c.is_whitespace();
        Self {
            lines: lines.len(),
            characters: lines.iter().map(|line| line.chars().count()).sum(),
            special: lines.iter().map(|line| line.chars().filter(is_special).count()).sum(),
        }
    }
}
