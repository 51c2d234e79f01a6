//! Sends files that servers have named.

use weir_http::access_log::Termination;
use weir_http::{HeaderTable, OffloadOrder, OffloadTarget, parse_request};
use weir_net::service::{Answer, Delivery, FileOrder, FileTarget, Request};

use super::body::Incoming;
use super::call::request_of;
use super::finish::Finish;
use super::{upload, wait};
use crate::http::connection::Connection;
use crate::http::exchange::Offloaded;
use crate::http::finish::After;
use crate::http::request::RequestFacts;

/// Sends the file that a server has named in place of a body. Returns the connection, and what to do with it
/// next.
pub(crate) async fn deliver(
    connection: Box<Connection>,
    facts: RequestFacts,
    offloaded: Box<Offloaded>,
    order: Box<OffloadOrder>,
) -> Option<(Box<Connection>, After)> {
    let mut offloaded = offloaded;
    if let Some(pending) = offloaded.pending.take() {
        return upload::take(connection, facts, offloaded, (pending, order.target)).await;
    }
    let OffloadOrder { target, kept, bytes_per_second_max, charset } = *order;
    offloaded.bytes_per_second_max = bytes_per_second_max;
    let order = FileOrder { target: target_of(target), headers: kept, charset };
    let request = request(&connection, &facts);
    let service = connection.worker.shared.service.clone();
    let delivered = match (service, request) {
        (Some(service), Some(request)) => {
            let pool = offloaded.pool.shared.plan.name.as_str();
            wait(&connection, service.deliver(pool, request, order)).await
        }
        _ => {
            Ok(Delivery { answer: Answer::new(503), complaint: Some("there is nobody to send files".into()) })
        }
    };
    let pool = std::rc::Rc::clone(&offloaded.pool);
    let mut finish = Finish {
        incoming: Incoming::read_already(offloaded.upload_bytes, offloaded.upload_done),
        timing: offloaded.timing,
        facts,
        connection,
        offloaded: Some(offloaded),
    };
    let after = match delivered {
        Ok(Delivery { answer, complaint }) => {
            match &complaint {
                None => pool.counters().offloads.one(),
                Some(complaint) => {
                    pool.counters().offloads_failed.one();
                    finish.complain(complaint);
                }
            }
            finish.send(answer).await
        }
        Err(halt) => finish.cut(None, &halt, Termination::new(halt.cause(), halt.phase(false))),
    };
    let after = match after {
        After::Answer(answer) => finish.connection.send(answer).await,
        after => after,
    };
    Some((finish.connection, after))
}

pub(super) fn target_of(target: OffloadTarget) -> FileTarget {
    match target {
        OffloadTarget::Uri(uri) => FileTarget::Uri(uri),
        OffloadTarget::Path(path) => FileTarget::Path(path),
    }
}

/// Parses the request again from the copy of its head, which is kept for the log and for this purpose.
pub(super) fn request(connection: &Connection, facts: &RequestFacts) -> Option<Request> {
    let copy = facts.copy.as_deref()?;
    let http = &connection.listener.http;
    let mut table = HeaderTable::new();
    let head = parse_request(&copy.head, &http.plan.limits, &mut table).ok().flatten()?;
    let client = http.forwarder.client_address(&copy.head, &table, &connection.peer);
    Some(request_of(connection, (&copy.head, &head, &table), &facts.id, client))
}
