//! Keys of `[fleet.NAME]`.

use super::haproxy::keys::HAPROXY;
use super::kubernetes::keys::KUBERNETES;
use super::lease::keys::LEASE;
use crate::scaling::keys::{CAPACITY, PER_SERVER, SHARED, STATISTIC, TIME, WINDOW, joined};
use crate::schema::Kind::{
    AnyOf, Choice, Duration, Flag, Integer, Map, Number, Off, OneOrMany, Size, Table, Tables, Text,
};
use crate::schema::Presence::{Default, Otherwise, Required};
use crate::schema::{DAY_MS, DURATION, DURATION_OR_ZERO, HOUR_MS, Key, Kind, SECOND_MS, Section, key};

pub(crate) static FLEET: Section = Section {
    noun: "fleet",
    title: "[fleet.NAME]",
    meaning: "Servers of a pool that come and go with demand. Exactly one of `process`, `exec`, `openstack` and `kubernetes` says where they come from. \
              They are balanced in a pool, which needs a check (a new server gets requests when it passes), or by a HAProxy. What a fleet has made stays when Weir ends, and is taken \
              over by the next start.",
    keys: &joined::<20, 12, 32>(OWN, SHARED),
};

static CAPACITIES: [Kind; 3] = [CAPACITY, Choice(&["auto"]), Table(&LEARNED)];

static FLAVOURS: Kind = AnyOf(&[CAPACITY, Choice(&["auto"])]);

static LEASES: [Kind; 2] = [Text("an absolute path"), Table(&LEASE)];

