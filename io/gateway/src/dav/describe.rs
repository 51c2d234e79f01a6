//! Builds the PROPFIND response for a resource.

use std::sync::Arc;

use weir_dav::digest::Algorithm;
use weir_dav::etag::EntityTag;
use weir_dav::lock::{Lock, LockTable};
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::xml::{Fragment, LiveProperty, PropName, Property, Propfind, Response};
use weir_storage::{Metadata, StorageError};

use crate::area::Area;
use crate::clock::unix_now_s;

/// Writes the requested properties, one resource after the other.
#[derive(Debug)]
pub(crate) struct Describer {
    pub(crate) area: Arc<Area>,
    pub(crate) asked: Propfind,
    /// URL path of the area's root.
    pub(crate) prefix: DavPath,
    pub(crate) locks: Arc<LockTable>,
}

/// A resource and the data that has been read from it.
struct Subject<'a> {
    path: &'a DavPath,
    metadata: &'a Metadata,
    dead: Vec<Fragment>,
}

impl Describer {
    /// Returns the requested properties of the resource at a path of the tree. Calls `may_have_dead` before
    /// it reads dead properties, because that is the most expensive step. Blocks.
    pub(crate) fn describe(
        &self,
        path: &DavPath,
        metadata: &Metadata,
        may_have_dead: impl FnOnce() -> bool,
    ) -> Result<Response, StorageError> {
        let mut response = Response::new(&self.prefix.append(path), metadata.is_directory());
        let dead = if self.needs_dead() && may_have_dead() { self.dead(path)? } else { Vec::new() };
        let subject = Subject { path, metadata, dead };
        match &self.asked {
            Propfind::AllProp { include } => {
                for property in LiveProperty::ALL.iter().filter(|property| property.in_allprop()) {
                    self.live(*property, &subject, &mut |value| response.found(value));
                }
                for value in
                    subject.dead.iter().filter(|value| LiveProperty::from_name(value.name()).is_none())
                {
                    response.found(&Property::Dead(value));
                }
                let is_in = |name: &PropName| {
                    LiveProperty::from_name(name).is_some_and(LiveProperty::in_allprop)
                        || subject.dead.iter().any(|value| value.name() == name)
                };
                for name in include.iter().filter(|name| !is_in(name)) {
                    self.one(name, &subject, &mut response);
                }
            }
            Propfind::PropName => {
                for property in LiveProperty::ALL.iter().filter(|property| is_defined(**property, metadata)) {
                    response.found(&Property::Name(&property.name()));
                }
                for value in
                    subject.dead.iter().filter(|value| LiveProperty::from_name(value.name()).is_none())
                {
                    response.found(&Property::Name(value.name()));
                }
            }
            Propfind::Prop(names) => names.iter().for_each(|name| self.one(name, &subject, &mut response)),
        }
        Ok(response)
    }

    fn one(&self, name: &PropName, subject: &Subject<'_>, response: &mut Response) {
        let found = match LiveProperty::from_name(name) {
            Some(property) => self.live(property, subject, &mut |value| response.found(value)),
            None => match subject.dead.iter().find(|value| value.name() == name) {
                Some(value) => {
                    response.found(&Property::Dead(value));
                    true
                }
                None => false,
            },
        };
        if !found {
            response.add(&Property::Name(name), Outcome::NotFound, None);
        }
    }

