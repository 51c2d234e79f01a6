//! Parsing and validation of policy files.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;
use std::str::FromStr;

use cedar_policy::{
    ActionConstraint, Authorizer, Entity, EntityUid, Policy, PolicyId, PolicySet, ValidationMode, Validator,
};

use super::shape::{next_policy, too_much};
use super::words::{ACTION_COUNT, Words};
use super::{CedarPolicies, CedarPolicy, Prepared};
use crate::AccessPath;
use crate::rule::cedar::fault::line_of;
use crate::rule::cedar::{CedarFault, CedarFile};

impl CedarPolicies {
    /// Parses and validates policies. Also returns the warnings about them.
    ///
    /// # Errors
    /// If a policy is invalid; the list contains all errors.
    pub fn parse(files: &[CedarFile]) -> Result<(Self, Vec<CedarFault>), Vec<CedarFault>> {
        let nowhere = CedarFile { name: "schema of storage areas".to_owned(), text: "".into() };
        let (words, schema) = Words::read().map_err(|error| vec![CedarFault::at(&nowhere, 0..0, error)])?;
        let mut wrong = Vec::new();
        let mut read: Vec<Placed<'_>> = Vec::new();
        let mut doubtful = Vec::new();
        for file in files {
            match of_file(file, &words) {
                Ok(policies) if policies.is_empty() => {
                    doubtful.push(CedarFault::at(file, 0..0, "there is no policy in it".to_owned()));
                }
                Ok(policies) => read.extend(policies),
                Err(faults) => wrong.extend(faults),
            }
        }
        let fault = |id: &PolicyId, found: &dyn miette::Diagnostic| {
            let placed = read.iter().find(|one| one.policy.id() == id);
            placed.map_or_else(|| CedarFault::of(&nowhere, found, 0..0), |one| one.fault(found))
        };
        match PolicySet::from_policies(read.iter().map(|one| one.policy.clone())) {
            Ok(all) => {
                let found = Validator::new(schema).validate(&all, ValidationMode::Strict);
                wrong.extend(found.validation_errors().map(|error| fault(error.policy_id(), error)));
                doubtful.extend(found.validation_warnings().map(|told| fault(told.policy_id(), told)));
                // The library reports errors and warnings in no particular order.
                wrong.sort_by(by_place);
                doubtful.sort_by(by_place);
            }
            Err(error) => wrong.push(CedarFault::at(&nowhere, 0..0, error.to_string())),
        }
        doubtful.extend(named_twice(&read));
        let actions = words.actions();
        let by_action = actions.into_iter().map(|action| prepare(action, &read));
        let by_action: Vec<Prepared> = by_action.collect::<Result<_, _>>().unwrap_or_else(|error| {
            wrong.push(CedarFault::at(&nowhere, 0..0, error));
            Vec::new()
        });
        if !wrong.is_empty() || by_action.len() != ACTION_COUNT {
            return Err(wrong);
        }
        let policies: Vec<CedarPolicy> = read.into_iter().map(Placed::into_policy).collect();
        let id = |policy: &CedarPolicy| AsRef::<str>::as_ref(policy.parsed.id()).to_owned();
        let places = policies.iter().enumerate().map(|(at, policy)| (id(policy), at)).collect();
        Ok((Self { words, authorizer: Authorizer::new(), policies, places, by_action }, doubtful))
    }
}

fn by_place(one: &CedarFault, other: &CedarFault) -> Ordering {
    let place = |fault: &CedarFault| (fault.bytes.start, fault.bytes.end, fault.message.clone());
    one.file.cmp(&other.file).then_with(|| place(one).cmp(&place(other)))
}

/// A policy and its position in a file.
struct Placed<'f> {
    file: &'f CedarFile,
    bytes: Range<usize>,
    policy: Policy,
}

impl Placed<'_> {
    fn fault(&self, found: &dyn miette::Diagnostic) -> CedarFault {
        let mut fault = CedarFault::of(self.file, found, self.bytes.clone());
        // The message names the policy, but the position already identifies it.
        let named = format!("for policy `{}`, ", self.policy.id());
        if let Some(rest) = fault.message.strip_prefix(&named) {
            fault.message = rest.to_owned();
        }
        fault
    }

    fn name(&self) -> Option<&str> {
        self.policy.annotation("id").filter(|name| !name.is_empty())
    }

    fn into_policy(self) -> CedarPolicy {
        CedarPolicy {
            name: self.name().map(|name| crate::text::Printable(name).to_string()),
            file: self.file.name.clone(),
            line: line_of(&self.file.text, self.bytes.start),
            parsed: self.policy,
        }
    }
}

