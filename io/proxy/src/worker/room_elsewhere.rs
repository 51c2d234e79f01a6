//! Finds room for a new connection in other workers, when a limit is reached and this worker cannot close any
//! of its own connections.

use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::Worker;
use crate::state::{Full, RoomRequest};

/// Maximum wait of a new connection. A busy worker answers only at the end of its turn.
const PATIENCE: Duration = Duration::from_millis(100);
/// Maximum number of new connections that wait at a time. Others are refused at once.
const SEEKING_MAX: u32 = 16;
/// Pause before all workers are asked once more: a worker whose search has just failed does not search again
/// before that.
const ONCE_MORE: Duration = Duration::from_millis(20);

impl Worker {
    /// Returns true if this worker may ask other workers for room.
    pub(crate) fn may_seek_room(&self) -> bool {
        self.shared.room.workers() > 1 && self.room_seekers.get() < SEEKING_MAX
    }

    /// Asks the other workers in turn to close a connection in favour of one of `client`. Returns true if one
    /// does.
    pub(crate) async fn seek_room(&self, full: Full, client: Option<IpAddr>) -> bool {
        self.room_seekers.set(self.room_seekers.get() + 1);
        let until = Instant::now() + PATIENCE;
        let mut found = self.ask_others(full, client, until).await;
        if !found && Instant::now() + ONCE_MORE < until {
            sleep(ONCE_MORE).await;
            found = self.ask_others(full, client, until).await;
        }
        self.room_seekers.set(self.room_seekers.get() - 1);
        found
    }

    async fn ask_others(&self, full: Full, client: Option<IpAddr>, until: Instant) -> bool {
        let workers = self.shared.room.workers();
        let waiting = self.table.counted(full, self.table.source_of(client));
        for step in 1..workers {
            let (made, answer) = oneshot::channel();
            let request = RoomRequest { full, client, waiting, made };
            self.shared.room.ask((self.thread + step) % workers, request);
            match timeout_at(until, answer).await {
                Ok(Ok(())) => return true,
                Ok(Err(_)) => {}
                Err(_) => return false,
            }
        }
        false
    }

    /// Answers the requests of other workers.
    pub(crate) fn make_room_for_others(&self) {
        self.look_at_clock();
        for RoomRequest { full, client, waiting, made } in self.shared.room.take(self.thread) {
            let newcomer = (self.table.source_of(client), waiting);
            // Closes no connection for a client that no longer waits.
            if !made.is_closed() && self.table.make_room(full, newcomer, self.now_ms(), &self.timers) {
                let _ = made.send(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::Arc;

    use super::*;
    use crate::testing::shared_by;
    use crate::worker::Source;

    const CONFIG: &str =
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\nservers = \"127.0.0.1:1\"\n";

    fn workers() -> (Rc<Worker>, Rc<Worker>) {
        let shared = shared_by(2, CONFIG);
        (Worker::new(0, Arc::clone(&shared), 1), Worker::new(1, shared, 2))
    }

    fn client(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    /// Returns true if a new connection of `client` in `here` finds room in `there`.
    async fn finds_room(here: &Worker, there: &Worker, client: Option<IpAddr>) -> bool {
        let answers = async {
            loop {
                there.shared.room.arrived(there.thread).await;
                there.make_room_for_others();
            }
        };
        tokio::select! {
            found = here.seek_room(Full::Process, client) => found,
            () = answers => unreachable!(),
        }
    }

    #[tokio::test]
    async fn a_connection_of_another_worker_gives_way_to_a_newcomer() {
        let (here, there) = workers();
        let table = &there.table;
        let numbers = [0; 3].map(|_| table.enter(table.source_of(client(1)), 0, 0));
        assert!(finds_room(&here, &there, client(2)).await);
        assert_eq!(numbers.map(|number| table.gives_way(number)), [true, false, false]);
        // A client does not displace its own connections.
        assert!(!finds_room(&here, &there, client(1)).await);
    }

    #[tokio::test]
    async fn a_worker_that_has_just_looked_in_vain_is_asked_once_more() {
        let (here, there) = workers();
        let table = &there.table;
        // No connection waits, so the first search starts a pause.
        there.look_at_clock();
        assert!(!table.make_room(Full::Process, (Source::ALONE, 0), there.now_ms(), &there.timers));
        let numbers = [0; 2].map(|_| table.enter(table.source_of(client(1)), 0, 0));
        assert!(finds_room(&here, &there, client(2)).await);
        assert!(table.gives_way(numbers[0]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_newcomer_does_not_wait_for_long_for_a_worker_that_is_busy() {
        let (here, there) = workers();
        let begun = Instant::now();
        assert!(!here.seek_room(Full::Process, client(1)).await);
        assert!((PATIENCE..2 * PATIENCE).contains(&begun.elapsed()));
        let table = &there.table;
        let number = [0; 2].map(|_| table.enter(table.source_of(client(2)), 0, 0))[0];
        there.make_room_for_others();
        assert!(!table.gives_way(number), "nothing ends for one that has gone");
    }
}
