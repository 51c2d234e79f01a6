//! The Java service under measurement.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{DIRECTORY, READY};
use crate::error::{Context, Error, Result};
use crate::process::{Cores, Process};
use crate::rivals::from_environment;
use crate::storage::client::Client;
use crate::workshop::{HOST, Workshop, free_addresses};

/// Path that returns 200 when the service is ready.
pub(super) const HEALTH: &str = "/.storm-webdav/actuator/health";

/// Prefix of the path of a file that the service names.
pub(super) const INTERNAL: &str = "/.storm-webdav/internal/get";

/// Time that a Java program on one core may take to start.
const PATIENCE: Duration = Duration::from_secs(180);

/// Options of the virtual machine, from the service's unit file. JDK_JAVA_OPTIONS can add others or change
/// them.
const JVM_OPTIONS: [&str; 2] = ["-Xms1024m", "-Xmx1024m"];

/// Leaves only the protocol and cipher that all contestants have. The service enables all that are not
/// disabled.
const SECURITY: &str = "jdk.tls.disabledAlgorithms=SSLv3, TLSv1, TLSv1.1, TLSv1.2, TLS_AES_256_GCM_SHA384, \
                        TLS_CHACHA20_POLY1305_SHA256\n";

/// Program of the service.
#[derive(Debug)]
pub(super) struct Jar {
    path: PathBuf,
    java: PathBuf,
}

impl Jar {
    /// Returns the jar and the Java program that STORM and JAVA name; `None` without STORM.
    pub(super) fn from_environment() -> Result<Option<Self>> {
        let Some(path) = from_environment("STORM").into_iter().next() else {
            return Ok(None);
        };
        if !path.is_file() {
            return Err(Error::new(format!("STORM: {} is no file", path.display())));
        }
        let java = from_environment("JAVA").into_iter().next().unwrap_or_else(|| PathBuf::from("java"));
        Ok(Some(Self { path, java }))
    }
}

/// Handling of a GET by the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Sends the file itself, plain and over TLS.
    Sends,
    /// Names the file to a proxy in front of it, which sends the file. It has no TLS of its own then.
    Names,
}

/// The running service on the balancer's core, with one storage area that every client may read.
pub(super) struct Service {
    pub(super) plain: SocketAddr,
    /// TLS address, for [`Mode::Sends`] only.
    pub(super) tls: SocketAddr,
    pub(super) process: Process,
    /// Versions of the service and of Java, from its log.
    pub(super) version: String,
}

impl Service {
    /// Starts the service, and waits until it responds as `mode` says.
    pub(super) fn start(workshop: &Workshop, jar: &Jar, files: &Path, mode: Mode) -> Result<Self> {
        let [plain, tls] = free_addresses()?;
        let name = match mode {
            Mode::Sends => "storm",
            Mode::Names => "storm-offload",
        };
        let home = workshop.path(name);
        let make = |directory: &str| {
            let path = home.join(directory);
            std::fs::create_dir_all(&path).context(path.display()).map(|()| path)
        };
        let areas = make("sa.d")?;
        let area = areas.join("bench.properties");
        std::fs::write(&area, storage_area(files)).context(area.display())?;
        // Its certificate library does not accept EC keys in PEM.
        let (certificate, key) = workshop.rsa_certificate()?;
        let security = home.join("java.security");
        std::fs::write(&security, SECURITY).context(security.display())?;

        let mut command = Cores::Balancer.command(&jar.java);
        command
            .args(JVM_OPTIONS)
            .arg(format!("-Djava.io.tmpdir={}", make("tmp")?.display()))
            .arg(format!("-Djava.security.properties={}", security.display()))
            .arg("-jar")
            .arg(&jar.path)
            .current_dir(&home)
            .env("STORM_WEBDAV_SERVER_ADDRESS", "127.0.0.1")
            .env("STORM_WEBDAV_HOSTNAME_0", HOST)
            .env("STORM_WEBDAV_HTTP_PORT", plain.port().to_string())
            .env("STORM_WEBDAV_HTTPS_PORT", tls.port().to_string())
            .env("STORM_WEBDAV_CERTIFICATE_PATH", certificate)
            .env("STORM_WEBDAV_PRIVATE_KEY_PATH", key)
            .env("STORM_WEBDAV_REQUIRE_CLIENT_CERT", "false")
            .env("STORM_WEBDAV_TRUST_ANCHORS_DIR", make("anchors")?)
            .env("STORM_WEBDAV_VOMS_TRUST_STORE_DIR", make("vomsdir")?)
            .env("STORM_WEBDAV_SA_CONFIG_DIR", &areas)
            // The file does not exist, so there is no access log, as with the other contestants.
            .env("STORM_WEBDAV_ACCESS_LOG_CONFIGURATION", home.join("no-access-log.xml"))
            .env("STORM_WEBDAV_NGINX_ENABLED", (mode == Mode::Names).to_string());
        let log = workshop.path(&format!("{name}.log"));
        let mut process = Process::start(name, &mut command, Some(&log), &log)?;
        process.wait_ready_at(plain, Some(HEALTH), PATIENCE, &log)?;
        check(plain, files, mode)?;
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        Ok(Self { plain, tls, process, version: version(&said) })
    }
}

