//! The listening sockets of the plan.

use weir_config::Plan;
use weir_config::plan::{ListenerPlan, Mode};
use weir_model::{BindAddress, ListenerName};
use weir_net::{ListenOptions, is_listened_on};
use weir_proxy::{ListenerSockets, OpenedSockets, SocketName, Workers};

/// Note about an address that another process also listens on. Two Weirs of one user may share an address, so
/// that the new process can start before the old one stops. It can also be a mistake.
const SHARED: &str = "another process listens there as well: each gets a part of the connections";

/// Every open listening socket.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    open: Vec<ListenerSockets>,
}

/// Sockets that are bound, but from which no worker accepts yet.
#[derive(Debug, Default)]
pub(super) struct Opened(Vec<(ListenerName, OpenedSockets)>);

/// For each open socket, the indexes of its listener and of its address in a plan. `None` = the socket is
/// closed.
type Places = Vec<Option<(usize, usize)>>;

impl Sockets {
    /// Binds all addresses of the plan that are not open yet, or none of them. The error lists every problem
    /// with its listener and address.
    pub(super) fn open_missing(&self, workers: &Workers, plan: &Plan) -> Result<Opened, String> {
        let places = places(self.open.iter().map(|sockets| &sockets.name), plan);
        let mut opened = Vec::new();
        let mut problems = Vec::new();
        let wanted = missing(&places, plan);
        // Checks before the first socket is opened, because addresses of one plan may overlap. Does not check
        // on a reload: a new socket may share its port with one that is about to be closed.
        let shared: Vec<&BindAddress> = match self.open.is_empty() {
            true => wanted.iter().map(|(_, address)| *address).filter(|it| is_taken(it)).collect(),
            false => Vec::new(),
        };
        for (listener, address) in wanted {
            match workers.open(address, options(listener)) {
                Ok(sockets) => {
                    if shared.contains(&address) {
                        eprintln!("weir: listener {}: {address}: {SHARED}", listener.name);
                    }
                    opened.push((listener.name.clone(), sockets));
                }
                Err(error) => problems.push(format!("listener {}: {error}", listener.name)),
            }
        }
        if problems.is_empty() { Ok(Opened(opened)) } else { Err(problems.join("\n")) }
    }

    /// Applies a new plan. Sockets that the plan still has stay open, even for another listener. Other
    /// sockets close after their pending connections are accepted. The sockets in `opened` begin to accept.
    pub(super) fn follow(&mut self, workers: &Workers, plan: &Plan, opened: Opened) {
        let places = places(self.open.iter().map(|sockets| &sockets.name), plan);
        let mut places = places.into_iter();
        self.open.retain(|sockets| match places.next().flatten() {
            Some((listener, _)) => {
                sockets.adjust(options(&plan.listeners[listener]));
                true
            }
            None => false,
        });
        self.accept(workers, opened);
    }

    /// Begins to accept and prints the addresses, because the kernel has chosen the port where the config has
    /// 0.
    pub(super) fn accept(&mut self, workers: &Workers, opened: Opened) {
        for (name, sockets) in opened.0 {
            eprintln!("listener {name}: {}", sockets.address);
            self.open.push(sockets.accept(workers, &name));
        }
    }
}

fn is_taken(address: &BindAddress) -> bool {
    matches!(address, BindAddress::Inet(inet) if is_listened_on(*inet))
}

fn places<'a>(open: impl Iterator<Item = &'a SocketName>, plan: &Plan) -> Places {
    let mut places = Places::new();
    for name in open {
        let place = name.owner(plan.listeners.iter());
        // One socket for each address.
        places.push(place.filter(|place| !places.contains(&Some(*place))));
    }
    places
}

/// Returns the addresses of a plan without an open socket.
fn missing<'a>(places: &Places, plan: &'a Plan) -> Vec<(&'a ListenerPlan, &'a BindAddress)> {
    let all = plan.listeners.iter().enumerate().flat_map(|(index, listener)| {
        listener.bind.iter().enumerate().map(move |(at, address)| ((index, at), (listener, address)))
    });
    all.filter(|(place, _)| !places.contains(&Some(*place))).map(|(_, bind)| bind).collect()
}

