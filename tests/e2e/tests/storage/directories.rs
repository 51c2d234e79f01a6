//! Tests of GET for directories: index files, listings, slashes.

use serde_json::Value;
use weir_testkit::threads_cpu_ns;

use crate::{OPEN, Site};

#[test]
fn a_directory_is_its_index_file_or_a_listing_or_nobodys_business() {
    let site = Site::readable("index = [\"index.html\", \"index.txt\"]\nlisting = true");
    site.write("a/index.txt", "the index");
    site.write("b/file", "x");
    let index = site.get("/a/");
    assert_eq!(
        (index.text().as_str(), index.header("content-type")),
        ("the index", Some("text/plain; charset=utf-8"))
    );
    assert!(site.get("/b/").text().contains("href=\"/b/file\""));
    let silent = Site::readable("");
    silent.write("a/file", "x");
    assert_eq!(silent.get("/a/").status, 403);
    assert_eq!(silent.get("/a/file").status, 200);
}

#[test]
fn a_directory_without_its_slash_is_moved_there_with_the_query() {
    let site = Site::readable("listing = true\naccess-points = \"/data\"");
    site.write("a b/file", "x");
    let moved = site.get("/data/a%20b?sort=size");
    assert_eq!((moved.status, moved.header("location")), (301, Some("/data/a%20b/?sort=size")));
    assert_eq!(site.get("/data").header("location"), Some("/data/"));
}

#[test]
fn a_listing_is_sorted_as_asked_and_shows_names_as_text() {
    let site = Site::readable("listing = true");
    for (name, size) in [("b", 1), ("a", 3), ("<i>&", 2)] {
        site.write(name, vec![0; size]);
    }
    site.write("z/inner", "");
    let order = |query: &str| {
        let page = site.get(&format!("/{query}"));
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
        let text = page.text();
        assert!(!text.contains("<i>"), "{text}");
        let mut places: Vec<_> = ["/z/", "/a", "/b", "/%3Ci%3E%26"]
            .into_iter()
            .map(|href| (text.find(&format!("href=\"{href}\"")).expect(href), href))
            .collect();
        places.sort_unstable();
        places.into_iter().map(|(_, href)| href).collect::<Vec<_>>()
    };
    assert_eq!(order(""), ["/z/", "/%3Ci%3E%26", "/a", "/b"]);
    assert_eq!(order("?sort=name&order=desc"), ["/z/", "/b", "/a", "/%3Ci%3E%26"]);
    assert_eq!(order("?sort=size"), ["/z/", "/b", "/%3Ci%3E%26", "/a"]);
    assert_eq!(order("?sort=size&order=desc"), ["/z/", "/a", "/%3Ci%3E%26", "/b"]);
}

#[test]
fn programs_get_json() {
    let site = Site::readable("listing = true\naccess-points = \"/data\"");
    site.write("d/a", "abc");
    site.write("d/e/f", "");
    let page = site.get_with("/data/d/", &[("Accept", "application/json")]);
    assert_eq!(page.header("content-type"), Some("application/json"));
    let listing: Value = serde_json::from_str(&page.text()).unwrap();
    assert_eq!(listing["path"], "/data/d/");
    let entries = listing["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["href"], "/data/d/e/");
    assert_eq!(entries[0]["type"], "directory");
    assert_eq!(entries[1]["name"], "a");
    assert_eq!(entries[1]["size"], 3);
    assert_eq!(
        site.get_with("/data/x/", &[("Accept", "application/json")]).header("content-type"),
        Some("application/json")
    );
}

#[test]
fn a_directory_of_many_is_listed_whole_while_it_is_read() {
    let site = Site::readable("listing = true");
    for number in 0..10_500 {
        std::fs::File::create(site.root.path().join(format!("{number}"))).unwrap();
    }
    let mut client = site.weir.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n");
    let page = client.response();
    let listing: Value = serde_json::from_str(&page.text()).unwrap();
    let mut names: Vec<u32> = listing["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap().parse().unwrap())
        .collect();
    names.sort_unstable();
    assert!(names.into_iter().eq(0..10_500));
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response_to_head().status, 200);
    client.send("GET /17 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().status, 200);
}

#[test]
fn a_large_page_is_made_by_the_threads_of_the_disk_and_not_by_those_that_serve_everybody() {
    // The rules are evaluated for each delete button of the page.
    let rules: String = (0..300)
        .map(|number| {
            format!(
                "[[storage-area.data.access.policy]]\ndescription = \"{number}\"\neffect = \"permit\"\n\
                 actions = \"delete\"\npaths = \"/**/*-{number}\"\nprincipals = {{ type = \"anyone\" }}\n"
            )
        })
        .collect();
    let table = "[storage-area.data.access]\n";
    let site = Site::new(&format!("listing = true\n{}", OPEN.replace(table, &format!("{table}{rules}"))));
    for number in 0..2_000 {
        std::fs::File::create(site.root.path().join(format!("f{number}"))).unwrap();
    }
    let used = || ["disk", "worker"].map(|name| threads_cpu_ns(site.weir.pid(), name));
    let before = used();
    assert_eq!(site.get("/").text().matches("data-delete=").count(), 2_000);
    let after = used();
    let (disk, workers) = (after[0] - before[0], after[1] - before[1]);
    assert!(disk > 0, "the kernel does not tell what threads use");
    assert!(workers < disk, "workers {workers} ns, disk {disk} ns");
}
