//! The listening sockets, by what the plan says.

use std::collections::HashMap;

use weir_config::Plan;
use weir_config::plan::{ListenerPlan, Mode};
use weir_model::{BindAddress, ListenerName};
use weir_net::ListenOptions;
use weir_proxy::{ListenerSockets, OpenedSockets, Workers};

/// Every open listening socket.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    open: HashMap<Key, ListenerSockets>,
}

type Key = (ListenerName, BindAddress);

/// Sockets that are bound, before anybody accepts from them.
#[derive(Debug)]
pub(super) struct Opened(Vec<(Key, OpenedSockets)>);

impl Sockets {
    /// Binds what is named, all or nothing. Errors name listener and address; all of them are reported.
    pub(super) fn open<'a>(
        workers: &Workers,
        plan: &Plan,
        binds: impl IntoIterator<Item = (&'a ListenerName, &'a BindAddress)>,
    ) -> Result<Opened, String> {
        let mut opened = Vec::new();
        let mut problems = Vec::new();
        for (name, address) in binds {
            let Some(listener) = plan.listeners.iter().find(|listener| listener.name == *name) else {
                continue;
            };
            match workers.open(address, options(listener)) {
                Ok(sockets) => opened.push(((name.clone(), address.clone()), sockets)),
                Err(error) => problems.push(format!("listener {name}: {error}")),
            }
        }
        if problems.is_empty() { Ok(Opened(opened)) } else { Err(problems.join("\n")) }
    }

    /// Every address that the plan listens on.
    pub(super) fn of_plan(plan: &Plan) -> impl Iterator<Item = (&ListenerName, &BindAddress)> {
        plan.listeners
            .iter()
            .flat_map(|listener| listener.bind.iter().map(|address| (&listener.name, address)))
    }

    /// Has a new plan name its addresses as they were named when their sockets were opened: a port 0 that has meanwhile been
    /// written out is the same socket, and need not be opened anew.
    pub(super) fn recognise(&self, plan: &mut Plan) {
        for listener in &mut plan.listeners {
            for at in 0..listener.bind.len() {
                let known = self.open.iter().find_map(|((name, configured), sockets)| {
                    (*name == listener.name && sockets.address == listener.bind[at]).then_some(configured)
                });
                if let Some(configured) = known.filter(|configured| !listener.bind.contains(configured)) {
                    listener.bind[at] = configured.clone();
                }
            }
        }
    }

    /// Accepts from now on; says where, because a port 0 has become another.
    pub(super) fn accept(&mut self, workers: &Workers, opened: Opened) {
        for ((name, address), sockets) in opened.0 {
            let sockets = sockets.accept(workers, &name);
            eprintln!("listener {name}: {}", sockets.address);
            self.open.insert((name, address), sockets);
        }
    }

    /// Stops accepting there, after what the kernel has queued was taken.
    pub(super) fn close(&mut self, name: &ListenerName, address: &BindAddress) {
        self.open.remove(&(name.clone(), address.clone()));
    }
}

fn options(listener: &ListenerPlan) -> ListenOptions {
    // A client of TLS or HTTP speaks first; one that must send a PROXY header, too.
    let client_speaks_first =
        matches!(listener.mode, Mode::Http(_)) || listener.tls.is_some() || listener.proxy_protocol.is_some();
    ListenOptions { backlog: listener.backlog, wait_for_data: client_speaks_first }
}
