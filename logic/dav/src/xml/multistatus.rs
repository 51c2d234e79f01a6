//! Bodies of 207 Multi-Status responses.

use super::{Condition, Property};
use crate::markup::{DAV, escape};
use crate::outcome::Outcome;
use crate::path::DavPath;

/// Content-Type of all XML responses.
pub const CONTENT_TYPE: &str = "application/xml; charset=utf-8";

pub(super) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";

/// Writer for the body of a 207 (RFC 4918 section 13). The caller can send and discard each piece before it
/// writes the next, so a listing needs memory for one entry only.
#[derive(Debug)]
pub struct Multistatus(());

impl Multistatus {
    /// Appends the start of the document.
    pub fn begin(out: &mut String) -> Self {
        out.push_str(DECLARATION);
        out.push_str(&format!("<D:multistatus xmlns:D=\"{DAV}\">\n"));
        Self(())
    }

    /// Appends the status of a whole resource, for DELETE, COPY, MOVE and LOCK (RFC 4918 section 13).
    /// `collection`: true if the href ends in a slash.
    pub fn status(
        &mut self,
        out: &mut String,
        path: &DavPath,
        collection: bool,
        outcome: Outcome,
        condition: Option<&Condition>,
    ) {
        append_href(out, path, collection);
        append_outcome(out, outcome, condition);
        out.push_str("</D:response>\n");
    }

    /// Appends the properties of a resource (RFC 4918 section 9.1).
    pub fn response(&mut self, out: &mut String, response: &Response) {
        out.push_str(&response.head);
        for group in &response.groups {
            out.push_str("<D:propstat><D:prop>");
            out.push_str(&group.properties);
            out.push_str("</D:prop>");
            append_outcome(out, group.outcome, group.condition.as_ref());
            out.push_str("</D:propstat>");
        }
        if response.groups.is_empty() {
            // A response needs at least one propstat; an empty request was fully answered.
            out.push_str("<D:propstat><D:prop/>");
            append_outcome(out, Outcome::Done, None);
            out.push_str("</D:propstat>");
        }
        out.push_str("</D:response>\n");
    }

    /// Appends the end of the document.
    pub fn end(self, out: &mut String) {
        out.push_str("</D:multistatus>\n");
    }
}

/// The properties of one resource, in groups with the same status (RFC 4918 section 14.22).
#[derive(Debug)]
pub struct Response {
    head: String,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    outcome: Outcome,
    condition: Option<Condition>,
    properties: String,
}

impl Response {
    /// Creates a response without properties. `collection`: true if the href ends in a slash (RFC 4918
    /// section 5.2).
    pub fn new(path: &DavPath, collection: bool) -> Self {
        let mut head = String::new();
        append_href(&mut head, path, collection);
        Self { head, groups: Vec::new() }
    }

    /// Adds a property that was found or changed.
    pub fn found(&mut self, property: &Property<'_>) {
        self.add(property, Outcome::Done, None);
    }

    /// Adds a property with its outcome: 404 for a missing one, 403 or 424 for an unchanged one.
    pub fn add(&mut self, property: &Property<'_>, outcome: Outcome, condition: Option<Condition>) {
        let is_same = |group: &Group| group.outcome == outcome && group.condition == condition;
        let at = match self.groups.iter().position(is_same) {
            Some(at) => at,
            None => {
                self.groups.push(Group { outcome, condition, properties: String::new() });
                self.groups.len() - 1
            }
        };
        if let Some(group) = self.groups.get_mut(at) {
            property.append(&mut group.properties);
        }
    }
}

fn append_href(out: &mut String, path: &DavPath, collection: bool) {
    out.push_str("<D:response><D:href>");
    path.append_href(out, collection);
    out.push_str("</D:href>");
}

/// Appends status, condition and description, in this order (RFC 4918 sections 14.22 and 14.24).
fn append_outcome(out: &mut String, outcome: Outcome, condition: Option<&Condition>) {
    out.push_str(&format!("<D:status>HTTP/1.1 {} {}</D:status>", outcome.status(), outcome.reason()));
    if let Some(condition) = condition {
        condition.append(out);
    }
    // A missing property needs no description.
    if !outcome.text().is_empty() && outcome != Outcome::NotFound {
        out.push_str("<D:responsedescription>");
        escape::text(out, outcome.text());
        out.push_str("</D:responsedescription>");
    }
}
