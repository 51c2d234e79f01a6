//! Takes an upload that a server has permitted: receives its body, asks the server to confirm it, and then
//! makes it visible.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;

use weir_http::access_log::Termination;
use weir_http::{BodyScanner, HeaderTable, OffloadTarget, parse_request};
use weir_net::service::{Answer, Body, Delivery, TakenUpload};

use super::body::Incoming;
use super::deliver::{request, target_of};
use super::finish::Finish;
use super::pace::Halt;
use super::{Lent, Source, run};
use crate::http::connection::Connection;
use crate::http::exchange::{Exchange, Message, Offloaded, PendingUpload, Question};
use crate::http::finish::{After, finish_exchange};
use crate::http::question::{self, Asked};
use crate::http::request::RequestFacts;
use crate::pump::Pump;

/// Receives the body and asks the server to confirm it. Returns the connection, and what to do with it next.
pub(super) async fn take(
    connection: Box<Connection>,
    mut facts: RequestFacts,
    offloaded: Box<Offloaded>,
    (pending, target): (PendingUpload, OffloadTarget),
) -> Option<(Box<Connection>, After)> {
    let listener = Rc::clone(&connection.listener);
    let limit = listener.http.routes.get(facts.route).and_then(|route| route.plan.body_bytes_max);
    facts.keep_alive = pending.keep_alive;
    let written = match &target {
        OffloadTarget::Uri(text) | OffloadTarget::Path(text) => text.clone(),
    };
    let request = request(&connection, &facts);
    let service = connection.worker.shared.service.clone();
    let incoming = Incoming::new(pending.framing, pending.expects_continue, limit);
    let length = incoming.length();
    let slot = Rc::new(RefCell::new(Some(Lent { connection, incoming })));
    let body = Body::new(Box::new(Source(Rc::clone(&slot))), length);
    let taken = match (service, request) {
        (Some(service), Some(request)) => {
            let pool = offloaded.pool.shared.plan.name.as_str();
            run(&slot, service.take_upload(pool, request, body, target_of(target))).await
        }
        _ => Ok(Err(Delivery { answer: Answer::new(503), complaint: None })),
    };
    let Lent { connection, incoming } = slot.borrow_mut().take()?;
    let (timing, pool) = (offloaded.timing, Rc::clone(&offloaded.pool));
    let mut finish = Finish { connection, incoming, facts, timing, offloaded: Some(offloaded) };
    let after = match taken {
        Ok(Ok(taken)) => return ask(finish, &pending.id, &written, taken).await,
        Ok(Err(Delivery { answer, complaint })) => {
            if let Some(complaint) = &complaint {
                pool.counters().offloads_failed.one();
                finish.complain(complaint);
            }
            finish.send(answer).await
        }
        Err(Halt::Fault(fault)) => finish.refuse(&fault),
        Err(halt) => finish.cut(None, &halt, Termination::new(halt.cause(), halt.phase(false))),
    };
    let after = match after {
        After::Answer(answer) => finish.connection.send(answer).await,
        after => after,
    };
    Some((finish.connection, after))
}

/// Asks the server to confirm the received upload, and forwards its response to the client.
async fn ask(
    finish: Finish,
    id: &str,
    target: &[u8],
    taken: TakenUpload,
) -> Option<(Box<Connection>, After)> {
    let Finish { mut connection, incoming, facts, mut timing, offloaded } = finish;
    // The time for receiving the body must not count as the server's.
    timing.ask_again(connection.worker.look_at_clock());
    let Offloaded { pool, bond, place, .. } = *offloaded?;
    let asked = Asked { pool, route: facts.route, asker: facts.asker() };
    let Some(head) = question_after(&connection, &facts, &asked, (id, target, &taken)) else {
        return Some((connection, After::Reset));
    };
    let pool = asked.pool;
    let message = Message { head, upload: Pump::new(BodyScanner::None), broken: None, bond };
    let exchange = Exchange::new(pool, facts, timing, message, place);
    let question = Question::After { publish: Some(taken.publish), bytes: incoming.bytes_read };
    let mut exchange = Box::new(exchange.asking(question));
    let end = poll_fn(|cx| {
        let proxies = exchange.pool.shared.plan.proxy_protocol.is_some();
        let mut client = connection.client_side(proxies);
        exchange.poll(cx, &mut client)
    })
    .await;
    let after = match finish_exchange(&mut connection, exchange, end) {
        After::Answer(answer) => connection.send(answer).await,
        after => after,
    };
    Some((connection, after))
}

fn question_after(
    connection: &Connection,
    facts: &RequestFacts,
    asked: &Asked<'_>,
    taken: (&str, &[u8], &TakenUpload),
) -> Option<Vec<u8>> {
    let copy = facts.copy.as_deref()?;
    let mut table = HeaderTable::new();
    let limits = &connection.listener.http.plan.limits;
    let head = parse_request(&copy.head, limits, &mut table).ok().flatten()?;
    Some(question::after(connection, (&copy.head, &head, &table), asked, taken))
}
