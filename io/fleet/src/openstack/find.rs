//! Finds a cloud: in clouds.yaml and secure.yaml or in the environment, with the rules of other OpenStack
//! clients (<https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html>). Unknown
//! settings are errors, because a misread credential may lock an account.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use weir_config::plan::{Certificate, TlsOut, TlsVersion};

use super::cloud::{ApplicationCredential, Cloud, Credentials, Domain, Project, User};
use crate::{storage, yaml};

/// Environment that determines the cloud.
pub struct Surroundings<'a> {
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Directories that are searched for clouds.yaml, in this order.
    pub directories: Vec<PathBuf>,
}

const FILE_BYTES_MAX: u64 = 1 << 20;

/// Services whose address may be set in clouds.yaml.
const SERVICES: [&str; 3] = ["compute", "network", "image"];

impl Surroundings<'static> {
    /// Returns the environment of this process: the working directory, the user's and the system's directory.
    pub fn of_process() -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let config = std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| home.map(|home| home.join(".config")))
            .map(|config| config.join("openstack"));
        let directories = std::iter::once(PathBuf::from("."))
            .chain(config)
            .chain(std::iter::once(PathBuf::from("/etc/openstack")))
            .collect();
        Self {
            variable: &|name: &str| std::env::var(name).ok().filter(|value| !value.is_empty()),
            directories,
        }
    }
}

impl Surroundings<'_> {
    /// Returns the cloud of this name. Without a name, uses OS_CLOUD, else the variables OS_AUTH_URL and so
    /// on, else the only cloud in clouds.yaml.
    pub fn cloud(&self, name: Option<&str>) -> Result<Cloud, String> {
        let named = name.map(str::to_owned).or_else(|| (self.variable)("OS_CLOUD"));
        if named.is_none() && (self.variable)("OS_AUTH_URL").is_some() {
            return self.environment_cloud();
        }
        let (place, clouds) = self.clouds()?;
        let name = match (named, clouds.len()) {
            (Some(name), _) => name,
            (None, 1) => clouds.keys().next().cloned().unwrap_or_default(),
            (None, _) => {
                return Err(format!("{place}: which cloud? one of {}", names(&clouds)));
            }
        };
        let Some(Value::Object(cloud)) = clouds.get(&name) else {
            return Err(format!("{place}: no cloud {name:?}: one of {}", names(&clouds)));
        };
        let cloud = Written { cloud, auth: cloud.get("auth").and_then(Value::as_object) };
        cloud.read(&name).map_err(|why| format!("{place}, cloud {name}: {why}"))
    }

    /// Returns the clouds of clouds.yaml, merged with secure.yaml.
    fn clouds(&self) -> Result<(String, Map<String, Value>), String> {
        let file = self.file("OS_CLIENT_CONFIG_FILE", "clouds").ok_or_else(|| {
            let places: Vec<_> = self.directories.iter().map(|place| place.display().to_string()).collect();
            format!("no clouds.yaml in {}, and OS_AUTH_URL is not set", places.join(", "))
        })?;
        let mut clouds = load(&file)?;
        if let Some(secure) = self.file("OS_CLIENT_SECURE_FILE", "secure") {
            merge(&mut clouds, load(&secure)?);
        }
        match clouds {
            Value::Object(mut clouds) => match clouds.remove("clouds") {
                Some(Value::Object(clouds)) => Ok((file.display().to_string(), clouds)),
                _ => Err(format!("{}: has no \"clouds\"", file.display())),
            },
            _ => Err(format!("{}: has no \"clouds\"", file.display())),
        }
    }

    fn file(&self, variable: &str, name: &str) -> Option<PathBuf> {
        if let Some(given) = (self.variable)(variable) {
            return Some(PathBuf::from(given));
        }
        let mut candidates = self.directories.iter().flat_map(|directory| {
            ["yaml", "yml"].map(|extension| directory.join(format!("{name}.{extension}")))
        });
        candidates.find(|path| path.is_file())
    }

    fn environment_cloud(&self) -> Result<Cloud, String> {
        const AUTH: [&str; 17] = [
            "auth_url",
            "username",
            "user_id",
            "password",
            "project_id",
            "project_name",
            "tenant_id",
            "tenant_name",
            "user_domain_id",
            "user_domain_name",
            "project_domain_id",
            "project_domain_name",
            "domain_id",
            "default_domain_id",
            "application_credential_id",
            "application_credential_name",
            "application_credential_secret",
        ];
        const OTHER: [&str; 7] =
            ["region_name", "interface", "auth_type", "cacert", "cert", "key", "identity_api_version"];
        let read = |names: &[&str]| -> Map<String, Value> {
            let pairs = names.iter().filter_map(|name| {
                let value = (self.variable)(&format!("OS_{}", name.to_ascii_uppercase()))?;
                Some(((*name).to_owned(), Value::String(value)))
            });
            pairs.collect()
        };
        let (auth, mut cloud) = (read(&AUTH), read(&OTHER));
        if let Some(insecure) = (self.variable)("OS_INSECURE") {
            cloud.insert("insecure".to_owned(), Value::String(insecure));
        }
        for service in SERVICES {
            let variable = format!("OS_{}_ENDPOINT_OVERRIDE", service.to_ascii_uppercase());
            if let Some(url) = (self.variable)(&variable) {
                cloud.insert(format!("{service}_endpoint_override"), Value::String(url));
            }
        }
        let written = Written { cloud: &cloud, auth: Some(&auth) };
        written.read("envvars").map_err(|why| format!("environment (OS_...): {why}"))
    }
}

/// A cloud in the configuration files.
struct Written<'a> {
    cloud: &'a Map<String, Value>,
    auth: Option<&'a Map<String, Value>>,
}

