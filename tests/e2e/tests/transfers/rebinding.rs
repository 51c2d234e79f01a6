//! Tests of DNS rebinding: names that resolve to one address for the check and to another one afterwards. The
//! tests run in their own network namespace with a public address and a name server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use weir_e2e::Weir;
use weir_testkit::{Child, PATIENCE, RawServer, Response, TempDir, dns_answer, dns_asks_for_ipv4, untested};

use crate::{config, last_line, message, ok};

const PUBLIC: Ipv4Addr = Ipv4Addr::new(4, 4, 4, 4);
const INSIDE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Environment variable that is set in the test's own network namespace.
const MARK: &str = "WEIR_TEST_NETWORK";

/// Sets up the network namespace with [`PUBLIC`] and a name server at [`INSIDE`], then runs the given
/// command.
const NETWORK: &str = r#"
ip link set lo up && ip address add 4.4.4.4/32 dev lo || exit 3
for file in resolv.conf nsswitch.conf; do
    [ ! -e /etc/$file ] || mount --bind "$WEIR_TEST_NETWORK/$file" /etc/$file || exit 3
done
exec "$@"
"#;

/// Runs the named test again in its own network namespace. Returns false in that second run, in which the
/// test proper follows.
fn has_run_in_own_network(test: &str) -> bool {
    if std::env::var_os(MARK).is_some() {
        return false;
    }
    if !rustix::process::geteuid().is_root() {
        untested("needs root");
        return true;
    }
    let files = TempDir::new().unwrap();
    std::fs::write(files.path().join("resolv.conf"), format!("nameserver {INSIDE}\n")).unwrap();
    std::fs::write(files.path().join("nsswitch.conf"), "hosts: files dns\n").unwrap();
    // Build the binary outside the namespace, if necessary.
    weir_e2e::program();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("unshare");
    // Killing unshare also kills the processes that it started.
    command.args(["--fork", "--kill-child", "--mount", "--net", "sh", "-c", NETWORK, "sh"]);
    // The thread name is not the test's name if all tests run in one thread.
    command.arg(std::env::current_exe().unwrap()).args(["--exact", &format!("rebinding::{test}")]);
    command.env(MARK, files.path()).env("PATH", format!("{path}:/usr/sbin:/sbin"));
    let mut child = Child::spawn(command);
    let status = child.wait(PATIENCE * 2);
    let told = child.output().join("\n");
    assert!(status.success() && told.contains("1 passed"), "{told}");
    true
}

/// Addresses of every name: one list for each query; the last list stays.
type Zone = Arc<Mutex<Vec<Vec<Ipv4Addr>>>>;

/// Starts a name server that lasts until the process ends. No other test runs in its network namespace.
fn names(lists: &[&[Ipv4Addr]]) -> Zone {
    let zone: Zone = Arc::new(Mutex::new(lists.iter().map(|list| list.to_vec()).collect()));
    let socket = UdpSocket::bind((INSIDE, 53)).unwrap();
    let shared = Arc::clone(&zone);
    thread::spawn(move || {
        let mut question = [0; 1500];
        while let Ok((count, from)) = socket.recv_from(&mut question) {
            let question = &question[..count];
            let mut lists = shared.lock().unwrap();
            if let Some(answer) = dns_answer(question, 0, &lists[0]) {
                socket.send_to(&answer, from).unwrap();
            }
            if dns_asks_for_ipv4(question) && lists.len() > 1 {
                lists.remove(0);
            }
        }
    });
    zone
}

/// Two servers on one port: one at a permitted address, and one at a forbidden address.
struct Servers {
    public: RawServer,
    inside: RawServer,
}

impl Servers {
    /// Starts both servers. The public one responds with the head that `says` builds from the request line,
    /// or with the file if `says` returns nothing.
    fn start(says: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        let inside = RawServer::start(|peer| {
            let request = peer.request()?;
            peer.send(ok(&request, "", b"secret"))
        });
        let address = SocketAddr::new(IpAddr::V4(PUBLIC), inside.addr().port());
        let public = RawServer::start_on(address, move |peer| {
            loop {
                let request = peer.request()?;
                let said = says(&request.request_line());
                peer.send(said.map_or_else(|| ok(&request, "", b"public"), String::into_bytes))?;
            }
        });
        Self { public, inside }
    }

    fn url(&self, path: &str) -> String {
        format!("http://rebind.test:{}{path}", self.inside.addr().port())
    }
}

/// Pulls a file with a Weir that permits only public addresses. Returns the response and the file.
fn pull(url: &str) -> (Response, Option<Vec<u8>>) {
    let root = TempDir::new().unwrap();
    let weir = Weir::start(&config(root.path(), "http = true\n"));
    let mut client = weir.client();
    client.send(message("COPY", "/n", &[("Source", url)]));
    let answer = client.final_response();
    (answer, std::fs::read(root.path().join("n")).ok())
}

fn refuses(answer: &Response) -> bool {
    let line = last_line(answer);
    line.starts_with("failure: ") && line.contains("rebind.test leads to a loopback address")
}

#[test]
fn of_the_addresses_of_a_name_only_those_that_pass_are_connected_to() {
    if has_run_in_own_network("of_the_addresses_of_a_name_only_those_that_pass_are_connected_to") {
        return;
    }
    let _zone = names(&[&[INSIDE, PUBLIC]]);
    let servers = Servers::start(|_| None);
    let (answer, file) = pull(&servers.url("/f"));
    assert_eq!(last_line(&answer), "success: Created", "{}", answer.text());
    assert_eq!(file.as_deref(), Some(&b"public"[..]));
    assert_eq!(servers.inside.connections(), 0);
}

#[test]
fn a_name_is_connected_to_at_the_address_that_was_looked_at_whatever_it_leads_to_since() {
    if has_run_in_own_network(
        "a_name_is_connected_to_at_the_address_that_was_looked_at_whatever_it_leads_to_since",
    ) {
        return;
    }
    // A second lookup before connecting would get the second address.
    let _zone = names(&[&[PUBLIC], &[INSIDE]]);
    let servers = Servers::start(|_| None);
    let (answer, file) = pull(&servers.url("/f"));
    assert!(servers.public.connections() > 0, "{}", answer.text());
    assert_eq!(servers.inside.connections(), 0);
    // A transfer may open more connections, each with its own lookup and check.
    assert!(file.as_deref() == Some(&b"public"[..]) || refuses(&answer), "{}", answer.text());
}

#[test]
fn a_redirection_to_the_same_name_is_looked_at_again() {
    if has_run_in_own_network("a_redirection_to_the_same_name_is_looked_at_again") {
        return;
    }
    let zone = names(&[&[PUBLIC]]);
    let servers = Servers::start(move |line| {
        *zone.lock().unwrap() = vec![vec![INSIDE]];
        let leads_on = line.contains(" /first ");
        leads_on
            .then(|| "HTTP/1.1 307 Elsewhere\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n".to_owned())
    });
    let (answer, file) = pull(&servers.url("/first"));
    assert!(refuses(&answer), "{}", answer.text());
    assert_eq!(file, None);
    assert!(servers.public.connections() > 0);
    assert_eq!(servers.inside.connections(), 0);
}
