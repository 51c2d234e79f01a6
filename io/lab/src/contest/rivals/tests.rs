//! Tests of the generated configurations.

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
        weights: &[],
        scheme,
        scheduler: None,
        balance: None,
        way: Way::Proxied,
        roots: &[],
        key: None,
        workers: 1,
        check: "/health",
        tls_in: None,
        tls_out: None,
        directory,
        fleet: None,
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
                // Some products write address and port separately.
                let (ip, port) = part.split_once(':').unwrap();
                let shown = recipe.shown();
                assert!(
                    shown.contains(ip) && shown.contains(port),
                    "{product:?} {scheme:?}: {part}:\n{shown}"
                );
            }
            let file = format!("/tmp/d/{}", recipe.file);
            let is_named = recipe.arguments.iter().any(|argument| argument.ends_with(&file));
            assert!(is_named, "{:?}", recipe.arguments);
        }
    }
    assert_eq!(recipe(Product::None, &assignment(&servers, Scheme::Random, directory)), None);
}

/// Returns the command that checks a configuration, if the product has one.
fn checker(product: Product, file: &str) -> Option<Vec<String>> {
    let directory = Path::new(file).parent().and_then(Path::to_str).unwrap_or_default();
    let words: &[&str] = match product {
        Product::Haproxy => &["-c", "-f", file],
        Product::Nginx => &["-p", directory, "-e", "stderr", "-t", "-c", file],
        Product::Apache => &["-t", "-f", file],
        Product::Envoy => &["--mode", "validate", "-c", file],
        Product::Caddy => &["validate", "--adapter", "caddyfile", "--config", file],
        Product::Pound => &["-c", "-f", file],
        Product::Sozu => &["config", "check", "-c", file],
        Product::Nftables => &["--check", "--file", file],
        _ => return None,
    };
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

/// Checks that every installed product accepts its configuration.
#[test]
fn configurations_are_accepted_by_whom_they_are_for() {
    let (servers, directory) = (servers(), tempfile::tempdir().unwrap());
    let pem = super::super::stage::Certificates::make(directory.path()).unwrap();
    for product in Product::ALL.into_iter().filter(|product| checker(*product, "").is_some()) {
        for named in named(product) {
            // Rules that the kernel does not support cannot be checked.
            let found = find(product, named.as_deref(), Path::new("")).and_then(|program| {
                let is_root = super::super::stage::is_root();
                let how = (Scheme::RoundRobin, None);
                let tried = if is_root { is_able(product, how, false, &program) } else { Ok(()) };
                tried.map(|()| program)
            });
            match found {
                Ok(program) => is_accepted(product, &program, &servers, directory.path(), &pem),
                // A program that the environment names must exist.
                Err(why) => {
                    assert!(named.is_none(), "{}: {why}", product.name());
                    weir_testkit::untested(format!("{}: {why}", product.name()));
                }
            }
        }
    }
}

/// Returns programs from an environment variable (`HAPROXY=/usr/sbin/haproxy,/opt/haproxy/haproxy`). Without
/// it, returns `None` for the usual name.
fn named(product: Product) -> Vec<Option<PathBuf>> {
    match std::env::var(product.name().to_uppercase()) {
        Ok(paths) => paths.split(',').filter(|path| !path.is_empty()).map(|path| Some(path.into())).collect(),
        Err(_) => vec![None],
    }
}

fn is_accepted(
    product: Product,
    program: &Program,
    servers: &[(String, SocketAddr)],
    directory: &Path,
    pem: &super::super::stage::Certificates,
) {
    let path = |name: &str| directory.join(name);
    let (tls_in, tls_out) = product.speaks_tls();
    for scheme in Scheme::ALL.into_iter().filter(|scheme| product.has(*scheme)) {
        for (tls, weights) in [(false, &[][..]), (true, &[]), (false, &[3, 1])] {
            let mut assignment = assignment(servers, scheme, directory);
            let has_weights = is_able(product, (scheme, None), true, program).is_ok();
            if product.weight_max(scheme) > 0 && (product.is_kernel() || has_weights) {
                assignment.weights = weights;
            }
            assignment.bind = super::super::stage::free_address().unwrap();
            assignment.tls_in = (tls && tls_in).then_some(pem.site.as_path());
            assignment.tls_out = (tls && tls_out).then_some(pem.authority.as_path());
            let recipe = recipe(product, &assignment).unwrap();
            std::fs::write(path(recipe.file), &recipe.config).unwrap();
            let mut command = Command::new(&program.path);
            command.args(checker(product, &path(recipe.file).display().to_string()).unwrap());
            command.envs(recipe.environment.iter().map(|(name, value)| (name, value)));
            let output = command.current_dir(directory).output().unwrap();
            assert!(output.status.success(), "{product:?}: {output:?}\n{}", recipe.config);
        }
    }
}

/// Checks the text, because HAProxy is not on every machine.
#[test]
fn haproxys_proxies_have_names_of_their_own_which_it_demands_since_3_3() {
    let (servers, directory) = (servers(), Path::new("/d"));
    let config =
        recipe(Product::Haproxy, &assignment(&servers, Scheme::RoundRobin, directory)).unwrap().config;
    let proxies = config.lines().filter_map(|line| line.split_once(' '));
    let names: Vec<_> =
        proxies.filter(|(kind, _)| ["frontend", "backend"].contains(kind)).map(|(_, name)| name).collect();
    assert_eq!(names, ["web", "servers"], "{config}");
}

#[test]
fn configurations_are_what_their_manuals_say() {
    let (servers, directory) = (servers(), Path::new("/d"));
    use Product::{Caddy, Envoy, Lvs, Nftables, Pound, Sozu, Traefik};
    for product in [Envoy, Caddy, Traefik, Pound, Sozu, Lvs, Nftables] {
        let (tls_in, tls_out) = product.speaks_tls();
        let mut assignment = assignment(&servers, Scheme::RoundRobin, directory);
        let plain = recipe(product, &assignment).unwrap();
        assignment.tls_in = tls_in.then_some(Path::new("/d/site.pem"));
        assignment.tls_out = tls_out.then_some(Path::new("/d/authority.pem"));
        let encrypted = recipe(product, &assignment).unwrap();
        let arguments = plain.arguments.join(" ");
        let environment = plain.environment.iter().map(|(name, value)| format!("{name}={value} "));
        let environment: String = environment.collect();
        let shown = format!("{environment}{} {arguments}\n\n{}", product.name(), plain.shown());
        let shown = match encrypted == plain {
            true => shown,
            false => format!("{shown}\n--- with TLS\n\n{}", encrypted.shown()),
        };
        // The number is lower if the limit of open files is low.
        let connections = sozu::connections_max();
        let shown = shown
            .replace(&format!("max_connections = {connections}\n"), "max_connections = 30000\n")
            .replace(&format!("max_buffers = {}\n", 2 * connections), "max_buffers = 60000\n");
        insta::assert_snapshot!(product.name(), shown);
    }
}

#[test]
fn all_speak_the_same_tls_and_try_a_safe_request_again() {
    let (servers, directory) = (servers(), Path::new("/tmp/d"));
    for product in [Product::Weir, Product::Haproxy, Product::Nginx, Product::Apache] {
        let mut assignment = assignment(&servers, Scheme::RoundRobin, directory);
        let tls = |assignment: &Assignment<'_>| {
            let config = recipe(product, assignment).unwrap().config;
            let is_old = config.contains("TLSv1.2") || config.contains("\"1.2\"");
            (config.contains(CIPHER), config.contains("v1.3") || config.contains("\"1.3\""), is_old)
        };
        assert_eq!(tls(&assignment), (false, false, false), "{product:?}");
        assignment.tls_in = Some(Path::new("/tmp/site.pem"));
        assert_eq!(tls(&assignment), (true, true, false), "{product:?}");
        assignment.tls_in = None;
        assignment.tls_out = Some(Path::new("/tmp/ca.pem"));
        // Weir's first choice of cipher is the one of the lab's servers.
        assert_eq!(tls(&assignment), (product != Product::Weir, true, false), "{product:?}");
    }
    let haproxy =
        recipe(Product::Haproxy, &assignment(&servers, Scheme::RoundRobin, directory)).unwrap().config;
    assert!(haproxy.contains("option redispatch 1\n  retry-on conn-failure empty-response"), "{haproxy}");
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
fn everybody_is_told_of_weights_in_their_own_words() {
    use Product::{Apache, Caddy, Envoy, Haproxy, Lvs, Nftables, Nginx, Pound, Sozu, Traefik, Weir};
    let (servers, directory) = (servers(), Path::new("/tmp/d"));
    for (product, words) in [
        (Weir, "address = \"127.0.0.1:9001\", weight = 3 }"),
        (Haproxy, "server s1 127.0.0.1:9001 weight 3 "),
        (Nginx, "server 127.0.0.1:9001 weight=3;"),
        (Apache, "BalancerMember http://127.0.0.1:9001 keepalive=On loadfactor=3\n"),
        (Envoy, "port_value: 9001 } } }\n          load_balancing_weight: 3\n"),
        (Caddy, "lb_policy weighted_round_robin 3 1\n"),
        (Traefik, "url = \"http://127.0.0.1:9001\"\nweight = 3\n"),
        (Pound, "Port 9001\n      Priority 3\n"),
        (Sozu, "backend_id = \"s1\", weight = 3 }"),
        (Lvs, "-s wrr\n-a -t 127.0.0.1:8080 -r 127.0.0.1:9001 -m -w 3\n"),
        (
            Nftables,
            "inc mod 4 map { 0 : 127.0.0.1 . 9001, 1 : 127.0.0.1 . 9001, 2 : 127.0.0.1 . 9002, 3 : 127.0.0.1 . 9001 }",
        ),
    ] {
        let scheme = if product == Sozu { Scheme::Random } else { Scheme::RoundRobin };
        let mut assignment = assignment(&servers, scheme, directory);
        assignment.weights = &[3, 1];
        let most = [(Apache, 100), (Pound, 9), (Sozu, 255)].into_iter().find(|(other, _)| *other == product);
        assert_eq!(product.weight_max(scheme), most.map_or(256, |(_, most)| most), "{product:?}");
        let shown = recipe(product, &assignment).unwrap().shown();
        assert!(shown.contains(words), "{product:?}: {words}\n{shown}");
    }
    // The smallest possible numbers.
    let mut even = assignment(&servers, Scheme::RoundRobin, directory);
    even.weights = &[200, 200];
    assert!(recipe(Nftables, &even).unwrap().config.contains("numgen inc mod 2 map"));
    let mut lvs = assignment(&servers, Scheme::LeastConnections, directory);
    lvs.weights = &[3, 1];
    assert!(recipe(Lvs, &lvs).unwrap().config.starts_with("-A -t 127.0.0.1:8080 -s wlc\n"));
}

#[test]
fn versions_without_weights_are_left_out_where_servers_have_them() {
    let able = |product, version: &str, has_weights| {
        let program = Program { path: PathBuf::from("/usr/bin/x"), version: version.to_owned() };
        is_able(product, (Scheme::RoundRobin, None), has_weights, &program)
    };
    for (product, old, new) in
        [(Product::Caddy, "2.6.2", "2.10.0"), (Product::Traefik, "2.11.2", "3.0.0-rc1")]
    {
        assert_eq!((able(product, old, false), able(product, new, true)), (Ok(()), Ok(())));
        assert!(able(product, old, true).unwrap_err().contains(&format!("; this is {old}")));
    }
    assert_eq!(able(Product::Nginx, "1.22.1", true), Ok(()));
    // A private build without a release number.
    assert_eq!(able(Product::Traefik, "", true), Ok(()));
}

#[test]
fn lvs_takes_the_scheduler_that_it_is_given() {
    let (servers, directory) = (servers(), Path::new("/tmp/d"));
    let mut assignment = assignment(&servers, Scheme::LeastConnections, directory);
    assert!(recipe(Product::Lvs, &assignment).unwrap().config.starts_with("-A -t 127.0.0.1:8080 -s lc\n"));
    assignment.scheduler = Some("lblc");
    assert!(recipe(Product::Lvs, &assignment).unwrap().config.starts_with("-A -t 127.0.0.1:8080 -s lblc\n"));
}

#[test]
fn weir_takes_the_algorithm_that_it_is_given_with_its_options() {
    let (servers, directory) = (servers(), Path::new("/tmp/d"));
    let mut assignment = assignment(&servers, Scheme::RoundRobin, directory);
    assignment.balance = Some("{ \"algorithm\" = \"lblc\", \"key\" = \"uri\" }");
    let config = recipe(Product::Weir, &assignment).unwrap().config;
    let loaded = weir_config::load(&[weir_config::Source::new("weir.toml", config)], &|_| None);
    let plan = loaded.unwrap().plan;
    assert_eq!(plan.pools[0].algorithm.name(), "lblc");
}

/// Checks the configurations of Weir and NGINX that send the servers' files, and of Weir that redirects
/// clients.
#[test]
fn ways_past_the_balancer_are_what_their_configurations_say() {
    let (servers, directory) = (servers(), tempfile::tempdir().unwrap());
    let key = directory.path().join("redirect.key");
    std::fs::write(&key, "0123456789abcdef0123").unwrap();
    let roots = ["s1", "s2"].map(|name| directory.path().join(name).join("root"));
    let made = |product, way| {
        let mut assignment = assignment(&servers, Scheme::RoundRobin, directory.path());
        (assignment.way, assignment.roots, assignment.key) = (way, &roots, Some(key.as_path()));
        recipe(product, &assignment).unwrap().config
    };
    // NGINX has this line only if the test runs as root.
    let shown = |config: &str| {
        let own = directory.path().display().to_string();
        config.replace(&own, "/d").replace("user root;\n", "")
    };
    for way in [Way::Offloaded, Way::Redirected] {
        let config = made(Product::Weir, way);
        let loaded = weir_config::load(&[weir_config::Source::new("weir.toml", config.clone())], &|_| None);
        assert!(loaded.is_ok(), "{:?}\n{config}", loaded.unwrap_err());
        insta::assert_snapshot!(format!("weir_{}", way.name()), shown(&config));
    }
    insta::assert_snapshot!("nginx_offloaded", shown(&made(Product::Nginx, Way::Offloaded)));
}

#[test]
fn a_fleet_is_told_in_a_configuration_that_is_proved() {
    use weir_config::lab::{FleetPolicy, FleetSetup};
    use weir_model::Millis;
    for policy in [FleetPolicy::Reactive, FleetPolicy::Target] {
        let mut assignment = assignment(&[], Scheme::LeastConnections, Path::new("/tmp/d"));
        assignment.fleet = Some(FleetAssignment {
            setup: FleetSetup {
                min: 2,
                max: 13,
                capacity: 100.0,
                policy,
                minute: Millis(1_500),
                boot: Millis(1_500),
            },
            command: ["/bin/sh", "-c", "sleep 1.5; exec \"$0\" \"$@\"", "weir", "--bind", "{address}:{port}"]
                .map(str::to_owned)
                .to_vec(),
            environment: ("WEIR_LAB_FAMILY".to_owned(), "weir-lab-1".to_owned()),
        });
        let config = weir::config(&assignment);
        let loaded = weir_config::load(&[weir_config::Source::new("weir.toml", config.clone())], &|_| None);
        assert!(loaded.is_ok(), "{:?}\n{config}", loaded.unwrap_err());
        insta::assert_snapshot!(format!("weir_fleet_{policy:?}"), config);
    }
}

#[test]
fn versions_are_found_in_what_programs_say() {
    let said = "HAProxy version 2.6.12-1+deb12u4 2026/05/01 - https://haproxy.org/\nStatus: long-term\n";
    assert_eq!(version_in(said).as_deref(), Some("2.6.12-1+deb12u4"));
    assert_eq!(version_in("nginx version: nginx/1.22.1\n").as_deref(), Some("1.22.1"));
    assert_eq!(version_in("Server version: Apache/2.4.62 (Debian)").as_deref(), Some("2.4.62"));
    assert_eq!(version_in("nftables v1.0.6 (Lester Gooch #5)").as_deref(), Some("1.0.6"));
    assert_eq!(
        version_in("envoy  version: d79f6e8d/1.40.0/Clean/RELEASE/BoringSSL").as_deref(),
        Some("1.40.0")
    );
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
