//! Provider whose machines are servers of an OpenStack cloud. Keystone authenticates and lists the services,
//! Nova creates the servers.
//!
//! Weir's servers have the fleet's name in a tag, by which Nova filters, and in their metadata, by which Weir
//! recognises them. Weir lists, stops and deletes no other servers. Nova has no idempotency tokens. A server
//! therefore has Weir's token in its name and metadata, and Weir searches for it before it repeats a
//! creation.

mod answer;
mod cloud;
mod find;
mod identity;
mod names;
mod server;
mod session;
mod settings;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

pub use self::cloud::{ApplicationCredential, Cloud, Credentials, Domain, Project, User};
pub use self::find::Surroundings;
use self::names::{Parts, resolve};
use self::server::{FLEET_KEY, Listed, Server, Shown, TOKEN_KEY};
use self::session::Session;
pub use self::settings::{AddressChoice, OpenStackSettings, Park};
use crate::http::{Method, encode};
use crate::{Answer, Failure, FailureKind, Machine, MachineId, MachineState, Order, Provider, Token};

/// Provider for the servers of a cloud.
#[derive(Debug)]
pub struct OpenStackProvider {
    settings: OpenStackSettings,
    session: Session,
    /// Image, flavor and networks. They are looked up once, and again if Nova no longer knows them.
    parts: RefCell<Option<Rc<Parts>>>,
    tag: String,
}

/// Maximum number of pages; by default, a page has a thousand servers.
const PAGES_MAX: usize = 1000;

/// Maximum time until a server appears in a list after its creation was aborted. Nova answers once it has
/// stored the server.
const SETTLING: Duration = Duration::from_secs(30);

/// An id that no server has: Nova's ids are random (UUIDs of version 4).
const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// Maximum size of the user data in base64, according to Nova's API.
const USER_DATA_MAX: usize = 65_535;

impl OpenStackProvider {
    /// Creates a provider; sends no request yet.
    ///
    /// # Errors
    /// If the settings cannot work with any cloud.
    pub fn new(settings: OpenStackSettings) -> Result<Self, String> {
        let tag = format!("weir-fleet-{}", settings.fleet);
        // Nova permits 1 to 60 characters, without slash and comma.
        for tag in std::iter::once(&tag).chain(&settings.tags) {
            if tag.is_empty() || tag.chars().count() > 60 || tag.contains(['/', ',']) {
                return Err(format!("{tag:?} cannot be a tag: 1 to 60 characters, without slash and comma"));
            }
        }
        let longest = "0".repeat(Token::BYTES_MAX);
        if user_data(&settings, &longest).is_some_and(|encoded| encoded.len() > USER_DATA_MAX) {
            return Err(format!("user data are longer than {} bytes", USER_DATA_MAX / 4 * 3));
        }
        let session = Session::new(settings.cloud.clone(), settings.timeout);
        Ok(Self { settings, session, parts: RefCell::new(None), tag })
    }

    async fn list(&self) -> Result<Vec<Server>, Failure> {
        let mut servers: Vec<Server> = Vec::new();
        let base = format!("/servers/detail?tags={}", encode(&self.tag));
        let mut path = base.clone();
        for _ in 0..PAGES_MAX {
            let page: Listed = self.session.get("compute", &path).await?;
            let last = page.servers.last().map(|server| server.id.clone());
            servers.extend(page.servers.into_iter().filter(|server| server.is_of(&self.settings.fleet)));
            match last.filter(|_| page.servers_links.iter().any(|link| link.rel == "next")) {
                Some(last) => path = format!("{base}&marker={}", encode(&last)),
                None => return Ok(servers),
            }
        }
        Err(Failure::new(FailureKind::Transient, "the list of servers has no end"))
    }

    async fn parts(&self) -> Result<Rc<Parts>, Failure> {
        if let Some(parts) = self.parts.borrow().as_ref() {
            return Ok(Rc::clone(parts));
        }
        let parts = Rc::new(resolve(&self.session, &self.settings).await?);
        *self.parts.borrow_mut() = Some(Rc::clone(&parts));
        Ok(parts)
    }

