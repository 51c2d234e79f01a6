//! Macaroon requests as clients of dCache send them (`Content-Type: application/macaroon-request`). The
//! response contains one of Weir's own tokens, which such clients treat as opaque.

use std::fmt;

use serde::Deserialize;

use super::duration::{DurationError, parse_duration};
use super::token::Issued;
use crate::AccessPath;
use crate::wlcg::{Operation, ScopeSet, StorageScope};

/// A request for a macaroon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MacaroonRequest {
    /// Requested lifetime, in seconds.
    pub lifetime_secs: Option<u64>,
    /// Scopes from the caveats, below the requested path. Without caveats, the request covers all operations
    /// below that path.
    pub scopes: ScopeSet,
}

/// Reason why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MacaroonError {
    /// The body is longer than [`MacaroonRequest::BYTES_MAX`].
    TooLong,
    /// The body is not a JSON object, or a member has the wrong type.
    Malformed,
    /// `validity` is not a valid duration.
    Validity(DurationError),
    /// A caveat is unknown. Ignoring it would grant more than the client requested.
    Caveat,
    /// An activity is unknown.
    Activity,
    /// `UPDATE_METADATA` without `DELETE` or `MANAGE`. The scope that permits changing properties also
    /// permits replacing the file.
    MetadataChange,
    /// Only `LIST` and `READ_METADATA`, or caveats with no activity in common. No scope grants this alone.
    MetadataOnly,
    /// A `path` caveat is invalid or leads outside the requested path.
    Path,
}

#[derive(Deserialize)]
struct Document {
    validity: Option<String>,
    #[serde(default)]
    caveats: Vec<String>,
}

impl MacaroonRequest {
    /// Maximum length of the body, in bytes.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// Parses the body of a POST to `target`. Supported caveats are `path:` with a path below the target, and
    /// `activity:` with DOWNLOAD, UPLOAD, DELETE, MANAGE, UPDATE_METADATA, STAGE, LIST and READ_METADATA.
    /// DELETE and MANAGE both become `storage.modify`, which permits replacing, renaming and deleting. No
    /// narrower scope exists.
    ///
    /// # Errors
    /// If the body is invalid, or asks for rights that no token can express.
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
                    // Further caveats only narrow the request.
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
            // The other activities include these; no scope grants them alone.
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

/// Returns the scope operation for an activity that has one of its own.
pub(super) fn operation_of(activity: &str) -> Option<Operation> {
    Some(match activity {
        "DOWNLOAD" => Operation::Read,
        "UPLOAD" => Operation::Create,
        "DELETE" | "MANAGE" => Operation::Modify,
        "STAGE" => Operation::Stage,
        _ => return None,
    })
}

/// Returns the body of a successful response.
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
