//! Requests that a service of this process answers: the call, the body that it reads, the answer that it gives.
//!
//! While a service is at work it may read from the client's connection, through its body. So the connection is lent to
//! where both can reach it, and taken back when the answer is there.

mod body;
mod call;
mod deliver;
mod finish;
mod head;
mod pace;
mod rate;
mod send;
mod upload;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use weir_http::{Action, access_log::Termination};
use weir_net::service::{Answer, Body, BodySource, LocalFuture};

use super::connection::Connection;
use super::finish::After;
use super::outcome::Fault;
use body::Incoming;
use finish::Finish;
use pace::{Halt, Pace, WaitsFor};
use send::{SendError, Sending};

pub(crate) use call::Call;
pub(crate) use deliver::deliver;

/// What a service and the connection's task share while the service is at work.
type Slot = Rc<RefCell<Option<Lent>>>;

struct Lent {
    /// In a box of its own: it goes from hand to hand with each request.
    connection: Box<Connection>,
    incoming: Incoming,
}

/// A body, as the service sees it.
struct Source(Slot);

impl BodySource for Source {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        match self.0.borrow_mut().as_mut() {
            Some(Lent { connection, incoming }) => incoming.poll_read(cx, connection, buffer),
            None => Poll::Ready(Err(io::Error::other("the answer has been given"))),
        }
    }

    fn inform(&mut self, head: Vec<u8>) {
        if let Some(Lent { incoming, .. }) = self.0.borrow_mut().as_mut() {
            incoming.inform(&head);
        }
    }
}

/// Has the service answer, and sends what it says. Gives the connection back, with what becomes of it.
pub(crate) async fn serve(connection: Box<Connection>, call: Box<Call>) -> Option<(Box<Connection>, After)> {
    let Call { request, facts, timing, incoming } = *call;
    let listener = Rc::clone(&connection.listener);
    let worker = Rc::clone(&connection.worker);
    let route = listener.http.routes.get(facts.route).map(|route| &route.plan.action);
    let length = incoming.length();
    let slot: Slot = Rc::new(RefCell::new(Some(Lent { connection, incoming })));
    let body = Body::new(Box::new(Source(Rc::clone(&slot))), length);
    let answered = match (&worker.shared.service, route) {
        (Some(service), Some(Action::Storage(name))) => {
            run(&slot, service.call(name.as_str(), request, body)).await
        }
        _ => Ok(Answer::new(503)),
    };
    let Lent { connection, incoming } = slot.borrow_mut().take()?;
    let mut finish = Finish { connection, incoming, facts, timing, offloaded: None };
    let after = match answered {
        Ok(answer) => finish.send(answer).await,
        Err(Halt::Fault(fault)) => finish.refuse(&fault),
        Err(halt) => finish.cut(None, &halt, Termination::new(halt.cause(), halt.phase(false))),
    };
    let after = match after {
        After::Answer(answer) => finish.connection.send(answer).await,
        after => after,
    };
    Some((finish.connection, after))
}

/// Waits for the answer. What the body has come to ends it before.
async fn run<T>(slot: &Slot, mut answering: LocalFuture<T>) -> Result<T, Halt> {
    let mut pace = Pace::default();
    let mut is_taken_up = false;
    poll_fn(|cx| {
        // For the first time it is by the event that has brought the request, which has looked.
        if std::mem::replace(&mut is_taken_up, true)
            && let Some(lent) = slot.borrow().as_ref()
        {
            lent.connection.worker.look_at_clock();
        }
        let polled = answering.as_mut().poll(cx);
        let mut slot = slot.borrow_mut();
        let Some(Lent { connection, incoming }) = slot.as_mut() else { return Poll::Pending };
        if let Some(halt) = incoming.fault.take() {
            return Poll::Ready(Err(halt));
        }
        match polled {
            Poll::Ready(answer) => Poll::Ready(Ok(answer)),
            Poll::Pending => {
                let waits_for = if incoming.waits { WaitsFor::Client } else { WaitsFor::Service };
                pace.poll(cx, connection, incoming.bytes_read, waits_for).map(|halt| {
                    Err(match halt {
                        Halt::ClientTimeout => Halt::Fault(Fault::BodyTimeout),
                        halt => halt,
                    })
                })
            }
        }
    })
    .await
}

impl Finish {
    /// Sends the answer, and sees what becomes of the connection.
    async fn send(&mut self, answer: Answer) -> After {
        if self.incoming.is_informing() {
            let halt = Halt::ClientGone;
            return self.cut(None, &halt, Termination::new(halt.cause(), halt.phase(false)));
        }
        self.incoming.skip_received(&mut self.connection);
        let keep = self.may_keep();
        let status = answer.status;
        let offloaded = self.offloaded.as_deref_mut();
        let Some(mut sending) = Sending::new(&self.connection, &self.facts, answer, keep, offloaded) else {
            return self.refuse(&Fault::Service("it gave an answer that cannot be sent".to_owned()));
        };
        let mut pace = Pace::default();
        let connection = &mut self.connection;
        let sent = poll_fn(|cx| {
            connection.worker.look_at_clock();
            match sending.poll(cx, connection) {
                Poll::Ready(sent) => Poll::Ready(sent.map_err(Ok)),
                Poll::Pending => {
                    pace.poll(cx, connection, sending.written, sending.waits_for).map(|halt| Err(Err(halt)))
                }
            }
        })
        .await;
        sending.release(&self.connection.worker);
        match sent {
            Ok(()) => self.complete(status, &sending).await,
            Err(Ok(SendError::Client)) => self.cut(
                Some((status, &sending)),
                &Halt::ClientGone,
                Termination::new(Halt::ClientGone.cause(), Halt::ClientGone.phase(true)),
            ),
            Err(Ok(SendError::Source(cause))) if sending.written == 0 => {
                self.refuse(&Fault::Service(cause.to_string()))
            }
            Err(Ok(SendError::Source(cause))) => {
                let halt = Halt::Fault(Fault::Service(cause.to_string()));
                self.cut(Some((status, &sending)), &halt, Termination::SERVER_BROKE_OFF)
            }
            Err(Err(halt)) => {
                let termination = Termination::new(halt.cause(), halt.phase(true));
                self.cut(Some((status, &sending)), &halt, termination)
            }
        }
    }
}
