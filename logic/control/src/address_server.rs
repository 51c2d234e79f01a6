//! Servers that each represent one address of a host name with several addresses.

use std::net::IpAddr;

use weir_model::{Name, ServerAddress, ServerName};

use crate::{AdminState, EffectiveServer, RuntimeState, ServerSpec};

/// Address of a named server that a server represents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressOf {
    /// The server of the config (or of a command) that has the host name.
    pub server: ServerName,
    /// Address that the server represents.
    pub ip: IpAddr,
    /// Administrative state of that server as a whole. Unless it is ready, it overrides the state of this
    /// address.
    pub whole: AdminState,
}

impl RuntimeState {
    /// Returns the server that represents the address `ip` of `whole`, with the changes made to that address
    /// alone.
    ///
    /// Its name depends only on the name of `whole` and the address, so it is the same in every process.
    pub fn at_address(&self, pool: &Name, whole: &EffectiveServer, ip: IpAddr) -> EffectiveServer {
        let name = address_name(&whole.spec.name, ip);
        let mut server = whole.clone();
        server.at = Some(AddressOf { server: whole.spec.name.clone(), ip, whole: whole.state });
        if let Some(change) = self.get(pool, &name) {
            if let Some(state) = change.state.filter(|_| whole.state == AdminState::Ready) {
                server.state = state;
                server.overridden.push("state");
            }
            if let Some(weight) = change.weight {
                server.spec.weight = weight;
                server.spec.auto_weight = None;
                server.overridden.retain(|what| *what != "weight");
                server.overridden.push("weight");
            }
        }
        server.spec.name = name;
        server
    }

    /// Returns whether something was changed about the address `ip` of `whole` alone.
    pub fn is_changed_at(&self, pool: &Name, whole: &ServerName, ip: IpAddr) -> bool {
        self.get(pool, &address_name(whole, ip)).is_some()
    }
}

/// Returns true if `server` is the name of an address of one of these servers.
pub(crate) fn is_address_of<'a>(
    server: &ServerName,
    mut specs: impl Iterator<Item = &'a ServerSpec>,
) -> bool {
    let Some((_, ip)) = server.as_str().rsplit_once('_') else { return false };
    let Ok(ip) = ip.parse::<IpAddr>() else { return false };
    let is_it = |spec: &ServerSpec| {
        matches!(spec.address, ServerAddress::Named(_)) && address_name(&spec.name, ip) == *server
    };
    specs.any(is_it)
}

/// Returns a name such as `web_10.0.0.1`.
///
/// If that is too long for a name, the first part is shortened and ends in a hash of the whole name. So two
/// long names stay different.
fn address_name(whole: &ServerName, ip: IpAddr) -> ServerName {
    let ip = ip.to_string();
    let room = Name::BYTES_MAX.saturating_sub(ip.len() + 1);
    let whole_text = whole.as_str();
    let start = match whole_text.len() > room {
        // Names are ASCII, so any index is a character boundary.
        true => {
            let kept = whole_text.get(..room.saturating_sub(HASH_BYTES)).unwrap_or_default();
            format!("{kept}-{:08x}", fnv1a(whole_text.as_bytes()))
        }
        false => whole_text.to_owned(),
    };
    Name::new(&format!("{start}_{ip}")).unwrap_or_else(|_| whole.clone())
}

/// Length of a hyphen and eight digits.
const HASH_BYTES: usize = 9;

/// Computes the 32-bit FNV-1a hash (<http://www.isthe.com/chongo/tech/comp/fnv/>), the same in every process
/// and version.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_address_says_whose_it_is_and_fits() {
        let name =
            |whole: &str, ip: &str| address_name(&Name::new(whole).unwrap(), ip.parse().unwrap()).to_string();
        assert_eq!(name("web", "10.0.0.1"), "web_10.0.0.1");
        assert_eq!(name("web.internal:8080", "2001:db8::1"), "web.internal:8080_2001:db8::1");
        let long = name(&"x".repeat(64), "2001:db8:1111:2222:3333:4444:5555:6666");
        assert_eq!((long.len(), long.ends_with("_2001:db8:1111:2222:3333:4444:5555:6666")), (64, true));
        let other = name(&format!("{}y", "x".repeat(63)), "2001:db8:1111:2222:3333:4444:5555:6666");
        assert!(other != long && other.len() == 64, "{other}");
    }

    #[test]
    fn an_address_belongs_to_a_server_with_a_host_name_only() {
        let spec =
            |name: &str, address: &str| ServerSpec::new(Name::new(name).unwrap(), address.parse().unwrap());
        let specs = [spec("web", "web.internal:80"), spec("fixed", "10.0.0.9:80")];
        let is_one = |name: &str| is_address_of(&Name::new(name).unwrap(), specs.iter());
        assert!(is_one("web_10.0.0.1") && is_one("web_::1"));
        assert!(
            !is_one("fixed_10.0.0.1") && !is_one("web_one") && !is_one("other_10.0.0.1") && !is_one("web")
        );
    }
}