const OWN: [Key; 20] = [
    key(
        "pool",
        Text("the name of a pool"),
        Otherwise("`haproxy`"),
        "\"web\"",
        "Where its servers are balanced. Others of the pool are left alone.",
    ),
    key(
        "haproxy",
        Table(&HAPROXY),
        Otherwise("`pool`"),
        "{ socket = \"/run/haproxy/admin.sock\", backend = \"web\" }",
        "A HAProxy balances them, and not Weir.",
    ),
    key(
        "process",
        Table(&PROCESS),
        Otherwise("`exec`, `openstack` or `kubernetes`"),
        "{ command = [\"/usr/bin/app\", \"--port\", \"{port}\"] }",
        "Servers are processes of this machine.",
    ),
    key(
        "exec",
        Table(&EXEC),
        Otherwise("`process`, `openstack` or `kubernetes`"),
        "{ command = \"/etc/weir/cloud.py\" }",
        "Servers are machines that a program of yours looks after.",
    ),
    key(
        "openstack",
        Table(&OPENSTACK),
        Otherwise("`process`, `exec` or `kubernetes`"),
        "{ image = \"web\", flavor = \"m1.small\" }",
        "Servers are those of an OpenStack cloud.",
    ),
    key(
        "kubernetes",
        Table(&KUBERNETES),
        Otherwise("`process`, `exec` or `openstack`"),
        "{ deployment = \"web\", service = \"web\" }",
        "Servers are the pods of a Deployment or a StatefulSet of a Kubernetes cluster.",
    ),
    key(
        "port",
        Integer { min: 1, max: 65_535 },
        Otherwise("the port that the provider tells; `openstack` tells none"),
        "8080",
        "Where servers listen.",
    ),
    key(
        "capacity",
        AnyOf(&CAPACITIES),
        Required,
        "10",
        "Requests per second that one server can do; `\"auto\"` = found out from how long answers take.",
    ),
    key(
        "flavours",
        Map("names of flavours", &FLAVOURS),
        Otherwise("all servers are alike"),
        "{ \"m1.large\" = 40 }",
        "The same of servers that are of another size than those that the fleet makes now, by the flavour that `openstack` or an `exec` program (`flavour`) tells. `\"auto\"` has \
         the bounds of `capacity`, and needs a pool: a HAProxy does not tell.",
    ),
    key(
        "signals",
        Tables(&FLEET_SIGNAL),
        Otherwise("requests per second"),
        "{ kind = \"active\", per-server = 50 }",
        "What demand is made of.",
    ),
    key(
        "goes-first",
        Choice(&["fewest-requests", "oldest", "newest", "most-expensive", "zone-balance", "last"]),
        Default("\"fewest-requests\""),
        "\"oldest\"",
        "Which server goes when one too many is there. `zone-balance`: one of the zone that has the most; `openstack` and `kubernetes` tell the zone, an `exec` program \
         `zone` and, for `most-expensive`, `cost_per_hour`. Among equals the one with the fewest requests goes. `last`: the one \
         whose name is the last, names with a number at their end by that; of a StatefulSet no other can go.",
    ),
    key(
        "replace-after",
        TIME,
        Default("\"30s\""),
        "\"2m\"",
        "A server whose checks fail for so long is deleted, and another one made if it is needed.",
    ),
    key(
        "stale-after",
        TIME,
        Default("\"15s\""),
        "\"1m\"",
        "A measurement that is older says nothing: the fleet stays as it is.",
    ),
    key(
        "interval",
        Duration { min_ms: 100, max_ms: HOUR_MS },
        Default("\"1s\""),
        "\"5s\"",
        "How often Weir looks, decides and acts.",
    ),
    key(
        "directory",
        Text("an absolute path"),
        Otherwise("`/var/lib/weir/fleet/NAME`"),
        "\"/srv/weir/fleet\"",
        "What the fleet has to remember: its journal, its processes and their output. No other fleet may have it.",
    ),
    key(
        "lease",
        AnyOf(&LEASES),
        Otherwise("the file `lease` in `directory`"),
        "\"/run/weir/fleet.lease\"",
        "That by which one of several Weirs leads the fleet; when it ends, another one goes on. A file: among those on this machine. A key in Redis or etcd: \
         among those on several machines.",
    ),
    key(
        "history",
        AnyOf(&[OneOrMany(&Text("an absolute path")), Off]),
        Otherwise("the file `history.csv` in `directory`"),
        "[\"/var/log/weir/fleet.csv\", \"/var/log/weir/fleet.sqlite\"]",
        "Where rows of what was measured, decided and done are added to, for `weir fleet history` and `weir fleet backtest`; `false` = nowhere. A file whose name ends in `.sqlite`, `.sqlite3` or \
         `.db` is a SQLite database, which other programs may ask meanwhile (table `history`), any other one is CSV.",
    ),
    key(
        "history-interval",
        Duration { min_ms: 100, max_ms: HOUR_MS },
        Default("\"10s\""),
        "\"1m\"",
        "Time between two rows; what was done makes a row of its own.",
    ),
    key(
        "history-size",
        Size { min: 4_096, max: 1 << 40 },
        Default("\"64MiB\""),
        "\"1GiB\"",
        "A CSV file that is larger is put aside as `.1`, in place of the one before, and a new one begun; a database (64 KiB at least) loses its oldest rows.",
    ),
    key("act", Flag, Default("true"), "false", "`false` = only decide, and show what would be done."),
];

static LEARNED: Section = Section {
    noun: "",
    title: "[fleet.NAME.capacity]",
    meaning: "The capacity of a server is found out: it is the highest rate at which the first bytes of answers take no longer than `slower` times \
              what they take when there is little to do.",
    keys: &[
        key("initial", CAPACITY, Default("100"), "50", "Taken until something was learned."),
        key("least", CAPACITY, Default("1"), "10", "It is not below this, whatever is learned."),
        key("most", CAPACITY, Default("10000"), "500", "Nor above this."),
        key(
            "slower",
            Number { min: 1.1, max: 100.0 },
            Default("2"),
            "3",
            "So many times as long is too slow.",
        ),
    ],
};

pub(crate) static FLEET_SIGNAL: Section = Section {
    noun: "signal",
    title: "[[fleet.NAME.signals]]",
    meaning: "One thing that demand is made of.",
    keys: &[
        key(
            "kind",
            Choice(&["requests", "active", "queued", "latency", "bytes", "cpu"]),
            Required,
            "\"active\"",
            "`requests`: requests per second, of which a server can do its `capacity`. `active`: requests that are worked on. `queued`: requests \
             that wait for a server; each `per-server` of them call for one more server than there is. `latency`: the time within which 95% \
             of the latest requests were answered, in seconds; above `per-server` it calls for as many more servers as it is above. `bytes`: \
             bytes per second to clients. `cpu`: how busy processors are as the servers' agents say (`cpu:63%`; the pool needs an `agent`), 1 = all the time; likewise.",
        ),
        PER_SERVER,
        STATISTIC,
        WINDOW,
    ],
};

