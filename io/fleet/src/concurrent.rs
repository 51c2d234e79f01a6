//! Concurrent futures with a limit.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Awaits all futures, at most `limit` at a time. Returns the results in the order of the futures.
///
/// Each wake-up polls all running futures, so it suits tens of them, not thousands.
pub(crate) async fn all<'a, T>(
    limit: usize,
    futures: impl IntoIterator<Item = Pin<Box<dyn Future<Output = T> + 'a>>>,
) -> Vec<T> {
    let mut waiting = futures.into_iter().enumerate();
    let mut running = Vec::new();
    let mut done = Vec::new();
    poll_fn(move |cx| {
        loop {
            while running.len() < limit.max(1) {
                let Some(next) = waiting.next() else { break };
                running.push(next);
            }
            let before = running.len();
            running.retain_mut(|(at, future)| match future.as_mut().poll(cx) {
                Poll::Ready(result) => {
                    done.push((*at, result));
                    false
                }
                Poll::Pending => true,
            });
            if running.len() == before {
                break;
            }
        }
        if !running.is_empty() {
            return Poll::Pending;
        }
        done.sort_by_key(|(at, _)| *at);
        Poll::Ready(done.drain(..).map(|(_, result)| result).collect())
    })
    .await
}
