use std::process::Command;

use super::*;

fn assignment<'a>(
    servers: &'a [(String, SocketAddr)],
    scheme: Scheme,
    directory: &'a Path,
) -> Assignment<'a> {
    Assignment {
        bind: "127.0.0.1:8080".parse().unwrap(),
        servers,
        scheme,
        workers: 1,
        check: "/health",
        tls_in: None,
        tls_out: None,
        directory,
        reloads: false,
    }
}

fn servers() -> Vec<(String, SocketAddr)> {
    (1..=2).map(|at| (format!("s{at}"), format!("127.0.0.1:900{at}").parse().unwrap())).collect()
}

#[test]
fn every_rival_names_every_server_and_where_it_listens() {
    let (servers, directory) = (servers(), Path::new("/tmp/d"));
    for product in Product::ALL.into_iter().filter(|product| *product != Product::None) {
        for scheme in Scheme::ALL.into_iter().filter(|scheme| product.has(*scheme)) {
            let recipe = recipe(product, &assignment(&servers, scheme, directory)).unwrap();
            for part in ["127.0.0.1:8080", "127.0.0.1:9001", "127.0.0.1:9002"] {
                assert!(recipe.config.contains(part), "{product:?} {scheme:?}: {part}:\n{}", recipe.config);
            }
            let file = format!("/tmp/d/{}", recipe.file);
            assert!(recipe.arguments.contains(&file), "{:?}", recipe.arguments);
        }
    }
    assert_eq!(recipe(Product::None, &assignment(&servers, Scheme::Random, directory)), None);
}

/// Those that are on this machine must take what is made for them.
#[test]
fn configurations_are_accepted_by_whom_they_are_for() {
    let (servers, directory) = (servers(), tempfile::tempdir().unwrap());
    let pem = super::super::stage::Certificates::make(directory.path()).unwrap();
    for product in [Product::Haproxy, Product::Nginx, Product::Apache] {
        let Ok(program) = find(product, None, Path::new("")) else { continue };
        for scheme in Scheme::ALL.into_iter().filter(|scheme| product.has(*scheme)) {
            for tls in [false, true] {
                let mut assignment = assignment(&servers, scheme, directory.path());
                assignment.bind = super::super::stage::free_address().unwrap();
                assignment.tls_in = tls.then_some(pem.site.as_path());
                assignment.tls_out = tls.then_some(pem.authority.as_path());
                let recipe = recipe(product, &assignment).unwrap();
                std::fs::write(directory.path().join(recipe.file), &recipe.config).unwrap();
                let mut command = Command::new(&program.path);
                command.args(&recipe.arguments).arg(if product == Product::Haproxy { "-c" } else { "-t" });
                let output = command.output().unwrap();
                assert!(output.status.success(), "{product:?}: {output:?}\n{}", recipe.config);
            }
        }
    }
}

#[test]
fn weirs_own_configuration_is_proved() {
    let (servers, directory) = (servers(), Path::new("/tmp/d"));
    for scheme in Scheme::ALL {
        let mut assignment = assignment(&servers, scheme, directory);
        assignment.tls_in = Some(Path::new("/tmp/site.pem"));
        assignment.tls_out = Some(Path::new("/tmp/ca.pem"));
        let config = weir::config(&assignment);
        let loaded = weir_config::load(&[weir_config::Source::new("weir.toml", config.clone())], &|_| None);
        assert!(loaded.is_ok(), "{:?}\n{config}", loaded.unwrap_err());
    }
}

#[test]
fn versions_are_found_in_what_programs_say() {
    let said = "HAProxy version 2.6.12-1+deb12u4 2026/05/01 - https://haproxy.org/\nStatus: long-term\n";
    assert_eq!(version_in(said).as_deref(), Some("2.6.12-1+deb12u4"));
    assert_eq!(version_in("nginx version: nginx/1.22.1\n").as_deref(), Some("1.22.1"));
    assert_eq!(version_in("Server version: Apache/2.4.62 (Debian)").as_deref(), Some("2.4.62"));
    assert_eq!(version_in("usage: none."), None);
}

#[test]
fn what_is_not_there_is_said_with_what_was_looked_for() {
    let error = find(Product::Haproxy, Some(Path::new("/nowhere/haproxy")), Path::new("")).unwrap_err();
    assert!(error.starts_with("/nowhere/haproxy -v: "), "{error}");
}

#[test]
fn a_configuration_is_measured_without_comments_and_blanks() {
    let size = ConfigSize::of("# none\n\n  a {\n    b c;\n  }\n");
    assert_eq!((size.lines, size.characters, size.special), (3, 8, 3));
}
