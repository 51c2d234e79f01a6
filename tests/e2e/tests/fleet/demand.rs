//! Tests a fleet with the published load, compressed in time. Every drain happens under traffic: requests
//! over a kept connection, and a download that lasts from before the first drain until after the last one.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawClient, SetOnDrop, wait_until};

use crate::place::{Place, busy_and_draining, fleet, has_settled_at, told};

/// Compression of time: twenty minutes become forty seconds. Rates stay the same.
const COMPRESSION: f64 = 30.0;

/// Start in seconds, duration in seconds, and requests per second, which add up.
const PUBLISHED: [(f64, f64, f64); 8] = [
    (0.0, 1_200.0, 1.0),
    (120.0, 480.0, 10.0),
    (180.0, 360.0, 10.0),
    (240.0, 300.0, 10.0),
    (300.0, 240.0, 40.0),
    (420.0, 480.0, 10.0),
    (420.0, 480.0, 10.0),
    (420.0, 240.0, 40.0),
];

/// Returns the time of each request, evenly spaced at the current rate.
fn schedule() -> Vec<Duration> {
    const STEP_S: f64 = 0.001;
    let mut due = Vec::new();
    let mut owed = 0.0;
    for step in 0..(1_200.0 / COMPRESSION / STEP_S) as u32 {
        let at_s = f64::from(step) * STEP_S * COMPRESSION;
        let holds = |(from, lasts, _): &&(f64, f64, f64)| (*from..from + lasts).contains(&at_s);
        owed += PUBLISHED.iter().filter(holds).map(|(_, _, rate)| rate).sum::<f64>() * STEP_S;
        while owed >= 1.0 {
            owed -= 1.0;
            due.push(Duration::from_secs_f64(f64::from(step) * STEP_S));
        }
    }
    due
}

const CLIENTS: usize = 12;
const DOWNLOADS: usize = 8;
/// Twenty seconds for each download.
const DOWNLOAD_BYTES: usize = 400_000;
const DOWNLOAD_RATE: usize = 20_000;

/// Much more than all buffers between server and client, so that the server is busy for as long as the client
/// reads slowly.
const HELD_BYTES: usize = 64 << 20;
/// A multiple of the lines that the server sends, so that all pieces are equal.
const PIECE_BYTES: usize = 4_096;
const PIECE_EVERY: Duration = Duration::from_millis(100);

/// Downloads slowly until `over` is set, and then the rest. Returns the number of bytes received.
fn hold_a_download(address: SocketAddr, under_way: &AtomicBool, over: &AtomicBool) -> usize {
    let mut client = RawClient::connect(address).receive_buffer(64 * 1024).timeout(Duration::from_secs(120));
    client.send(get(&format!("/bytes/{HELD_BYTES}")));
    assert_eq!(client.response_head().status, 200);
    let first = client.read_exact(PIECE_BYTES);
    under_way.store(true, Ordering::SeqCst);
    let mut bytes = first.len();
    while bytes < HELD_BYTES {
        if !over.load(Ordering::SeqCst) {
            // Sets the pace; not a wait for a condition.
            thread::sleep(PIECE_EVERY);
        }
        assert!(client.read_exact(PIECE_BYTES) == first, "other bytes after {bytes}");
        bytes += PIECE_BYTES;
    }
    bytes
}

/// Sends one request after the other over one connection until `over` is set. Each takes 400 ms. Returns the
/// number of responses.
fn keep_asking(address: SocketAddr, over: &AtomicBool) -> u64 {
    let mut client = RawClient::connect(address);
    let mut answered = 0;
    while !over.load(Ordering::SeqCst) {
        let response = client.exchange(get("/delay/400"));
        assert_eq!(response.status, 200, "after {answered}: {response:?}");
        answered += 1;
    }
    answered
}

/// Returns true if this number of servers takes requests and none is starting. The server of the held
/// download may be draining.
fn is_down_to(weir: &Weir, servers: u64) -> bool {
    let fleet = fleet(weir);
    fleet["active"] == servers
        && fleet["coming"] == 0
        && fleet["draining"].as_u64().is_some_and(|draining| draining <= 1)
}

