//! The JSON of both directions. Additions are for later versions; a program leaves alone what it does not know.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{FailureKind, Machine, MachineId, MachineState, Token};

/// The version of what is written here.
const VERSION: u32 = 1;

/// What the program reads from its standard input.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    version: u32,
    fleet: &'a str,
    #[serde(flatten)]
    verb: Verb<'a>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub(super) enum Verb<'a> {
    List,
    Create { token: &'a Token, again: bool },
    Start { id: &'a MachineId },
    Stop { id: &'a MachineId },
    Delete { id: &'a MachineId },
    Room,
    Verify,
}

/// What it writes to its standard output. A verb reads what is its own.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Response {
    pub(super) machines: Option<Vec<Told>>,
    pub(super) machine: Option<Told>,
    pub(super) room: Option<u32>,
    pub(super) error: Option<Trouble>,
}

/// A machine.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    id: MachineId,
    token: Option<Token>,
    address: Option<IpAddr>,
    port: Option<u16>,
    state: MachineState,
    flavour: Option<String>,
    zone: Option<String>,
    cost_per_hour: Option<f64>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    created: Option<u64>,
    note: Option<String>,
}

/// Why it could not.
#[derive(Debug, Deserialize)]
pub(super) struct Trouble {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    /// Seconds.
    pub(super) retry_after: Option<u32>,
}

impl<'a> Request<'a> {
    pub(super) fn new(fleet: &'a str, verb: Verb<'a>) -> Self {
        Self { version: VERSION, fleet, verb }
    }

    /// The verb, as the program gets it.
    pub(super) fn name(&self) -> &'static str {
        match self.verb {
            Verb::List => "list",
            Verb::Create { .. } => "create",
            Verb::Start { .. } => "start",
            Verb::Stop { .. } => "stop",
            Verb::Delete { .. } => "delete",
            Verb::Room => "room",
            Verb::Verify => "verify",
        }
    }

    /// Whether it changes nothing.
    pub(super) fn only_asks(&self) -> bool {
        matches!(self.verb, Verb::List | Verb::Room | Verb::Verify)
    }
}

impl From<Told> for Machine {
    fn from(told: Told) -> Self {
        let Told { id, token, address: ip, port, state, flavour, zone, cost_per_hour, tags, created, note } =
            told;
        let cost_per_hour = cost_per_hour.filter(|cost| cost.is_finite());
        Self { id, token, ip, port, state, flavour, zone, cost_per_hour, tags, created_s: created, note }
    }
}
