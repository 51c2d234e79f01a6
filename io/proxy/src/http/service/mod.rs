//! Requests that a service of this process answers: the call, the body that it reads, and the response that
//! it gives.
//!
//! While a service works, it may read from the client's connection, through its body. The connection is
//! therefore in a slot that both sides can reach, and is taken back when the response is ready. A request
//! without a body needs no slot: see [`Serving`].

mod body;
mod call;
mod deliver;
mod finish;
mod head;
mod pace;
mod rate;
mod send;
mod serving;
mod upload;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use weir_http::{Action, access_log::Termination};
use weir_net::service::{Answer, Body, BodySource, LocalFuture, Request};

use super::connection::Connection;
use super::finish::After;
use super::outcome::Fault;
use crate::worker::{LocalHttp, Worker};
use body::Incoming;
use finish::Finish;
use pace::{Halt, Pace, WaitsFor};
use send::{SendError, Sending};

pub(crate) use call::Call;
pub(crate) use deliver::deliver;
pub(crate) use serving::Serving;

/// The connection, and what to do with it next.
type Served = Option<(Box<Connection>, After)>;

/// Slot that a service and the connection's task share while the service works.
type Slot = Rc<RefCell<Option<Lent>>>;

struct Lent {
    /// Boxed, because it is passed on with each request.
    connection: Box<Connection>,
    incoming: Incoming,
}

/// Body of a request, as the service sees it.
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

/// Serves a request with a body, which the service may read, and sends the response.
async fn serve_with_body(connection: Box<Connection>, call: Box<Call>) -> Served {
    let Call { request, facts, timing, incoming } = *call;
    let (listener, worker) = (Rc::clone(&connection.listener), Rc::clone(&connection.worker));
    let length = incoming.length();
    let slot: Slot = Rc::new(RefCell::new(Some(Lent { connection, incoming })));
    let body = Body::new(Box::new(Source(Rc::clone(&slot))), length);
    let answered = run(&slot, ask(&listener, &worker, facts.route, request, body)).await;
    let Lent { connection, incoming } = slot.borrow_mut().take()?;
    let mut finish = Finish { connection, incoming, facts, timing, offloaded: None };
    let after = finish.answered(answered).await;
    end(finish, after).await
}

/// Passes a request to the service of its route.
fn ask(
    listener: &LocalHttp,
    worker: &Worker,
    route: usize,
    request: Request,
    body: Body,
) -> LocalFuture<Answer> {
    match (&worker.shared.service, listener.http.routes.get(route).map(|route| &route.plan.action)) {
        (Some(service), Some(Action::Storage(name))) => service.call(name.as_str(), request, body),
        _ => Box::pin(std::future::ready(Answer::new(503))),
    }
}

/// Returns the connection, after sending an error response if there is one.
async fn end(mut finish: Finish, after: After) -> Served {
    let after = match after {
        After::Answer(answer) => finish.connection.send(answer).await,
        after => after,
    };
    Some((finish.connection, after))
}

/// Waits for a service that has nothing to read, as long as the client waits.
async fn wait<T>(connection: &Connection, mut answering: LocalFuture<T>) -> Result<T, Halt> {
    let mut pace = Pace::default();
    poll_fn(|cx| {
        connection.worker.look_at_clock();
        match answering.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(Ok(answer)),
            Poll::Pending => pace.poll(cx, connection, 0, WaitsFor::Service).map(Err),
        }
    })
    .await
}

/// Waits for the response of a service that may read the body. A failure of the body ends the wait.
async fn run<T>(slot: &Slot, mut answering: LocalFuture<T>) -> Result<T, Halt> {
    let mut pace = Pace::default();
    let mut is_taken_up = false;
    poll_fn(|cx| {
        if let Some(Lent { connection, incoming }) = slot.borrow_mut().as_mut() {
            incoming.begin_turn();
            // The first poll follows the event that brought the request, which has read the clock.
            if std::mem::replace(&mut is_taken_up, true) {
                connection.worker.look_at_clock();
            }
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
                let waits_for = if incoming.waits { WaitsFor::Body } else { WaitsFor::Service };
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
    /// Sends the service's response, or an error in its place, and decides about the connection.
    async fn answered(&mut self, answered: Result<Answer, Halt>) -> After {
        match answered {
            Ok(answer) => self.send(answer).await,
            Err(Halt::Fault(fault)) => self.refuse(&fault),
            Err(halt) => self.cut(None, &halt, Termination::new(halt.cause(), halt.phase(false))),
        }
    }

    /// Sends the response, and decides about the connection.
    async fn send(&mut self, answer: Answer) -> After {
        match self.prepare(answer) {
            Ok(sending) => self.send_on(sending, Pace::default()).await,
            Err(after) => after,
        }
    }

    /// Writes the head of the response. If that fails, the error says what to do with the connection.
    fn prepare(&mut self, answer: Answer) -> Result<Sending, After> {
        if self.incoming.is_informing() {
            let halt = Halt::ClientGone;
            return Err(self.cut(None, &halt, Termination::new(halt.cause(), halt.phase(false))));
        }
        self.incoming.skip_received(&mut self.connection);
        let keep = self.may_keep();
        let offloaded = self.offloaded.as_deref_mut();
        match Sending::new(&self.connection, &self.facts, answer, keep, offloaded) {
            Some(sending) => Ok(sending),
            None => Err(self.refuse(&Fault::Service("it gave an answer that cannot be sent".to_owned()))),
        }
    }

    /// Sends the rest of the response.
    async fn send_on(&mut self, mut sending: Sending, mut pace: Pace) -> After {
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
            Ok(()) => self.complete(&sending).await,
            Err(why) => self.broken_off(&sending, why),
        }
    }

    /// Handles a response that could not be sent completely.
    fn broken_off(&mut self, sending: &Sending, why: Result<SendError, Halt>) -> After {
        match why {
            Ok(SendError::Client) => self.cut(
                Some(sending),
                &Halt::ClientGone,
                Termination::new(Halt::ClientGone.cause(), Halt::ClientGone.phase(true)),
            ),
            Ok(SendError::Source(cause)) if sending.written == 0 => {
                self.refuse(&Fault::Service(cause.to_string()))
            }
            Ok(SendError::Source(cause)) => {
                let halt = Halt::Fault(Fault::Service(cause.to_string()));
                self.cut(Some(sending), &halt, Termination::SERVER_BROKE_OFF)
            }
            Err(halt) => {
                let termination = Termination::new(halt.cause(), halt.phase(true));
                self.cut(Some(sending), &halt, termination)
            }
        }
    }
}
