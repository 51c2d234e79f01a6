//! A connection that has changed its protocol; its bytes are forwarded in both directions.

use weir_http::access_log::Termination;

use super::connection::Connection;
use super::exchange::Exchange;
use super::finish::finish_tunnel;
use crate::pump::Pump;
use crate::tunnel::Tunnel;

/// Forwards bytes between the two sides of an exchange that ended in 101.
pub(super) async fn tunnel(mut connection: Box<Connection>, mut exchange: Box<Exchange>) {
    let Some((mut server, download)) = exchange.take_upgraded() else { return };
    let mut upload = Pump::new(download.other_direction());
    let mut received = std::mem::take(&mut connection.received);
    // Bytes that followed a body that came in pieces.
    received.extend_from_slice(&exchange.take_pipelined());
    if !received.is_empty() {
        upload.take_over(&connection.worker, &received);
    }
    let mut tunnel = Tunnel::new(upload, download);
    let idle = connection.listener.timeouts().tunnel.duration();
    let Connection { stream, deadline, worker, .. } = &mut *connection;
    let end = tunnel.run(stream, &mut server.stream, deadline, idle, worker, exchange.lease()).await;
    let termination: Termination = end.termination();
    finish_tunnel(
        &connection,
        &exchange,
        tunnel.upload.bytes_read,
        tunnel.download.bytes_written,
        termination,
    );
    exchange.release(&connection.worker);
}
