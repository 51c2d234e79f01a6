//! Tests of clients that change one name concurrently.

use std::thread;

use weir_e2e::Weir;
use weir_testkit::RawClient;

use crate::{OPEN, Site, config, message};

const CLIENTS: usize = 3;
const ROUNDS: usize = 60;

#[test]
fn clients_that_move_directories_to_one_name_at_once_all_succeed_and_one_of_them_stays() {
    let site = Site::open("");
    for client in 0..CLIENTS {
        for round in 0..ROUNDS {
            site.write(&format!("{client}-{round}/f"), format!("{client}-{round}"));
        }
    }
    let statuses = thread::scope(|scope| {
        let site = &site;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn(move || {
                    let mut connection = site.weir.client();
                    let mut go = |round| {
                        let from = format!("/{client}-{round}");
                        connection.send(message("MOVE", &from, &[("Destination", "/one")], b""));
                        connection.final_response().status
                    };
                    (0..ROUNDS).map(&mut go).collect::<Vec<_>>()
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    // A client gets 201 if the name is free, also between two replacements, and 204 if it replaces a
    // directory.
    assert!(statuses.iter().all(|status| [201, 204].contains(status)), "{statuses:?}");
    assert_eq!(statuses.len(), CLIENTS * ROUNDS);
    let kept = String::from_utf8(site.read("one/f").unwrap()).unwrap();
    assert!(kept.ends_with(&format!("-{}", ROUNDS - 1)), "{kept}");
    let entries = std::fs::read_dir(site.root.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".weir-store", "one"]);
}

/// Runs numbered clients on two nodes that share a directory.
fn on_two_nodes(start: impl FnOnce(&Site), work: impl Fn(usize, &mut RawClient) + Sync) -> Site {
    let area = |node: &str| format!("{OPEN}[weir]\nnode = \"{node}\"\n");
    let site = Site::new(&area("one"));
    let other = Weir::start(&config(site.root.path(), "", &area("two")));
    start(&site);
    thread::scope(|scope| {
        for client in 0..2 * CLIENTS {
            let (node, work) = (if client % 2 == 0 { &site.weir } else { &other }, &work);
            scope.spawn(move || work(client, &mut node.client()));
        }
    });
    site
}

#[test]
fn no_conditional_update_is_lost_between_two_nodes_that_share_a_directory() {
    let site = on_two_nodes(
        |site| assert_eq!(site.put("/count", &[], b"0").status, 201),
        |_, client| {
            let mut added = 0;
            while added < ROUNDS {
                client.send(message("GET", "/count", &[], b""));
                let found = client.final_response();
                let count: usize = found.text().parse().unwrap();
                let headers = [("If-Match", found.header("etag").unwrap())];
                client.send(message("PUT", "/count", &headers, (count + 1).to_string().as_bytes()));
                match client.final_response().status {
                    204 => added += 1,
                    status => assert_eq!(status, 412),
                }
            }
        },
    );
    assert_eq!(site.get("/count").text(), (2 * CLIENTS * ROUNDS).to_string());
}

#[test]
fn no_part_is_lost_between_two_nodes_that_share_a_directory() {
    let all = 2 * CLIENTS * ROUNDS;
    let site = on_two_nodes(
        |site| assert_eq!(site.put("/f", &[], &vec![b'.'; all]).status, 201),
        |number, client| {
            for round in 0..ROUNDS {
                let at = number * ROUNDS + round;
                let range = format!("bytes {at}-{at}/*");
                loop {
                    client.send(message("PUT", "/f", &[("Content-Range", &range)], b"x"));
                    match client.final_response().status {
                        204 => break,
                        // Another part was stored first. This one was based on the former content.
                        status => assert_eq!(status, 412),
                    }
                }
            }
        },
    );
    assert_eq!(site.get("/f").text(), "x".repeat(all));
}