/// Parses the policies of one file and gives them ids that are unique across files.
fn of_file<'f>(file: &'f CedarFile, words: &Words) -> Result<Vec<Placed<'f>>, Vec<CedarFault>> {
    if file.text.len() > CedarPolicies::FILE_BYTES_MAX {
        let message = format!("longer than {} bytes", CedarPolicies::FILE_BYTES_MAX);
        return Err(vec![CedarFault::at(file, 0..0, message)]);
    }
    if let Some((at, why)) = too_much(&file.text) {
        return Err(vec![CedarFault::at(file, at..at, why)]);
    }
    let set = PolicySet::from_str(&file.text).map_err(|errors| {
        let fault = |error| CedarFault::of(file, error, 0..0);
        errors.iter().map(|error| fault(error as &dyn miette::Diagnostic)).collect::<Vec<_>>()
    })?;
    let mut wrong = Vec::new();
    for template in set.templates() {
        let at = file.text.find(&template.to_cedar()).unwrap_or_default();
        let message = "a template (?principal, ?resource) is of no use: nothing is linked to it".to_owned();
        wrong.push(CedarFault::at(file, at..at, message));
    }
    // The library numbers policies in the order of the file.
    let mut written: Vec<(usize, &Policy)> = set
        .policies()
        .map(|policy| {
            let number = policy.id().to_string();
            (number.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(usize::MAX), policy)
        })
        .collect();
    written.sort_by_key(|(number, _)| *number);
    let mut policies = Vec::new();
    let mut after = 0;
    for (number, policy) in written {
        let text = policy.to_cedar().unwrap_or_default();
        // Each policy follows the previous one.
        let start = next_policy(&file.text, after);
        let is_there = file.text.get(start..).is_some_and(|rest| rest.starts_with(&text));
        let bytes = start..start + if is_there { text.len() } else { 0 };
        after = bytes.end;
        let id = PolicyId::new(format!("{}#{number}", file.name));
        let placed = Placed { file, bytes, policy: policy.new_id(id) };
        wrong.extend(misspelt(&placed, words));
        policies.push(placed);
    }
    if wrong.is_empty() { Ok(policies) } else { Err(wrong) }
}

/// Returns an error for each directory, path or anonymous client in a policy that no request can match as it
/// is written. Without the error, such a `forbid` would forbid nothing.
fn misspelt(placed: &Placed<'_>, words: &Words) -> Vec<CedarFault> {
    let of_area = [&words.directory, &words.path, &words.anonymous];
    let is_meant = |uid: &EntityUid| of_area.contains(&uid.type_name());
    let literals: HashSet<EntityUid> = placed.policy.entity_literals().into_iter().filter(is_meant).collect();
    let mut faults: Vec<CedarFault> = literals
        .iter()
        .filter_map(|uid| {
            let written = uid.id().unescaped();
            if *uid.type_name() == words.anonymous {
                return (!written.is_empty()).then(|| {
                    let help = format!("write it like this: {}::\"\"", uid.type_name());
                    never(placed, uid, &help)
                });
            }
            let help = match AccessPath::from_plain(written) {
                Ok(path) => {
                    let plain = path.components().iter().map(|part| format!("/{part}")).collect::<String>();
                    let plain = if plain.is_empty() { "/".to_owned() } else { plain };
                    if plain == written {
                        return None;
                    }
                    format!("write it like this: {}::{plain:?}", uid.type_name())
                }
                Err(error) => error.to_string(),
            };
            Some(never(placed, uid, &help))
        })
        .collect();
    faults.sort_by_key(|fault| fault.bytes.start);
    faults
}

fn never(placed: &Placed<'_>, uid: &EntityUid, help: &str) -> CedarFault {
    let quoted = uid.to_string();
    let at = placed.file.text[placed.bytes.clone()].find(&quoted);
    let bytes = at.map_or(placed.bytes.clone(), |at| {
        let start = placed.bytes.start + at;
        start..start + quoted.len()
    });
    CedarFault::at(placed.file, bytes, format!("no request is ever about {quoted}")).help(help)
}

/// Returns a warning for each policy with the `@id` of an earlier one, because reasons name policies by their
/// `@id`.
fn named_twice(read: &[Placed<'_>]) -> Vec<CedarFault> {
    let mut names = HashSet::new();
    let again = read.iter().filter(|one| one.name().is_some_and(|name| !names.insert(name.to_owned())));
    again
        .map(|one| {
            let message = format!("another policy has the @id {:?}, too", one.name().unwrap_or_default());
            CedarFault::at(one.file, one.bytes.clone(), message)
        })
        .collect()
}

/// Collects the policies that cover an action.
fn prepare(action: Entity, read: &[Placed<'_>]) -> Result<Prepared, String> {
    let uid = action.uid();
    let ancestors: HashSet<EntityUid> = action.clone().into_inner().2;
    let is_about = |one: &&Placed<'_>| match one.policy.action_constraint() {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(named) => named == uid,
        ActionConstraint::In(named) => named.iter().any(|named| *named == uid || ancestors.contains(named)),
    };
    let about: Vec<&Placed<'_>> = read.iter().filter(is_about).collect();
    // A policy can use the context only by this word.
    let needs_context =
        about.iter().any(|one| one.policy.to_cedar().is_none_or(|text| text.contains("context")));
    let policies = PolicySet::from_policies(about.into_iter().map(|one| one.policy.clone()));
    let policies = policies.map_err(|error| error.to_string())?;
    Ok(Prepared { action, policies, needs_context })
}
