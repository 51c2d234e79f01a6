use std::collections::BTreeMap;
use std::time::Duration;

use super::Cloud;

/// The servers of a fleet.
#[derive(Debug, Clone)]
pub struct OpenStackSettings {
    /// The fleet's name: no other fleet of the same project may have it. Part of the tag by which servers are ours.
    pub fleet: String,
    /// Where.
    pub cloud: Cloud,
    /// What servers are made of: an image's name or id.
    pub image: String,
    /// Their size: a flavor's name or id.
    pub flavor: String,
    /// Names of flavors that only other servers of the fleet may have, if any: what those can do is told apart by them.
    pub other_flavors: Vec<String>,
    /// Names or ids of the networks that they are connected to; none = what the cloud gives by itself.
    pub networks: Vec<String>,
    /// The name of the SSH key that is put on them.
    pub key_pair: Option<String>,
    /// What they do at their first start (cloud-init). `{machine}` and `{fleet}` are filled in.
    pub user_data: Option<String>,
    /// More metadata.
    pub metadata: BTreeMap<String, String>,
    /// More tags.
    pub tags: Vec<String>,
    /// The name or id of the server group that says how they are spread over hosts.
    pub server_group: Option<String>,
    /// Names of security groups; none = the project's default one.
    pub security_groups: Vec<String>,
    /// Where in the cloud; `None` = it chooses.
    pub availability_zone: Option<String>,
    /// User data come on a disk, for networks without a metadata service.
    pub config_drive: bool,
    /// Servers are stopped, to be started again: else they are only created and deleted.
    pub standby: bool,
    /// How a server is stopped.
    pub park: Park,
    /// By which of its addresses a server is reached.
    pub address: AddressChoice,
    /// A server that takes longer to build has failed.
    pub build_timeout: Duration,
    /// One request to a service takes at most so long.
    pub timeout: Duration,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Park {
    /// It is switched off: quick to start, and goes on counting towards the quota and, mostly, the bill.
    Stop,
    /// It is shelved: its host is free again, and it takes longer to come back.
    Shelve,
}

/// By which of its addresses a server is reached.
#[derive(Debug, Clone, Default)]
pub struct AddressChoice {
    /// The network's name; `None` = any.
    pub network: Option<String>,
    /// Of this version of IP, 4 or 6; `None` = 4 rather than 6.
    pub version: Option<u8>,
    /// A floating address, and not a fixed one.
    pub floating: bool,
}

impl OpenStackSettings {
    /// Servers of an image and a flavor, with defaults for all else: networks of the cloud's choice, stopped by switching off, ten
    /// minutes to build, a minute for a request.
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
