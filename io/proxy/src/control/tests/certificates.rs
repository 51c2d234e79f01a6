//! Tests of reloading certificates.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::net::{TcpListener, TcpStream};
use weir_config::Plan;
use weir_config::plan::{Certificate, TlsIn, TlsVersion};
use weir_model::Millis;
use weir_net::tls::{ServerTls, TlsConnector};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

use super::rig::{Rig, eventually, whole_plan};

fn config(directory: &Path) -> Plan {
    let (certificate, key) = (directory.join("web.pem"), directory.join("web.key"));
    whole_plan(&format!(
        "[weir]\ncontrol = false\nstate = false\n[listener.web]\nbind = \":80\"\npool = \"web\"\n[listener.web.tls]
         certificates = {{ certificate = \"{}\", key = \"{}\" }}\nreload-interval = \"20ms\"
         [pool.web]\nservers = \"127.0.0.1:1\"",
        certificate.display(),
        key.display()
    ))
}

#[tokio::test(start_paused = true)]
async fn a_changed_certificate_is_taken_over_and_a_broken_one_is_not() {
    let directory = TempDir::new().unwrap();
    let authority = Authority::new("test");
    authority.issue(&Request::names(&["one.example"])).write_to(directory.path(), "web");
    let rig = Rig::running(config(directory.path()));
    let names = || rig.shared.live().listeners[0].tls.as_ref().unwrap().certificates()[0].names.clone();
    assert_eq!(names(), ["one.example"]);

    authority.issue(&Request::names(&["two.example"])).write_to(directory.path(), "web");
    eventually("the new certificate", || names() == ["two.example"]).await;
    eventually("a line", || {
        rig.lines().last().is_some_and(|line| line == "listener web: certificates read anew")
    })
    .await;

    let told = rig.lines().len();
    std::fs::write(directory.path().join("web.pem"), "nonsense").unwrap();
    eventually("a complaint", || rig.lines().len() > told).await;
    let complaint = rig.lines()[told].clone();
    assert!(
        complaint.starts_with("listener web: certificate ") && complaint.ends_with("stay in use"),
        "{complaint}"
    );
    // Fifty checks of the files, in paused time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.lines().len(), told + 1, "told once, not at each look");
    assert_eq!(names(), ["two.example"]);
}

#[tokio::test]
async fn a_certificate_that_runs_out_soon_is_warned_of_at_the_start() {
    let directory = TempDir::new().unwrap();
    let now = SystemTime::now();
    let soon = Request::names(&["one.example"])
        .valid(now - Duration::from_secs(60), now + Duration::from_secs(3 * 86_400 + 60));
    Authority::new("test").issue(&soon).write_to(directory.path(), "web");
    let rig = Rig::running(config(directory.path()));
    let path = directory.path().join("web.pem");
    let warning = format!("listener web: certificate {}: expires in 3 days", path.display());
    eventually("the warning", || rig.lines().first() == Some(&warning)).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_shown_to_servers_is_taken_over_when_its_file_changes_and_nonsense_is_not() {
    let directory = TempDir::new().unwrap();
    let authority = Authority::new("test");
    authority.issue(&Request::names(&["weir.example"])).write_to(directory.path(), "own");
    let (certificate, key) = (directory.path().join("own.pem"), directory.path().join("own.key"));
    let rig = Rig::running(whole_plan(&format!(
        "[weir]\ncontrol = false\nstate = false\n[listener.web]\nbind = \":80\"\npool = \"web\"\n\
         [pool.web]\nservers = \"127.0.0.1:1\"\n[pool.web.tls]\n\
         client-certificate = {{ certificate = \"{}\", key = \"{}\" }}\n",
        certificate.display(),
        key.display()
    )));
    let server = rig.server("127.0.0.1:1");
    let (connector, version) = (server.connector().unwrap(), server.endpoint_version());

    std::fs::write(&certificate, "nonsense").unwrap();
    let complaints = || rig.lines().iter().filter(|line| line.starts_with("pool web: certificate ")).count();
    eventually("a complaint", || complaints() == 1).await;
    // Ten more checks of the files.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(complaints(), 1);
    assert!(Arc::ptr_eq(&connector, &server.connector().unwrap()));

    authority.issue(&Request::names(&["weir.example"])).write_to(directory.path(), "own");
    eventually("the new one", || !Arc::ptr_eq(&connector, &server.connector().unwrap())).await;
    assert!(server.endpoint_version() > version, "connections made before are not used again");
    eventually("a line", || rig.lines().iter().any(|line| line == "pool web: certificates read anew")).await;
}

/// Returns true if the client's TLS accepts the server's certificate.
async fn trusts(connector: &TlsConnector, server: &ServerTls) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (client, accepted) =
        tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    let mut client = connector.connect(client.unwrap()).unwrap();
    let mut server = server.accept(accepted.unwrap().0).unwrap();
    let serve = async {
        let _ = poll_fn(|cx| server.poll_handshake(cx)).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        done = poll_fn(|cx| client.poll_handshake(cx)) => done.is_ok(),
        () = serve => false,
    }
}

#[tokio::test(start_paused = true)]
async fn servers_are_judged_by_the_authority_that_its_file_holds_now() {
    let directory = TempDir::new().unwrap();
    let ca = directory.path().join("ca.pem");
    let [first, second] = ["first", "second"].map(Authority::new);
    let [by_first, by_second] = [&first, &second].map(|authority| {
        let files = authority.issue(&Request::names(&["s.internal"])).write_to(directory.path(), "server");
        let certificate = Certificate { certificate: files.certificate, key: files.key };
        let plan = TlsIn {
            certificates: vec![certificate],
            version_min: TlsVersion::V1_2,
            ciphers: Vec::new(),
            client_auth: None,
            ticket_rotation: None,
            reload_interval: Millis::from_secs(10),
        };
        ServerTls::load(&plan, &[]).unwrap()
    });
    std::fs::write(&ca, first.pem()).unwrap();
    let rig = Rig::running(whole_plan(&format!(
        "[weir]\ncontrol = false\nstate = false\n[listener.web]\nbind = \":80\"\npool = \"web\"\n\
         [pool.web]\nservers = \"127.0.0.1:1\"\ntls = {{ ca = \"{}\", server-name = \"s.internal\" }}\n",
        ca.display()
    )));
    let server = rig.server("127.0.0.1:1");
    let before = server.connector().unwrap();
    assert!(trusts(&before, &by_first).await && !trusts(&before, &by_second).await);

    std::fs::write(&ca, second.pem()).unwrap();
    eventually("the new authority", || !Arc::ptr_eq(&before, &server.connector().unwrap())).await;
    let after = server.connector().unwrap();
    assert!(!trusts(&after, &by_first).await && trusts(&after, &by_second).await);
}
