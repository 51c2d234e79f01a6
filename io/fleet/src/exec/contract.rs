//! JSON of requests and responses. Later versions may add fields; a program must ignore unknown ones.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lenient::{self, Fields, Read, Remark};
use crate::{Failure, FailureKind, Machine, MachineId, MachineState, Token};

/// Version of the contract.
const VERSION: u32 = 1;

/// Request on the program's standard input.
#[derive(Debug, Serialize)]
pub(super) struct Request<'a> {
    version: u32,
    fleet: &'a str,
    #[serde(flatten)]
    verb: Verb<'a>,
}

/// Requested operation.
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

/// Response on the program's standard output. Each verb reads its own fields.
#[derive(Debug, Default)]
pub(super) struct Response(Map<String, Value>);

/// Part of a response, with the fields that violate the contract.
pub(super) struct Told<T> {
    pub(super) found: T,
    pub(super) remarks: Vec<Remark>,
}

impl Response {
    /// Parses a response.
    ///
    /// # Errors
    /// If the text is not a JSON object.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map(Self).map_err(|cause| cause.to_string())
    }

    /// Returns all machines; `None` = the response has none.
    ///
    /// # Errors
    /// If a machine has no usable id, because the list is then incomplete. Names the path in the JSON.
    pub(super) fn machines(&self) -> Result<Told<Option<Vec<Machine>>>, String> {
        let mut remarks = Vec::new();
        let Some(value) = self.0.get("machines").filter(|value| !value.is_null()) else {
            return Ok(Told { found: None, remarks });
        };
        let list = value.as_array().ok_or("machines: is no list")?;
        let mut machines = Vec::with_capacity(list.len());
        for (at, value) in list.iter().enumerate() {
            machines.push(machine(&format!("machines[{at}]"), value, &mut remarks)?);
        }
        Ok(Told { found: Some(machines), remarks })
    }

    /// Returns the created machine; `None` = the response has none.
    ///
    /// # Errors
    /// The same as of [`machines`](Self::machines).
    pub(super) fn machine(&self) -> Result<Option<Machine>, String> {
        let value = self.0.get("machine").filter(|value| !value.is_null());
        value.map(|value| machine("machine", value, &mut Vec::new())).transpose()
    }

    /// Returns the number of further machines that fit; `None` = unknown.
    pub(super) fn room(&self) -> Told<Option<u32>> {
        let mut remarks = Vec::new();
        let read = |value: &Value| lenient::whole(value, 0, u32::MAX.into());
        let room = Fields::of_whole(&self.0, &mut remarks).get("room", "a whole number", read);
        Told { found: room.and_then(|room| u32::try_from(room).ok()), remarks }
    }

    /// Returns the error of the response. An unknown `kind` becomes `unknown`.
    pub(super) fn error(&self, unknown: FailureKind) -> Option<Failure> {
        let value = self.0.get("error").filter(|value| !value.is_null())?;
        let mut remarks = Vec::new();
        let Ok(mut fields) = Fields::of("error", value, &mut remarks) else {
            return Some(Failure::new(
                unknown,
                value.as_str().map_or_else(|| value.to_string(), str::to_owned),
            ));
        };
        let kind = fields.value("kind").and_then(|kind| FailureKind::deserialize(kind).ok());
        let message = fields.get("message", "a text", lenient::text).unwrap_or_default();
        let retry = |value: &Value| lenient::whole(value, 0, u32::MAX.into());
        let retry_after = fields.get("retry_after", "whole seconds", retry).map(Duration::from_secs);
        let message = match (kind, fields.value("kind")) {
            (None, Some(kind)) => format!("{message} (kind {kind}, which is none of the contract's)"),
            _ => message,
        };
        Some(Failure { retry_after, ..Failure::new(kind.unwrap_or(unknown), message) })
    }
}

/// Reads a machine.
///
/// # Errors
/// If the machine has no usable id. Names the path in the JSON.
fn machine(place: &str, value: &Value, remarks: &mut Vec<Remark>) -> Result<Machine, String> {
    let mut fields = Fields::of(place, value, remarks)?;
    let id = MachineId(fields.need("id", "what the machine is called, a text", lenient::text)?);
    let port = |value: &Value| lenient::whole(value, 1, u16::MAX.into());
    let machine = Machine {
        id,
        token: fields.get("token", "a token: 1 to 63 of a-z, 0-9 and -", |value| {
            Token::new(value.as_str()?).ok().map(Read::Exact)
        }),
        ip: fields
            .get("address", "an IP address", |value| value.as_str()?.parse::<IpAddr>().ok().map(Read::Exact)),
        port: fields.get("port", "a port, 1 to 65535", port).and_then(|port| u16::try_from(port).ok()),
        state: state(&mut fields),
        flavour: fields.get("flavour", "a text", lenient::text),
        zone: fields.get("zone", "a text", lenient::text),
        cost_per_hour: fields.get("cost_per_hour", "a number", lenient::fraction),
        tags: BTreeMap::new(),
        created_s: fields.get("created", "whole seconds since 1970", lenient::moment),
        note: fields.get("note", "a text", lenient::text),
    };
    let tags = match fields.value("tags").map(|tags| (tags, tags.as_object())) {
        Some((_, Some(tags))) => tags.iter().filter_map(|(name, value)| tag(name, value)).collect(),
        Some((_, None)) => {
            let _: Option<String> = fields.get("tags", "an object of texts", |_| None);
            BTreeMap::new()
        }
        None => BTreeMap::new(),
    };
    Ok(Machine { tags, ..machine })
}

/// Reads the state. An unknown word becomes `unknown`, so that it does not invalidate the other machines of
/// the list.
fn state(fields: &mut Fields<'_>) -> MachineState {
    const EXPECTED: &str = "one of building, running, stopping, stopped, deleting, failed and unknown";
    let read = |value: &Value| {
        let known = |text: &str| MachineState::deserialize(Value::from(text)).ok();
        let text = value.as_str()?;
        if known(text).is_some() {
            return Some(Read::Exact(text.to_owned()));
        }
        Some(text.trim().to_ascii_lowercase()).filter(|text| known(text).is_some()).map(Read::Loose)
    };
    let text = fields.get("state", EXPECTED, read);
    text.and_then(|text| MachineState::deserialize(Value::from(text)).ok()).unwrap_or(MachineState::Unknown)
}

fn tag(name: &str, value: &Value) -> Option<(String, String)> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some((name.to_owned(), text))
}

impl<'a> Request<'a> {
    pub(super) fn new(fleet: &'a str, verb: Verb<'a>) -> Self {
        Self { version: VERSION, fleet, verb }
    }

    /// Returns the verb as the program receives it.
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

    /// Returns true if the verb only reads.
    pub(super) fn only_asks(&self) -> bool {
        matches!(self.verb, Verb::List | Verb::Room | Verb::Verify)
    }
}
