//! The XML form of locks (RFC 4918 sections 14.1, 15.8 and 15.10).

use super::multistatus::DECLARATION;
use crate::header::timeout_text;
use crate::lock::{Lock, Scope};
use crate::markup::{DAV, escape};

/// Appends the body of a LOCK response, with the new or refreshed lock (RFC 4918 section 9.10.1).
pub fn write_lock_answer(out: &mut String, lock: &Lock, now_s: u64) {
    out.push_str(DECLARATION);
    out.push_str(&format!("<D:prop xmlns:D=\"{DAV}\">"));
    append_active_locks(out, &[lock], now_s);
    out.push_str("</D:prop>\n");
}

pub(super) fn append_active_locks(out: &mut String, locks: &[&Lock], now_s: u64) {
    if locks.is_empty() {
        out.push_str("<D:lockdiscovery/>");
        return;
    }
    out.push_str("<D:lockdiscovery>");
    for lock in locks {
        out.push_str("<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope>");
        out.push_str(scope(lock.scope));
        out.push_str("</D:lockscope><D:depth>");
        out.push_str(lock.depth().as_str());
        out.push_str("</D:depth>");
        if let Some(owner) = &lock.owner {
            out.push_str(owner.as_str());
        }
        out.push_str("<D:timeout>");
        out.push_str(&timeout_text(lock.left_s(now_s)));
        out.push_str("</D:timeout><D:locktoken><D:href>");
        escape::text(out, lock.token.as_str());
        out.push_str("</D:href></D:locktoken><D:lockroot><D:href>");
        lock.root.append_href(out, lock.collection);
        out.push_str("</D:href></D:lockroot></D:activelock>");
    }
    out.push_str("</D:lockdiscovery>");
}

pub(super) fn append_supported_locks(out: &mut String, locks: bool) {
    if !locks {
        out.push_str("<D:supportedlock/>");
        return;
    }
    out.push_str("<D:supportedlock>");
    for kind in [Scope::Exclusive, Scope::Shared] {
        out.push_str("<D:lockentry><D:lockscope>");
        out.push_str(scope(kind));
        out.push_str("</D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>");
    }
    out.push_str("</D:supportedlock>");
}

const fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Exclusive => "<D:exclusive/>",
        Scope::Shared => "<D:shared/>",
    }
}
