//! Warns of files that other users of the machine may read although they are secret, or change although Weir
//! relies on them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_config::plan::{
    Certificate, FleetPlan, FleetProvider, KeySetSource, LeasePlan, SecretPlace, StickyBy, TlsIn, TlsOut,
};
use weir_config::{Diagnostic, Loaded};

/// Purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A reader of the file can pass for Weir or for a user.
    Secret,
    /// A writer of the file decides which clients are trusted, and with which rights.
    Trusted,
}

/// File that the config names.
pub(super) struct NamedFile {
    pub(super) path: PathBuf,
    role: Role,
    /// Keys that lead to the file.
    pub(super) keys: Vec<String>,
    /// Part of the config that names the file. Messages begin with it.
    pub(super) subject: String,
}

const OTHERS_READ: u32 = 0o004;
const OTHERS_WRITE: u32 = 0o002;
const OTHERS_ENTER: u32 = 0o001;
/// Sticky bit: in such a directory only the owner of a file may replace it.
const STICKY: u32 = 0o1000;

/// Warns of files that every user may read or change.
pub(super) fn check(loaded: &Loaded, config: &Path) -> Vec<Diagnostic> {
    let mut files = named(loaded);
    let (subject, keys) = ("config".to_owned(), Vec::new());
    files.push(NamedFile { path: config.to_owned(), role: Role::Trusted, keys, subject });
    let warnings = files.iter().filter_map(|file| {
        let (what, mode) = exposure(&file.path, file.role)?;
        let keys: Vec<&str> = file.keys.iter().map(String::as_str).collect();
        let message = format!("{}: {}: {what}", file.subject, file.path.display());
        let mut warning = loaded.warning_at(&keys, message);
        warning.help = Some(mode.to_owned());
        Some(warning)
    });
    warnings.collect()
}

/// Returns the forbidden access that other users have to the file, and how to prevent it. Missing files are
/// reported elsewhere.
fn exposure(path: &Path, role: Role) -> Option<(&'static str, &'static str)> {
    let path = path.canonicalize().ok()?;
    let metadata = std::fs::metadata(&path).ok()?;
    let parents: Vec<Metadata> =
        path.ancestors().skip(1).map(|parent| std::fs::metadata(parent).ok()).collect::<Option<_>>()?;
    if parents.iter().any(|parent| parent.mode() & OTHERS_ENTER == 0) {
        return None;
    }
    if metadata.mode() & OTHERS_WRITE != 0 {
        return Some(("every user of the machine can change it", "take the permission away: chmod o-w"));
    }
    let is_open = |parent: &Metadata| parent.mode() & OTHERS_WRITE != 0 && parent.mode() & STICKY == 0;
    if parents.iter().any(is_open) {
        let what = "every user of the machine can replace it: they can write to a directory above it";
        return Some((what, "take the permission away: chmod o-w of the directory"));
    }
    if role == Role::Secret && metadata.mode() & OTHERS_READ != 0 {
        return Some(("every user of the machine can read it", "take the permission away: chmod o-r"));
    }
    None
}

/// Returns the files that the config names and the process relies on.
pub(super) fn named(loaded: &Loaded) -> Vec<NamedFile> {
    let mut list = FileList::default();
    let plan = &loaded.plan;
    for listener in &plan.listeners {
        let Some(tls) = &listener.tls else { continue };
        let name = listener.name.as_str();
        list.add_tls_in(tls, &format!("listener {name}: tls"), &["listener", name, "tls"]);
    }
    if let Some(admin) = &plan.admin {
        list.add_if(Role::Secret, admin.htpasswd.as_ref(), "admin", &["admin"], &["htpasswd"]);
        if let Some(tls) = &admin.tls {
            list.add_tls_in(tls, "admin: tls", &["admin", "tls"]);
        }
    }
    for pool in &plan.pools {
        let name = pool.name.as_str();
        let subject = format!("pool {name}");
        let keys = ["pool", name];
        if let Some(tls) = &pool.tls {
            list.add_tls(tls, &subject, &["pool", name, "tls"]);
        }
        if let Some(StickyBy::Cookie(cookie)) = pool.sticky.as_ref().map(|sticky| &sticky.by) {
            list.add_place(cookie.key.as_ref(), &subject, &keys, &["sticky", "key-file"]);
        }
        if let Some(redirect) = &pool.redirect {
            list.add_place(Some(&redirect.key), &subject, &keys, &["redirect", "key-file"]);
        }
    }
    for fleet in &plan.fleets {
        of_fleet(&mut list, fleet);
    }
    for area in &plan.storage_areas {
        let subject = format!("storage area {}", area.name);
        let keys = ["storage-area", area.name.as_str()];
        // An attacker who reads the hashes can try passwords offline.
        list.add_if(Role::Secret, area.htpasswd.as_ref(), &subject, &keys, &["htpasswd"]);
        list.add_place(area.redirect_key.as_ref(), &subject, &keys, &["redirect-key-file"]);
        for (organisation, file) in &area.vo_maps {
            list.add(Role::Trusted, file, &subject, &keys, &["vo-maps", organisation]);
        }
        list.add_if(Role::Trusted, area.act_as.as_ref().map(|it| &it.map), &subject, &keys, &["act-as"]);
        for file in &area.access.cedar {
            list.add(Role::Trusted, file, &subject, &keys, &["access", "cedar"]);
        }
    }
    for issuer in &plan.token_issuers {
        let subject = format!("token issuer {}", issuer.name);
        let keys = ["token-issuer", issuer.name.as_str()];
        if let KeySetSource::File(file) = &issuer.key_set {
            list.add(Role::Trusted, file, &subject, &keys, &["key-set"]);
        }
        list.add_if(Role::Trusted, issuer.ca.as_ref(), &subject, &keys, &["ca"]);
    }
    for endpoint in &plan.token_endpoints {
        let subject = format!("token endpoint {}", endpoint.name);
        let keys = ["token-endpoint", endpoint.name.as_str()];
        list.add(Role::Secret, &endpoint.key, &subject, &keys, &["key"]);
        for file in &endpoint.previous_keys {
            list.add(Role::Secret, file, &subject, &keys, &["previous-keys"]);
        }
    }
    if plan.storage_areas.iter().any(|area| area.third_party_copy) {
        list.add_tls(&plan.third_party_copy.tls(), "third-party-copy", &["third-party-copy"]);
    }
    list.0
}

