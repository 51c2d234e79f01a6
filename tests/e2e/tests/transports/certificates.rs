//! Compares Weir, as server and as client, with OpenSSL for a table of certificates and settings.
//!
//! A row marks the cases in which Weir is stricter or more lenient than OpenSSL. docs/guide/tls.md explains
//! them.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, TempDir, untested, wait_until};

use crate::s_client::s_client;

/// Certificate of a peer, content of the `ca` file, and the expected results.
struct Row {
    name: &'static str,
    /// Base name of the peer's certificate and key: `NAME.crt`, `NAME.key`.
    shown: &'static str,
    /// Certificates in `ca`.
    trusted: &'static [&'static str],
    openssl: bool,
    weir: bool,
}

const fn row(
    name: &'static str,
    shown: &'static str,
    trusted: &'static [&'static str],
    openssl: bool,
    weir: bool,
) -> Row {
    Row { name, shown, trusted, openssl, weir }
}

const YES: bool = true;
const NO: bool = false;

const ROWS: &[Row] = &[
    //  what                                        shown           in `ca`           OpenSSL Weir
    row("issued by the authority", "plain", &["ca"], YES, YES),
    row("self-signed with CA:TRUE, named itself", "self-ca", &["self-ca"], YES, YES),
    row("self-signed with CA:FALSE, named itself", "self", &["self"], YES, YES),
    row("named itself among authorities", "self-ca", &["ca", "self-ca"], YES, YES),
    row("not named, but a namesake", "namesake", &["self-ca"], NO, NO),
    row("of another authority", "self-ca", &["ca"], NO, NO),
    row("expired, named itself", "expired", &["expired"], NO, NO),
    row("issued by one with CA:FALSE that is named", "forged", &["self"], NO, NO),
    row("P-521 key, P-384 authority with SHA-512", "p521", &["ca-p384"], YES, YES),
    row("Ed25519 key", "ed25519", &["ca"], YES, YES),
    row("RSA key of 1024 bits, named itself", "rsa1024", &["rsa1024"], NO, NO),
    row("version 1, named itself", "v1", &["v1"], YES, YES),
    row("CA:TRUE, issued by the authority, named itself", "sub-ca", &["ca", "sub-ca"], YES, YES),
    // Weir is stricter than OpenSSL.
    row("CA:TRUE, issued by the authority", "sub-ca", &["ca"], YES, NO),
    row("version 1, issued by the authority", "v1-issued", &["ca"], YES, NO),
    // Weir is more lenient, like curl and `openssl -partial_chain`.
    row("named itself without its authority", "plain", &["plain"], NO, YES),
];

/// Rows about names and purposes, which apply only to servers.
const SERVER_ROWS: &[Row] = &[
    row("for another name", "other", &["ca"], NO, NO),
    row("for another name, named itself", "other", &["other"], NO, NO),
    row("common name only, named itself", "cn-only", &["cn-only"], YES, YES),
    row("for clients only", "client-only", &["ca"], NO, NO),
    row("for clients only, named itself", "client-only", &["ca", "client-only"], NO, NO),
    row("common name only, issued by the authority", "cn-issued", &["ca"], YES, NO),
];

/// Lets an OpenSSL peer use weak keys, which it refuses otherwise.
const WEAK: &str = "DEFAULT:@SECLEVEL=0";

const SCRIPT: &str = r#"
set -e
ec() { echo "-newkey ec -pkeyopt ec_paramgen_curve:$1 -nodes"; }
self() { n=$1; shift; openssl req -x509 -days 30 -keyout $n.key -out $n.crt "$@"; }
issue() { # name authority subject extensions [key arguments]
  n=$1; ca=$2; s=$3; e=$4; shift 4
  openssl req -keyout $n.key -out $n.csr -subj "$s" "$@"
  if [ -n "$e" ]; then printf "$e" > $n.ext; x="-extfile $n.ext"; else x=; fi
  openssl x509 -req -in $n.csr -CA $ca.crt -CAkey $ca.key -CAcreateserial -days 30 -out $n.crt $x
}
P=$(ec P-256); SAN="subjectAltName=DNS:s.test\n"
self ca $P -subj "/CN=authority"
self ca-p384 $(ec P-384) -sha512 -subj "/CN=authority of P-384"
self self-ca $P -subj "/CN=s.test" -addext "subjectAltName=DNS:s.test"
self namesake $P -subj "/CN=s.test" -addext "subjectAltName=DNS:s.test"
self self $P -subj "/CN=s.test" -addext "subjectAltName=DNS:s.test" -addext "basicConstraints=critical,CA:FALSE"
self rsa1024 -newkey rsa:1024 -nodes -subj "/CN=s.test" -addext "subjectAltName=DNS:s.test"
self cn-only $P -subj "/CN=s.test"
issue plain ca /CN=plain "${SAN}basicConstraints=CA:FALSE" $P
issue sub-ca ca /CN=sub "${SAN}basicConstraints=CA:TRUE" $P
issue p521 ca-p384 /CN=p521 "$SAN" $(ec P-521)
issue ed25519 ca /CN=ed "$SAN" -newkey ed25519 -nodes
issue forged self /CN=forged "$SAN" $P
issue other ca /CN=other "subjectAltName=DNS:other.test" $P
issue client-only ca /CN=client "${SAN}extendedKeyUsage=clientAuth" $P
issue cn-issued ca /CN=s.test "basicConstraints=CA:FALSE" $P
issue v1-issued ca /CN=s.test "" $P
openssl req $P -keyout v1.key -out v1.csr -subj /CN=s.test
openssl x509 -req -in v1.csr -signkey v1.key -days 30 -out v1.crt
openssl req $P -keyout expired.key -out expired.csr -subj /CN=s.test
printf "$SAN" > expired.ext
openssl x509 -req -in expired.csr -signkey expired.key -days -1 -extfile expired.ext -out expired.crt
"#;

