//! Requests for macaroons as clients of dCache send them (`Content-Type: application/macaroon-request`). What they get is an
//! own token, which they treat as opaque anyway.

use std::fmt;

use serde::Deserialize;

use super::duration::{DurationError, parse_duration};
use super::token::Issued;
use crate::AccessPath;
use crate::wlcg::{Operation, ScopeSet, StorageScope};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacaroonRequest {
    /// In seconds.
    pub lifetime_secs: Option<u64>,
    /// From its caveats, below the path that was asked. None asks for everything below that path.
    pub scopes: ScopeSet,
}

/// Why a request cannot be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacaroonError {
    /// Over [`MacaroonRequest::BYTES_MAX`].
    TooLong,
    /// No JSON object, or a member has not its type.
    Malformed,
    /// `validity` is no duration.
    Validity(DurationError),
    /// A caveat that is not known here: leaving it out would grant more than was asked.
    Caveat,
    /// An activity that is not known here.
    Activity,
    /// `UPDATE_METADATA` without `DELETE` or `MANAGE`: whoever may change properties here may replace the file as well.
    MetadataChange,
    /// `LIST` and `READ_METADATA` alone: no scope grants so little.
    MetadataOnly,
    /// The path of a `path` caveat leads elsewhere or cannot be read.
    Path,
}

#[derive(Deserialize)]
struct Document {
    validity: Option<String>,
    #[serde(default)]
    caveats: Vec<String>,
}

impl MacaroonRequest {
    /// Longest body, in bytes.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// Reads the body of a POST to `target`. Caveats: `activity:` with DOWNLOAD, UPLOAD, DELETE, MANAGE, UPDATE_METADATA,
    /// STAGE, LIST, READ_METADATA, and `path:` below the target. DELETE and MANAGE each become `storage.modify`, which
    /// replaces, renames and deletes: there is no scope that says less.
    ///
    /// # Errors
    /// It cannot be read, or asks for what no token can say.
    pub fn parse(body: &[u8], target: &AccessPath) -> Result<Self, MacaroonError> {
        if body.len() > Self::BYTES_MAX {
            return Err(MacaroonError::TooLong);
        }
        let document: Document = serde_json::from_slice(body).map_err(|_| MacaroonError::Malformed)?;
        let lifetime_secs = document.validity.as_deref().map(parse_duration).transpose();
        let lifetime_secs = lifetime_secs.map_err(MacaroonError::Validity)?;
        let mut operations: Option<Vec<Operation>> = None;
        let mut path = target.clone();
        for caveat in &document.caveats {
            match caveat.split_once(':') {
                Some(("activity", list)) => {
                    let asked = activities(list)?;
                    // Caveats only ever narrow.
                    operations = Some(match operations {
                        None => asked,
                        Some(before) => before.into_iter().filter(|o| asked.contains(o)).collect(),
                    });
                }
                Some(("path", text)) => {
                    let narrower = AccessPath::from_literal(text).map_err(|_| MacaroonError::Path)?;
                    if !path.contains(&narrower) {
                        return Err(MacaroonError::Path);
                    }
                    path = narrower;
                }
                _ => return Err(MacaroonError::Caveat),
            }
        }
        let operations = operations.unwrap_or_else(|| Operation::ALL.to_vec());
        if operations.is_empty() {
            return Err(MacaroonError::MetadataOnly);
        }
        let scopes = operations.into_iter().map(|operation| StorageScope { operation, path: path.clone() });
        Ok(Self { lifetime_secs, scopes: ScopeSet::of(scopes) })
    }
}

fn activities(list: &str) -> Result<Vec<Operation>, MacaroonError> {
    let mut operations = Vec::new();
    let mut changes_metadata = false;
    for activity in list.split(',').map(str::trim) {
        let operation = match activity {
            // Comes with the others; no scope grants it alone.
            "LIST" | "READ_METADATA" => continue,
            "UPDATE_METADATA" => {
                changes_metadata = true;
                continue;
            }
            other => operation_of(other).ok_or(MacaroonError::Activity)?,
        };
        if !operations.contains(&operation) {
            operations.push(operation);
        }
    }
    if changes_metadata && !operations.contains(&Operation::Modify) {
        return Err(MacaroonError::MetadataChange);
    }
    Ok(operations)
}

/// What a scope has for an activity that stands for itself.
pub(super) fn operation_of(activity: &str) -> Option<Operation> {
    Some(match activity {
        "DOWNLOAD" => Operation::Read,
        "UPLOAD" => Operation::Create,
        "DELETE" | "MANAGE" => Operation::Modify,
        "STAGE" => Operation::Stage,
        _ => return None,
    })
}

/// The body of a success.
pub fn macaroon_response(issued: &Issued) -> String {
    serde_json::json!({ "macaroon": issued.token }).to_string()
}

impl fmt::Display for MacaroonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the request is too long"),
            Self::Malformed => f.write_str("no JSON object with \"validity\" and \"caveats\""),
            Self::Validity(error) => write!(f, "validity: {error}"),
            Self::Caveat => f.write_str("a caveat that is neither activity nor path"),
            Self::Activity => f.write_str("an activity that is not known here"),
            Self::MetadataChange => {
                f.write_str("UPDATE_METADATA only beside DELETE or MANAGE: it could replace files, too")
            }
            Self::MetadataOnly => f.write_str("the activities come to nothing that a token could grant"),
            Self::Path => f.write_str("the path caveat does not lead below the path that was asked"),
        }
    }
}

impl std::error::Error for MacaroonError {}