    async fn create_server(&self, order: Order<'_>) -> Result<Machine, Failure> {
        if order.again
            && let Some(machine) = self.find(order.token).await?
        {
            return Ok(machine);
        }
        let parts = self.parts().await?;
        let body = self.body(order.token, &parts);
        let created = self.session.request("compute", &Method::POST, "/servers", Some(&body)).await;
        let reply = created.map_err(|failure| match failure.kind {
            FailureKind::Permanent | FailureKind::NotFound => {
                // The name of an image or a network may have another id by now.
                self.parts.borrow_mut().take();
                Failure { kind: FailureKind::Permanent, ..failure }
            }
            _ => failure,
        })?;
        let shown: Shown = serde_json::from_slice(&reply.body).map_err(|cause| {
            let message = format!("compute, POST /servers: not what was asked for: {cause}");
            Failure::new(FailureKind::Uncertain, message)
        })?;
        Ok(Machine {
            id: MachineId(shown.server.id),
            token: Some(order.token.clone()),
            ip: None,
            port: None,
            state: MachineState::Building,
            // Uses the name, as lists do; the settings may hold an id.
            flavour: Some(parts.flavor.name.clone()),
            zone: None,
            cost_per_hour: None,
            tags: self.metadata(order.token).into_iter().collect(),
            created_s: None,
            note: None,
        })
    }

    /// Finds the server of a token by its name.
    async fn find(&self, token: &Token) -> Result<Option<Machine>, Failure> {
        // The filter is a regular expression.
        let path = format!("/servers/detail?name={}", encode(&format!("^{token}$")));
        let page: Listed = self.session.get("compute", &path).await?;
        let ours = |server: &Server| {
            server.is_of(&self.settings.fleet)
                && server.metadata.get(TOKEN_KEY).is_some_and(|of| of == token.as_str())
                && server.state() != MachineState::Deleting
        };
        Ok(page.servers.into_iter().find(ours).map(|server| self.machine(server)))
    }

    fn machine(&self, server: Server) -> Machine {
        server.machine(&self.settings.address, self.settings.build_timeout, SystemTime::now())
    }

    fn metadata(&self, token: &Token) -> Vec<(String, String)> {
        let given = self.settings.metadata.iter().map(|(key, value)| (key.clone(), value.clone()));
        let own = [(FLEET_KEY, self.settings.fleet.as_str()), (TOKEN_KEY, token.as_str())];
        // Weir's own keys come last, so that they win.
        given.chain(own.map(|(key, value)| (key.to_owned(), value.to_owned()))).collect()
    }

    fn body(&self, token: &Token, parts: &Parts) -> Value {
        let settings = &self.settings;
        let networks = match parts.networks.as_slice() {
            [] => json!("auto"),
            ids => ids.iter().map(|id| json!({ "uuid": id })).collect(),
        };
        let metadata: serde_json::Map<_, _> =
            self.metadata(token).into_iter().map(|(key, value)| (key, Value::String(value))).collect();
        let tags: Vec<_> = std::iter::once(&self.tag).chain(&settings.tags).collect();
        let mut server = json!({
            "name": token,
            "imageRef": parts.image,
            "flavorRef": parts.flavor.id,
            "networks": networks,
            "metadata": metadata,
            "tags": tags,
        });
        let mut set = |key: &str, value: Value| server[key] = value;
        if let Some(key) = &settings.key_pair {
            set("key_name", json!(key));
        }
        if let Some(encoded) = user_data(settings, token.as_str()) {
            set("user_data", json!(encoded));
        }
        if !settings.security_groups.is_empty() {
            set(
                "security_groups",
                settings.security_groups.iter().map(|name| json!({ "name": name })).collect(),
            );
        }
        if let Some(zone) = &settings.availability_zone {
            set("availability_zone", json!(zone));
        }
        if settings.config_drive {
            set("config_drive", json!(true));
        }
        let mut body = json!({ "server": server });
        if let Some(group) = &parts.server_group {
            body["os:scheduler_hints"] = json!({ "group": group });
        }
        body
    }

    /// Returns a server if it belongs to this fleet.
    async fn own(&self, id: &MachineId) -> Result<Server, Failure> {
        let shown: Shown = self.session.get("compute", &path_of(id)).await?;
        if shown.server.is_of(&self.settings.fleet) {
            return Ok(shown.server);
        }
        let message = format!("server {id} is not of fleet {}: left alone", self.settings.fleet);
        Err(Failure::new(FailureKind::Permanent, message))
    }

