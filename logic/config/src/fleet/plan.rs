//! A valid fleet: its rules, its balancer and its provider of servers.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use weir_model::{ByteSize, Millis, Name, PoolName};
use weir_scale::Rules;

use super::lease::plan::LeasePlan;

/// Servers of a pool that come and go (`[fleet.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetPlan {
    /// Its name.
    pub name: Name,
    /// Who balances its servers.
    pub balancer: FleetBalancer,
    /// Where they come from.
    pub provider: FleetProvider,
    /// Where they listen, if the provider does not tell.
    pub port: Option<u16>,
    /// How many there are, and when.
    #[serde(serialize_with = "as_in_the_file")]
    pub rules: Rules,
    /// Time between two looks.
    pub interval: Millis,
    /// What has to be remembered.
    pub directory: PathBuf,
    /// By what one of several leads.
    pub lease: LeasePlan,
    /// Where rows go; empty = nowhere.
    pub history: Vec<HistoryPlan>,
    /// Decisions are carried out.
    pub act: bool,
}

/// Who balances the servers of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FleetBalancer {
    /// This process, in a pool.
    Pool(PoolName),
    /// A HAProxy.
    Haproxy(HaproxyBackend),
}

/// A backend of a HAProxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HaproxyBackend {
    /// Its runtime socket.
    pub socket: PathBuf,
    /// Its name.
    pub backend: String,
    /// What servers are added with.
    pub server: String,
    /// How its configuration is made and read; `None` = servers are added over the socket.
    pub template: Option<HaproxyTemplate>,
}

/// A configuration that is made of a template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HaproxyTemplate {
    /// The template.
    pub file: PathBuf,
    /// What is made of it.
    pub config: PathBuf,
    /// The command that says whether it is valid.
    pub validate: Vec<String>,
    /// The command that makes HAProxy read it.
    pub reload: Vec<String>,
    /// Either of them takes at most so long, and the new process as well.
    pub timeout: Millis,
}

/// Where the rows of a fleet's history go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryPlan {
    /// The file.
    pub file: PathBuf,
    /// What it is.
    pub form: HistoryForm,
    /// Time between two rows.
    pub interval: Millis,
    /// A larger file is put aside; of a larger database, the oldest rows go.
    pub bytes_max: ByteSize,
}

/// What rows are written into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HistoryForm {
    /// Lines of text.
    Csv,
    /// A SQLite database.
    Sqlite,
}

/// Where a fleet's servers come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FleetProvider {
    /// Processes of this machine.
    Process(FleetProcesses),
    /// A program of the operator's.
    Exec(FleetProgram),
    /// An OpenStack cloud.
    OpenStack(Box<FleetCloud>),
    /// A Kubernetes cluster.
    Kubernetes(Box<FleetPods>),
}

/// Servers as processes of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetProcesses {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where they listen.
    pub address: IpAddr,
    /// First and last of the ports that they get; `None` = the system chooses.
    pub ports: Option<(u16, u16)>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// Where they run; `None` = in the fleet's directory.
    pub working_directory: Option<PathBuf>,
    /// Open descriptors.
    pub open_files_max: Option<u64>,
    /// Address space.
    pub memory_max: Option<ByteSize>,
    /// Processor time.
    pub cpu_time_max: Option<Millis>,
    /// A core dump.
    pub core_max: Option<ByteSize>,
    /// When one ends by itself.
    pub restart: FleetRestart,
    /// Before the first restart.
    pub restart_pause: Millis,
    /// From SIGTERM to SIGKILL.
    pub stop_grace: Millis,
    /// Of each process's output.
    pub output_max: ByteSize,
}

/// Whether a process that ends by itself is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetRestart {
    /// It is.
    Always,
    /// Unless it ended with status 0.
    OnFailure,
    /// It is not.
    Never,
}

/// Servers that a program looks after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetProgram {
    /// Program and arguments.
    pub command: Vec<String>,
    /// More environment variables.
    pub environment: BTreeMap<String, String>,
    /// Where it runs; `None` = where Weir does.
    pub working_directory: Option<PathBuf>,
    /// A call takes at most so long.
    pub timeout: Millis,
    /// How long a machine may stay out of the list.
    pub settling: Millis,
}

/// Servers of an OpenStack cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetCloud {
    /// By its name in clouds.yaml; `None` = as the environment says, or the only one.
    pub cloud: Option<String>,
    /// Name or id.
    pub image: String,
    /// Name or id.
    pub flavor: String,
    /// Names or ids.
    pub networks: Vec<String>,
    /// An SSH key.
    pub key_pair: Option<String>,
    /// A file for cloud-init.
    pub user_data: Option<PathBuf>,
    /// More metadata.
    pub metadata: BTreeMap<String, String>,
    /// More tags.
    pub tags: Vec<String>,
    /// Name or id.
    pub server_group: Option<String>,
    /// Names.
    pub security_groups: Vec<String>,
    /// Where in the cloud.
    pub availability_zone: Option<String>,
    /// User data come on a disk.
    pub config_drive: bool,
    /// Standby is shelved, and not switched off.
    pub shelve: bool,
    /// The network of the address that counts.
    pub address_network: Option<String>,
    /// Its version, 4 or 6.
    pub address_version: Option<u8>,
    /// It is a floating one.
    pub floating: bool,
    /// A server that takes longer to build has failed.
    pub build_timeout: Millis,
    /// One request.
    pub timeout: Millis,
}

/// Servers as pods of a Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetPods {
    /// A kubeconfig; `None` = as the environment says, or the pod that Weir runs in.
    pub kubeconfig: Option<PathBuf>,
    /// By its name there; `None` = the current one.
    pub context: Option<String>,
    /// `None` = that of the context.
    pub namespace: Option<String>,
    /// Whose they are.
    pub workload: FleetWorkload,
    /// The Service that says where they listen.
    pub service: String,
    /// Which of its ports.
    pub port_name: Option<String>,
    /// A pod that takes longer to start has failed.
    pub start_timeout: Millis,
    /// One request.
    pub timeout: Millis,
}

/// What makes the pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FleetWorkload {
    /// By its name.
    Deployment(String),
    /// By its name.
    StatefulSet(String),
}

impl HistoryForm {
    /// That of a file with such a name.
    pub fn of(file: &Path) -> Self {
        let ending = file.extension().map(OsStr::to_ascii_lowercase);
        match ending.as_deref().and_then(OsStr::to_str) {
            Some("sqlite" | "sqlite3" | "db") => Self::Sqlite,
            _ => Self::Csv,
        }
    }
}

impl FleetBalancer {
    /// Whether both are the same pool or backend, however servers are added to it.
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
    /// Its pool; `None` = somebody else balances.
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
