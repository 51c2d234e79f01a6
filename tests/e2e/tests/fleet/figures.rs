//! Tests of implausible counters, from a socket that responds like HAProxy's with counters of the test.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use weir_e2e::{Weir, program};
use weir_testkit::{PATIENCE, wait_until};

use crate::place::{Place, fleet, told};
use crate::slow::looks_go_on;

/// Requests per second.
const RATE: f64 = 200.0;

/// A counter that grows with time until the test stops it.
struct Figures {
    began: Instant,
    added: u64,
    stopped: Option<u64>,
}

impl Figures {
    fn requests(&self) -> u64 {
        self.stopped.unwrap_or_else(|| self.added + (self.began.elapsed().as_secs_f64() * RATE) as u64)
    }
}

const STATES: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight \
                      srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state\n\n";

fn reply(stream: UnixStream, figures: &Mutex<Figures>) -> std::io::Result<()> {
    let mut command = String::new();
    BufReader::new(&stream).read_line(&mut command)?;
    let requests = figures.lock().unwrap().requests();
    let text = match command.trim() {
        "show stat" => format!(
            "# pxname,svname,qcur,scur,stot,bout,status,req_tot,addr,\nweb,BACKEND,0,3,{requests},{requests},UP,{requests},,\n\n"
        ),
        _ => STATES.to_owned(),
    };
    (&stream).write_all(text.as_bytes())
}

fn serve(listener: UnixListener, figures: Arc<Mutex<Figures>>) {
    thread::spawn(move || {
        // Runs until the test ends.
        for stream in listener.incoming() {
            let _ = stream.and_then(|stream| reply(stream, &figures));
        }
    });
}

fn demand(weir: &Weir) -> f64 {
    fleet(weir)["demand"].as_f64().unwrap_or_default()
}

fn alarms(weir: &Weir) -> String {
    fleet(weir)["alarms"].to_string()
}

#[test]
fn one_absurd_figure_and_a_counter_that_has_stopped_are_told_and_not_believed() {
    let place = Place::new();
    let socket = place.path("haproxy.sock");
    let figures = Arc::new(Mutex::new(Figures { began: Instant::now(), added: 0, stopped: None }));
    serve(UnixListener::bind(&socket).unwrap(), Arc::clone(&figures));
    // The fleet only decides: the test checks its decisions.
    let mut weir = Weir::start(&format!(
        "[fleet.web]\nmin = 1\nmax = 30\ncapacity = 10\ninterval = \"200ms\"\nhistory-interval = \"200ms\"\nact = false\ndirectory = {:?}\n\
         haproxy = {{ socket = {socket:?}, backend = \"web\" }}\n\
         process = {{ command = [{:?}, \"origin\", \"--bind\", \"{{address}}:{{port}}\"] }}\n",
        place.path("fleet"),
        program(),
    ));
    wait_until("demand is known", PATIENCE, || demand(&weir) > 10.0);
    looks_go_on(&weir, 10);

    figures.lock().unwrap().added += 1_000_000;
    weir.wait_for_log("at once, after");
    looks_go_on(&weir, 5);
    {
        let mut figures = figures.lock().unwrap();
        figures.stopped = Some(figures.requests());
    }
    wait_until("the standstill is an alarm", PATIENCE, || {
        alarms(&weir).contains("requests: the counter stands still")
    });
    looks_go_on(&weir, 20);
    assert!(alarms(&weir).contains("no server is let go"), "{}", alarms(&weir));
    // The round in which the counter stopped may show only a part of the rate.
    assert!((0.0..60.0).contains(&demand(&weir)), "{}", demand(&weir));
    {
        let mut figures = figures.lock().unwrap();
        let counted = figures.requests();
        (figures.began, figures.added, figures.stopped) = (Instant::now(), counted, None);
    }
    wait_until("it is believed again", PATIENCE, || !alarms(&weir).contains("stands still"));

    let rows: Vec<Value> = serde_json::from_str(&told(&weir, &["history", "--json"])).unwrap();
    let rates = rows.iter().filter_map(|row| row["rate_per_s"].as_f64());
    assert!(rates.clone().all(|rate| rate < 100_000.0), "{:?}", rates.collect::<Vec<_>>());
    for why in ["at once, after", "stands still"] {
        assert!(rows.iter().any(|row| row["alarms"].as_str().unwrap().contains(why)), "{why}");
    }
    let kept = std::fs::read_to_string(place.path("fleet/history.csv")).unwrap();
    assert!(kept.contains("stands still"), "{kept}");
    assert_eq!(fleet(&weir)["done"]["created"], json!(0));
}
