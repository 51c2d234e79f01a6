//! Provider calls that continue between rounds, so that a slow provider does not delay a round.
//!
//! At most one list is in progress at a time. Orders never concern a machine with another order in progress.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::orders::{Carried, Orders};
use crate::{Actuator, Failure, Machine, Settled};

type Call<T> = Pin<Box<dyn Future<Output = T>>>;

/// Calls in progress, and results of finished ones.
#[derive(Default)]
pub(super) struct Errands {
    listing: Option<Call<Listed>>,
    listed: Option<Listed>,
    carrying: Vec<(u64, Call<Carried>)>,
    carried: Vec<(u64, Carried)>,
    /// Number of the latest orders.
    last: u64,
}

/// Result of listing the machines.
pub(super) struct Listed {
    /// Failure of the provider's periodic work.
    pub(super) untended: Option<Failure>,
    pub(super) settled: Result<Vec<Settled>, Failure>,
    pub(super) machines: Result<Vec<Machine>, Failure>,
}

impl Errands {
    /// Starts a list unless one is in progress.
    pub(super) fn list(&mut self, actuator: &Rc<Actuator>) {
        let actuator = Rc::clone(actuator);
        self.listing.get_or_insert_with(|| {
            Box::pin(async move {
                let untended = actuator.tend().await.err();
                let settled = actuator.settle().await;
                Listed { untended, settled, machines: actuator.machines().await }
            })
        });
    }

    /// Starts orders. Returns their number.
    pub(super) fn carry_out(&mut self, actuator: &Rc<Actuator>, orders: Orders) -> u64 {
        self.last += 1;
        self.carrying.push((self.last, Box::pin(orders.carry_out(Rc::clone(actuator)))));
        self.last
    }

    /// Takes the finished list.
    pub(super) fn listed(&mut self) -> Option<Listed> {
        self.listed.take()
    }

    /// Takes the results of finished orders.
    pub(super) fn carried(&mut self) -> Vec<(u64, Carried)> {
        std::mem::take(&mut self.carried)
    }

    /// Returns true if these orders are in progress.
    pub(super) fn is_under_way(&self, number: u64) -> bool {
        self.carrying.iter().any(|(under_way, _)| *under_way == number)
    }

    /// Waits for the list, at most until `until`.
    pub(super) async fn await_list(&mut self, until: Instant) {
        self.wait(until, |errands| errands.listing.is_none()).await;
    }

    /// Waits for these orders, at most until `until`.
    pub(super) async fn await_orders(&mut self, number: u64, until: Instant) {
        self.wait(until, |errands| !errands.is_under_way(number)).await;
    }

    /// Waits for all orders, without a limit. Cancels the list.
    pub(super) async fn finish(&mut self) {
        self.listing = None;
        std::future::poll_fn(|cx| {
            self.poll(cx);
            if self.carrying.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Runs the calls while waiting for another future.
    pub(super) async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = std::pin::pin!(other);
        std::future::poll_fn(|cx| {
            self.poll(cx);
            other.as_mut().poll(cx)
        })
        .await
    }

    async fn wait(&mut self, until: Instant, is_over: impl Fn(&Self) -> bool) {
        let mut deadline = std::pin::pin!(tokio::time::sleep_until(until));
        std::future::poll_fn(|cx| {
            self.poll(cx);
            if is_over(self) { Poll::Ready(()) } else { deadline.as_mut().poll(cx) }
        })
        .await;
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        if let Some(listing) = &mut self.listing
            && let Poll::Ready(listed) = listing.as_mut().poll(cx)
        {
            (self.listing, self.listed) = (None, Some(listed));
        }
        let Self { carrying, carried, .. } = self;
        carrying.retain_mut(|(number, call)| match call.as_mut().poll(cx) {
            Poll::Ready(done) => {
                carried.push((*number, done));
                false
            }
            Poll::Pending => true,
        });
    }
}

impl fmt::Debug for Errands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Errands")
            .field("is_listing", &self.listing.is_some())
            .field("orders", &self.carrying.len())
            .finish_non_exhaustive()
    }
}

/// Machines of the latest list.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) machines: Vec<Machine>,
    /// Time of the round that received the list.
    pub(super) at: Duration,
    /// True until a round has compared the list with the members of the load balancer.
    pub(super) is_new: bool,
}
