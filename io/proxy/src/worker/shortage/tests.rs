//! Tests of closing idle connections when descriptors run out.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use weir_net::Stream;

use super::*;
use crate::state::Shared;
use crate::testing;
use crate::worker::{LocalServer, ServerConnection};

const LONG: Duration = Duration::from_secs(3_600);

fn shared(workers: usize) -> Arc<Shared> {
    let servers: Vec<String> = (1..=4).map(|host| format!("\"127.0.0.{host}:1\"")).collect();
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\nservers = [{}]\n",
        servers.join(", ")
    );
    testing::shared_by(workers, &config)
}

fn servers(worker: &Worker) -> Vec<Rc<LocalServer>> {
    worker.live().pools()[0].view().servers().map(Rc::clone).collect()
}

/// Keeps an idle connection to this server of the worker, last used `seconds` ago. Returns its other end.
fn keep(worker: &Worker, server: usize, seconds: u64) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = &servers(worker)[server];
    let stream = Stream::Plain(Socket::from_unix(ours.into()));
    let connection = ServerConnection::new(stream, server.shared.whereabouts());
    let live = worker.live();
    let since = Instant::now() - Duration::from_secs(seconds);
    server.keep_idle(connection, &live.pools()[0].shared.plan.reuse, since);
    theirs
}

/// Returns the number of idle connections of each server of the worker.
fn idle(worker: &Worker) -> Vec<usize> {
    let count = |server: &Rc<LocalServer>| {
        let mut since = Vec::new();
        server.tell_idle_since(&mut since);
        since.len()
    };
    servers(worker).iter().map(count).collect()
}

/// Returns true if the worker has closed its end.
fn is_closed(mut peer: &UnixStream) -> bool {
    peer.set_nonblocking(true).unwrap();
    matches!(peer.read(&mut [0]), Ok(0))
}

fn out_of_descriptors() -> io::Error {
    Errno::MFILE.into()
}

#[tokio::test]
async fn room_is_made_by_closing_what_nobody_has_used_for_longest_whichever_server_it_is_to() {
    let shared = shared(1);
    let worker = Worker::new(0, Arc::clone(&shared), 1);
    let others = [(0, 30), (1, 10), (1, 50), (2, 20)].map(|(server, seconds)| keep(&worker, server, seconds));
    let gauge = || servers(&worker).iter().map(|server| server.counters().idle.get()).sum::<u64>();
    for (round, left) in [[1, 1, 1, 0], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]].into_iter().enumerate() {
        assert!(Room::new(Rc::clone(&worker), LONG).make(&out_of_descriptors()).await);
        assert_eq!((idle(&worker), shared.descriptors.idle_closed()), (left.to_vec(), round as u64 + 1));
        assert_eq!((gauge(), idle_here()), (3 - round as u64, 3 - round));
        assert_eq!(others.iter().filter(|peer| is_closed(peer)).count(), round + 1);
    }
    // There is no other worker to wait for.
    assert!(!Room::new(worker, LONG).make(&out_of_descriptors()).await);
}

#[tokio::test]
async fn a_connection_that_still_cannot_be_opened_does_not_cost_all_idle_ones() {
    let worker = Worker::new(0, shared(1), 1);
    let _others: Vec<_> = (0..10).map(|index| keep(&worker, index % 4, 20)).collect();
    let mut room = Room::new(Rc::clone(&worker), LONG);
    for _ in 0..ROUNDS_MAX {
        assert!(room.make(&out_of_descriptors()).await);
    }
    assert!(!room.make(&out_of_descriptors()).await);
    assert_eq!(idle(&worker).iter().sum::<usize>(), 10 - ROUNDS_MAX);
}

#[tokio::test]
async fn for_a_client_room_is_made_only_where_its_connection_to_a_server_has_room_too() {
    let worker = Worker::new(0, shared(1), 1);
    let _one = keep(&worker, 0, 20);
    assert!(!worker.make_room_for_client(&out_of_descriptors()));
    assert_eq!(idle(&worker), [1, 0, 0, 0]);
    let _other = keep(&worker, 3, 10);
    assert!(worker.make_room_for_client(&out_of_descriptors()));
    assert_eq!(idle(&worker), [0; 4]);
}

#[tokio::test]
async fn idle_connections_are_no_cure_for_want_of_memory() {
    let worker = Worker::new(0, shared(1), 1);
    let _others = [keep(&worker, 0, 20), keep(&worker, 1, 20)];
    for errno in [Errno::NOBUFS, Errno::NOMEM] {
        assert!(is_shortage(&errno.into()));
        assert!(!Room::new(Rc::clone(&worker), LONG).make(&errno.into()).await);
        assert!(!worker.make_room_for_client(&errno.into()));
    }
    assert_eq!(idle(&worker), [1, 1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_idle_connections_has_another_one_close_some_of_its_own() {
    let shared = shared(2);
    let (here, there) = (Worker::new(0, Arc::clone(&shared), 1), Worker::new(1, Arc::clone(&shared), 2));
    let _others = [keep(&there, 0, 20), keep(&there, 1, 10), keep(&there, 2, 30)];
    let begun = tokio::time::Instant::now();
    let mut room = Room::new(here, LONG);
    let why = out_of_descriptors();
    let gives = async {
        shared.descriptors.are_wanted_of(1).await;
        there.give_up_some();
    };
    let (found, ()) = tokio::join!(room.make(&why), gives);
    assert_eq!((found, begun.elapsed()), (true, Duration::ZERO));
    assert_eq!(idle(&there), [0, 1, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn after_it_has_waited_in_vain_one_more_try_is_made() {
    let begun = tokio::time::Instant::now();
    let patience = Duration::from_millis(100);
    let mut room = Room::new(Worker::new(0, shared(2), 1), patience);
    assert!(room.make(&out_of_descriptors()).await);
    assert!(!room.make(&out_of_descriptors()).await);
    assert!((patience..2 * patience).contains(&begun.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_let_in_waits_and_others_are_asked_only_for_descriptors() {
    let shared = shared(2);
    let worker = Worker::new(0, Arc::clone(&shared), 1);
    let (begun, pause) = (tokio::time::Instant::now(), Duration::from_millis(100));
    for (round, (errno, asked)) in [(Errno::NOMEM, false), (Errno::MFILE, true)].into_iter().enumerate() {
        worker.wait_for_room(&errno.into(), pause).await;
        assert!(begun.elapsed() >= pause * (round as u32 + 1), "{errno}");
        let is_asked = tokio::time::timeout(Duration::ZERO, shared.descriptors.are_wanted_of(1)).await;
        assert_eq!(is_asked.is_ok(), asked, "{errno}");
    }
}

#[test]
fn the_more_there_is_to_look_at_the_more_is_closed_within_bounds() {
    // Idle connections, servers, minimum, number closed.
    for (idle, servers, least, closed) in
        [(1, 3, 1, 1), (2, 3, 2, 2), (160, 0, 2, 10), (30, 10_000, 2, 30), (5_000, 10_000, 1, 64)]
    {
        assert_eq!(batch(idle, servers, least), closed, "{idle} of {servers}");
    }
}
