//! A simulated cloud that several Weirs share: a script and a directory. Its machines are addresses of one
//! test web server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use weir_e2e::program;
use weir_testkit::{Child, PATIENCE};

use crate::place::Place;

/// Script of the cloud. Machines are files with their token as name. Each order is recorded first; the
/// machine is created when the gate is open.
const SCRIPT: &str = r#"#!/bin/sh
cloud=$1 verb=$2 port=$(cat "$1/port")
order=$(cat)
told() { printf '%s' "$order" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
machine() {
    digits=${1##*-}
    a=$(printf %s "$digits" | cut -c1-2) b=$(printf %s "$digits" | cut -c3-4) c=$(printf %s "$digits" | cut -c5-6)
    printf '{"id":"%s","token":"%s","state":"running","address":"127.%d.%d.%d","port":%d}' \
        "$1" "$1" "$((0x$a % 250 + 1))" "$((0x$b % 250 + 1))" "$((0x$c % 250 + 1))" "$port"
}
case $verb in
create)
    token=$(told token)
    echo "$token" >> "$cloud/ordered"
    until [ -e "$cloud/gate" ]; do sleep 0.05; done
    : > "$cloud/machines/$token"
    echo "{\"machine\":$(machine "$token")}" ;;
delete) rm -f "$cloud/machines/$(told id)" ;;
list)
    while [ -e "$cloud/silent" ]; do sleep 0.05; done
    first=1
    printf '{"machines":['
    for path in "$cloud"/machines/*; do
        [ -e "$path" ] || continue
        [ -n "$first" ] || printf ','
        first=
        machine "${path##*/}"
    done
    printf ']}\n' ;;
esac
"#;

pub(crate) struct Cloud {
    place: Place,
    _server: Child,
}

impl Cloud {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        fs::create_dir_all(place.path("cloud/machines")).unwrap();
        fs::write(place.path("cloud.sh"), SCRIPT).unwrap();
        fs::set_permissions(place.path("cloud.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(program());
        command.args(["origin", "--bind", "0.0.0.0:0"]);
        let mut server = Child::spawn(command);
        let line = server.wait_for_line(PATIENCE, |line| line.starts_with("listening on "));
        let (_, port) = line.rsplit_once(':').unwrap();
        fs::write(place.path("cloud/port"), port.trim()).unwrap();
        let cloud = Self { place, _server: server };
        cloud.open_gate();
        cloud
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Opens the gate: machines are created at once.
    pub(crate) fn open_gate(&self) {
        fs::write(self.place.path("cloud/gate"), "").unwrap();
    }

    /// Closes the gate: orders are recorded, but no machine is created.
    pub(crate) fn close_gate(&self) {
        fs::remove_file(self.place.path("cloud/gate")).unwrap();
    }

    /// Delays the list command.
    pub(crate) fn be_silent(&self) {
        fs::write(self.place.path("cloud/silent"), "").unwrap();
    }

    /// Lets the list command respond again.
    pub(crate) fn speak(&self) {
        let _ = fs::remove_file(self.place.path("cloud/silent"));
    }

    /// Returns the number of machines ordered so far; counts each token once.
    pub(crate) fn ordered(&self) -> usize {
        let text = fs::read_to_string(self.place.path("cloud/ordered")).unwrap_or_default();
        let mut tokens: Vec<&str> = text.lines().collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens.len()
    }

    /// Returns the number of machines.
    pub(crate) fn machines(&self) -> usize {
        fs::read_dir(self.place.path("cloud/machines")).unwrap().count()
    }

    /// Returns the config of one of several Weirs. Its name is also the name of its directory.
    pub(crate) fn config(&self, name: &str, lease: &str, fleet: &str) -> String {
        format!(
            "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n\
             [pool.web]\ncheck = {{ http = \"GET /health\", interval = \"100ms\", rise = 1, fall = 3 }}\n\n\
             [fleet.web]\npool = \"web\"\nmax = 8\ncapacity = 10\ninterval = \"200ms\"\nstart-up = \"1s\"\ndirectory = {:?}\n\
             lease = {lease}\nexec = {{ command = [{:?}, {:?}], settling = \"1s\" }}\n{fleet}\n",
            self.place.path(name),
            self.place.path("cloud.sh"),
            self.place.path("cloud"),
        )
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        // Lets waiting scripts continue and end.
        self.open_gate();
        self.speak();
    }
}