fn pki() -> Option<TempDir> {
    if Command::new("openssl").arg("version").output().is_err() {
        untested("openssl is not installed");
        return None;
    }
    let directory = TempDir::new().unwrap();
    let made = Command::new("bash").args(["-c", SCRIPT]).current_dir(directory.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for row in ROWS.iter().chain(SERVER_ROWS) {
        let read =
            |name: &&str| std::fs::read_to_string(directory.path().join(format!("{name}.crt"))).unwrap();
        let trusted: String = row.trusted.iter().map(read).collect();
        std::fs::write(directory.path().join(ca_of(row)), trusted).unwrap();
    }
    Some(directory)
}

fn ca_of(row: &Row) -> String {
    format!("trusted-{}.pem", row.trusted.join("+"))
}

/// Running `openssl s_server` with a certificate. It is killed when the test ends.
struct Server {
    child: Child,
    addr: SocketAddr,
}

impl Server {
    fn start(directory: &TempDir, name: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-www"])
            .args(["-cert", &format!("{name}.crt"), "-key", &format!("{name}.key")])
            .args(arguments)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let addr = said.find_map(|line| line.strip_prefix("ACCEPT ")?.parse().ok()).expect("an address");
        // Reads on, so that later output does not fill the pipe.
        std::thread::spawn(move || said.count());
        Self { child, addr }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(directory: &TempDir, addr: SocketAddr, arguments: &[&str]) -> Output {
    let quiet = ["-servername", "s.test", "-quiet", "-verify_quiet"];
    s_client(directory.path(), addr, &[&quiet, arguments].concat())
}

fn is_served(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains(" 200 ")
}

#[test]
fn servers_are_accepted_as_the_table_says() {
    let Some(directory) = pki() else { return };
    for version in ["-tls1_2", "-tls1_3"] {
        let mut wrong = String::new();
        let mut config = String::from("[listener.web]\nbind = \"127.0.0.1:0\"\n");
        let rows = || ROWS.iter().chain(SERVER_ROWS).enumerate();
        let servers: Vec<Server> = rows()
            .map(|(_, row)| Server::start(&directory, row.shown, &[version, "-cipher", WEAK]))
            .collect();
        for (at, row) in rows() {
            let (ca, addr) = (directory.path().join(ca_of(row)), servers[at].addr);
            let ca = ca.display();
            write!(
                config,
                "[[route]]\npath = \"/{at}\"\npool = \"p{at}\"\n[pool.p{at}]\nservers = \"{addr}\"\nretry = false\n\
                 tls = {{ ca = \"{ca}\", server-name = \"s.test\" }}\n[[route]]\npath = \"/off/{at}\"\n\
                 pool = \"off{at}\"\n[pool.off{at}]\nservers = \"{addr}\"\nretry = false\ntls = {{ verify = false }}\n"
            )
            .unwrap();
        }
        let weir = Weir::start(&config);
        for (at, row) in rows() {
            let verifies = ["-CAfile", &ca_of(row), "-verify_return_error", "-verify_hostname", "s.test"];
            let openssl = is_served(&ask(&directory, servers[at].addr, &verifies));
            let status = |path: String| weir.client().exchange(get(&path)).status;
            let (verified, unverified) = (status(format!("/{at}")), status(format!("/off/{at}")));
            let seen = (openssl, verified == 200, unverified);
            if seen != (row.openssl, row.weir, 200) {
                writeln!(wrong, "{version}, {}: (OpenSSL, Weir, verify = false) = {seen:?}", row.name)
                    .unwrap();
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}\n{}", weir.log().join("\n"));
    }
}

#[test]
fn clients_are_accepted_as_the_table_says() {
    let Some(directory) = pki() else { return };
    let mut config = String::from(
        "[[route]]\nrespond = 200\nresponse-headers = { set = { subject = \"{tls_client_subject}\" } }\n",
    );
    for (at, row) in ROWS.iter().enumerate() {
        let path = |name: &str| directory.path().join(name).display().to_string();
        for mode in ["required", "optional"] {
            write!(
                config,
                "[listener.{mode}{at}]\nbind = \"127.0.0.1:0\"\n[listener.{mode}{at}.tls]\n\
                 certificates = [{{ certificate = \"{}\", key = \"{}\" }}]\n\
                 client-auth = {{ mode = \"{mode}\", ca = \"{}\" }}\n",
                path("plain.crt"),
                path("plain.key"),
                path(&ca_of(row))
            )
            .unwrap();
        }
    }
    let weir = Weir::start(&config);
    let mut wrong = String::new();
    for version in ["-tls1_2", "-tls1_3"] {
        for (at, row) in ROWS.iter().enumerate() {
            let (certificate, key) = (format!("{}.crt", row.shown), format!("{}.key", row.shown));
            let shows = [version, "-cert", &certificate, "-key", &key, "-cipher", WEAK];
            let ca = ca_of(row);
            let verifies = [version, "-CAfile", &ca, "-Verify", "1", "-verify_return_error"];
            let server = Server::start(&directory, "plain", &verifies);
            let openssl = is_served(&ask(&directory, server.addr, &shows));
            let required = is_served(&ask(&directory, weir.addr(&format!("required{at}")), &shows));
            let optional = ask(&directory, weir.addr(&format!("optional{at}")), &shows);
            let is_known = String::from_utf8_lossy(&optional.stdout).contains("CN=");
            let seen = (openssl, required, is_served(&optional), is_known);
            if seen != (row.openssl, row.weir, true, row.weir) {
                writeln!(wrong, "{version}, {}: (OpenSSL, required, optional, known) = {seen:?}", row.name)
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}\n{}", weir.log().join("\n"));
}

/// Makes revocation lists like `openssl ca -gencrl`: with its defaults (version 1), without a number, and of
/// version 2.
const LISTS: &str = r#"
set -e
touch index.txt
printf '[ca]\ndatabase = index.txt\ndefault_md = sha256\n[aki]\nauthorityKeyIdentifier = keyid\n' > ca.cnf
list() { openssl ca -config ca.cnf -name ca -keyfile ca.key -cert ca.crt "$@"; }
list -revoke other.crt
list -gencrl -crldays 1 -out v1.crl
list -gencrl -crldays 1 -crlexts aki -out unnumbered.crl
list -gencrl -crlsec 1 -out stale.crl
openssl ca -config ca.cnf -name ca -keyfile self-ca.key -cert self-ca.crt -gencrl -crldays 1 -out stranger.crl
"#;

#[test]
fn revocation_lists_of_version_1_and_without_a_number_count() {
    let Some(directory) = pki() else { return };
    let made = Command::new("bash").args(["-c", LISTS]).current_dir(directory.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let path = |name: &str| directory.path().join(name).display().to_string();
    let listener = |name: &str, ca: &str| {
        format!(
            "[listener.{name}]\nbind = \"127.0.0.1:0\"\n[listener.{name}.tls]\ncertificates = [{{ certificate = \"{}\", \
             key = \"{}\" }}]\nclient-auth = {{ ca = \"{}\", crl = \"{}\" }}\n",
            path("plain.crt"),
            path("plain.key"),
            path(ca),
            path(&format!("{name}.crl"))
        )
    };
    let lists = ["v1", "unnumbered", "stale"];
    let listeners: String = lists.iter().map(|name| listener(name, "ca.crt")).collect();
    let weir = Weir::start(&format!("{listeners}[[route]]\nrespond = 200\n"));
    let is_accepted = |list: &str, shown: &str| {
        let files = [format!("{shown}.crt"), format!("{shown}.key")];
        is_served(&ask(&directory, weir.addr(list), &["-cert", &files[0], "-key", &files[1]]))
    };
    for list in ["v1", "unnumbered"] {
        assert!(is_accepted(list, "ed25519"), "{list}");
        assert!(!is_accepted(list, "other"), "{list}: revoked");
        assert!(!is_accepted(list, "self"), "{list}: of another authority");
    }
    wait_until("the list to be stale", PATIENCE, || !is_accepted("stale", "ed25519"));
    // A list of an unknown CA is an error of the config.
    let config = path("stranger.toml");
    std::fs::write(&config, format!("{}[[route]]\nrespond = 200\n", listener("stranger", "ca.crt"))).unwrap();
    let refused = Command::new(weir_e2e::program()).args(["check", &config]).output().unwrap();
    let said =
        String::from_utf8_lossy(&refused.stderr).into_owned() + &String::from_utf8_lossy(&refused.stdout);
    assert!(
        !refused.status.success() && said.contains("no authority in `ca` has signed the list of CN=s.test"),
        "{said}"
    );
}