    /// Changes a server's state to one of `good`. Does nothing if the server already has one. If Nova refuses
    /// because of a conflict, checks the state again.
    async fn act(
        &self,
        id: &MachineId,
        good: [MachineState; 2],
        action: impl Fn(&Server) -> Option<&'static str>,
    ) -> Result<(), Failure> {
        let server = self.own(id).await?;
        if good.contains(&server.state()) {
            return Ok(());
        }
        let Some(action) = action(&server) else {
            let message = format!("server {id} cannot do that with status {}", server.status);
            return Err(Failure::new(FailureKind::Conflict, message));
        };
        let path = format!("{}/action", path_of(id));
        let done =
            self.session.request("compute", &Method::POST, &path, Some(&json!({ action: null }))).await;
        match done {
            Err(failure) if failure.kind == FailureKind::Conflict => {
                if good.contains(&self.own(id).await?.state()) { Ok(()) } else { Err(failure) }
            }
            Err(failure) => Err(failure),
            Ok(_) => Ok(()),
        }
    }

    async fn delete_server(&self, id: &MachineId) -> Result<(), Failure> {
        let deleted = match self.own(id).await {
            Ok(server) if server.state() == MachineState::Deleting => return Ok(()),
            Ok(_) => self.session.request("compute", &Method::DELETE, &path_of(id), None).await.map(drop),
            Err(failure) => Err(failure),
        };
        match deleted {
            Err(failure) if failure.kind == FailureKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// Returns the number of further servers within the limits. Nova counts a server some moments after it
    /// has accepted it.
    async fn limits(&self) -> Result<Option<u32>, Failure> {
        let parts = self.parts().await?;
        let answer: LimitsAnswer = self.session.get("compute", "/limits").await?;
        let Absolute { instances, instances_used, cores, cores_used, ram, ram_used } = answer.limits.absolute;
        let left = |max: i64, used: i64, each: i64| {
            // -1 = unlimited.
            (max >= 0 && each > 0).then(|| (max - used).max(0) / each)
        };
        let all = [
            left(instances, instances_used, 1),
            left(cores, cores_used, parts.flavor.vcpus),
            left(ram, ram_used, parts.flavor.ram),
        ];
        let least = all.into_iter().flatten().min();
        Ok(least.map(|least| u32::try_from(least).unwrap_or(u32::MAX)))
    }

    async fn check(&self) -> Result<(), Failure> {
        self.parts.borrow_mut().take();
        let parts = self.parts().await?;
        let own = &parts.flavor.name;
        if self.settings.other_flavors.contains(own) {
            let message = format!(
                "flavor {:?} is {own:?}, of which flavours tells, too: capacity says what it can do",
                self.settings.flavor
            );
            return Err(Failure::new(FailureKind::Permanent, message));
        }
        if let Some(key) = &self.settings.key_pair {
            let path = format!("/os-keypairs/{}", encode(key));
            let asked = self.session.request("compute", &Method::GET, &path, None).await;
            asked.map_err(|failure| missing(failure, "key pair", key))?;
        }
        for group in &self.settings.security_groups {
            let path = format!("/v2.0/security-groups?fields=id&name={}", encode(group));
            let found: SecurityGroups = self.session.get("network", &path).await?;
            if found.security_groups.is_empty() {
                let message = format!("there is no security group {group:?}");
                return Err(Failure::new(FailureKind::Permanent, message));
            }
        }
        self.list().await?;
        self.may_create(&parts).await?;
        self.may_end().await
    }

    /// Checks the permission to create servers: requests one without an image, which cannot be created. Nova
    /// checks the permission first (`create` in nova/api/openstack/compute/servers.py), and the parameters
    /// later.
    async fn may_create(&self, parts: &Parts) -> Result<(), Failure> {
        let server = json!({
            "name": "weir-may-create", "imageRef": "", "flavorRef": parts.flavor.id, "networks": "none",
        });
        let body = json!({ "server": server });
        match self.session.request("compute", &Method::POST, "/servers", Some(&body)).await {
            Err(failure) if failure.kind == FailureKind::Permanent => Ok(()),
            Err(failure) => Err(failure.of("a server cannot be created")),
            Ok(_) => Err(Failure::new(
                FailureKind::Permanent,
                "compute, POST /servers: a server without an image was accepted",
            )),
        }
    }

    /// Checks that requests to delete, stop and start servers reach Nova: a credential's access rules are
    /// checked before (`validate_allowed_request` in keystonemiddleware/auth_token/__init__.py). The requests
    /// name a server that does not exist. They do not show if Nova would permit the action, because Nova
    /// searches for the server first (`_delete` and `_stop` in nova/api/openstack/compute/servers.py).
    async fn may_end(&self) -> Result<(), Failure> {
        let path = format!("/servers/{NOBODY}");
        got_there(self.session.request("compute", &Method::DELETE, &path, None).await, "deleted")?;
        if !self.settings.standby {
            return Ok(());
        }
        let (path, body) = (format!("{path}/action"), json!({ "os-stop": null }));
        got_there(
            self.session.request("compute", &Method::POST, &path, Some(&body)).await,
            "stopped and started",
        )
    }
}

#[derive(Deserialize)]
struct SecurityGroups {
    security_groups: Vec<Value>,
}

/// Response to the limits request (<https://docs.openstack.org/api-ref/compute/#limits-limits>).
#[derive(Deserialize)]
struct LimitsAnswer {
    limits: Limits,
}

#[derive(Deserialize)]
struct Limits {
    absolute: Absolute,
}

#[derive(Deserialize)]
struct Absolute {
    #[serde(rename = "maxTotalInstances")]
    instances: i64,
    #[serde(rename = "totalInstancesUsed")]
    instances_used: i64,
    #[serde(rename = "maxTotalCores")]
    cores: i64,
    #[serde(rename = "totalCoresUsed")]
    cores_used: i64,
    #[serde(rename = "maxTotalRAMSize")]
    ram: i64,
    #[serde(rename = "totalRAMUsed")]
    ram_used: i64,
}

impl Provider for OpenStackProvider {
    fn machines(&self) -> Answer<'_, Vec<Machine>> {
        Box::pin(async {
            let servers = self.list().await?;
            Ok(servers.into_iter().map(|server| self.machine(server)).collect())
        })
    }

    fn create<'a>(&'a self, order: Order<'a>) -> Answer<'a, Machine> {
        Box::pin(self.create_server(order))
    }

    fn start<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        let action = |server: &Server| match server.status.as_str() {
            "SHUTOFF" => Some("os-start"),
            "SHELVED" | "SHELVED_OFFLOADED" => Some("unshelve"),
            "SUSPENDED" => Some("resume"),
            "PAUSED" => Some("unpause"),
            _ => None,
        };
        Box::pin(self.act(id, [MachineState::Running, MachineState::Building], action))
    }

