use std::fs;
use std::path::Path;

/// Directories that hold nothing written by hand.
const SKIPPED: [&str; 6] = [".git", "target", "dist", "corpus", "artifacts", "node_modules"];

/// The text files that rules look at.
const ENDINGS: [&str; 4] = [".rs", ".toml", ".md", ".snap"];

/// A text file of the repository.
#[derive(Debug)]
pub(super) struct File {
    /// Relative to the root, with slashes.
    pub(super) path: String,
    pub(super) text: String,
}

/// The repository's text files, and the names of all its files, in path order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    /// Files and directories of any kind: what links may point at.
    pub(super) names: Vec<String>,
}

impl Tree {
    /// Reads everything below `root`.
    ///
    /// # Errors
    /// A directory or file cannot be read.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.visit(root, "")?;
        tree.names.sort();
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A tree for a test, from paths and texts.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for &(path, text) in files {
            for (at, _) in path.match_indices('/') {
                tree.names.push(path[..at].to_owned());
            }
            tree.names.push(path.to_owned());
            tree.files.push(File { path: path.to_owned(), text: text.to_owned() });
        }
        tree
    }

    /// The file at exactly this path.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Files whose path ends so.
    pub(super) fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(ending))
    }

    fn visit(&mut self, root: &Path, below: &str) -> Result<(), String> {
        let directory = root.join(below);
        let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                if !SKIPPED.contains(&name.as_str()) {
                    self.names.push(path.clone());
                    self.visit(root, &path)?;
                }
            } else if kind.is_file() {
                if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                    let text =
                        fs::read_to_string(entry.path()).map_err(|error| format!("{path}: {error}"))?;
                    self.files.push(File { path: path.clone(), text });
                }
                self.names.push(path);
            }
        }
        Ok(())
    }
}
