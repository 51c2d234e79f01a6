//! Tests of password checks and of limits on guesses.

use std::io::{Read, Write};
use std::net::TcpStream;

use weir_e2e::Weir;
use weir_testkit::{Response, TempDir};

use crate::tokens::{FORM, Secrets, basic, json_of};
use crate::{Site, config, message};

/// Starts a site with the users ada and bob, whose password is "sesame". A check takes tens of milliseconds.
/// X-Forwarded-For gives the client's address.
fn site() -> (Site, TempDir) {
    let (beside, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let hash = bcrypt::hash("sesame", 9).unwrap();
    let users = beside.path().join("htpasswd");
    std::fs::write(&users, format!("ada:{hash}\nbob:{hash}\n")).unwrap();
    let area = format!("htpasswd = {users:?}\n[storage-area.data.access]\nauthenticated-read = true\n");
    let weir = Weir::start(&config(root.path(), "forwarded = { trusted = \"127.0.0.1\" }", &area));
    let site = Site { weir, root };
    site.write("file", "content");
    (site, beside)
}

fn asked(client: &str, user: &str) -> Vec<u8> {
    message("GET", "/file", &[("X-Forwarded-For", client), ("Authorization", &basic(user))], b"")
}

fn get(site: &Site, client: &str, user: &str) -> Response {
    let mut connection = site.weir.client();
    connection.send(asked(client, user));
    connection.final_response()
}

/// Sends wrong passwords until the client gets a status other than 401.
fn guess_too_often(site: &Site, client: &str) -> Response {
    for number in 0..30 {
        let response = get(site, client, &format!("ada:guess {number} {}", std::process::id()));
        if response.status != 401 {
            return response;
        }
    }
    panic!("nobody says that these are too many");
}

/// Sends requests with different wrong passwords, without reading the responses.
fn flood(site: &Site, client: &str, number: usize) -> Vec<TcpStream> {
    let connections = (0..number).map(|at| {
        let mut connection = TcpStream::connect(site.weir.addr("web")).unwrap();
        connection.write_all(&asked(client, &format!("user {}:guess {at}", at % 50))).unwrap();
        connection
    });
    connections.collect()
}

fn status(mut connection: TcpStream) -> u16 {
    let mut head = [0; 12];
    connection.read_exact(&mut head).unwrap();
    std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
}

#[test]
fn bogus_passwords_of_one_client_lock_nobody_out() {
    let (site, _beside) = site();
    let flood = flood(&site, "198.51.100.1", 300);
    let let_in = get(&site, "198.51.100.2", "ada:sesame");
    assert_eq!((let_in.status, let_in.text().as_str()), (200, "content"));
    let statuses: Vec<_> = flood.into_iter().map(status).collect();
    assert!(statuses.iter().all(|status| [401, 429, 503].contains(status)), "{statuses:?}");
    // Only part of the flood was checked.
    let checked = statuses.iter().filter(|status| **status == 401).count();
    assert!(checked < 200, "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[test]
fn who_guesses_too_often_must_wait_and_nobody_else() {
    let (site, _beside) = site();
    let home = "192.0.2.7";
    assert_eq!(get(&site, home, "ada:sesame").status, 200);
    let refused = guess_too_often(&site, "198.51.100.1");
    assert_eq!(refused.status, 429);
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=6).contains(&seconds), "{seconds}");
    assert_eq!(refused.header("www-authenticate"), None, "to ask for another one would be wrong");
    // The right password is cached, but a guesser must not learn that it is right.
    let told = (0..5).any(|_| {
        guess_too_often(&site, "198.51.100.1");
        get(&site, "198.51.100.1", "ada:sesame").status == 429
    });
    assert!(told);
    for (client, user) in [("198.51.100.1", "bob:sesame"), (home, "ada:sesame"), ("192.0.2.8", "ada:sesame")]
    {
        assert_eq!(get(&site, client, user).status, 200, "{client} {user}");
    }
}

#[test]
fn a_program_with_an_old_password_locks_nobody_out() {
    let (site, _beside) = site();
    for _ in 0..100 {
        assert_eq!(get(&site, "192.0.2.7", "ada:old").status, 401);
    }
    assert_eq!(get(&site, "192.0.2.7", "ada:sesame").status, 200);
}

#[test]
fn a_client_may_begin_with_many_requests() {
    let (site, _beside) = site();
    let connections: Vec<_> = (0..50)
        .map(|_| {
            let mut connection = TcpStream::connect(site.weir.addr("web")).unwrap();
            connection.write_all(&asked("192.0.2.7", "ada:sesame")).unwrap();
            connection
        })
        .collect();
    let statuses: Vec<_> = connections.into_iter().map(status).collect();
    assert_eq!(statuses, [200; 50]);
}

/// Counts from before a reload stay valid.
#[test]
fn a_reload_forgets_no_guesses() {
    let (mut site, beside) = site();
    let users = beside.path().join("htpasswd");
    let told = (0..5).any(|at| {
        guess_too_often(&site, "198.51.100.1");
        let realm = format!("realm = \"{at}\"\nhtpasswd = {users:?}\n");
        let area = format!("{realm}[storage-area.data.access]\nauthenticated-read = true\n");
        let root = site.root.path().to_owned();
        site.weir.reload(&config(&root, "forwarded = { trusted = \"127.0.0.1\" }", &area));
        get(&site, "198.51.100.1", "ada:sesame").status == 429
    });
    assert!(told);
}

#[test]
fn the_same_limits_count_where_tokens_are_issued() {
    let secrets = Secrets::new();
    let site = Site::new(&secrets.area(&format!("max-requests = 0\nkey = {:?}", secrets.file("key.pem"))));
    let ask = |user: &str| {
        let body = b"grant_type=client_credentials&scope=storage.read:/ada";
        let headers = [("Authorization", basic(user)), (FORM.0, FORM.1.to_owned())];
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        site.request("POST", "/oauth/token", &headers, body)
    };
    assert_eq!(ask("ada:sesame").status, 200);
    let refused = (0..30).map(|number| ask(&format!("ada:guess {number}"))).find(|told| told.status != 401);
    let refused = refused.expect("nobody says that these are too many");
    assert_eq!(refused.status, 429, "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    assert!(json_of(&refused)["error"].is_string(), "{}", refused.text());
}