    /// Passes the value of a live property to `give`. Returns false if the resource has no such property.
    fn live(
        &self,
        property: LiveProperty,
        subject: &Subject<'_>,
        give: &mut dyn FnMut(&Property<'_>),
    ) -> bool {
        let Subject { path, metadata, dead } = subject;
        if !is_defined(property, metadata) && property != LiveProperty::Checksum {
            return false;
        }
        let name = || self.prefix.append(path).name().unwrap_or(b"/").to_vec();
        match property {
            LiveProperty::CreationDate => {
                give(&Property::CreationDate(metadata.created.unwrap_or(metadata.modified).seconds));
            }
            LiveProperty::DisplayName => {
                match dead.iter().find(|value| LiveProperty::from_name(value.name()) == Some(property)) {
                    Some(value) => give(&Property::Dead(value)),
                    None => give(&Property::DisplayName(&name())),
                }
            }
            LiveProperty::ContentLength => give(&Property::ContentLength(metadata.size)),
            LiveProperty::ContentType => {
                give(&Property::ContentType(&self.area.plan.mime_types.of(&name())));
            }
            LiveProperty::Etag => match EntityTag::strong(&metadata.version()) {
                Some(etag) => give(&Property::Etag(&etag)),
                None => return false,
            },
            LiveProperty::LastModified => {
                let now_s = unix_now_s().cast_signed();
                give(&Property::LastModified(metadata.modified.seconds.min(now_s)));
            }
            LiveProperty::LockDiscovery => {
                let now_s = unix_now_s();
                let locks: Vec<Lock> =
                    self.locks.locks_on(path, now_s).map(|lock| with_prefix(lock, &self.prefix)).collect();
                give(&Property::LockDiscovery { locks: &locks.iter().collect::<Vec<_>>(), now_s });
            }
            LiveProperty::ResourceType => {
                give(&Property::ResourceType { collection: metadata.is_directory() });
            }
            LiveProperty::SupportedLock => give(&Property::SupportedLock { locks: self.area.offer().locks }),
            LiveProperty::QuotaAvailable | LiveProperty::QuotaUsed => {
                let Ok(usage) = self.area.tree.usage(path) else { return false };
                // Quota of the area if its files are counted, else of the file system (RFC 4331 sections 3
                // and 4).
                let account = self.area.tree.ledger().account();
                let left = account.left.unwrap_or(u64::MAX);
                match property {
                    LiveProperty::QuotaUsed => {
                        give(&Property::QuotaUsed(account.used.unwrap_or(usage.used)));
                    }
                    _ => give(&Property::QuotaAvailable(usage.available.min(left))),
                }
            }
            LiveProperty::Checksum => match self.adler32(path, metadata) {
                Some(checksum) => give(&Property::Checksum(&checksum)),
                None => return false,
            },
        }
        true
    }

    fn adler32(&self, path: &DavPath, metadata: &Metadata) -> Option<String> {
        if metadata.is_directory() {
            return None;
        }
        let file = self.area.tree.open(path).ok()?;
        let digests = self.area.tree.checksums(path, &file).ok()?;
        digests.iter().find(|digest| digest.algorithm() == Algorithm::Adler32).map(|digest| digest.to_hex())
    }

    /// Returns true if the request needs dead properties.
    fn needs_dead(&self) -> bool {
        match &self.asked {
            Propfind::AllProp { .. } | Propfind::PropName => true,
            Propfind::Prop(names) => names
                .iter()
                .any(|name| LiveProperty::from_name(name).is_none_or(|property| !property.is_protected())),
        }
    }

    fn dead(&self, path: &DavPath) -> Result<Vec<Fragment>, StorageError> {
        match self.area.tree.properties(path) {
            // The file is not readable by this process, or was just removed. Its metadata is still reported.
            Err(StorageError::Refused | StorageError::NotFound) => Ok(Vec::new()),
            read => read,
        }
    }
}

/// Returns true if resources of this kind have the property. False for the checksum, which requires reading.
fn is_defined(property: LiveProperty, metadata: &Metadata) -> bool {
    match property {
        LiveProperty::ContentLength | LiveProperty::ContentType | LiveProperty::Etag => {
            !metadata.is_directory()
        }
        LiveProperty::QuotaAvailable | LiveProperty::QuotaUsed => metadata.is_directory(),
        LiveProperty::Checksum => false,
        _ => true,
    }
}

/// Returns the lock with its path in URLs.
pub(crate) fn with_prefix(lock: &Lock, prefix: &DavPath) -> Lock {
    Lock { root: prefix.append(&lock.root), ..lock.clone() }
}
