//! Matching of hosts.

use crate::{HostPattern, split_authority};

impl HostPattern {
    /// Returns true if the pattern matches `host`, in any case. `host` has no port and no trailing dot.
    pub fn matches(&self, host: &[u8]) -> bool {
        match self {
            Self::Exact(name) => host.eq_ignore_ascii_case(name.as_bytes()),
            Self::Wildcard(suffix) => host
                .len()
                .checked_sub(suffix.len())
                .is_some_and(|labels| labels > 0 && host[labels..].eq_ignore_ascii_case(suffix.as_bytes())),
        }
    }
}

/// Returns the host of a Host header, without port and without the trailing dot of a fully qualified name.
pub(super) fn bare_host(host: &[u8]) -> &[u8] {
    let bare = split_authority(host).map_or(host, |(bare, _)| bare);
    bare.strip_suffix(b".").filter(|rest| !rest.is_empty()).unwrap_or(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_wants_at_least_one_label() {
        let pattern = HostPattern::Wildcard(".example.org".into());
        assert!(pattern.matches(b"a.example.org"));
        assert!(pattern.matches(b"a.b.EXAMPLE.org"));
        assert!(!pattern.matches(b".example.org"));
        assert!(!pattern.matches(b"example.org"));
        assert!(!pattern.matches(b"badexample.org"));
    }

    #[test]
    fn port_case_and_final_dot_do_not_count() {
        let pattern = HostPattern::Exact("example.org".into());
        for host in ["example.org", "EXAMPLE.org:8080", "example.org.", "example.org.:80"] {
            assert!(pattern.matches(bare_host(host.as_bytes())), "{host}");
        }
        assert!(HostPattern::Exact("[::1]".into()).matches(bare_host(b"[::1]:80")));
    }
}
