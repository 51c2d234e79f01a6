//! Where a cluster is written down: a kubeconfig, as kubectl reads it
//! (<https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>), or, within a pod, the service
//! account that is mounted into it. What is not understood is refused, and not passed over.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use weir_config::plan::{Certificate, TlsOut, TlsVersion};

use super::cluster::{Cluster, Credentials};
use crate::{storage, yaml};

/// What the place of a cluster depends on.
pub struct Surroundings<'a> {
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The user's directory.
    pub home: Option<PathBuf>,
    /// Where a pod has its service account.
    pub service_account: PathBuf,
}

const FILE_BYTES_MAX: u64 = 4 << 20;

impl Surroundings<'static> {
    /// Those of this process.
    pub fn of_process() -> Self {
        Self {
            variable: &|name: &str| std::env::var(name).ok().filter(|value| !value.is_empty()),
            home: std::env::var_os("HOME").map(PathBuf::from),
            service_account: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
        }
    }
}

impl Surroundings<'_> {
    /// The cluster of a context. Without a file those of KUBECONFIG count, else `~/.kube/config`, else the service account of the pod
    /// that this is; without a context the current one.
    ///
    /// # Errors
    /// There is none, or what is written of it is not understood; with the file.
    pub fn cluster(&self, kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Cluster, String> {
        let files = match kubeconfig {
            Some(file) => vec![file.to_owned()],
            None => self.files(),
        };
        if files.is_empty() {
            if let Some(context) = context {
                return Err(format!("there is no kubeconfig that could have a context {context:?}"));
            }
            return self.in_cluster();
        }
        let loaded: Result<Vec<_>, String> = files.iter().map(|file| Kubeconfig::load(file)).collect();
        let files = Files(loaded?);
        files.cluster(context).map_err(|why| format!("{}: {why}", files.names()))
    }

    fn files(&self) -> Vec<PathBuf> {
        if let Some(list) = (self.variable)("KUBECONFIG") {
            return list.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
        }
        let own = self.home.as_ref().map(|home| home.join(".kube/config"));
        own.into_iter().filter(|path| path.is_file()).collect()
    }

    fn in_cluster(&self) -> Result<Cluster, String> {
        let variable = |name: &str| (self.variable)(name);
        let (Some(host), Some(port)) =
            (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"))
        else {
            return Err(
                "no kubeconfig (KUBECONFIG, ~/.kube/config), and this is no pod (KUBERNETES_SERVICE_HOST)"
                    .to_owned(),
            );
        };
        let (token, ca) = (self.service_account.join("token"), self.service_account.join("ca.crt"));
        if !token.is_file() {
            return Err(format!(
                "{}: this pod has no service account (automountServiceAccountToken)",
                token.display()
            ));
        }
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let tls = TlsOut { ca: Some(ca), ..verified() };
        let url = format!("https://{host}:{port}");
        let mut cluster = Cluster::new("in-cluster", &url, Credentials::TokenFile(token), tls);
        if let Ok(Some(namespace)) = storage::read(&self.service_account.join("namespace"), 1024) {
            let namespace = String::from_utf8_lossy(&namespace).trim().to_owned();
            cluster.namespace = Some(namespace).filter(|name| !name.is_empty()).unwrap_or(cluster.namespace);
        }
        Ok(cluster)
    }
}

fn verified() -> TlsOut {
    TlsOut {
        verify: true,
        ca: None,
        server_name: None,
        client_certificate: None,
        version_min: TlsVersion::V1_2,
    }
}

/// One file of perhaps several.
struct Kubeconfig {
    path: PathBuf,
    root: Map<String, Value>,
}

impl Kubeconfig {
    fn load(path: &Path) -> Result<Self, String> {
        let named = |why: String| format!("{}: {why}", path.display());
        let text = storage::read(path, FILE_BYTES_MAX).map_err(|cause| cause.to_string())?;
        let text = text.ok_or_else(|| named("there is no such file".to_owned()))?;
        let text = String::from_utf8(text).map_err(|_| named("not UTF-8".to_owned()))?;
        match yaml::parse(&text).map_err(named)? {
            Value::Object(root) => Ok(Self { path: path.to_owned(), root }),
            _ => Err(named("no kubeconfig".to_owned())),
        }
    }

    /// What a list has under a name: `clusters: [{ name: a, cluster: {...} }]`.
    fn named(&self, list: &str, kind: &str, name: &str) -> Option<Written<'_>> {
        let entries = self.root.get(list)?.as_array()?;
        let entry = entries.iter().find(|entry| entry["name"].as_str() == Some(name))?;
        let directory = self.path.parent().unwrap_or(Path::new("."));
        Some(Written { map: entry[kind].as_object()?, directory, what: format!("{kind} {name}") })
    }

    fn names(&self, list: &str) -> Vec<&str> {
        let entries = self.root.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        entries.iter().filter_map(|entry| entry["name"].as_str()).collect()
    }
}