impl Written<'_> {
    fn read(&self, name: &str) -> Result<Cloud, String> {
        if self.cloud.contains_key("profile") || self.cloud.contains_key("vendor_hook") {
            return Err("vendor profiles are not read: write out auth_url and region_name".to_owned());
        }
        if self.of_cloud("identity_api_version").is_some_and(|version| !version.starts_with('3')) {
            return Err("identity_api_version: only 3 is spoken".to_owned());
        }
        let overrides = SERVICES.iter().filter_map(|service| {
            Some(((*service).to_owned(), self.of_cloud(&format!("{service}_endpoint_override"))?))
        });
        let interface = self.of_cloud("interface").or_else(|| self.of_cloud("endpoint_type"));
        let interface = interface.unwrap_or_else(|| "public".to_owned());
        let interface = interface.strip_suffix("URL").unwrap_or(&interface).to_owned();
        if !matches!(interface.as_str(), "public" | "internal" | "admin") {
            return Err(format!("interface: {interface:?} is none of public, internal, admin"));
        }
        let tls = self.tls()?;
        Ok(Cloud {
            name: name.to_owned(),
            auth_url: self.needed("auth_url")?,
            credentials: self.credentials()?,
            region: self.of_cloud("region_name"),
            interface,
            tls,
            overrides: overrides.collect::<BTreeMap<_, _>>(),
        })
    }

    fn credentials(&self) -> Result<Credentials, String> {
        let kind = self.of_cloud("auth_type");
        let by_credential = match kind.as_deref() {
            Some("v3applicationcredential") => true,
            Some("password" | "v3password") => false,
            None => self.of_auth("application_credential_secret").is_some(),
            Some(other) => {
                return Err(format!("auth_type: {other:?} is neither password nor v3applicationcredential"));
            }
        };
        if by_credential {
            let credential = match self.of_auth("application_credential_id") {
                Some(id) => ApplicationCredential::Id(id),
                None => {
                    ApplicationCredential::Name(self.needed("application_credential_name")?, self.user()?)
                }
            };
            let secret = self.needed("application_credential_secret")?;
            return Ok(Credentials::ApplicationCredential { credential, secret });
        }
        let project = match self.of_auth("project_id").or_else(|| self.of_auth("tenant_id")) {
            Some(id) => Project::Id(id),
            None => {
                let named = self.of_auth("project_name").or_else(|| self.of_auth("tenant_name"));
                let named = named.ok_or("neither project_id nor project_name is set")?;
                Project::Name(named, self.domain("project"))
            }
        };
        Ok(Credentials::Password { user: self.user()?, password: self.needed("password")?, project })
    }

    fn user(&self) -> Result<User, String> {
        match self.of_auth("user_id") {
            Some(id) => Ok(User::Id(id)),
            None => Ok(User::Name(self.needed("username")?, self.domain("user"))),
        }
    }

    /// Returns the domain. Without a setting it is "default", which each cloud has.
    fn domain(&self, of: &str) -> Domain {
        let id = self.of_auth(&format!("{of}_domain_id"));
        let name = self.of_auth(&format!("{of}_domain_name"));
        match (id, name) {
            (Some(id), _) => Domain::Id(id),
            (None, Some(name)) => Domain::Name(name),
            (None, None) => {
                let general = self.of_auth("domain_id").or_else(|| self.of_auth("default_domain_id"));
                Domain::Id(general.unwrap_or_else(|| "default".to_owned()))
            }
        }
    }

    fn tls(&self) -> Result<TlsOut, String> {
        let insecure = self.switch("insecure")?.unwrap_or(false);
        let verify = self.switch("verify")?.unwrap_or(true) && !insecure;
        let client_certificate = match (self.of_cloud("cert"), self.of_cloud("key")) {
            (Some(certificate), key) => {
                // One file may hold both.
                let key = PathBuf::from(key.unwrap_or_else(|| certificate.clone()));
                Some(Certificate { certificate: PathBuf::from(certificate), key })
            }
            (None, Some(_)) => return Err("key is set, and cert is not".to_owned()),
            (None, None) => None,
        };
        let ca = self.of_cloud("cacert").map(PathBuf::from);
        Ok(TlsOut { verify, ca, server_name: None, client_certificate, version_min: TlsVersion::V1_2 })
    }

    fn switch(&self, key: &str) -> Result<Option<bool>, String> {
        let Some(value) = self.of_cloud(key) else { return Ok(None) };
        match value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok(Some(true)),
            "false" | "no" | "0" => Ok(Some(false)),
            _ => Err(format!("{key}: {value:?} is neither true nor false")),
        }
    }

    fn needed(&self, key: &str) -> Result<String, String> {
        self.of_auth(key).ok_or_else(|| format!("{key} is not set"))
    }

    fn of_auth(&self, key: &str) -> Option<String> {
        self.auth.and_then(|auth| text(auth.get(key)?))
    }

    fn of_cloud(&self, key: &str) -> Option<String> {
        text(self.cloud.get(key)?)
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn load(path: &Path) -> Result<Value, String> {
    let contents = storage::read(path, FILE_BYTES_MAX).map_err(|cause| cause.to_string())?;
    let contents = contents.ok_or_else(|| format!("{}: no such file", path.display()))?;
    let text = String::from_utf8(contents).map_err(|_| format!("{}: is not UTF-8", path.display()))?;
    yaml::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

/// Merges mappings at each depth, and replaces other values.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// Returns the names in alphabetical order.
fn names(clouds: &Map<String, Value>) -> String {
    let mut names: Vec<_> = clouds.keys().map(String::as_str).collect();
    names.sort_unstable();
    names.join(", ")
}
