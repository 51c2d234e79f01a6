//! Serves a request by a service, without a heap-allocated task in the usual case.

use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use weir_net::service::{Answer, Body, LocalFuture};

use super::call::Call;
use super::finish::Finish;
use super::pace::Pace;
use super::{Served, ask, end, serve_with_body, wait};
use crate::http::connection::Connection;
use crate::http::finish::After;

/// A request that a service answers. Completes with the connection, and what to do with it next.
///
/// Most downloads are answered and sent in the turn in which they were requested. The state for longer ones
/// is allocated only when that turn has ended.
pub(crate) struct Serving(State);

enum State {
    Asked(Box<Connection>, Box<Call>),
    UnderWay(LocalFuture<Served>),
    Over,
}

/// Result of the first turn of a request.
enum Turn {
    Over(Box<Connection>, After),
    /// It continues at once.
    Next(LocalFuture<Served>),
    /// It continues when it is woken.
    Waits(LocalFuture<Served>),
}

impl Serving {
    pub(crate) fn new(connection: Box<Connection>, call: Box<Call>) -> Self {
        Self(State::Asked(connection, call))
    }
}

impl Future for Serving {
    type Output = Served;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Served> {
        let mut under_way = match mem::replace(&mut self.0, State::Over) {
            State::Asked(connection, call) => match first_turn(cx, connection, call) {
                Turn::Over(connection, after) => return Poll::Ready(Some((connection, after))),
                Turn::Next(under_way) => under_way,
                Turn::Waits(under_way) => {
                    self.0 = State::UnderWay(under_way);
                    return Poll::Pending;
                }
            },
            State::UnderWay(under_way) => under_way,
            State::Over => return Poll::Ready(None),
        };
        let polled = under_way.as_mut().poll(cx);
        if polled.is_pending() {
            self.0 = State::UnderWay(under_way);
        }
        polled
    }
}

fn first_turn(cx: &mut Context<'_>, connection: Box<Connection>, call: Box<Call>) -> Turn {
    if !call.is_read_without_body() {
        return Turn::Next(Box::pin(serve_with_body(connection, call)));
    }
    let Call { request, facts, timing, incoming } = *call;
    // The clock was read when the request arrived.
    let mut answering = ask(&connection.listener, &connection.worker, facts.route, request, Body::empty());
    let polled = answering.as_mut().poll(cx);
    let mut finish = Finish { connection, incoming, facts, timing, offloaded: None };
    let Poll::Ready(answer) = polled else { return Turn::Next(Box::pin(go_on(finish, answering))) };
    let mut sending = match finish.prepare(answer) {
        Ok(sending) => sending,
        Err(after) => return Turn::Next(Box::pin(end(finish, after))),
    };
    finish.connection.worker.look_at_clock();
    let mut pace = Pace::default();
    let why = match sending.poll(cx, &mut finish.connection) {
        Poll::Ready(Ok(())) => {
            sending.release(&finish.connection.worker);
            let after = finish.complete_read(&sending);
            return Turn::Over(finish.connection, after);
        }
        Poll::Ready(Err(error)) => Ok(error),
        Poll::Pending => match pace.poll(cx, &finish.connection, sending.written, sending.waits_for) {
            Poll::Ready(halt) => Err(halt),
            Poll::Pending => {
                return Turn::Waits(Box::pin(async move {
                    let after = finish.send_on(sending, pace).await;
                    end(finish, after).await
                }));
            }
        },
    };
    sending.release(&finish.connection.worker);
    let after = finish.broken_off(&sending, why);
    Turn::Next(Box::pin(end(finish, after)))
}

/// Waits for the response, and sends it.
async fn go_on(mut finish: Finish, answering: LocalFuture<Answer>) -> Served {
    let answered = wait(&finish.connection, answering).await;
    let after = finish.answered(answered).await;
    end(finish, after).await
}
