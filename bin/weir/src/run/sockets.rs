//! The listening sockets, by what the plan says.

use weir_config::Plan;
use weir_config::plan::{ListenerPlan, Mode};
use weir_model::{BindAddress, ListenerName};
use weir_net::{ListenOptions, is_listened_on};
use weir_proxy::{ListenerSockets, OpenedSockets, SocketName, Workers};

/// Two Weirs of one user may: so that the next one can be started before the last one stops, and by mistake.
const SHARED: &str = "another process listens there as well: each gets a part of the connections";

/// Every open listening socket.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    open: Vec<ListenerSockets>,
}

/// Sockets that are bound, before anybody accepts from them.
#[derive(Debug, Default)]
pub(super) struct Opened(Vec<(ListenerName, OpenedSockets)>);

/// Where each of the sockets that are open belongs in a plan: to which listener, and to which of its addresses. `None` = it
/// is to be closed.
type Places = Vec<Option<(usize, usize)>>;

impl Sockets {
    /// Binds what the plan needs and is not open, all or nothing. Errors name listener and address; all of them are reported.
    pub(super) fn open_missing(&self, workers: &Workers, plan: &Plan) -> Result<Opened, String> {
        let places = places(self.open.iter().map(|sockets| &sockets.name), plan);
        let mut opened = Vec::new();
        let mut problems = Vec::new();
        let wanted = missing(&places, plan);
        // Before any is opened: addresses of one plan may lie within each other. And not while Weir runs: a new socket may share
        // its port with one that is about to be closed.
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

    /// Follows a plan that has come into force: what it still has stays open, whoever has it now; what it has not is closed
    /// once those who have connected are taken; from what was opened for it clients are accepted.
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

    /// Accepts from now on; says where, because a port 0 has become another.
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

/// The addresses of a plan for which no socket is open.
fn missing<'a>(places: &Places, plan: &'a Plan) -> Vec<(&'a ListenerPlan, &'a BindAddress)> {
    let all = plan.listeners.iter().enumerate().flat_map(|(index, listener)| {
        listener.bind.iter().enumerate().map(move |(at, address)| ((index, at), (listener, address)))
    });
    all.filter(|(place, _)| !places.contains(&Some(*place))).map(|(_, bind)| bind).collect()
}

fn options(listener: &ListenerPlan) -> ListenOptions {
    // Never in TCP mode, where the server may speak first: not even behind a PROXY header, which clients that are not trusted
    // to send one leave out.
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

    /// The sockets of a plan whose addresses have no port 0.
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

    /// What is opened and what is closed to get from one plan to another.
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
