//! Resolves names into the ids that Nova requires.

use serde::Deserialize;

use super::session::Session;
use super::settings::OpenStackSettings;
use crate::http::encode;
use crate::{Failure, FailureKind};

/// Ids of the resources for a new server.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) image: String,
    pub(super) flavor: Flavor,
    pub(super) networks: Vec<String>,
    pub(super) server_group: Option<String>,
}

/// A server size.
#[derive(Debug, Deserialize)]
pub(super) struct Flavor {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) vcpus: i64,
    /// Memory in MiB.
    pub(super) ram: i64,
}

#[derive(Deserialize)]
struct Flavors {
    flavors: Vec<Flavor>,
}

#[derive(Deserialize)]
struct Images {
    images: Vec<Named>,
}

#[derive(Deserialize)]
struct Networks {
    networks: Vec<Named>,
}

#[derive(Deserialize)]
struct Groups {
    server_groups: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
    #[serde(default)]
    name: Option<String>,
}

/// Resolves all names.
pub(super) async fn resolve(session: &Session, settings: &OpenStackSettings) -> Result<Parts, Failure> {
    let flavors: Flavors = session.get("compute", "/flavors/detail").await?;
    let known: Vec<_> = flavors.flavors.iter().map(|flavor| flavor.name.clone()).collect();
    let wanted = |flavor: &Flavor| flavor.id == settings.flavor || flavor.name == settings.flavor;
    let flavor = flavors.flavors.into_iter().find(wanted);
    let flavor = flavor.ok_or_else(|| unknown("flavor", &settings.flavor, &known))?;

    let query = |path: &str, name: &str| format!("{path}?name={}", encode(name));
    let image = if is_id(&settings.image) {
        settings.image.clone()
    } else {
        let images: Images = session.get("image", &query("/v2/images", &settings.image)).await?;
        only("image", &settings.image, images.images)?
    };
    let mut networks = Vec::new();
    for network in &settings.networks {
        networks.push(if is_id(network) {
            network.clone()
        } else {
            let found: Networks = session.get("network", &query("/v2.0/networks", network)).await?;
            only("network", network, found.networks)?
        });
    }
    let server_group = match &settings.server_group {
        Some(group) if !is_id(group) => {
            let groups: Groups = session.get("compute", "/os-server-groups").await?;
            let of_name = groups.server_groups.into_iter().filter(|found| found.name.as_ref() == Some(group));
            Some(only("server group", group, of_name.collect())?)
        }
        group => group.clone(),
    };
    Ok(Parts { image, flavor, networks, server_group })
}

fn only(what: &str, name: &str, found: Vec<Named>) -> Result<String, Failure> {
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.id),
        (None, _) => Err(unknown(what, name, &[])),
        (Some(_), Some(_)) => {
            let message = format!("there is more than one {what} {name:?}: give its id");
            Err(Failure::new(FailureKind::Permanent, message))
        }
    }
}

fn unknown(what: &str, name: &str, known: &[String]) -> Failure {
    let others = if known.is_empty() { String::new() } else { format!(" (there are {})", known.join(", ")) };
    Failure::new(FailureKind::Permanent, format!("there is no {what} {name:?}{others}"))
}

/// Returns true for a UUID with or without dashes.
fn is_id(text: &str) -> bool {
    let digits = text.bytes().filter(|byte| *byte != b'-');
    digits.clone().count() == 32 && digits.clone().all(|byte| byte.is_ascii_hexdigit())
}
