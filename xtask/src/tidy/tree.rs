//! Loads the repository's text files for the rules.

use std::fs;
use std::path::Path;

/// Directories without files written by hand.
const SKIPPED: [&str; 6] = [".git", "target", "dist", "corpus", "artifacts", "node_modules"];

/// Endings of the text files that rules check.
const ENDINGS: [&str; 4] = [".rs", ".toml", ".md", ".snap"];

/// Text file of the repository.
#[derive(Debug)]
pub(super) struct File {
    /// Path relative to the root, with slashes.
    pub(super) path: String,
    pub(super) text: String,
}

/// Repository's text files, and the names of all its files, in path order.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    /// Paths of files and directories of any kind, to which links may point.
    pub(super) names: Vec<String>,
}

impl Tree {
    /// Reads all files below `root`.
    ///
    /// # Errors
    /// If a directory or file cannot be read.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let mut tree = Self::default();
        tree.visit(root, "")?;
        tree.names.sort();
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// Makes a tree for a test from paths and texts.
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

    /// Returns the file at exactly this path.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns the files whose path ends with `ending`.
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