fn drains(weir: &Weir) -> f64 {
    weir.metrics().get("weir_fleet_actions_total", &["action=\"drain\""])
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "a minute: make test-all")]
fn servers_rise_and_fall_with_the_published_load_and_no_request_is_lost() {
    let place = Place::new();
    let weir = Weir::start(&place.config(
        "min = 2\nmax = 13\ncapacity = 10\nstandby = 1\n\
         policy = { kind = \"target\", up-after = \"400ms\", down-after = \"300ms\", damping = false, \
         step-up = { servers = 2, share = \"75%\", per = \"1s\" }, step-down = { share = \"50%\", per = \"1s\" } }\n",
    ));
    let address = weir.addr("web");
    wait_until("the least number of servers", PATIENCE, || has_settled_at(&weir, 2));
    let (due, answered) = (schedule(), AtomicU64::new(0));
    let most = AtomicU64::new(0);
    let mut drained_at_work = BTreeSet::new();
    let (under_way, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let drained = thread::scope(|scope| {
        let ends = SetOnDrop(&over);
        let held = scope.spawn(|| hold_a_download(address, &under_way, &over));
        let steady = scope.spawn(|| keep_asking(address, &over));
        wait_until("the download is under way", PATIENCE, || under_way.load(Ordering::SeqCst));
        assert_eq!(drains(&weir), 0.0, "drains before there was traffic");
        let begins = Instant::now();
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let mine: Vec<Duration> = due.iter().copied().skip(client).step_by(CLIENTS).collect();
                let answered = &answered;
                scope.spawn(move || {
                    let mut client = RawClient::connect(address);
                    for due in mine {
                        // Follows the schedule; not a wait for a condition.
                        thread::sleep(due.saturating_sub(begins.elapsed()));
                        let response = client.exchange(get("/bytes/2000"));
                        assert_eq!((response.status, response.body.len()), (200, 2_000), "{response:?}");
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        // Starts at the maximum of servers, so that most downloads see their server drained.
        wait_until("many servers", Duration::from_secs(60), || {
            let active = fleet(&weir)["active"].as_u64().unwrap();
            most.fetch_max(active, Ordering::SeqCst);
            active >= 10
        });
        let downloads: Vec<_> = (0..DOWNLOADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = RawClient::connect(address).timeout(Duration::from_secs(120));
                    client.send(get(&format!("/slow?bytes={DOWNLOAD_BYTES}&rate={DOWNLOAD_RATE}")));
                    assert_eq!(client.response_head().status, 200);
                    assert_eq!(client.read_exact(DOWNLOAD_BYTES).len(), DOWNLOAD_BYTES);
                })
            })
            .collect();
        wait_until("the downloads end", Duration::from_secs(120), || {
            drained_at_work.extend(busy_and_draining(&weir));
            downloads.iter().all(|download| download.is_finished())
        });
        wait_until("the load ends", PATIENCE, || clients.iter().all(|client| client.is_finished()));
        wait_until("few servers again", PATIENCE, || is_down_to(&weir, 2));
        let drained = drains(&weir);
        assert!(!held.is_finished() && !steady.is_finished(), "the traffic ended before the last drain");
        drop(ends);
        assert_eq!(held.join().unwrap(), HELD_BYTES);
        assert!(steady.join().unwrap() > 0);
        drained
    });
    assert!(drained_at_work.len() >= 3, "drained while they had requests: {drained_at_work:?}");
    assert_eq!(answered.load(Ordering::SeqCst), due.len() as u64);
    wait_until("nothing is under way", PATIENCE, || has_settled_at(&weir, 2));
    wait_until("nothing but them and the standby", PATIENCE, || place.processes().len() == 2);

    let metrics = weir.metrics();
    let of_fleet = |name: &str, labels: &[&str]| metrics.get(name, labels);
    assert!(drained >= 8.0, "{drained}");
    assert_eq!(drains(&weir), drained, "not every drain was under traffic");
    assert_eq!(of_fleet("weir_fleet_cut_requests_total", &[]), 0.0);
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"web\""]), 0.0);
    assert_eq!(metrics.get("weir_pool_connect_errors_total", &["pool=\"web\""]), 0.0);
    keep_artefacts(&weir, &place);
}

/// Stores the history and its plot for inspection, and checks that they are complete.
fn keep_artefacts(weir: &Weir, place: &Place) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet");
    fs::create_dir_all(&directory).unwrap();
    let history = fs::read_to_string(place.path("fleet/history.csv")).unwrap();
    fs::write(directory.join("published.csv"), &history).unwrap();
    let picture = directory.join("published.svg");
    told(weir, &["history", "--svg", picture.to_str().unwrap()]);
    assert!(fs::read_to_string(&picture).unwrap().contains(">starting<"));
    let mut lines = history.lines();
    assert_eq!(
        lines.next().unwrap(),
        "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason,demand,\
         date,wanted,rate_peak_per_s,demand_peak,needed_mean,needed_peak,starting,draining,alarms"
    );
    let column = |line: &str, at: usize| line.split(',').nth(at).unwrap().parse::<f64>().unwrap_or(0.0);
    let most = |at: usize| history.lines().skip(1).map(|line| column(line, at)).fold(0.0, f64::max);
    assert!(most(5) >= 12.0 && most(7) >= 10.0, "needed {}, active {}", most(5), most(7));
    assert!(lines.any(|line| line.contains("drain web-")));
}