    fn stop<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        let park = self.settings.park;
        let action = move |server: &Server| match (server.status.as_str(), park) {
            ("ACTIVE", Park::Stop) => Some("os-stop"),
            ("ACTIVE", Park::Shelve) => Some("shelve"),
            _ => None,
        };
        Box::pin(self.act(id, [MachineState::Stopped, MachineState::Stopping], action))
    }

    fn delete<'a>(&'a self, id: &'a MachineId) -> Answer<'a, ()> {
        Box::pin(self.delete_server(id))
    }

    fn room(&self) -> Answer<'_, Option<u32>> {
        Box::pin(self.limits())
    }

    fn verify(&self) -> Answer<'_, ()> {
        Box::pin(self.check())
    }

    fn settling(&self) -> Duration {
        SETTLING
    }
}

/// Checks the result of a request about [`NOBODY`].
fn got_there<T>(answered: Result<T, Failure>, what: &str) -> Result<(), Failure> {
    match answered {
        Err(failure) if failure.kind == FailureKind::NotFound => Ok(()),
        Err(failure) => Err(failure.of(format_args!("a server cannot be {what}"))),
        Ok(_) => {
            let message = format!("compute: server {NOBODY}, which there is not, was {what}");
            Err(Failure::new(FailureKind::Permanent, message))
        }
    }
}

fn path_of(id: &MachineId) -> String {
    format!("/servers/{}", encode(id.as_str()))
}

fn user_data(settings: &OpenStackSettings, machine: &str) -> Option<String> {
    let template = settings.user_data.as_ref()?;
    let filled = template.replace("{machine}", machine).replace("{fleet}", &settings.fleet);
    Some(STANDARD.encode(filled))
}

fn missing(failure: Failure, what: &str, name: &str) -> Failure {
    match failure.kind {
        FailureKind::NotFound => Failure::new(FailureKind::Permanent, format!("there is no {what} {name:?}")),
        _ => failure,
    }
}
