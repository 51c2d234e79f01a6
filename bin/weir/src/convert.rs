//! `weir convert`: converts another program's configuration to Weir's.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;
use weir_access::convert::{self, Converted, convert_storm};

use crate::check::{print_diagnostics, print_out};

/// Carry another program's configuration over
///
/// Standard error lists each key that could not be carried over, or that means something else, with file and
/// line; `access:` marks notes about rights that change. Exits with 0, with 1 if nothing was found to carry
/// over, and with 2 if it cannot be read.
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
    /// A profile that is active there (STORM_WEBDAV_PROFILE), whose application-PROFILE.yml counts; `default`
    /// if none is. Later ones replace what earlier ones say. Must be stated if there are such files.
    #[arg(long, value_delimiter = ',')]
    profile: Vec<String>,
}

/// File with its name.
struct Read {
    name: String,
    text: String,
}

/// Runs the verb.
pub(crate) fn run(args: &ConvertArgs) -> ExitCode {
    let From::Storm(args) = &args.from;
    let (areas, application) = match find(&args.directory, &args.profile) {
        Ok(found) => found,
        Err(error) => return fail(&error),
    };
    let mut converted = match convert_storm(&sources(&areas), &sources(&application)) {
        Ok(converted) => converted,
        Err(unreadable) => return fail(&format!("{unreadable}: without this file access could be opened")),
    };
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
        let note = |note: &convert::Note| json!({ "file": note.file, "line": note.line, "access": note.is_about_access, "note": note.what });
        let notes: Vec<_> = converted.notes.iter().map(note).collect();
        return print_out(&format!("{:#}\n", json!({ "config": converted.toml, "notes": notes })));
    }
    let printed = print_out(&converted.toml);
    converted.notes.iter().for_each(|note| eprintln!("{note}"));
    printed
}

/// Returns true if the config is valid. Otherwise prints its errors.
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

/// Finds the files of storage areas, and those of the service that apply to these profiles. Blocks.
fn find(directory: &Path, profiles: &[String]) -> Result<(Vec<Read>, Vec<Read>), String> {
    let inner = |name: &str| Some(directory.join(name)).filter(|path| path.is_dir());
    let areas = inner("sa.d").unwrap_or_else(|| directory.to_owned());
    let service = inner("config").unwrap_or_else(|| directory.to_owned());
    let areas = read_all(&areas, &|name| name.ends_with(".properties"))?;
    if areas.is_empty() {
        return Err(format!("{}: there is no sa.d/*.properties", directory.display()));
    }
    let service = read_all(&service, &|name| profile_of(name).is_some())?;
    let profile = |read: &Read| {
        let name = Path::new(&read.name).file_name().and_then(OsStr::to_str);
        name.and_then(profile_of).map(str::to_owned).unwrap_or_default()
    };
    let of_profile = service.iter().find(|read| !profile(read).is_empty());
    if let Some(read) = of_profile.filter(|_| profiles.is_empty()) {
        // If the profile is unknown, using the file or leaving it out could grant access that StoRM denies.
        let profile = profile(read);
        return Err(format!(
            "{}: counts only where the profile {profile} is active: state those that are with --profile, or --profile default",
            read.name
        ));
    }
    let position = |read: &Read| match profile(read).as_str() {
        "" => Some(0),
        name => profiles.iter().position(|wanted| wanted == name).map(|at| at + 1),
    };
    let mut service: Vec<_> = service.into_iter().filter(|read| position(read).is_some()).collect();
    // A file without a profile in its name comes first.
    service.sort_by_key(position);
    Ok((areas, service))
}

/// Returns the profile in the name of a service file, empty if it has none. Returns `None` for other files.
fn profile_of(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".yml").or(name.strip_suffix(".yaml"))?.strip_prefix("application")?;
    if stem.is_empty() { Some(stem) } else { stem.strip_prefix('-') }
}

fn read_all(directory: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Read>, String> {
    let failed = |path: &Path, cause: io::Error| format!("{}: {cause}", path.display());
    let mut read = Vec::new();
    for entry in fs::read_dir(directory).map_err(|cause| failed(directory, cause))? {
        let path = entry.map_err(|cause| failed(directory, cause))?.path();
        if !path.file_name().is_some_and(|name| name.to_str().is_some_and(wanted)) || !path.is_file() {
            continue;
        }
        let text = read_text(&path).map_err(|cause| failed(&path, cause))?;
        read.push(Read { name: path.display().to_string(), text });
    }
    read.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(read)
}

/// Reads a file as UTF-8, else as Latin-1, in which Java reads properties files. Reads at most one byte more
/// than the limit, which shows that the file is too long.
fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(convert::BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    if path.extension().is_some_and(|extension| extension == "properties") {
        return Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect()));
    }
    // A file that was cut within a character is too long anyway.
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if error.as_bytes().len() > convert::BYTES_MAX => {
            Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
        }
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    }
}

fn sources(files: &[Read]) -> Vec<convert::Source<'_>> {
    files.iter().map(|file| convert::Source { name: &file.name, text: &file.text }).collect()
}

fn fail(error: &str) -> ExitCode {
    eprintln!("weir convert: {error}");
    ExitCode::from(2)
}
