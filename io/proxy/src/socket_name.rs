//! Which listener of a plan an open listening socket belongs to.

use weir_config::plan::ListenerPlan;
use weir_model::{BindAddress, ListenerName};

/// What a listening socket is recognised by in the plans that follow the one for which it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketName {
    /// The listener for which it was opened.
    pub listener: ListenerName,
    /// The address as the plan had it then.
    pub configured: BindAddress,
    /// What it is bound to: a port 0 has become the port that the kernel chose.
    pub actual: BindAddress,
}

impl SocketName {
    /// The index of the listener among `listeners`, and that of the address among the listener's, that this socket belongs
    /// to: whoever has its address now, whatever the name. A port 0 says no address: it means the socket that was opened
    /// for it, under the same name.
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
