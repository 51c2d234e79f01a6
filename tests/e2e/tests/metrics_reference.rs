//! Checks that docs/reference/metrics.md matches the metrics of a running Weir. To update the page after a
//! change: `WEIR_UPDATE_DOCS=1 cargo test -p weir-e2e --test metrics_reference`

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use weir_e2e::Weir;
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{RawClient, RawServer, TempDir};

const INTRODUCTION: &str = "\
# Metrics

<!-- Made from a running Weir. After a change: WEIR_UPDATE_DOCS=1 cargo test -p weir-e2e --test metrics_reference -->

`[admin]` serves them at `/metrics`, in the text formats of Prometheus and OpenMetrics. Units are seconds and bytes, counters end in
`_total` and start at 0 with the process, nothing is an average: quantiles come from the histograms. `?scope=process,listener,pool,fleet,storage`
leaves out the servers, of which there may be thousands. Those of fleets are there where there are fleets. Those of storage areas are there where there are areas, and what their files
take up where these are counted.
";

/// Prefixes of metric names, and the labels that all metrics with the prefix have.
const SECTIONS: [(&str, &str, &[&str]); 7] = [
    ("weir_listener_", "Listeners", &["listener"]),
    ("weir_pool_", "Pools", &["pool"]),
    ("weir_server_", "Servers", &["pool", "server"]),
    ("weir_fleet_", "Fleets", &["fleet"]),
    ("weir_storage_", "Storage areas", &["area"]),
    ("weir_transfer_", "Copies between servers", &["area", "direction"]),
    ("", "The process", &[]),
];

#[derive(Default)]
struct Family {
    kind: String,
    meaning: String,
    labels: BTreeSet<String>,
}

/// Returns every metric family of the page by its name.
fn families(page: &str) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::<String, Family>::new();
    for line in page.lines() {
        if let Some((name, meaning)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            families.entry(name.to_owned()).or_default().meaning = meaning.to_owned();
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            families.entry(name.to_owned()).or_default().kind = kind.to_owned();
        } else if let Some((name, rest)) = line.split_once('{') {
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let known = base.filter(|base| families.contains_key(*base)).unwrap_or(name);
            let family = families.get_mut(known).unwrap_or_else(|| panic!("{known} has no TYPE"));
            let labels = rest.rsplit_once('}').expect("the labels' end").0;
            family
                .labels
                .extend(labels.split("\",").filter_map(|label| Some(label.split_once('=')?.0.to_owned())));
        }
    }
    families
}

fn reference(page: &str) -> String {
    let mut text = INTRODUCTION.to_owned();
    let families = families(page);
    for (prefix, title, common) in SECTIONS.iter().rev().take(1).chain(&SECTIONS[..6]) {
        write!(text, "\n## {title}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n").unwrap();
        let section = |name: &str| SECTIONS.iter().find(|(prefix, ..)| name.starts_with(prefix)).unwrap().0;
        for (name, family) in families.iter().filter(|(name, _)| section(name) == *prefix) {
            let own = family.labels.iter().map(String::as_str);
            let own = own.filter(|label| *label != "le" && !common.contains(label));
            let labels = common.iter().copied().chain(own);
            let labels = labels.map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
            let meaning = family.meaning.replace('|', "\\|");
            writeln!(text, "| `{name}` | {} | {labels} | {meaning} |", family.kind).unwrap();
        }
    }
    text
}

#[test]
fn the_reference_names_every_metric_and_no_other() {
    let server = RawServer::answering("hi");
    let directory = TempDir::new().unwrap();
    let certificate = Authority::new("metrics").issue(&Request::names(&["a.example"]));
    let files = certificate.write_to(directory.path(), "site");
    // Uses every feature that adds labels.
    let config = format!(
        "{}check = \"tcp\"\nsticky = {{ source = true }}\n[listener.tls]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\
         tls = {{ certificates = {{ certificate = {:?}, key = {:?} }} }}\n\
         [listener.files]\nbind = \"127.0.0.1:0\"\nstorage = \"data\"\n\
         [storage-area.data]\nroot = {:?}\nquota = \"1GB\"\nthird-party-copy = true\n\
         [storage-area.data.access]\nanonymous-read = true\n\
         [third-party-copy]\nhttp = true\nprivate = \"127.0.0.0/8\"\n\
         [fleet.web]\npool = \"web\"\nmax = 2\ncapacity = 1\nact = false\nprocess = {{ command = \"true\" }}\ndirectory = {:?}\n",
        weir_e2e::web(&[server.addr()]),
        files.certificate,
        files.key,
        directory.path(),
        directory.path().join("fleet"),
    );
    let weir = Weir::start(&config);
    let silent = RawServer::silent();
    let mut copy = RawClient::connect(weir.addr("files"));
    let destination = format!("http://{}/", silent.addr());
    copy.send(format!("COPY /site.pem HTTP/1.1\r\nHost: a\r\nDestination: {destination}\r\n\r\n"));
    assert_eq!(copy.response_head().status, 202);
    let mut client = RawClient::connect(weir.addr("web"));
    client.exchange(weir_e2e::get("/"));
    weir_testkit::wait_until("the files are counted", std::time::Duration::from_secs(30), || {
        let page = weir.metrics();
        page.text().contains("weir_storage_used_bytes{") && page.text().contains("weir_fleet_demand_servers{")
    });

    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join("docs/reference/metrics.md");
    let expected = reference(weir.metrics().text());
    if std::env::var_os("WEIR_UPDATE_DOCS").is_some() {
        fs::write(&file, &expected).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == expected, "docs/reference/metrics.md is out of date: WEIR_UPDATE_DOCS=1 brings it up");
}
