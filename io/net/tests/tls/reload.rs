//! Tests of reloading files.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_config::plan::{Certificate, TlsIn};
use weir_net::tls::{
    EXPIRY_WARNING_DAYS, FileProblem, FileRole, ServerTls, TlsError, check_certificate, check_tls_in,
    check_tls_out,
};
use weir_testkit::certificates::{KeyKind, Request};

use super::support::{Files, HTTP, connected, tls_in};

const DAY: Duration = Duration::from_secs(86_400);

async fn shown(files: &Files, server: &ServerTls) -> Vec<u8> {
    let pair = connected(&files.connector(), server).await;
    pair.client.peer_certificate().unwrap().to_vec()
}

fn replace(from: &Certificate, to: &Certificate) {
    fs::rename(&from.certificate, &to.certificate).unwrap();
    fs::rename(&from.key, &to.key).unwrap();
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_to_the_next_client() {
    let files = Files::new();
    let request = Request::names(&["localhost"]);
    let plan = tls_in(vec![files.issue("server", &request)]);
    let server = ServerTls::load(&plan, HTTP).unwrap();
    let mut before = connected(&files.connector(), &server).await;
    let old = shown(&files, &server).await;
    assert!(!server.reload_if_changed().unwrap(), "nothing has changed");

    let renewed = request.valid(SystemTime::now() - DAY, SystemTime::now() + 365 * DAY);
    replace(&files.issue("renewed", &renewed), &plan.certificates[0]);
    assert_eq!(shown(&files, &server).await, old, "not before it is asked to");
    assert!(server.reload_if_changed().unwrap());
    assert_ne!(shown(&files, &server).await, old);
    assert!(!server.reload_if_changed().unwrap(), "once is enough");
    before.exchange().await;
}

#[tokio::test]
async fn a_bad_file_keeps_the_old_certificate_and_is_told_of_until_it_is_mended() {
    let files = Files::new();
    let request = Request::names(&["localhost"]);
    let plan = tls_in(vec![files.issue("server", &request)]);
    let Certificate { certificate, key } = &plan.certificates[0];
    let server = ServerTls::load(&plan, HTTP).unwrap();
    let old = shown(&files, &server).await;
    let good = fs::read(certificate).unwrap();

    fs::write(certificate, "-----BEGIN CERTIFICATE-----\nnonsense").unwrap();
    for _ in 0..2 {
        let error = server.reload_if_changed().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("certificate {}: not valid PEM", certificate.display())),
            "{error}"
        );
    }
    // A new certificate whose key is still missing, as in the middle of a renewal.
    let renewed = files.issue("renewed", &request);
    fs::rename(&renewed.certificate, certificate).unwrap();
    let error = server.reload_if_changed().unwrap_err();
    assert!(matches!(error, TlsError::File { problem: FileProblem::KeyMismatch(_), .. }), "{error}");
    fs::remove_file(key).unwrap();
    let error = server.reload_if_changed().unwrap_err().to_string();
    assert!(error.starts_with(&format!("key {}: No such file", key.display())), "{error}");
    assert_eq!(shown(&files, &server).await, old);

    fs::rename(&renewed.key, key).unwrap();
    assert!(server.reload_if_changed().unwrap());
    let new = shown(&files, &server).await;
    assert!(new != old);
    assert_ne!(fs::read(certificate).unwrap(), good);
}

