/// How long a configuration is, and how much of it is neither letter nor figure: what somebody has to read and to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ConfigSize {
    /// Lines with something in them other than a comment.
    pub lines: usize,
    /// Characters of these, without the blanks at both ends.
    pub characters: usize,
    /// Of these, such as `{`, `;` and `"`.
    pub special: usize,
}

impl ConfigSize {
    /// Of a text.
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
