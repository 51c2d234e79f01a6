//! Finds a cluster: in a kubeconfig, with the rules of kubectl
//! (<https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/>), or in a pod by
//! its mounted service account. Unsupported settings are errors.

use std::io;
use std::path::{Path, PathBuf};

use hyper::http::uri::Scheme;
use kube::Config;
use kube::client::ConfigExt;
use kube::config::{
    AuthInfo, Cluster as Written, Context, Kubeconfig, KubeconfigError, NamedAuthInfo, NamedCluster,
    NamedContext,
};

use super::cluster::Cluster;
use crate::storage;

/// Environment that determines the cluster.
pub struct Surroundings<'a> {
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Home directory of the user.
    pub home: Option<PathBuf>,
    /// Directory of a pod's service account.
    pub service_account: PathBuf,
}

/// Name of the cluster in which Weir runs as a pod.
const IN_CLUSTER: &str = "in-cluster";

impl Surroundings<'static> {
    /// Returns the environment of this process.
    pub fn of_process() -> Self {
        Self {
            variable: &|name: &str| std::env::var(name).ok().filter(|value| !value.is_empty()),
            home: std::env::var_os("HOME").map(PathBuf::from),
            service_account: PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount"),
        }
    }
}

impl Surroundings<'_> {
    /// Returns the cluster of a context. Without `kubeconfig`, uses the files of KUBECONFIG, else
    /// `~/.kube/config`, else the service account of this pod. Without `context`, uses the current one.
    ///
    /// # Errors
    /// If there is no cluster, or if its configuration is invalid or unsupported. Names the file.
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
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        let named = |why: String| format!("{}: {why}", names.join(":"));
        let mut all = Kubeconfig::default();
        for file in &files {
            all = all.merge(load(file)?).map_err(|cause| named(cause.to_string()))?;
        }
        chosen(all, context).map_err(named)
    }

    fn files(&self) -> Vec<PathBuf> {
        if let Some(list) = (self.variable)("KUBECONFIG") {
            return list.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
        }
        let own = self.home.as_ref().map(|home| home.join(".kube/config"));
        own.into_iter().filter(|path| path.is_file()).collect()
    }

    /// Creates a kubeconfig for the service account, because the library's own support has fixed paths.
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
        let namespace = storage::read(&self.service_account.join("namespace"), 1024).ok().flatten();
        let namespace = namespace.map(|name| String::from_utf8_lossy(&name).trim().to_owned());
        let cluster = Written {
            server: Some(format!("https://{host}:{port}")),
            certificate_authority: Some(ca.display().to_string()),
            ..Written::default()
        };
        let user = AuthInfo { token_file: Some(token.display().to_string()), ..AuthInfo::default() };
        let name = || IN_CLUSTER.to_owned();
        let context = Context { cluster: name(), user: Some(name()), namespace, ..Context::default() };
        let account = Kubeconfig {
            clusters: vec![NamedCluster { name: name(), cluster: Some(cluster), ..NamedCluster::default() }],
            auth_infos: vec![NamedAuthInfo {
                name: name(),
                auth_info: Some(user),
                ..NamedAuthInfo::default()
            }],
            contexts: vec![NamedContext { name: name(), context: Some(context), ..NamedContext::default() }],
            ..Kubeconfig::default()
        };
        let mut cluster = chosen(account, Some(IN_CLUSTER))?;
        // The kubelet renews the file, as it does the token.
        cluster.config.root_cert_file = Some(ca);
        Ok(cluster)
    }
}