fn options(listener: &ListenerPlan) -> ListenOptions {
    // Never waits in TCP mode, where the server may speak first. This also holds with the PROXY protocol,
    // because untrusted clients send no PROXY header.
    ListenOptions { backlog: listener.backlog, wait_for_data: matches!(listener.mode, Mode::Http(_)) }
}

#[cfg(test)]
mod tests {
    use weir_config::{Plan, Source};
    use weir_proxy::SocketName;

    use super::{missing, options, places};

    fn plan(listeners: &str) -> Plan {
        let text = format!(
            "[weir]\ncontrol = false\nstate = false\n{listeners}\n[pool.web]\nservers = \"127.0.0.1:1\"\n"
        );
        let source = Source { name: "test.toml".to_owned(), text };
        weir_config::load(&[source], &|_| None).expect("a good config").plan
    }

    /// Returns the sockets of a plan whose addresses have no port 0.
    fn opened_for(plan: &Plan) -> Vec<SocketName> {
        let sockets = plan.listeners.iter().flat_map(|listener| {
            listener.bind.iter().map(|address| SocketName {
                listener: listener.name.clone(),
                configured: address.clone(),
                actual: address.clone(),
            })
        });
        sockets.collect()
    }

    /// Returns the addresses that are opened and those that are closed between two plans.
    fn changes(from: &str, to: &str) -> (Vec<String>, Vec<String>) {
        let (open, next) = (opened_for(&plan(from)), plan(to));
        let places = places(open.iter(), &next);
        let opens =
            missing(&places, &next).iter().map(|(one, address)| format!("{} {address}", one.name)).collect();
        let closes = open.iter().zip(&places).filter(|(_, place)| place.is_none());
        (opens, closes.map(|(name, _)| format!("{} {}", name.listener, name.actual)).collect())
    }

    #[test]
    fn only_sockets_whose_addresses_differ_are_opened_and_closed() {
        let before = "[listener.web]\nbind = [\":80\", \":81\", \"unix:/run/web.sock\"]\npool = \"web\"
             [listener.raw]\nbind = \":90\"\nmode = \"http\"\npool = \"web\"";
        let after =
            "[listener.www]\nbind = [\":81\", \":82\", \"unix:/run/web.sock\"]\nbacklog = 77\npool = \"web\"
             [listener.raw]\nbind = \":90\"\nmode = \"tcp\"\npool = \"web\"";
        let (opens, closes) = changes(before, after);
        assert_eq!(opens, ["www [::]:82"]);
        assert_eq!(closes, ["web [::]:80"]);
        assert_eq!(changes(before, before), (Vec::new(), Vec::new()));
    }

    #[test]
    fn two_listeners_can_exchange_their_addresses() {
        let before =
            "[listener.a]\nbind = \":80\"\npool = \"web\"\n[listener.b]\nbind = \":81\"\npool = \"web\"";
        let after =
            "[listener.a]\nbind = \":81\"\npool = \"web\"\n[listener.b]\nbind = \":80\"\npool = \"web\"";
        assert_eq!(changes(before, after), (Vec::new(), Vec::new()));
    }

    #[test]
    fn only_http_listeners_wait_for_the_clients_first_bytes() {
        let waits = |keys: &str| {
            let plan = plan(&format!("[listener.web]\nbind = \":80\"\npool = \"web\"\n{keys}"));
            options(&plan.listeners[0]).wait_for_data
        };
        assert!(waits(""));
        assert!(waits("proxy-protocol = { from = \"10.0.0.0/8\" }"));
        assert!(!waits("mode = \"tcp\""));
        assert!(!waits("mode = \"tcp\"\nproxy-protocol = { from = \"10.0.0.0/8\" }"));
    }
}
