//! `weir convert`: another program's configuration as Weir's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use weir_access::convert::{self, Converted, convert_storm};

use crate::check::{print_diagnostics, print_out};

/// Carry another program's configuration over
///
/// What could not be carried over, or means something else, is listed on standard error with file and line. Exits with 0,
/// with 1 if nothing was found to carry over, and with 2 if it cannot be read.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// StoRM WebDAV: storage areas (sa.d/*.properties), token issuers and policies (config/application*.yml)
    Storm(StormArgs),
}

#[derive(Debug, Args)]
struct StormArgs {
    /// Its directory, e.g. /etc/storm/webdav.
    directory: PathBuf,
    /// Print for programs: an object with the config and the notes.
    #[arg(long)]
    json: bool,
}

/// A file with its name.
struct Read {
    name: String,
    text: String,
}

/// Runs the verb.
pub(crate) fn run(args: &ConvertArgs) -> ExitCode {
    let From::Storm(args) = &args.from;
    let (areas, application) = match find(&args.directory) {
        Ok(found) => found,
        Err(error) => return fail(&error),
    };
    let mut converted = convert_storm(&sources(&areas), &sources(&application));
    if converted.toml.is_empty() {
        converted.notes.iter().for_each(|note| eprintln!("{note}"));
        eprintln!("weir convert: {}: no storage area could be carried over", args.directory.display());
        return ExitCode::from(1);
    }
    converted.toml.insert_str(0, "# Carried over from StoRM WebDAV. See what `weir convert` has noted, and `weir check` this file.\n\n");
    match is_valid(&converted.toml) {
        true => print(&converted, args.json),
        false => fail("what came of it is no valid config, as shown above; please report this"),
    }
}

fn print(converted: &Converted, as_json: bool) -> ExitCode {
    if as_json {
        let note = |note: &convert::Note| json!({ "file": note.file, "line": note.line, "note": note.what });
        let notes: Vec<_> = converted.notes.iter().map(note).collect();
        return print_out(&format!("{:#}\n", json!({ "config": converted.toml, "notes": notes })));
    }
    let printed = print_out(&converted.toml);
    converted.notes.iter().for_each(|note| eprintln!("{note}"));
    printed
}

/// Whether a config can be read; says what is wrong with it.
fn is_valid(text: &str) -> bool {
    let source = weir_config::Source::new("converted", text);
    match weir_config::load(&[source], &|_| None) {
        Ok(_) => true,
        Err(problems) => {
            print_diagnostics(&problems);
            false
        }
    }
}

/// The files of storage areas, and those of the service. Blocks.
fn find(directory: &Path) -> Result<(Vec<Read>, Vec<Read>), String> {
    let inner = |name: &str| Some(directory.join(name)).filter(|path| path.is_dir());
    let areas = inner("sa.d").unwrap_or_else(|| directory.to_owned());
    let service = inner("config").unwrap_or_else(|| directory.to_owned());
    let areas = read_all(&areas, &|name| name.ends_with(".properties"))?;
    let is_service = |name: &str| {
        let stem = name.strip_suffix(".yml").or(name.strip_suffix(".yaml"));
        stem.is_some_and(|stem| stem == "application" || stem.starts_with("application-"))
    };
    let mut service = read_all(&service, &is_service)?;
    // What has a profile in its name adds to what has none.
    service.sort_by_key(|read| (read.name.contains("application-"), read.name.clone()));
    if areas.is_empty() {
        return Err(format!("{}: there is no sa.d/*.properties", directory.display()));
    }
    Ok((areas, service))
}

fn read_all(directory: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Read>, String> {
    let failed = |path: &Path, cause: io::Error| format!("{}: {cause}", path.display());
    let mut read = Vec::new();
    for entry in fs::read_dir(directory).map_err(|cause| failed(directory, cause))? {
        let path = entry.map_err(|cause| failed(directory, cause))?.path();
        if !path.file_name().is_some_and(|name| name.to_str().is_some_and(wanted)) || !path.is_file() {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?;
        read.push(Read { name: path.display().to_string(), text });
    }
    read.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(read)
}

fn sources(files: &[Read]) -> Vec<convert::Source<'_>> {
    files.iter().map(|file| convert::Source { name: &file.name, text: &file.text }).collect()
}

fn fail(error: &str) -> ExitCode {
    eprintln!("weir convert: {error}");
    ExitCode::from(2)
}