#[test]
fn what_is_wrong_with_a_file_is_said_of_that_file() {
    let files = Files::new();
    let good = files.issue("good", &Request::names(&["localhost"]));
    let other = files.issue("other", &Request::names(&["localhost"]).key(KeyKind::Rsa));
    let text = fs::read_to_string(&good.certificate).unwrap();
    let broken = files.write("broken.pem", &text.replace("MII", "MAA"));
    let second = files.write("second.pem", &format!("{text}{}", text.replace("MII", "MAA")));
    let empty = files.write("empty.pem", "");
    let encrypted = files.write(
        "encrypted.key",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let not_a_key = files.write("not.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    let directory = files.directory.path().to_owned();
    let missing = directory.join("missing.pem");
    let pair = |certificate: &std::path::PathBuf, key: &std::path::PathBuf| Certificate {
        certificate: certificate.clone(),
        key: key.clone(),
    };
    for (certificate, expected) in [
        (pair(&missing, &good.key), format!("certificate {}: No such file or directory", missing.display())),
        (pair(&directory, &good.key), format!("certificate {}: not a regular file", directory.display())),
        (pair(&"/dev/zero".into(), &good.key), "certificate /dev/zero: not a regular file".to_owned()),
        (pair(&empty, &good.key), format!("certificate {}: no certificate in file", empty.display())),
        (pair(&good.key, &good.key), format!("certificate {}: no certificate in file", good.key.display())),
        (
            pair(&broken, &good.key),
            format!("certificate {}: certificate 1 in file is broken", broken.display()),
        ),
        (
            pair(&second, &good.key),
            format!("certificate {}: certificate 2 in file is broken", second.display()),
        ),
        (pair(&good.certificate, &missing), format!("key {}: No such file or directory", missing.display())),
        (pair(&good.certificate, &empty), format!("key {}: no private key in file", empty.display())),
        (pair(&good.certificate, &encrypted), format!("key {}: the key is encrypted", encrypted.display())),
        (pair(&good.certificate, &not_a_key), format!("key {}: key cannot be used", not_a_key.display())),
        (
            pair(&good.certificate, &other.key),
            format!(
                "key {}: key does not belong to certificate {}",
                other.key.display(),
                good.certificate.display()
            ),
        ),
    ] {
        let error = check_certificate(&certificate).unwrap_err().to_string();
        assert!(error.starts_with(&expected), "{error}\n{expected}");
        let error = ServerTls::load(&tls_in(vec![certificate]), HTTP).unwrap_err().to_string();
        assert!(error.starts_with(&expected), "{error}\n{expected}");
    }
}

#[test]
fn a_named_pipe_does_not_hang_the_reader() {
    let files = Files::new();
    let good = files.issue("good", &Request::names(&["localhost"]));
    let pipe = files.directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error =
        check_certificate(&Certificate { certificate: pipe.clone(), ..good }).unwrap_err().to_string();
    assert_eq!(error, format!("certificate {}: not a regular file", pipe.display()));
}

#[test]
fn certificate_and_key_may_share_a_file() {
    let files = Files::new();
    let issued = files.authority.issue(&Request::names(&["localhost"]));
    let both = files.write("both.pem", &format!("{}{}", issued.key_pem, issued.certificate_pem));
    check_certificate(&Certificate { certificate: both.clone(), key: both }).unwrap();
}

#[test]
fn the_end_of_each_certificate_is_known() {
    let files = Files::new();
    let until = SystemTime::now() + 30 * DAY;
    let request =
        Request::names(&["b.test", "*.A.test"]).common_name("c.test").valid(SystemTime::now(), until);
    let certificate = files.issue("server", &request.clone().key(KeyKind::Rsa));
    let server = ServerTls::load(&tls_in(vec![certificate.clone()]), HTTP).unwrap();
    let summaries = server.certificates();
    let [summary] = &summaries[..] else { panic!("one certificate: {summaries:?}") };
    assert_eq!(summary.path, certificate.certificate);
    assert_eq!(summary.names, ["b.test", "*.a.test"]);
    assert_eq!((summary.issuer.as_str(), summary.key), ("CN=Test CA", "RSA"));
    assert_eq!(summary.not_after as u64, until.duration_since(UNIX_EPOCH).unwrap().as_secs());
    assert!(summary.chain_in_order);
    assert_eq!(server.expiries(), [summary.expiry()]);
}

#[test]
fn the_end_of_revocation_lists_is_known_and_warned_of_once_it_has_come() {
    let files = Files::new();
    for (name, next_update, warnings) in
        [("fresh", SystemTime::now() + DAY, 0), ("stale", SystemTime::now() - 2 * DAY, 1)]
    {
        let crl = files.write(name, &files.authority.revoke(&[], next_update));
        let mut plan = files.tls_in();
        plan.client_auth =
            Some(weir_config::plan::ClientAuth { crl: Some(crl.clone()), ..files.client_auth(true) });
        let expiries = ServerTls::load(&plan, HTTP).unwrap().expiries();
        let [_, lists] = &expiries[..] else { panic!("a certificate and lists: {expiries:?}") };
        assert_eq!((lists.role, &lists.path), (FileRole::RevocationLists, &crl));
        assert_eq!(lists.not_after as u64, next_update.duration_since(UNIX_EPOCH).unwrap().as_secs());
        let report = check_tls_in(&plan);
        assert!(report.errors.is_empty() && report.warnings.len() == warnings, "{report:?}");
    }
}

#[test]
fn a_check_finds_everything_at_once() {
    let files = Files::new();
    let soon = SystemTime::now() + DAY * (EXPIRY_WARNING_DAYS as u32 - 1) + DAY / 2;
    let plan = TlsIn {
        ciphers: vec!["nonsense".to_owned()],
        client_auth: Some(weir_config::plan::ClientAuth {
            ca: files.directory.path().join("missing.pem"),
            ..files.client_auth(true)
        }),
        ..tls_in(vec![
            files.issue("expired", &Request::names(&["a.test"]).expired()),
            files.issue("soon", &Request::names(&["b.test"]).valid(SystemTime::now() - DAY, soon)),
            files.issue("nameless", &Request::names(&[])),
            Certificate { certificate: files.ca(), key: files.ca() },
        ])
    };
    let directory = format!("{}/", files.directory.path().display());
    let report = check_tls_in(&plan);
    let names: Vec<_> = report.certificates.iter().flat_map(|summary| &summary.names).collect();
    assert_eq!(names, ["a.test", "b.test"]);
    let errors: Vec<_> =
        report.errors.iter().map(|error| error.to_string().replace(&directory, "")).collect();
    assert_eq!(errors[0], "key ca.pem: no private key in file");
    assert!(errors[1].starts_with("unknown cipher \"nonsense\"; there are TLS_"), "{errors:?}");
    assert!(errors[2].starts_with("authorities missing.pem: No such file"), "{errors:?}");
    let warnings: Vec<_> = report.warnings.iter().map(|warning| warning.replace(&directory, "")).collect();
    assert_eq!(
        warnings,
        [
            "certificate expired.pem: expired 1 day ago",
            "certificate soon.pem: expires in 13 days",
            "certificate nameless.pem: is for no name; clients that verify will refuse it",
        ]
    );
}

#[test]
fn a_check_of_a_pool_warns_of_unverified_servers() {
    let files = Files::new();
    let mut plan = files.tls_out();
    let report = check_tls_out(&plan);
    assert!(report.errors.is_empty() && report.warnings.is_empty(), "{report:?}");
    plan.verify = false;
    assert_eq!(check_tls_out(&plan).warnings.len(), 1);
    plan.server_name = Some("not a name".to_owned());
    let report = check_tls_out(&plan);
    assert_eq!(report.errors[0].to_string(), "server name \"not a name\": neither a DNS name nor an address");
}
