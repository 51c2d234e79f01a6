//! Logs jobs that take long, so that the log shows that they are at work.

use std::fmt::Display;
use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::time::timeout;

/// Jobs that take no longer than this are not logged.
const MENTIONED_AFTER: Duration = Duration::from_secs(10);

/// Waits for a job. If it takes longer than [`MENTIONED_AFTER`], logs that it is at work, and later how long
/// it took. Also logs the end if the client leaves and the job is dropped. `area` and `what` name the job.
pub(crate) async fn watched<T>(area: &str, what: impl Display, job: impl Future<Output = T>) -> T {
    watched_after(MENTIONED_AFTER, &mut |line| eprintln!("{line}"), area, what, job).await
}

async fn watched_after<T>(
    patience: Duration,
    say: &mut dyn FnMut(String),
    area: &str,
    what: impl Display,
    job: impl Future<Output = T>,
) -> T {
    let begun = Instant::now();
    let mut job = pin!(job);
    if let Ok(done) = timeout(patience, &mut job).await {
        return done;
    }
    let name = format!("weir: storage area {area}: {what}");
    say(format!("{name}: still at work after {} s", begun.elapsed().as_secs()));
    let mut mention = Mention { say, name, begun, is_done: false };
    let done = job.await;
    mention.is_done = true;
    done
}

/// Logs the end of a job when dropped, also if the job was abandoned.
struct Mention<'a> {
    say: &'a mut dyn FnMut(String),
    name: String,
    begun: Instant,
    is_done: bool,
}

impl Drop for Mention<'_> {
    fn drop(&mut self) {
        let how = if self.is_done { "done" } else { "its client has left" };
        (self.say)(format!("{}: {how} after {} s", self.name, self.begun.elapsed().as_secs()));
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Builder;
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn what_takes_long_is_mentioned_and_so_is_its_end() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let mut lines = Vec::new();
        let waiting = Duration::from_millis(1);
        runtime.block_on(async {
            let mut say = |line| lines.push(line);
            watched_after(Duration::from_secs(3_600), &mut say, "data", "COPY /a", async {}).await;
            let (end, ended) = oneshot::channel();
            let mut end = Some(end);
            // The job ends once it has been logged.
            let mut say = |line| {
                lines.push(line);
                if let Some(end) = end.take() {
                    let _ = end.send(());
                }
            };
            watched_after(waiting, &mut say, "data", "COPY /b", async { ended.await.unwrap() }).await;
            let mut say = |line| lines.push(line);
            let left = watched_after(waiting, &mut say, "data", "DELETE /c", std::future::pending::<()>());
            let _ = timeout(Duration::from_millis(200), left).await;
        });
        let expected = [
            "weir: storage area data: COPY /b: still at work after 0 s",
            "weir: storage area data: COPY /b: done after 0 s",
            "weir: storage area data: DELETE /c: still at work after 0 s",
            "weir: storage area data: DELETE /c: its client has left after 0 s",
        ];
        assert_eq!(lines, expected);
    }
}
