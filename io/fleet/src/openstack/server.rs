//! The parts of Nova's servers that a fleet uses
//! (<https://docs.openstack.org/api-ref/compute/#show-server-details>).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use super::settings::AddressChoice;
use crate::{Machine, MachineId, MachineState, Token, time};

/// Metadata key with the name of the fleet.
pub(super) const FLEET_KEY: &str = "weir.fleet";
/// Metadata key with the token of the creation.
pub(super) const TOKEN_KEY: &str = "weir.token";

#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    pub(super) servers: Vec<Server>,
    /// Links; one of them may lead to the next page.
    #[serde(default)]
    pub(super) servers_links: Vec<Link>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Link {
    pub(super) rel: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Shown {
    pub(super) server: Server,
}

#[derive(Debug, Deserialize)]
pub(super) struct Server {
    pub(super) id: String,
    #[serde(default)]
    pub(super) status: String,
    #[serde(rename = "OS-EXT-STS:task_state")]
    task_state: Option<String>,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, String>,
    #[serde(default)]
    addresses: BTreeMap<String, Vec<Address>>,
    created: Option<String>,
    flavor: Option<Flavor>,
    fault: Option<Fault>,
    /// Zone; empty until the server has a host.
    #[serde(rename = "OS-EXT-AZ:availability_zone")]
    zone: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Address {
    addr: IpAddr,
    version: u8,
    #[serde(rename = "OS-EXT-IPS:type")]
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Flavor {
    original_name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Fault {
    #[serde(default)]
    message: String,
}

impl Server {
    /// Returns true if the server belongs to this fleet. The metadata decides, because no other client sets
    /// this key by chance.
    pub(super) fn is_of(&self, fleet: &str) -> bool {
        self.metadata.get(FLEET_KEY).is_some_and(|of| of == fleet)
    }

    /// Returns the state according to <https://docs.openstack.org/nova/latest/reference/vm-states.html>.
    pub(super) fn state(&self) -> MachineState {
        let task = self.task_state.as_deref().unwrap_or("");
        if task.contains("deleting") {
            return MachineState::Deleting;
        }
        if task.starts_with("powering-off") || task.starts_with("shelving") || task.starts_with("suspending")
        {
            return MachineState::Stopping;
        }
        match self.status.as_str() {
            // A server continues to serve during a migration.
            "ACTIVE" | "PASSWORD" | "MIGRATING" => MachineState::Running,
            "BUILD" | "REBUILD" | "REBOOT" | "HARD_REBOOT" => MachineState::Building,
            "SHUTOFF" | "SHELVED" | "SHELVED_OFFLOADED" | "SUSPENDED" | "PAUSED" if task.is_empty() => {
                MachineState::Stopped
            }
            "SHUTOFF" | "SHELVED" | "SHELVED_OFFLOADED" | "SUSPENDED" | "PAUSED" => MachineState::Building,
            "ERROR" => MachineState::Failed,
            "DELETED" | "SOFT_DELETED" => MachineState::Deleting,
            // The server is being resized or rescued, for example by an operator.
            _ => MachineState::Unknown,
        }
    }

    pub(super) fn machine(self, choice: &AddressChoice, build_timeout: Duration, now: SystemTime) -> Machine {
        let created = self.created.as_deref().and_then(time::parse);
        let mut state = self.state();
        let mut note = match self.fault.as_ref().filter(|_| state == MachineState::Failed) {
            Some(fault) => Some(fault.message.clone()),
            None => Some(format!("status {}", self.status)).filter(|_| state == MachineState::Unknown),
        };
        let age = created.and_then(|created| now.duration_since(created).ok());
        if self.status == "BUILD"
            && state == MachineState::Building
            && let Some(age) = age.filter(|age| *age > build_timeout)
        {
            state = MachineState::Failed;
            note = Some(format!(
                "has been building for {} s, longer than {}",
                age.as_secs(),
                build_timeout.as_secs()
            ));
        }
        let created = created.and_then(|created| created.duration_since(UNIX_EPOCH).ok());
        Machine {
            ip: self.address(choice),
            port: None,
            token: self.metadata.get(TOKEN_KEY).and_then(|token| Token::new(token).ok()),
            state,
            zone: self.zone.filter(|zone| !zone.is_empty()),
            cost_per_hour: None,
            flavour: self.flavor.and_then(|flavor| flavor.original_name),
            tags: self.metadata,
            created_s: created.map(|since| since.as_secs()),
            note,
            id: MachineId(self.id),
        }
    }

    fn address(&self, choice: &AddressChoice) -> Option<IpAddr> {
        let networks =
            self.addresses.iter().filter(|(name, _)| choice.network.as_ref().is_none_or(|of| of == *name));
        let addresses = networks.flat_map(|(_, addresses)| addresses);
        let wanted = addresses
            .filter(|address| (address.kind.as_deref() == Some("floating")) == choice.floating)
            .filter(|address| choice.version.is_none_or(|version| address.version == version));
        wanted.min_by_key(|address| address.version).map(|address| address.addr)
    }
}
