//! Connects to one of several addresses.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::Socket;

/// Connection Attempt Delay (RFC 8305 section 5): wait before the next address is tried in parallel.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

type Attempt = Pin<Box<dyn Future<Output = io::Result<Socket>> + Send>>;

/// Connects to the first address that answers. Tries the addresses in order; the next attempt starts when one
/// fails or after 250 ms. An address that does not answer therefore costs 250 ms and not a connect timeout.
///
/// Must run on a Tokio runtime with time and I/O.
///
/// # Errors
/// If no address answers (the error is the last cause), or if there is no address.
pub async fn connect_first(addresses: impl IntoIterator<Item = SocketAddr>) -> io::Result<Socket> {
    let mut addresses = addresses.into_iter().peekable();
    let first = addresses.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    if addresses.peek().is_none() {
        return Socket::connect_tcp(first).await;
    }
    let mut under_way: Vec<Attempt> = vec![Box::pin(Socket::connect_tcp(first))];
    let mut next_at = pin!(sleep_until(Instant::now() + ATTEMPT_DELAY));
    poll_fn(move |cx| {
        loop {
            let mut outcome = None;
            under_way.retain_mut(|attempt| match attempt.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(this) => {
                    // A successful attempt takes precedence over a failure in the same poll.
                    if !matches!(outcome, Some(Ok(_))) {
                        outcome = Some(this);
                    }
                    false
                }
            });
            let begin_next = match outcome {
                Some(Ok(socket)) => return Poll::Ready(Ok(socket)),
                Some(Err(error)) if under_way.is_empty() && addresses.peek().is_none() => {
                    return Poll::Ready(Err(error));
                }
                Some(Err(_)) => true,
                None => addresses.peek().is_some() && next_at.as_mut().poll(cx).is_ready(),
            };
            let Some(address) = addresses.next_if(|_| begin_next) else { return Poll::Pending };
            under_way.push(Box::pin(Socket::connect_tcp(address)));
            next_at.as_mut().reset(Instant::now() + ATTEMPT_DELAY);
        }
    })
    .await
}
