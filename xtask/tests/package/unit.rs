//! Runs the installed program under the settings of the installed unit, as far as that is possible without
//! systemd.

use std::fs;
use std::path::Path;
use std::process::Command;

use weir_testkit::untested;

use super::{directory, may_install, real_deb, text, unpack};

/// Packaged config as an operator might edit it: a port that only root may bind, a server, and a log file.
const CONFIG: &str = r#"
[admin]
bind = "127.0.0.1:8404"

[listener.web]
bind = ":80"
pool = "web"

[pool.web]
servers = [{ name = "app", address = "127.0.0.1:9000" }]

[access-log]
format = "common"
to = "/var/log/weir/access.log"
"#;

const SERVER: &str = r#"
[weir]
control = false
state = false

[listener.app]
bind = "127.0.0.1:9000"

[[route]]
name = "app"
respond = { status = 200, body = "hello\n" }
"#;

#[test]
#[cfg_attr(not(feature = "long"), ignore = "packs the program: make test-all")]
fn the_installed_service_starts_serves_reloads_and_stops_within_what_its_unit_permits() {
    let namespaces = Command::new("unshare").args(["--mount", "--net", "--pid", "--fork", "true"]).output();
    if !may_install() || !namespaces.is_ok_and(|made| made.status.success()) {
        return untested("the unit: only root can make namespaces here");
    }
    let at = directory();
    let root = at.path().join("root");
    unpack(real_deb(), &root);
    let (config, server) = (at.path().join("weir.toml"), at.path().join("server.toml"));
    fs::write(&config, CONFIG).unwrap();
    fs::write(&server, SERVER).unwrap();

    let mut systemd = Command::new("unshare");
    systemd.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "sh"]);
    systemd.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/package/unit.sh"));
    let output = systemd.args([&root, &config, &server]).output().unwrap();
    let expected = "welcome: Weir runs, and has nothing to balance yet: /etc/weir/weir.toml 503 \n\
                    reload: 0\n\
                    reload: 0\n\
                    served: hello 200 \n\
                    command: 0\n\
                    state: kept\n\
                    stopped: 0\n\
                    logged: 1\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{}", text(&output));
}
