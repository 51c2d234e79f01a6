//! The snapshot in the CSV format of HAProxy's `show stat`, for scripts that read it. It has a FRONTEND line
//! for each listener. For each pool follow a line for each server and a BACKEND line. Values that Weir does
//! not have stay empty, as in HAProxy.

mod columns;
mod pool;
mod row;

use weir_control::{ListenerSnapshot, ListenerStatus, Protocol, Snapshot};

use columns::COLUMNS;
use row::{Fields, Table, responses};

/// Writes the CSV page.
pub fn stat_csv(snapshot: &Snapshot) -> String {
    let mut table = Table::new();
    // HAProxy numbers proxies from 2 on.
    for (iid, listener) in (2..).zip(&snapshot.listeners) {
        table.row(|fields| frontend(fields, iid, listener));
    }
    for (iid, pool) in (2 + snapshot.listeners.len()..).zip(&snapshot.pools) {
        for (sid, server) in (1..).zip(&pool.servers) {
            table.row(|fields| pool::server(fields, (iid, sid), pool, server));
        }
        table.row(|fields| pool::backend(fields, iid, pool));
    }
    table.finish()
}

fn frontend(fields: &mut Fields<'_>, iid: usize, listener: &ListenerSnapshot) {
    let ListenerSnapshot { connections, connection_rate, request_rate, .. } = listener;
    fields.text("pxname", &listener.name);
    fields.text("svname", "FRONTEND");
    fields.set("scur", connections.current);
    fields.set("smax", connections.max);
    fields.maybe("slim", connections.limit);
    fields.set("stot", listener.connections_total);
    fields.set("bin", listener.request_bytes);
    fields.set("bout", listener.response_bytes);
    fields.set("dreq", listener.requests_denied);
    fields.set("ereq", listener.request_errors);
    fields.text(
        "status",
        match listener.status {
            ListenerStatus::Open => "OPEN",
            ListenerStatus::Full => "FULL",
            ListenerStatus::Closing => "STOP",
        },
    );
    fields.set("pid", 1);
    fields.set("iid", iid);
    fields.set("sid", 0);
    fields.set("type", 0);
    fields.set("rate", connection_rate.current);
    fields.set("rate_lim", 0);
    fields.set("rate_max", connection_rate.max);
    fields.set("req_rate", request_rate.current);
    fields.set("req_rate_max", request_rate.max);
    fields.set("req_tot", listener.requests_total);
    fields.set("cli_abrt", listener.client_aborts);
    fields.text("mode", listener.protocol.name());
    fields.set("conn_rate", connection_rate.current);
    fields.set("conn_rate_max", connection_rate.max);
    fields.set("conn_tot", listener.connections_total + listener.connections_denied);
    fields.set("dcon", listener.connections_denied);
    match listener.protocol {
        Protocol::Http => {
            responses(fields, &listener.responses);
            fields.set("intercepted", listener.intercepted);
            fields.set("h1sess", listener.connections_total);
            fields.set("h1req", listener.requests_total);
        }
        Protocol::Tcp => fields.set("sess_other", listener.connections_total),
    }
}
