//! Several clients that change one name at once.

use std::thread;

use crate::{Site, message};

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
    // Made by the first, replaced by the others; who finds the name free between two of them has made it, too.
    assert!(statuses.iter().all(|status| [201, 204].contains(status)), "{statuses:?}");
    assert_eq!(statuses.len(), CLIENTS * ROUNDS);
    let kept = String::from_utf8(site.read("one/f").unwrap()).unwrap();
    assert!(kept.ends_with(&format!("-{}", ROUNDS - 1)), "{kept}");
    let entries = std::fs::read_dir(site.root.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".weir-store", "one"]);
}
