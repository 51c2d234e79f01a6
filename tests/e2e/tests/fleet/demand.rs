//! The published load, compressed in time, on a fleet whose every drain happens under traffic.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawClient, wait_until};

use crate::place::{Place, busy_and_draining, fleet, has_settled_at, told};

/// Twenty minutes become forty seconds; rates stay as they are.
const COMPRESSION: f64 = 30.0;

/// From, for so long, requests per second on top of the others.
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

/// When each request is due, evenly spaced at each moment's rate.
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
/// Twenty seconds each.
const DOWNLOAD_BYTES: usize = 400_000;
const DOWNLOAD_RATE: usize = 20_000;

#[test]
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
    let begins = Instant::now();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let mine: Vec<Duration> = due.iter().copied().skip(client).step_by(CLIENTS).collect();
            let answered = &answered;
            scope.spawn(move || {
                let mut client = RawClient::connect(address);
                for due in mine {
                    // The load has a schedule of its own: nothing is waited for here.
                    thread::sleep(due.saturating_sub(begins.elapsed()));
                    let response = client.exchange(get("/bytes/2000"));
                    assert_eq!((response.status, response.body.len()), (200, 2_000), "{response:?}");
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // While the most servers are there, so that most of these see their server drained.
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
    });
    assert!(drained_at_work.len() >= 3, "drained while they had requests: {drained_at_work:?}");
    assert_eq!(answered.load(Ordering::SeqCst), due.len() as u64);
    wait_until("few servers again", Duration::from_secs(60), || has_settled_at(&weir, 2));
    wait_until("nothing but them and the standby", PATIENCE, || place.processes().len() == 2);

    let metrics = weir.metrics();
    let of_fleet = |name: &str, labels: &[&str]| metrics.get(name, labels);
    let drained = of_fleet("weir_fleet_actions_total", &["action=\"drain\""]);
    assert!(drained >= 8.0, "{drained}");
    assert_eq!(of_fleet("weir_fleet_cut_requests_total", &[]), 0.0);
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"web\""]), 0.0);
    assert_eq!(metrics.get("weir_pool_connect_errors_total", &["pool=\"web\""]), 0.0);
    keep_artefacts(&weir, &place);
}

/// The history and its picture, for people; and the proof that they are worth looking at.
fn keep_artefacts(weir: &Weir, place: &Place) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet");
    fs::create_dir_all(&directory).unwrap();
    let history = fs::read_to_string(place.path("fleet/history.csv")).unwrap();
    fs::write(directory.join("published.csv"), &history).unwrap();
    let picture = directory.join("published.svg");
    told(weir, &["history", "--svg", picture.to_str().unwrap()]);
    assert!(fs::read_to_string(&picture).unwrap().contains(">pending<"));
    let mut lines = history.lines();
    assert_eq!(
        lines.next().unwrap(),
        "timestamp,elapsed_s,requests_total,requests,rate_per_s,needed,active_cloud,active_balancer,decision,reason,demand"
    );
    let column = |line: &str, at: usize| line.split(',').nth(at).unwrap().parse::<f64>().unwrap_or(0.0);
    let most = |at: usize| history.lines().skip(1).map(|line| column(line, at)).fold(0.0, f64::max);
    assert!(most(5) >= 12.0 && most(7) >= 10.0, "needed {}, active {}", most(5), most(7));
    assert!(lines.any(|line| line.contains("drain web-")));
}
