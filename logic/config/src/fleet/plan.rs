//! A valid fleet: its rules, its balancer and its server provider.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use weir_model::{ByteSize, Millis, Name, PoolName};
use weir_scale::Rules;

use super::lease::plan::LeasePlan;

/// Servers of a pool that Weir adds and removes with demand (`[fleet.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetPlan {
    /// Its name.
    pub name: Name,
    /// Balancer of the servers.
    pub balancer: FleetBalancer,
    /// Provider of the servers.
    pub provider: FleetProvider,
    /// Port of the servers, if the provider does not report it.
    pub port: Option<u16>,
    /// Rules for the number of servers.
    #[serde(serialize_with = "as_in_the_file")]
    pub rules: Rules,
    /// Time between two evaluations.
    pub interval: Millis,
    /// Directory for persistent state.
    pub directory: PathBuf,
    /// Means of leader election between several Weirs.
    pub lease: LeasePlan,
    /// Files that receive history rows; empty = none.
    pub history: Vec<HistoryPlan>,
    /// True if Weir carries out its decisions; false = it only reports them.
    pub act: bool,
}

/// Balancer of a fleet's servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FleetBalancer {
    /// This process, in a pool.
    Pool(PoolName),
    /// A HAProxy process.
    Haproxy(HaproxyBackend),
}

/// A backend of HAProxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HaproxyBackend {
    /// Its runtime socket.
    pub socket: PathBuf,
    /// Name of the backend.
    pub backend: String,
    /// Options for servers that Weir adds.
    pub server: String,
    /// Generated HAProxy configuration; `None` = Weir adds servers over the socket.
    pub template: Option<HaproxyTemplate>,
}

/// A HAProxy configuration that Weir generates from a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HaproxyTemplate {
    /// Template file.
    pub file: PathBuf,
    /// Generated file.
    pub config: PathBuf,
    /// Command that validates the generated file.
    pub validate: Vec<String>,
    /// Command that makes HAProxy reload its configuration.
    pub reload: Vec<String>,
    /// Time limit for each of the two commands, and for the start of the new HAProxy process.
    pub timeout: Millis,
}

/// Destination of a fleet's history rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryPlan {
    /// The file.
    pub file: PathBuf,
    /// Format of the file.
    pub form: HistoryForm,
    /// Time between two rows.
    pub interval: Millis,
    /// Maximum size. Weir rotates a larger file, and deletes the oldest rows of a larger database.
    pub bytes_max: ByteSize,
}

/// Format of a history file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryForm {
    /// Lines of text.
    Csv,
    /// A SQLite database.
    Sqlite,
}

/// Provider of a fleet's servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FleetProvider {
    /// Processes on this machine.
    Process(FleetProcesses),
    /// A program of the operator.
    Exec(FleetProgram),
    /// An OpenStack cloud.
    OpenStack(Box<FleetCloud>),
    /// A Kubernetes cluster.
    Kubernetes(Box<FleetPods>),
}

/// Servers as processes on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetProcesses {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Address on which the processes listen.
    pub address: IpAddr,
    /// First and last port for the processes; `None` = the system chooses.
    pub ports: Option<(u16, u16)>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// Working directory; `None` = the fleet's directory.
    pub working_directory: Option<PathBuf>,
    /// Maximum number of open descriptors.
    pub open_files_max: Option<u64>,
    /// Maximum address space.
    pub memory_max: Option<ByteSize>,
    /// Maximum processor time.
    pub cpu_time_max: Option<Millis>,
    /// Maximum size of a core dump.
    pub core_max: Option<ByteSize>,
    /// Restart policy for processes that exit by themselves.
    pub restart: FleetRestart,
    /// Pause before the first restart.
    pub restart_pause: Millis,
    /// Time between SIGTERM and SIGKILL.
    pub stop_grace: Millis,
    /// Maximum output kept of each process.
    pub output_max: ByteSize,
}

