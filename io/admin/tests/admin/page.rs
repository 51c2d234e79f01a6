//! Tests of the status page, as text and as markup.

use weir_admin::{Pictures, Selection};
use weir_control::{
    CheckCode, CheckSnapshot, FleetEvent, FleetPolicySnapshot, FleetSnapshot, PoolSnapshot, ServerSnapshot,
    Snapshot,
};

use crate::common;

fn status_page(snapshot: &Snapshot, pictures: &Pictures) -> String {
    weir_admin::status_page(snapshot, pictures, &Selection::default())
}

fn filtered(snapshot: &Snapshot, query: &str) -> String {
    weir_admin::status_page(snapshot, &Pictures::new(), &Selection::parse(query))
}

/// With `WEIR_PAGE=file`, writes the page to that file for a look in a browser.
#[test]
fn the_page_tells_states_in_words() {
    let mut snapshot = common::snapshot();
    snapshot.process.reload_error = Some("weir.toml:3:1: unknown key \"ballance\"".to_owned());
    let page = status_page(&snapshot, &Pictures::new());
    if let Some(file) = std::env::var_os("WEIR_PAGE") {
        std::fs::write(file, &page).unwrap();
    }
    for words in [
        "up, 2/3 failed",
        "down, 1/2 passed",
        "ejected 13s",
        ">drain<",
        ">maintenance<",
        ">no check<",
        ">backup<",
        ">added<",
        ">changed<",
        "L4CON",
        "5 requests found no server",
        "The last reload was refused",
        "unknown key &quot;ballance&quot;",
        "2 servers differ from the config",
        "3 of 7 servers in rotation",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
}

#[test]
fn the_page_refreshes_itself_runs_nothing_and_loads_nothing() {
    let page = status_page(&common::snapshot(), &Pictures::new());
    assert!(page.contains("<meta http-equiv=\"refresh\" content=\"5\">"));
    for forbidden in ["<script", "src=", "@import", "url(", "http://", "https://", " onclick"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("prefers-color-scheme:dark"));
}

#[test]
fn whatever_a_server_or_a_config_says_is_text() {
    let evil = "<script>alert('1')</script>\"&";
    let check =
        CheckSnapshot { code: CheckCode::L7Broken, text: evil.to_owned(), ..CheckSnapshot::default() };
    let server = ServerSnapshot {
        name: evil.to_owned(),
        address: evil.to_owned(),
        check: Some(check),
        ..ServerSnapshot::default()
    };
    let pool = PoolSnapshot {
        name: evil.to_owned(),
        algorithm: evil.to_owned(),
        servers: vec![server],
        ..PoolSnapshot::default()
    };
    let mut snapshot = Snapshot { pools: vec![pool], ..common::snapshot() };
    snapshot.process.version = evil.to_owned();
    snapshot.process.host = evil.to_owned();
    snapshot.process.reload_error = Some(evil.to_owned());
    snapshot.listeners[0].name = evil.to_owned();
    snapshot.listeners[0].bind = vec![evil.to_owned()];
    let page = status_page(&snapshot, &Pictures::new());
    assert!(!page.contains("<script") && !page.contains("alert('"), "{page}");
    assert_eq!(page.matches("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;").count(), 11);
}

#[test]
fn every_row_has_as_many_cells_as_its_table_has_columns() {
    let page = status_page(&common::snapshot(), &Pictures::new());
    let mut tables = 0;
    for table in page.split("<table>").skip(1) {
        let table = table.split("</table>").next().unwrap();
        let columns = table.matches("<th scope=\"col\"").count();
        for row in table.split("<tr").skip(2) {
            assert_eq!(row.matches("<td").count() + 1, columns, "{row}");
        }
        tables += 1;
    }
    assert_eq!(tables, 3);
}

#[test]
fn tags_are_closed_in_order() {
    let page = status_page(&common::snapshot(), &Pictures::new());
    let body = &page[page.find("</style>").unwrap()..];
    let mut open = vec!["html", "head", "style"];
    for tag in body.split('<').skip(1).map(|rest| rest.split(['>', ' ']).next().unwrap()) {
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed)),
            None => open.push(tag),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn of_thousands_of_servers_those_in_trouble_are_shown() {
    let mut snapshot = common::snapshot();
    let good = snapshot.pools[0].servers[0].clone();
    let down = snapshot.pools[0].servers[2].clone();
    let mut servers = vec![good; 5_000];
    servers[4_999] = down;
    snapshot.pools[0].servers = servers;
    let page = status_page(&snapshot, &Pictures::new());
    assert_eq!(page.matches(">w1<").count(), 499);
    assert!(page.contains(">w3<") && page.contains("4500 more servers"));
}

#[test]
fn a_fleet_is_told_with_its_numbers_its_reason_and_its_picture() {
    let mut snapshot = common::snapshot();
    let fleet = &mut snapshot.fleets[0];
    fleet.provider = "openstack".to_owned();
    fleet.demand = Some(3.5);
    fleet.reason = "3.25 servers are asked for".to_owned();
    fleet.policies =
        vec![FleetPolicySnapshot { policy: "target".to_owned(), wanted: 4, reason: "<80%>".to_owned() }];
    fleet.actions = vec!["create 1 server".to_owned(), "drain web-7".to_owned()];
    fleet.alarms = vec!["the cloud <is> gone".to_owned()];
    fleet.events = vec![
        FleetEvent { time_unix_ms: 45_296_000, text: "led from here".to_owned() },
        FleetEvent { time_unix_ms: 45_297_000, text: "<b>done</b>".to_owned() },
    ];
    let pictures = Pictures::from([("front".to_owned(), "<svg>its curves</svg>".to_owned())]);
    let page = status_page(&snapshot, &pictures);
    for words in [
        "Fleet front",
        ">follows demand<",
        "2 to 13 servers by openstack in web",
        "<span>Servers now</span><b>3</b>",
        "<span>Needed</span><b>4</b><small>demand is 3.5",
        "<span>Pending</span><b>1</b>",
        "<b>Needed: 4</b>, because 3.25 servers are asked for",
        "target says 4: &lt;80%&gt;",
        "Last decision: create 1 server, drain web-7",
        "the cloud &lt;is&gt; gone",
        "<time>12:34:57Z</time> &lt;b&gt;done&lt;/b&gt;</li><li><time>12:34:56Z</time> led from here",
        "<svg>its curves</svg>",
    ] {
        assert!(page.contains(words), "{words}\n{page}");
    }
    snapshot.fleets = vec![FleetSnapshot { name: "else".to_owned(), ..FleetSnapshot::default() }];
    let page = status_page(&snapshot, &pictures);
    assert!(
        page.contains(">not led here<") && page.contains("demand is not known") && !page.contains("<svg>")
    );
}

#[test]
fn only_what_the_filter_names_is_shown_and_pools_are_counted_as_a_whole() {
    let mut snapshot = common::snapshot();
    let mut other = snapshot.pools[0].clone();
    other.name = "other".to_owned();
    other.servers.iter_mut().for_each(|server| server.name = format!("o-{}", server.name));
    snapshot.pools.push(other);
    let page = filtered(&snapshot, "filter=O-W3");
    assert!(page.contains(">o-w3<") && page.contains("Pool other"), "{page}");
    assert!(!page.contains(">w3<") && !page.contains(">o-w1<") && !page.contains("<h2>Fleet"), "{page}");
    assert!(page.contains("3 of 7 servers in rotation"), "{page}");
    assert!(page.contains("Only names that contain <b>O-W3</b>") && page.contains("http-equiv=\"refresh\""));
    let none = filtered(&snapshot, "filter=%3Cnosuch%3E");
    assert!(none.contains("No listener, pool, server or fleet has such a name"), "{none}");
    assert!(none.contains("<b>&lt;nosuch&gt;</b>") && !none.contains("<table>"), "{none}");
}

#[test]
fn a_filter_finds_a_server_among_thousands() {
    let mut snapshot = common::snapshot();
    let good = snapshot.pools[0].servers[0].clone();
    snapshot.pools[0].servers = vec![good; 5_000];
    "needle".clone_into(&mut snapshot.pools[0].servers[4_999].name);
    assert!(!filtered(&snapshot, "").contains(">needle<"));
    let page = filtered(&snapshot, "filter=needle");
    assert!(page.contains(">needle<") && !page.contains(">w1<") && !page.contains("more servers"));
}

#[test]
fn while_somebody_writes_a_filter_the_page_does_not_refresh_itself() {
    let page = filtered(&common::snapshot(), "filter=");
    assert!(page.contains("<input name=\"filter\"") && page.contains("autofocus"), "{page}");
    assert!(!page.contains("http-equiv=\"refresh\"") && !page.contains("Refreshed every"), "{page}");
    assert!(page.contains("Pool web"), "everything is shown meanwhile");
    assert!(filtered(&common::snapshot(), "").contains("<a href=\"?filter=\">Filter by name</a>"));
}