/// Of several files the first that has something counts.
struct Files(Vec<Kubeconfig>);

impl Files {
    fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|file| file.path.display().to_string()).collect();
        names.join(":")
    }

    fn named(&self, list: &str, kind: &str, name: &str) -> Result<Written<'_>, String> {
        self.0.iter().find_map(|file| file.named(list, kind, name)).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().flat_map(|file| file.names(list)).collect();
            format!("no {kind} {name:?}: one of {}", known.join(", "))
        })
    }

    fn cluster(&self, context: Option<&str>) -> Result<Cluster, String> {
        let current = || {
            let mut all = self.0.iter().filter_map(|file| file.root.get("current-context")?.as_str());
            all.find(|name| !name.is_empty())
        };
        let name = context.or_else(current).ok_or("has no current-context: name a context")?;
        let context = self.named("contexts", "context", name)?;
        let cluster = self.named("clusters", "cluster", &context.needed("cluster")?)?;
        let user = match context.text("user") {
            Some(user) => Some(self.named("users", "user", &user)?),
            None => None,
        };
        cluster.refuse("proxy-url", "is not supported")?;
        let mut tls = TlsOut {
            verify: cluster.text("insecure-skip-tls-verify").as_deref() != Some("true"),
            server_name: cluster.text("tls-server-name"),
            ..verified()
        };
        let mut kept = Vec::new();
        tls.ca = cluster.pem("certificate-authority", &mut kept)?;
        let mut credentials = Credentials::None;
        if let Some(user) = user {
            credentials = user.credentials()?;
            let (certificate, key) =
                (user.pem("client-certificate", &mut kept)?, user.pem("client-key", &mut kept)?);
            tls.client_certificate = match (certificate, key) {
                (Some(certificate), Some(key)) => Some(Certificate { certificate, key }),
                (None, None) => None,
                (Some(_), None) => return Err(format!("{}: has no client-key", user.what)),
                (None, Some(_)) => return Err(format!("{}: has no client-certificate", user.what)),
            };
        }
        let mut found = Cluster::new(name, &cluster.needed("server")?, credentials, tls);
        found.namespace = context.text("namespace").unwrap_or(found.namespace);
        found.kept = kept;
        Ok(found)
    }
}

/// What stands under a name.
struct Written<'a> {
    map: &'a Map<String, Value>,
    directory: &'a Path,
    what: String,
}

impl Written<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.map.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn needed(&self, key: &str) -> Result<String, String> {
        self.text(key).ok_or_else(|| format!("{}: has no {key}", self.what))
    }

    fn refuse(&self, key: &str, why: &str) -> Result<(), String> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(format!("{}: {key} {why}", self.what)),
        }
    }

    fn credentials(&self) -> Result<Credentials, String> {
        self.refuse(
            "exec",
            "is not supported: no programs are run for credentials; give a token, tokenFile or client-certificate",
        )?;
        self.refuse("auth-provider", "is not supported (nor is it by Kubernetes since 1.26)")?;
        for key in ["username", "password"] {
            self.refuse(key, "is not supported (nor is it by Kubernetes since 1.19)")?;
        }
        for key in ["as", "as-uid", "as-groups", "as-user-extra"] {
            self.refuse(key, "is not supported: nobody else is impersonated")?;
        }
        // A file counts more than a token that stands beside it (client-go).
        Ok(match (self.text("tokenFile"), self.text("token")) {
            (Some(file), _) => Credentials::TokenFile(self.directory.join(file)),
            (None, Some(token)) => Credentials::Token(token),
            (None, None) => Credentials::None,
        })
    }

    /// A file, or what the kubeconfig has of it under the same name with `-data`, which counts more.
    fn pem(&self, key: &str, kept: &mut Vec<Arc<OwnedFd>>) -> Result<Option<PathBuf>, String> {
        let data = format!("{key}-data");
        let Some(encoded) = self.text(&data) else {
            return Ok(self.text(key).map(|path| self.directory.join(path)));
        };
        let named = |why: String| format!("{}: {data}: {why}", self.what);
        let compact: String = encoded.split_whitespace().collect();
        let pem = STANDARD.decode(compact).map_err(|_| named("is no base64".to_owned()))?;
        if !pem.windows(11).any(|window| window == b"-----BEGIN ") {
            return Err(named("is no PEM".to_owned()));
        }
        let (fd, path) = nameless(&data, &pem).map_err(|cause| named(cause.to_string()))?;
        kept.push(Arc::new(fd));
        Ok(Some(path))
    }
}

/// A file in memory, which nobody else sees: TLS takes files, and a key must not come to the disk.
fn nameless(name: &str, contents: &[u8]) -> std::io::Result<(OwnedFd, PathBuf)> {
    let fd = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(contents)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok((OwnedFd::from(file), path))
}
