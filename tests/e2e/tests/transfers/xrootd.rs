//! Tests with a real xrootd server.

use std::fs::Permissions;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{Child, PATIENCE, RawClient, TempDir};

use crate::clients::succeeds;
use crate::{Site, last_line, message, pattern};

/// An XRootD server over HTTP with third-party copy. It refuses to run as root, so it changes its user then.
struct Xrootd {
    _child: Child,
    directory: TempDir,
    port: u16,
}

/// Attempts to start. xrootd needs a fixed HTTP port, and a port that was free may be taken when it starts.
const STARTS_MAX: usize = 5;

impl Xrootd {
    fn start() -> Self {
        for _ in 0..STARTS_MAX {
            let directory = TempDir::new().unwrap();
            let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let ports = [free(), free()].map(|listener| listener.local_addr().unwrap().port());
            let path = directory.path().display();
            for name in ["data", "admin"] {
                std::fs::create_dir(directory.path().join(name)).unwrap();
            }
            let config = format!(
                "all.export /\noss.localroot {path}/data\nall.adminpath {path}/admin\nall.pidpath {path}/admin\n\
                 xrd.port {}\nxrd.protocol http:{} libXrdHttp.so\n\
                 http.exthandler xrdtpc libXrdHttpTPC.so\nxrootd.chksum max 2 adler32\n\
                 http.cert {path}/site.pem\nhttp.key {path}/site.key\nhttp.cafile {path}/site.pem\nhttp.httpsmode auto\n",
                ports[0], ports[1]
            );
            // XRootD makes third-party copies only if TLS is configured.
            let issued = Authority::new("xrootd").issue(&Request::names(&["localhost"]));
            let files = issued.write_to(directory.path(), "site");
            std::fs::set_permissions(&files.key, Permissions::from_mode(0o400)).unwrap();
            std::fs::write(directory.path().join("xrd.cfg"), config).unwrap();
            let mut command = Command::new("xrootd");
            if rustix::process::getuid().is_root() {
                let owner = succeeds("chown", &["-R", "xrootd", &path.to_string()]);
                assert_eq!(owner, "");
                command.args(["-R", "xrootd"]);
            }
            command.arg("-c").arg(directory.path().join("xrd.cfg")).args(["-n", "test"]);
            command.current_dir(directory.path());
            let mut child = Child::spawn(command);
            let line = child.wait_for_line(PATIENCE, |line| {
                line.contains("initialization completed") || line.contains("initialization failed")
            });
            if line.contains("completed") {
                return Self { _child: child, directory, port: ports[1] };
            }
        }
        panic!("xrootd does not start");
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.directory.path().join("data").join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.directory.path().join("data").join(name)).ok()
    }

    /// Sends a COPY to xrootd and returns the last line of the response.
    fn copy(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let mut client = RawClient::connect((Ipv4Addr::LOCALHOST, self.port).into());
        client.send(message("COPY", path, headers));
        last_line(&client.final_response())
    }
}

#[test]
fn files_are_pulled_from_xrootd_and_pushed_to_it_with_their_checksums() {
    let (xrootd, site) = (Xrootd::start(), Site::new());
    let content = pattern(5_000_000);
    xrootd.write("f", &content);
    let required = ("RequireChecksumVerification", "true");
    for streams in ["1", "3"] {
        let headers = [("Source", &*xrootd.url("/f")), required, ("X-Number-Of-Streams", streams)];
        site.copies("/g", &headers);
        assert!(site.read("g").unwrap() == content);
    }
    site.copies("/g", &[("Destination", &xrootd.url("/h")), required]);
    assert!(xrootd.read("h").unwrap() == content);
    let line = site.fails("/n", &[("Source", &xrootd.url("/missing"))]);
    assert!(line.contains("status 404"), "{line}");
}

#[test]
fn xrootd_pulls_from_here_and_pushes_here() {
    let (xrootd, site) = (Xrootd::start(), Site::new());
    let content = pattern(5_000_000);
    site.write("f", &content);
    let line = xrootd.copy("/g", &[("Source", &site.url("/f"))]);
    assert!(line.starts_with("success"), "{line}");
    assert!(xrootd.read("g").unwrap() == content);
    let line = xrootd.copy("/g", &[("Destination", &site.url("/h"))]);
    assert!(line.starts_with("success"), "{line}");
    assert!(site.read("h").unwrap() == content);
}

#[test]
fn davix_has_files_copied_between_xrootd_and_here() {
    let (xrootd, site) = (Xrootd::start(), Site::new());
    let content = pattern(3_000_000);
    xrootd.write("f", &content);
    succeeds("davix-cp", &["--copy-mode", "pull", &xrootd.url("/f"), &site.url("/pulled")]);
    assert!(site.read("pulled").unwrap() == content);
    succeeds("davix-cp", &["--copy-mode", "push", &site.url("/pulled"), &xrootd.url("/pushed")]);
    assert!(xrootd.read("pushed").unwrap() == content);
}
