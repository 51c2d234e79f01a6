//! Reads the Cedar policy files that an area names.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_access::rule::AreaRules;
use weir_access::rule::cedar::{CedarFault, CedarFile, CedarPolicies, MISSING};

/// Maximum number of files, larger than any real set of policies.
const FILES_MAX: usize = 1_000;

/// Result of a check of Cedar policy files.
#[derive(Debug, Default)]
pub struct CedarChecked {
    /// Files that cannot be read, each with its cause.
    pub unreadable: Vec<String>,
    /// Errors in the policies.
    pub wrong: Vec<CedarFault>,
    /// Warnings about the policies.
    pub doubtful: Vec<CedarFault>,
}

/// Checks that the Cedar policies in these files and directories are valid. Blocks.
pub fn check_cedar(paths: &[PathBuf]) -> CedarChecked {
    match read(paths) {
        Err(unreadable) => CedarChecked { unreadable, ..CedarChecked::default() },
        Ok(files) => match CedarPolicies::parse(&files) {
            Ok((_, doubtful)) => CedarChecked { doubtful, ..CedarChecked::default() },
            Err(wrong) => CedarChecked { wrong, ..CedarChecked::default() },
        },
    }
}

/// Adds the Cedar policies in these files and directories to `rules`. Blocks.
pub(crate) fn with_policies(rules: AreaRules, paths: &[PathBuf]) -> Result<AreaRules, String> {
    if paths.is_empty() {
        return Ok(rules);
    }
    let first = |of: &[String]| match of {
        [] => "cedar: nothing can be read".to_owned(),
        [only] => format!("cedar: {only}"),
        [first, others @ ..] => format!("cedar: {first} (and {} more)", others.len()),
    };
    let files = read(paths).map_err(|unreadable| first(&unreadable))?;
    let parsed = CedarPolicies::parse(&files).map_err(|wrong| {
        let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        first(&wrong)
    });
    Ok(rules.with_cedar(Arc::new(parsed?.0)))
}

fn read(paths: &[PathBuf]) -> Result<Vec<CedarFile>, Vec<String>> {
    // This build lacks Cedar; no single file is at fault.
    if let (Some(missing), [_, ..]) = (MISSING, paths) {
        return Err(vec![missing.to_owned()]);
    }
    let mut files: Vec<PathBuf> = Vec::new();
    let mut unreadable = Vec::new();
    for path in paths {
        match list(path) {
            Ok(found) => {
                let new: Vec<PathBuf> = found.into_iter().filter(|file| !files.contains(file)).collect();
                files.extend(new);
            }
            Err(cause) => unreadable.push(format!("{}: {cause}", path.display())),
        }
    }
    if files.len() > FILES_MAX {
        return Err(vec![format!("more than {FILES_MAX} files")]);
    }
    let mut texts = Vec::new();
    for file in &files {
        match text_of(file) {
            Ok(text) => texts.push(CedarFile { name: file.display().to_string(), text: text.into() }),
            Err(cause) => unreadable.push(format!("{}: {cause}", file.display())),
        }
    }
    if unreadable.is_empty() { Ok(texts) } else { Err(unreadable) }
}

/// Returns the file, or the `*.cedar` files of the directory, sorted by name.
fn list(path: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |cause: std::io::Error| cause.to_string();
    if !std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".cedar") && !name.starts_with('.') {
            files.push(file);
        }
    }
    if files.is_empty() {
        // An empty directory would forbid nothing, so it is probably a mistake.
        return Err("no file *.cedar is in it".to_owned());
    }
    files.sort();
    Ok(files)
}

fn text_of(file: &Path) -> Result<String, String> {
    let failed = |cause: std::io::Error| cause.to_string();
    if !std::fs::metadata(file).map_err(failed)?.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut text = String::new();
    // One byte more than the limit shows that the file is too long.
    let limit = CedarPolicies::FILE_BYTES_MAX as u64 + 1;
    File::open(file).map_err(failed)?.take(limit).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}
