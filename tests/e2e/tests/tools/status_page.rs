//! Tests the status page in a browser: the width of its tables, and its filter.

use std::fs;

use serde_json::Value;
use weir_admin::{Pictures, Selection, status_page};
use weir_control::{
    CheckCode, CheckSnapshot, Health, Latency, Level, ListenerSnapshot, PerSecond, PoolSnapshot, Responses,
    ServerSnapshot, Snapshot, Traffic,
};
use weir_e2e::Weir;
use weir_testkit::TempDir;

use crate::browser::{open_with, results};

/// Measures the window, and for each table the width of its box and of its content.
const MEASURE: &str = r#"<pre id="results"></pre><script>
const boxes = [...document.querySelectorAll(".scroll")].map(box => [box.clientWidth, box.scrollWidth]);
const page = [document.documentElement.clientWidth, document.documentElement.scrollWidth];
document.getElementById("results").textContent = JSON.stringify({window: innerWidth, page, boxes});
</script>"#;

/// Returns the longest numbers for every column.
fn traffic() -> Traffic {
    let mut total = Latency::default();
    total.record(123_000, 1_000);
    Traffic {
        active: Level { current: 12_300, max: 50_000, limit: Some(50_000) },
        request_rate: PerSecond { current: 12_300, max: 50_000 },
        requests_total: 123_000_000,
        responses: Responses::from([0, 100_000_000, 123_000, 123_000, 12_300, 0]),
        connect_errors: 12_300,
        response_errors: 12_300,
        retries: 12_300,
        tries_total: 1_000,
        reuses: 1_000,
        request_bytes: 123 << 30,
        response_bytes: 123 << 40,
        total,
        ..Traffic::default()
    }
}

fn server(name: &str, health: Health) -> ServerSnapshot {
    let check = CheckSnapshot {
        code: CheckCode::L7Unexpected,
        status: Some(503),
        duration_us: 12_300,
        ..CheckSnapshot::default()
    };
    ServerSnapshot {
        name: name.to_owned(),
        address: "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535".to_owned(),
        backup: true,
        weight: 256,
        effective_weight: 128,
        weight_percent: Some(50),
        health,
        check: Some(check),
        changed_ms_ago: 86_400_000 * 100,
        traffic: traffic(),
        ..ServerSnapshot::default()
    }
}

fn busy() -> Snapshot {
    let mut duration = Latency::default();
    duration.record(123_000, 1_000);
    let listener = ListenerSnapshot {
        name: "public-web-site".to_owned(),
        bind: vec!["[2001:db8:1234:5678:9abc:def0:1234:5678]:65535".to_owned()],
        tls: true,
        connections: Level { current: 12_300, max: 50_000, limit: Some(50_000) },
        connections_total: 123_000_000,
        connections_denied: 123_000,
        request_rate: PerSecond { current: 12_300, max: 50_000 },
        requests_total: 123_000_000,
        responses: Responses::from([0, 100_000_000, 123_000, 123_000, 12_300, 0]),
        request_errors: 12_300,
        client_aborts: 12_300,
        request_bytes: 123 << 30,
        response_bytes: 123 << 40,
        duration,
        ..ListenerSnapshot::default()
    };
    let pool = PoolSnapshot {
        name: "web".to_owned(),
        traffic: traffic(),
        servers: vec![
            server("frontend-of-the-shop-01ab23cd45ef", Health::GoingDown { failures: 2, fall: 3 }),
            server("a", Health::Ejected { remaining_ms: 59_000 }),
        ],
        ..PoolSnapshot::default()
    };
    Snapshot { listeners: vec![listener], pools: vec![pool], ..Snapshot::default() }
}

#[test]
fn its_tables_fit_a_window_of_1280_pixels() {
    let directory = TempDir::new().unwrap();
    let page = status_page(&busy(), &Pictures::new(), &Selection::parse("filter="));
    let path = directory.path().join("page.html");
    fs::write(&path, page.replace("</body>", &format!("{MEASURE}</body>"))).unwrap();
    let (dom, complaints) = open_with(&["--window-size=1280,900"], &format!("file://{}", path.display()));
    assert_eq!(complaints, Vec::<String>::new());
    let found = results(&dom);
    assert_eq!(found["window"], 1280, "{found}");
    let pair = |value: &Value| (value[0].as_u64().unwrap(), value[1].as_u64().unwrap());
    let boxes: Vec<_> = found["boxes"].as_array().unwrap().iter().map(pair).collect();
    assert_eq!(boxes.len(), 2, "{found}");
    for (has, needs) in boxes.into_iter().chain([pair(&found["page"])]) {
        assert!(needs <= has, "{needs} pixels in {has}: {found}");
    }
}

#[test]
fn its_filter_leaves_what_has_the_name() {
    let mut weir = Weir::start(
        r#"
[listener.web]
bind = "127.0.0.1:0"
pool = "shop"

[pool.shop]
servers = [{ name = "till", address = "127.0.0.1:9" }, { name = "spare", address = "127.0.0.1:9" }]

[pool.mail]
servers = [{ name = "postbox", address = "127.0.0.1:9" }]
"#,
    );
    let line = weir.wait_for_log("admin: http://");
    let address = line.split_once("admin: ").unwrap().1.trim();
    let rows = |query: &str| -> Vec<String> {
        let (dom, complaints) = open_with(&[], &format!("{address}?{query}"));
        assert_eq!(complaints, Vec::<String>::new());
        let rows = dom.split("<th scope=\"row\">").skip(1);
        rows.map(|rest| rest.split(['<', ' ']).next().unwrap().to_owned()).collect()
    };
    assert_eq!(rows("filter=SPARE"), ["spare", "all"]);
    assert_eq!(rows("filter=mail"), ["postbox", "all"]);
    assert_eq!(rows("filter="), ["web", "till", "spare", "all", "postbox", "all"]);
    assert_eq!(rows("filter=nosuch"), [""; 0]);
}