fn of_fleet(list: &mut FileList, fleet: &FleetPlan) {
    let subject = format!("fleet {}", fleet.name);
    let keys = ["fleet", fleet.name.as_str()];
    if let LeasePlan::Store(store) = &fleet.lease {
        list.add_place(store.password.as_ref(), &subject, &keys, &["lease", "password-file"]);
        if let Some(tls) = &store.tls {
            list.add_tls(tls, &subject, &["fleet", fleet.name.as_str(), "lease", "tls"]);
        }
    }
    match &fleet.provider {
        FleetProvider::OpenStack(cloud) => {
            list.add_if(
                Role::Trusted,
                cloud.user_data.as_ref(),
                &subject,
                &keys,
                &["openstack", "user-data"],
            );
        }
        FleetProvider::Kubernetes(pods) => {
            list.add_if(
                Role::Secret,
                pods.kubeconfig.as_ref(),
                &subject,
                &keys,
                &["kubernetes", "kubeconfig"],
            );
        }
        FleetProvider::Process(_) | FleetProvider::Exec(_) => {}
    }
}

#[derive(Default)]
struct FileList(Vec<NamedFile>);

impl FileList {
    /// Adds a file. `below` are the keys below the subject.
    fn add(&mut self, role: Role, path: &Path, subject: &str, keys: &[&str], below: &[&str]) {
        // An index into a list is not a key in the config.
        let written: Vec<&str> = below.iter().copied().filter(|key| key.parse::<usize>().is_err()).collect();
        self.0.push(NamedFile {
            path: path.to_owned(),
            role,
            keys: keys.iter().chain(below).map(|key| (*key).to_owned()).collect(),
            subject: format!("{subject}: {}", written.join(".")),
        });
    }

    fn add_if(&mut self, role: Role, path: Option<&PathBuf>, subject: &str, keys: &[&str], below: &[&str]) {
        if let Some(path) = path {
            self.add(role, path, subject, keys, below);
        }
    }

    fn add_place(&mut self, place: Option<&SecretPlace>, subject: &str, keys: &[&str], below: &[&str]) {
        if let Some(SecretPlace::File(path)) = place {
            self.add(Role::Secret, path, subject, keys, below);
        }
    }

    fn add_tls_in(&mut self, tls: &TlsIn, subject: &str, keys: &[&str]) {
        for (index, Certificate { certificate, key }) in tls.certificates.iter().enumerate() {
            let index = index.to_string();
            if certificate != key {
                let below = ["certificates", &index, "certificate"];
                self.add(Role::Trusted, certificate, subject, keys, &below);
            }
            self.add(Role::Secret, key, subject, keys, &["certificates", &index, "key"]);
        }
        if let Some(auth) = &tls.client_auth {
            self.add(Role::Trusted, &auth.ca, subject, keys, &["client-auth", "ca"]);
            self.add_if(Role::Trusted, auth.crl.as_ref(), subject, keys, &["client-auth", "crl"]);
        }
    }

    fn add_tls(&mut self, tls: &TlsOut, subject: &str, keys: &[&str]) {
        self.add_if(Role::Trusted, tls.ca.as_ref(), subject, keys, &["ca"]);
        if let Some(Certificate { key, .. }) = &tls.client_certificate {
            self.add(Role::Secret, key, subject, keys, &["client-certificate", "key"]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use weir_testkit::TempDir;

    use super::*;

    /// Returns the warning about a file with `mode` in a directory with `directory_mode`, for each role.
    fn said(directory_mode: u32, mode: u32) -> [Option<&'static str>; 2] {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        let set = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&file, mode);
        set(directory.path(), directory_mode);
        [Role::Secret, Role::Trusted].map(|role| exposure(&file, role).map(|(what, _)| what))
    }

    #[test]
    fn a_secret_that_others_can_read_and_a_file_that_they_can_change_are_exposed() {
        let readable = Some("every user of the machine can read it");
        let writable = Some("every user of the machine can change it");
        assert_eq!(said(0o755, 0o640), [None, None]);
        assert_eq!(said(0o755, 0o644), [readable, None]);
        assert_eq!(said(0o755, 0o666), [writable, writable]);
        let [replaced, also] = said(0o777, 0o600);
        assert!(replaced.is_some_and(|what| what.contains("directory above")) && replaced == also);
        assert_eq!(said(0o1777, 0o600), [None, None], "the owner alone can replace it");
    }

    #[test]
    fn a_directory_that_others_cannot_enter_protects_its_files() {
        assert_eq!(said(0o700, 0o666), [None, None]);
    }

    #[test]
    fn a_file_that_is_not_there_is_not_exposed() {
        assert_eq!(exposure(Path::new("/nowhere/at/all"), Role::Secret), None);
    }
}