static PROCESS: Section = Section {
    noun: "",
    title: "[fleet.NAME.process]",
    meaning: "Processes from one command. They run in process groups of their own and outlive Weir; their output is kept in the fleet's \
              directory.",
    keys: &[
        key(
            "command",
            OneOrMany(&Text("a program or an argument")),
            Required,
            "[\"/usr/bin/app\", \"--port\", \"{port}\"]",
            "Program and arguments. In them `{port}` and `{address}` stand for where the process is to listen, `{machine}` for its name; \
             the port is in the variable PORT, too. The program stays in the foreground.",
        ),
        key(
            "address",
            Text("an IP address"),
            Default("\"127.0.0.1\""),
            "\"10.0.0.5\"",
            "Where processes listen.",
        ),
        key(
            "ports",
            Text("first and last port, as 8100-8199"),
            Otherwise("those that the system chooses"),
            "\"8100-8199\"",
            "Ports that they are given.",
        ),
        ENVIRONMENT,
        key(
            "working-directory",
            Text("an absolute path"),
            Otherwise("`processes` in the fleet's `directory`"),
            "\"/srv/app\"",
            "Where they run.",
        ),
        key(
            "limits",
            Table(&LIMITS),
            Otherwise("those of Weir"),
            "{ open-files = 4096 }",
            "What a process may use up.",
        ),
        key(
            "restart",
            Choice(&["always", "on-failure", "never"]),
            Default("\"always\""),
            "\"on-failure\"",
            "Whether a process that ends by itself is started again.",
        ),
        key(
            "restart-pause",
            DURATION,
            Default("\"1s\""),
            "\"5s\"",
            "Pause before the first restart; doubled with each one up to 60 s, until a process has run for a minute.",
        ),
        key(
            "stop-grace",
            DURATION,
            Default("\"10s\""),
            "\"1m\"",
            "How long a process may take to end after SIGTERM; SIGKILL follows.",
        ),
        key(
            "max-output",
            Size { min: 1_024, max: 1 << 34 },
            Default("\"1MiB\""),
            "\"16MiB\"",
            "About so much of what each process writes is kept: the latest.",
        ),
    ],
};

const ENVIRONMENT: Key = key(
    "environment",
    Map("names of variables", &Text("a value")),
    Otherwise("nothing more than PATH, HOME, LANG and TZ"),
    "{ MODE = \"production\" }",
    "Environment variables.",
);

static LIMITS: Section = Section {
    noun: "",
    title: "[fleet.NAME.process.limits]",
    meaning: "Limits of a process (setrlimit(2)). What is not there stays as it is for Weir.",
    keys: &[
        key(
            "open-files",
            Integer { min: 3, max: 1 << 30 },
            Otherwise("as for Weir"),
            "4096",
            "Open descriptors.",
        ),
        key(
            "memory",
            Size { min: 1 << 20, max: 1 << 46 },
            Otherwise("as for Weir"),
            "\"2GiB\"",
            "Address space.",
        ),
        key(
            "cpu-time",
            Duration { min_ms: SECOND_MS, max_ms: 30 * DAY_MS },
            Otherwise("as for Weir"),
            "\"1h\"",
            "Processor time, in whole seconds.",
        ),
        key(
            "core",
            Size { min: 0, max: 1 << 46 },
            Otherwise("as for Weir"),
            "\"0B\"",
            "Size of a core dump.",
        ),
    ],
};