/// Checks that a GET is handled as `mode` says. Otherwise, a version with other settings would be measured in
/// the wrong mode.
fn check(address: SocketAddr, files: &Path, mode: Mode) -> Result<()> {
    let mut client = Client::connect(address)?;
    client.send_head("GET", READY, "")?;
    let head = client.head()?;
    let expected = match mode {
        Mode::Sends => None,
        Mode::Names => Some(format!("{INTERNAL}{}/ready", files.display())),
    };
    let named = head.field("x-accel-redirect").map(str::to_owned);
    if head.status != 200 || named != expected {
        return Err(Error::new(format!(
            "StoRM WebDAV answers GET {READY} with status {} and X-Accel-Redirect {named:?}, not with 200 and {expected:?}",
            head.status
        )));
    }
    Ok(())
}

/// Reads the versions from the log line `Starting WebdavService v1.9.0 using Java 17.0.15 with PID ...`.
/// Responses give the version only if the service was built from a clone of its repository.
fn version(log: &str) -> String {
    let find = || {
        let line = log.lines().find_map(|line| line.split_once("Starting WebdavService v"))?.1;
        let (own, java) = line.split_once(" using Java ")?;
        Some(format!("{own}, Java {}", java.split(' ').next()?))
    };
    find().unwrap_or_else(|| "of unknown version".to_owned())
}

fn storage_area(files: &Path) -> String {
    format!(
        "name={DIRECTORY}\nrootPath={}\naccessPoints=/{DIRECTORY}\nanonymousReadEnabled=true\n",
        files.display()
    )
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers one request with this head and nothing else.
    fn answers(head: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let request = BufReader::new(stream.try_clone().unwrap());
            for line in request.lines() {
                if line.unwrap().is_empty() {
                    break;
                }
            }
            stream.write_all(head.as_bytes()).unwrap();
        });
        address
    }

    const NAMES: &str = "HTTP/1.1 200 OK\r\n\
                         X-Accel-Redirect: /.storm-webdav/internal/get/srv/data/ready\r\nContent-Length: 0\r\n\r\n";
    const SENDS: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";

    #[test]
    fn a_service_that_names_the_file_is_measured_as_offloaded() {
        assert!(check(answers(NAMES), Path::new("/srv/data"), Mode::Names).is_ok());
    }

    #[test]
    fn a_service_that_sends_the_file_itself_is_not_measured_as_offloaded() {
        let error = check(answers(SENDS), Path::new("/srv/data"), Mode::Names).unwrap_err();
        assert!(error.to_string().contains("X-Accel-Redirect None"), "{error}");
        assert!(check(answers(SENDS), Path::new("/srv/data"), Mode::Sends).is_ok());
    }

    #[test]
    fn a_service_that_names_another_file_or_refuses_is_not_measured() {
        assert!(check(answers(NAMES), Path::new("/srv/other"), Mode::Names).is_err());
        assert!(check(answers(NAMES), Path::new("/srv/data"), Mode::Sends).is_err());
        let refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
        assert!(check(answers(refused), Path::new("/srv/data"), Mode::Sends).is_err());
    }

    #[test]
    fn the_versions_of_the_service_and_of_java_are_told() {
        let log = "2026-11-22T03:00:37.739Z []   INFO 15485 --- [           main] o.i.storm.webdav.WebdavService           : \
                   Starting WebdavService v1.9.0 using Java 17.0.15 with PID 15485 (/opt/storm-webdav-server.jar)\nmore\n";
        assert_eq!(version(log), "1.9.0, Java 17.0.15");
        assert_eq!(version("Starting something else\n"), "of unknown version");
    }
}
