//! Settings of a fleet of OpenStack servers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Cloud;

/// Settings of a fleet of OpenStack servers.
#[derive(Debug, Clone)]
pub struct OpenStackSettings {
    /// Name of the fleet, unique in its project. Part of the tag of the fleet's servers.
    pub fleet: String,
    /// Cloud of the servers.
    pub cloud: Cloud,
    /// Name or id of the image.
    pub image: String,
    /// Name or id of the flavor, which is the size of a server.
    pub flavor: String,
    /// Names of flavors that only other servers of the fleet have. They distinguish servers of other
    /// capacities.
    pub other_flavors: Vec<String>,
    /// Names or ids of the networks; empty = the cloud's default.
    pub networks: Vec<String>,
    /// Name of the SSH key for the servers.
    pub key_pair: Option<String>,
    /// User data for the first start (cloud-init). `{machine}` and `{fleet}` are replaced.
    pub user_data: Option<String>,
    /// Additional metadata.
    pub metadata: BTreeMap<String, String>,
    /// Additional tags.
    pub tags: Vec<String>,
    /// Name or id of the server group, which determines the distribution over hosts.
    pub server_group: Option<String>,
    /// Names of security groups; empty = the project's default one.
    pub security_groups: Vec<String>,
    /// Availability zone; `None` = the cloud chooses.
    pub availability_zone: Option<String>,
    /// True if the user data is provided on a disk, for networks without a metadata service.
    pub config_drive: bool,
    /// True if servers are stopped and started again; otherwise they are only created and deleted.
    pub standby: bool,
    /// Way in which a server is stopped.
    pub park: Park,
    /// Selection of a server's address.
    pub address: AddressChoice,
    /// Maximum time of a server's creation; a longer one counts as failed.
    pub build_timeout: Duration,
    /// Timeout of a request to a service.
    pub timeout: Duration,
}

/// Way in which a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Park {
    /// The server is powered off. It starts fast, but still counts towards the quota and usually the bill.
    Stop,
    /// The server is shelved. Its host is free, but it takes longer to start.
    Shelve,
}

/// Selection of a server's address.
#[derive(Debug, Clone, Default)]
pub struct AddressChoice {
    /// Name of the network; `None` = any.
    pub network: Option<String>,
    /// IP version, 4 or 6; `None` = 4 is preferred.
    pub version: Option<u8>,
    /// True for a floating address, false for a fixed one.
    pub floating: bool,
}

impl OpenStackSettings {
    /// Creates settings with defaults: networks chosen by the cloud, power-off to stop, ten minutes to build
    /// a server, a minute for a request.
    pub fn new(fleet: &str, cloud: Cloud, image: &str, flavor: &str) -> Self {
        Self {
            fleet: fleet.to_owned(),
            cloud,
            image: image.to_owned(),
            flavor: flavor.to_owned(),
            other_flavors: Vec::new(),
            networks: Vec::new(),
            key_pair: None,
            user_data: None,
            metadata: BTreeMap::new(),
            tags: Vec::new(),
            server_group: None,
            security_groups: Vec::new(),
            availability_zone: None,
            config_drive: false,
            standby: true,
            park: Park::Stop,
            address: AddressChoice::default(),
            build_timeout: Duration::from_secs(600),
            timeout: Duration::from_secs(60),
        }
    }
}