static EXEC: Section = Section {
    noun: "",
    title: "[fleet.NAME.exec]",
    meaning: "A program that looks after machines: [its contract](fleet-exec.md).",
    keys: &[
        key(
            "command",
            OneOrMany(&Text("a program or an argument")),
            Required,
            "\"/etc/weir/cloud.py\"",
            "Program and arguments; the verb is added as the last one.",
        ),
        key(
            "environment",
            Map("names of variables", &Text("a value")),
            Otherwise("that of Weir"),
            "{ REGION = \"north\" }",
            "Added to the environment of Weir.",
        ),
        key(
            "working-directory",
            Text("an absolute path"),
            Otherwise("that of Weir"),
            "\"/srv/cloud\"",
            "Where it runs.",
        ),
        key("timeout", DURATION, Default("\"1m\""), "\"5m\"", "A call that takes longer is cut off."),
        key(
            "settling",
            DURATION_OR_ZERO,
            Default("\"30s\""),
            "\"2m\"",
            "A machine whose creation was cut off may stay out of the list for so long.",
        ),
    ],
};

static OPENSTACK: Section = Section {
    noun: "",
    title: "[fleet.NAME.openstack]",
    meaning: "Servers of an OpenStack cloud, over Keystone v3 and Nova. They carry the fleet's name in a tag; nothing else is touched.",
    keys: &[
        key(
            "cloud",
            Text("the name of a cloud"),
            Otherwise(
                "that of OS_CLOUD, of the variables OS_AUTH_URL and so on, or the only one of clouds.yaml",
            ),
            "\"north\"",
            "Which cloud of clouds.yaml.",
        ),
        key("image", Text("a name or id"), Required, "\"web-2026\"", "What servers are made of."),
        key("flavor", Text("a name or id"), Required, "\"m1.small\"", "Their size."),
        key(
            "networks",
            OneOrMany(&Text("a name or id")),
            Otherwise("what the cloud gives by itself"),
            "\"inner\"",
            "Networks that they are connected to.",
        ),
        key(
            "key-pair",
            Text("a name"),
            Otherwise("none"),
            "\"operators\"",
            "The SSH key that is put on them.",
        ),
        key(
            "user-data",
            Text("a path"),
            Otherwise("none"),
            "\"/etc/weir/cloud-init.yaml\"",
            "A file with what they do at their first start (cloud-init). `{machine}` and `{fleet}` are filled in.",
        ),
        key(
            "metadata",
            Map("names", &Text("a value")),
            Otherwise("that of Weir only"),
            "{ service = \"web\" }",
            "More metadata.",
        ),
        key("tags", OneOrMany(&Text("a tag")), Otherwise("that of Weir only"), "\"web\"", "More tags."),
        key(
            "server-group",
            Text("a name or id"),
            Otherwise("none"),
            "\"apart\"",
            "The group that says how they are spread over hosts.",
        ),
        key(
            "security-groups",
            OneOrMany(&Text("a name")),
            Otherwise("the project's default one"),
            "\"web\"",
            "Who may reach them.",
        ),
        key(
            "availability-zone",
            Text("a name"),
            Otherwise("the cloud chooses"),
            "\"az1\"",
            "Where in the cloud.",
        ),
        key(
            "config-drive",
            Flag,
            Default("false"),
            "true",
            "User data come on a disk: for networks without a metadata service.",
        ),
        key(
            "park",
            Choice(&["stop", "shelve"]),
            Default("\"stop\""),
            "\"shelve\"",
            "How a server is kept as standby: switched off, or shelved, which frees its host and takes longer.",
        ),
        key(
            "address-network",
            Text("a name"),
            Otherwise("any network"),
            "\"inner\"",
            "The network by whose address servers are reached.",
        ),
        key(
            "address-family",
            Choice(&["ipv4", "ipv6"]),
            Otherwise("IPv4 rather than IPv6"),
            "\"ipv6\"",
            "The version of that address.",
        ),
        key(
            "floating",
            Flag,
            Default("false"),
            "true",
            "They are reached by floating addresses, which the cloud or somebody else gives them: Weir makes none.",
        ),
        key(
            "build-timeout",
            DURATION,
            Default("\"10m\""),
            "\"30m\"",
            "A server that takes longer to build has failed.",
        ),
        key("timeout", DURATION, Default("\"1m\""), "\"30s\"", "One request to a service of the cloud."),
    ],
};
