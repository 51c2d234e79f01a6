//! Finds the listener of a plan that an open listening socket belongs to.

use weir_config::plan::ListenerPlan;
use weir_model::{BindAddress, ListenerName};

/// Identity of a listening socket, by which later plans find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketName {
    /// Listener for which the socket was opened.
    pub listener: ListenerName,
    /// Address in the plan at that time.
    pub configured: BindAddress,
    /// Address that the socket is bound to. A port 0 is replaced by the port that the kernel chose.
    pub actual: BindAddress,
}

impl SocketName {
    /// Returns the index of the listener that owns this socket, and the index of the address in that
    /// listener. A listener with the socket's address owns it, whatever its name. A configured port 0 is no
    /// real address; it means the socket that was opened for it under the same listener name.
    pub fn owner<'a>(
        &self,
        listeners: impl Iterator<Item = &'a ListenerPlan> + Clone,
    ) -> Option<(usize, usize)> {
        let by_address = find(listeners.clone(), |_, address| *address == self.actual);
        by_address.or_else(|| {
            find(listeners, |listener, address| *listener == self.listener && *address == self.configured)
        })
    }
}

fn find<'a>(
    listeners: impl Iterator<Item = &'a ListenerPlan>,
    mut is_it: impl FnMut(&ListenerName, &BindAddress) -> bool,
) -> Option<(usize, usize)> {
    listeners.enumerate().find_map(|(index, listener)| {
        let at = listener.bind.iter().position(|address| is_it(&listener.name, address))?;
        Some((index, at))
    })
}

#[cfg(test)]
mod tests {
    use weir_config::{Plan, Source};
    use weir_model::ListenerName;

    use super::SocketName;

    fn plan(listeners: &[(&str, &str)]) -> Plan {
        let listeners: String = listeners
            .iter()
            .map(|(name, bind)| format!("[listener.{name}]\nbind = {bind}\npool = \"web\"\n"))
            .collect();
        let text = format!(
            "[weir]\ncontrol = false\nstate = false\n{listeners}[pool.web]\nservers = \"127.0.0.1:1\"\n"
        );
        let source = Source { name: "test.toml".to_owned(), text };
        weir_config::load(&[source], &|_| None).unwrap().plan
    }

    fn socket(listener: &str, configured: &str, actual: &str) -> SocketName {
        SocketName {
            listener: ListenerName::new(listener).unwrap(),
            configured: configured.parse().unwrap(),
            actual: actual.parse().unwrap(),
        }
    }

    fn owner(socket: &SocketName, listeners: &[(&str, &str)]) -> Option<(usize, usize)> {
        socket.owner(plan(listeners).listeners.iter())
    }

    #[test]
    fn a_socket_goes_with_its_address_whatever_the_listener_is_called() {
        let tcp = socket("web", "127.0.0.1:80", "127.0.0.1:80");
        assert_eq!(owner(&tcp, &[("www", "\"127.0.0.1:80\"")]), Some((0, 0)));
        let both = [("other", "\"127.0.0.1:80\""), ("web", "\"127.0.0.1:81\"")];
        assert_eq!(owner(&tcp, &both), Some((0, 0)));
        assert_eq!(owner(&tcp, &[("web", "[\":81\", \"127.0.0.1:80\"]")]), Some((0, 1)));
        assert_eq!(owner(&tcp, &[("web", "\"127.0.0.1:81\"")]), None);
        let unix = socket("web", "unix:/run/web.sock", "unix:/run/web.sock");
        assert_eq!(owner(&unix, &[("www", "\"unix:/run/web.sock\"")]), Some((0, 0)));
    }

    #[test]
    fn a_port_that_the_kernel_chose_is_kept_by_the_name_or_by_the_port_written_out() {
        let chosen = socket("web", "127.0.0.1:0", "127.0.0.1:4711");
        assert_eq!(owner(&chosen, &[("web", "\"127.0.0.1:0\"")]), Some((0, 0)));
        assert_eq!(owner(&chosen, &[("web", "\"127.0.0.1:4711\"")]), Some((0, 0)));
        assert_eq!(owner(&chosen, &[("www", "\"127.0.0.1:4711\"")]), Some((0, 0)));
        assert_eq!(owner(&chosen, &[("www", "\"127.0.0.1:0\"")]), None);
    }
}
