//! Checks storage areas: their root directories, and their files of passwords and keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use weir_access::basic::Htpasswd;
use weir_access::jwt::KeySet;
use weir_access::rule::cedar::CedarFault;
use weir_config::plan::{AreaPlan, KeySetSource, LocationFiles, PoolPlan};
use weir_config::{Diagnostic, Loaded, Severity, Source};

/// Reports files and directories of storage areas that are missing or unusable.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for area in &loaded.plan.storage_areas {
        let name = area.name.as_str();
        let wrong = |key: &str, cause: String| {
            loaded.error_at(&["storage-area", name, key], format!("storage area {name}: {key}: {cause}"))
        };
        let root = area.root.display();
        match std::fs::metadata(&area.root) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => found.push(wrong("root", format!("{root} is not a directory"))),
            Err(cause) => found.push(wrong("root", format!("{root}: {cause}"))),
        }
        if let Some(act_as) = &area.act_as {
            let checked = weir_gateway::check_act_as(act_as);
            found.extend(checked.err().map(|cause| {
                let message = format!("storage area {name}: {cause}");
                loaded.error_at(&["storage-area", name, "act-as"], message)
            }));
        }
        found.extend(cedar(loaded, area));
        found.extend(weir_gateway::check_vo_maps(&area.vo_maps).err().map(|cause| wrong("vo-maps", cause)));
        if let Some(file) = &area.htpasswd {
            let parsed = read(file, Htpasswd::BYTES_MAX).and_then(|bytes| {
                let text = String::from_utf8(bytes).map_err(|cause| cause.to_string())?;
                Htpasswd::parse(&text).map_err(|cause| cause.to_string())
            });
            match parsed {
                Ok(users) => found.extend(slow_users(loaded, area, &users)),
                Err(cause) => found.push(wrong("htpasswd", format!("{}: {cause}", file.display()))),
            }
        }
    }
    for pool in &loaded.plan.pools {
        found.extend(uploads_for_nobody(loaded, pool));
        let locations = pool.offload.iter().flat_map(|offload| &offload.locations);
        for (index, location) in locations.enumerate() {
            let LocationFiles::Root { root, .. } = &location.files else { continue };
            let cause = match std::fs::metadata(root) {
                Ok(metadata) if metadata.is_dir() => continue,
                Ok(_) => "not a directory".to_owned(),
                Err(cause) => cause.to_string(),
            };
            let (name, number) = (pool.name.as_str(), index + 1);
            let message = format!("pool {name}, location {number}: root: {}: {cause}", root.display());
            found.push(loaded.error_at(&["pool", name, "offload"], message));
        }
    }
    for issuer in &loaded.plan.token_issuers {
        let KeySetSource::File(file) = &issuer.key_set else { continue };
        let parsed = read(file, KeySet::BYTES_MAX)
            .and_then(|bytes| KeySet::parse(&bytes).map(drop).map_err(|cause| cause.to_string()));
        if let Err(cause) = parsed {
            let name = issuer.name.as_str();
            let message = format!("token issuer {name}: key-set: {}: {cause}", file.display());
            found.push(loaded.error_at(&["token-issuer", name, "key-set"], message));
        }
    }
    for endpoint in &loaded.plan.token_endpoints {
        let name = endpoint.name.as_str();
        let key = |is_previous| if is_previous { "previous-keys" } else { "key" };
        if let Err(wrong) = weir_gateway::check_token_endpoint(&loaded.plan, endpoint) {
            let message = format!("token endpoint {name}: {wrong}");
            found.push(loaded.error_at(&["token-endpoint", name, key(wrong.is_previous)], message));
        }
    }
    found
}

/// Warns of users whose password checks keep a core busy for a long time.
fn slow_users(loaded: &Loaded, area: &AreaPlan, users: &Htpasswd) -> Option<Diagnostic> {
    let (slow, name) = (users.slow_users().collect::<Vec<_>>(), area.name.as_str());
    let example = slow.first()?;
    let message = format!(
        "storage area {name}: htpasswd: the password hashes of {} of {} users ({example}) are slow, and others wait for their checks: \
         usual are bcrypt with a cost of 10 to 12 (htpasswd -B -C 10) and SHA-crypt with 5,000 rounds",
        slow.len(),
        users.len()
    );
    Some(loaded.warning_at(&["storage-area", name, "htpasswd"], message))
}

/// Reports areas that act as local users but define none for the uploads of a pool.
fn uploads_for_nobody(loaded: &Loaded, pool: &PoolPlan) -> Vec<Diagnostic> {
    let Some(offload) = pool.offload.as_ref().filter(|offload| offload.uploads) else { return Vec::new() };
    let named = |area: &&AreaPlan| {
        let is_it = |files: &LocationFiles| matches!(files, LocationFiles::Area(name) if *name == area.name);
        !area.read_only && offload.locations.iter().any(|location| is_it(&location.files))
    };
    let areas = loaded.plan.storage_areas.iter().filter(named);
    areas
        .filter_map(|area| {
            let cause = weir_gateway::check_act_as_for_uploads(area.act_as.as_ref()?).err()?;
            let message = format!("pool {}: offload.uploads: storage area {}: {cause}", pool.name, area.name);
            Some(loaded.error_at(&["pool", pool.name.as_str(), "offload"], message))
        })
        .collect()
}

/// Checks the files of Cedar policies, and shows the lines that a fault is about.
fn cedar(loaded: &Loaded, area: &AreaPlan) -> Vec<Diagnostic> {
    let name = area.name.as_str();
    let checked = weir_gateway::check_cedar(&area.access.cedar);
    let unreadable = checked.unreadable.iter().map(|cause| {
        let message = format!("storage area {name}: cedar: {cause}");
        loaded.error_at(&["storage-area", name, "access", "cedar"], message)
    });
    let told = |severity, fault: &CedarFault| {
        let source = Source::new(fault.file.as_str(), &*fault.text);
        let message = format!("storage area {name}: cedar: {}", fault.message);
        let mut diagnostic = Diagnostic::in_text(severity, message, &source, fault.bytes.clone());
        if let Some(place) = diagnostic.places.first_mut() {
            place.label.clone_from(&fault.label);
        }
        diagnostic.help.clone_from(&fault.help);
        diagnostic
    };
    let wrong = checked.wrong.iter().map(|fault| told(Severity::Error, fault));
    let doubtful = checked.doubtful.iter().map(|fault| told(Severity::Warning, fault));
    unreadable.chain(wrong).chain(doubtful).collect()
}

/// Reads a file. Reads at most one byte more than `bytes_max`, which shows that the file is too long.
fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|cause| cause.to_string())?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(|cause| cause.to_string())?;
    Ok(bytes)
}