/// Restart policy for processes that exit by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetRestart {
    /// Always restarts the process.
    Always,
    /// Restarts the process unless it exits with status 0.
    OnFailure,
    /// Never restarts the process.
    Never,
}

/// Servers that a program of the operator manages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetProgram {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Additional environment variables.
    pub environment: BTreeMap<String, String>,
    /// Working directory; `None` = that of Weir.
    pub working_directory: Option<PathBuf>,
    /// Time limit for a call.
    pub timeout: Millis,
    /// Time for which a machine may be missing from the list.
    pub settling: Millis,
}

/// Servers of an OpenStack cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetCloud {
    /// Name in clouds.yaml; `None` = the cloud of the environment, or the only one.
    pub cloud: Option<String>,
    /// Name or id of the image.
    pub image: String,
    /// Name or id of the flavor.
    pub flavor: String,
    /// Names or ids of the networks.
    pub networks: Vec<String>,
    /// Name of an SSH key pair.
    pub key_pair: Option<String>,
    /// User-data file for cloud-init.
    pub user_data: Option<PathBuf>,
    /// Additional metadata.
    pub metadata: BTreeMap<String, String>,
    /// Additional tags.
    pub tags: Vec<String>,
    /// Name or id of the server group.
    pub server_group: Option<String>,
    /// Names of the security groups.
    pub security_groups: Vec<String>,
    /// Availability zone.
    pub availability_zone: Option<String>,
    /// True if the cloud delivers user data on a config drive.
    pub config_drive: bool,
    /// True if standby servers are shelved instead of stopped.
    pub shelve: bool,
    /// Network of the address that Weir uses.
    pub address_network: Option<String>,
    /// IP version of that address, 4 or 6.
    pub address_version: Option<u8>,
    /// True if that address is a floating IP.
    pub floating: bool,
    /// Build time limit; a server that takes longer has failed.
    pub build_timeout: Millis,
    /// Time limit for one request.
    pub timeout: Millis,
}

/// Servers as pods of a Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetPods {
    /// Kubeconfig file; `None` = the one of the environment, or of the pod in which Weir runs.
    pub kubeconfig: Option<PathBuf>,
    /// Name of the context; `None` = the current context.
    pub context: Option<String>,
    /// Namespace; `None` = that of the context.
    pub namespace: Option<String>,
    /// Workload that owns the pods.
    pub workload: FleetWorkload,
    /// Service that defines the port of the pods.
    pub service: String,
    /// Name of the Service's port.
    pub port_name: Option<String>,
    /// Start time limit; a pod that takes longer has failed.
    pub start_timeout: Millis,
    /// Time limit for one request.
    pub timeout: Millis,
}

/// The Kubernetes object that creates the pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FleetWorkload {
    /// A Deployment, by name.
    Deployment(String),
    /// A StatefulSet, by name.
    StatefulSet(String),
}

impl HistoryForm {
    /// Returns the format that the file's extension implies.
    pub fn of(file: &Path) -> Self {
        let ending = file.extension().map(OsStr::to_ascii_lowercase);
        match ending.as_deref().and_then(OsStr::to_str) {
            Some("sqlite" | "sqlite3" | "db") => Self::Sqlite,
            _ => Self::Csv,
        }
    }
}

impl FleetBalancer {
    /// Returns true if both are the same pool or backend. The way to add servers may differ.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Haproxy(this), Self::Haproxy(other)) => {
                (&this.socket, &this.backend) == (&other.socket, &other.backend)
            }
            (this, other) => this == other,
        }
    }
}

impl FleetPlan {
    /// Returns the fleet's pool; `None` = HAProxy balances the servers.
    pub fn pool(&self) -> Option<&PoolName> {
        match &self.balancer {
            FleetBalancer::Pool(pool) => Some(pool),
            FleetBalancer::Haproxy(_) => None,
        }
    }
}

fn as_in_the_file<S: Serializer>(rules: &Rules, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(super::rules::rules(rules))
}