/// Loads one of possibly several files.
fn load(file: &Path) -> Result<Kubeconfig, String> {
    let read = Kubeconfig::read_from(file).map_err(|cause| match cause {
        KubeconfigError::ReadConfig(cause, _) if cause.kind() == io::ErrorKind::NotFound => {
            "there is no such file".to_owned()
        }
        KubeconfigError::ReadConfig(cause, _) => cause.to_string(),
        // The error omits the surrounding lines, which may contain secrets.
        KubeconfigError::Parse(cause) => cause.without_snippet().to_string(),
        cause => cause.to_string(),
    });
    let mut read = read.map_err(|why| format!("{}: {why}", file.display()))?;
    // kubectl writes an empty name for no context; the name in the next file then applies.
    read.current_context = read.current_context.filter(|name| !name.is_empty());
    Ok(read)
}

/// Returns the cluster of the context.
fn chosen(mut all: Kubeconfig, context: Option<&str>) -> Result<Cluster, String> {
    let name = context.map(str::to_owned).or_else(|| all.current_context.clone());
    let name = name.ok_or("has no current-context: name a context")?;
    let contexts = all.contexts.iter_mut().map(|of| (of.name.as_str(), of.context.as_mut()));
    let context = named(contexts, "context", &name)?;
    context.user = context.user.take().filter(|name| !name.is_empty());
    context.namespace = context.namespace.take().filter(|name| !name.is_empty());
    let clusters = all.clusters.iter_mut().map(|of| (of.name.as_str(), of.cluster.as_mut()));
    let cluster = named(clusters, "cluster", &context.cluster)?;
    if cluster.proxy_url.is_some() {
        return Err(format!("cluster {}: proxy-url is not supported", context.cluster));
    }
    if let Some(user) = &context.user {
        let users = all.auth_infos.iter_mut().map(|of| (of.name.as_str(), of.auth_info.as_mut()));
        let written = named(users, "user", user)?;
        refuse(written).map_err(|why| format!("user {user}: {why}"))?;
    }
    all.current_context = Some(name.clone());
    let mut config = Config::try_from(all).map_err(|cause| cause.to_string())?;
    // Weir uses no proxy for any service.
    config.proxy_url = None;
    // No certificate is verified here, so an empty system store must not be an error.
    if config.accept_invalid_certs || config.cluster_url.scheme() == Some(&Scheme::HTTP) {
        config.root_cert = Some(config.root_cert.take().unwrap_or_default());
    }
    // Checks that certificates and keys exist and are valid.
    config.rustls_client_config().map_err(|cause| cause.to_string())?;
    Ok(Cluster { name, config })
}

/// Returns the entry with a name in a list of the kubeconfig.
fn named<'a, T>(
    all: impl Iterator<Item = (&'a str, Option<&'a mut T>)>,
    kind: &str,
    name: &str,
) -> Result<&'a mut T, String> {
    let mut known = Vec::new();
    for (of, written) in all {
        if let (true, Some(written)) = (of == name, written) {
            return Ok(written);
        }
        known.push(of);
    }
    Err(format!("no {kind} {name:?}: one of {}", known.join(", ")))
}

/// Refuses authentication methods that the library supports but Weir does not.
fn refuse(user: &AuthInfo) -> Result<(), String> {
    let refused = |key: &str, why: &str| Err(format!("{key} is not supported{why}"));
    if user.exec.is_some() {
        return refused(
            "exec",
            ": no programs are run for credentials; give a token, tokenFile or client-certificate",
        );
    }
    if user.auth_provider.is_some() {
        return refused("auth-provider", " (nor is it by Kubernetes since 1.26)");
    }
    for (key, is_there) in [("username", user.username.is_some()), ("password", user.password.is_some())] {
        if is_there {
            return refused(key, " (nor is it by Kubernetes since 1.19)");
        }
    }
    let impersonated = [
        ("as", user.impersonate.is_some()),
        ("as-uid", user.impersonate_uid.is_some()),
        ("as-groups", user.impersonate_groups.is_some()),
        ("as-user-extra", user.impersonate_user_extra.is_some()),
    ];
    match impersonated.into_iter().find(|(_, is_there)| *is_there) {
        Some((key, _)) => refused(key, ": nobody else is impersonated"),
        None => Ok(()),
    }
}
