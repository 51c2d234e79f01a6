//! Keys of the topology of a scenario.

use super::kinds::{TIME, key};
use crate::schema::Kind::{Choice, Number, OneOrMany, Text};
use crate::schema::Presence::{Default, Otherwise};
use crate::schema::{Kind, Section};

const MBIT: Kind = Number { min: 0.1, max: 1e6 };

pub(super) static TOPOLOGY: Section = Section {
    noun: "",
    title: "[topology]",
    meaning: "Where it is played. Namespaces need root; without, it is played over loopback, with a warning, and the report says so.",
    keys: &[
        key(
            "kind",
            Choice(&["loopback", "namespaces", "ssh"]),
            Default("\"loopback\""),
            "\"namespaces\"",
            "`namespaces`: client, balancer and servers each have a network of their own, joined by a bridge. `ssh`: balancer and servers run \
             on other machines, the client on this one.",
        ),
        key(
            "balancer",
            Text("a machine, as ssh takes it"),
            Otherwise("needed by `ssh`"),
            "\"root@balancer.example\"",
            "Where balancers run. Weir is copied there for the time of the comparison, to the directory for temporary files; rivals are found there.",
        ),
        key(
            "balancer-address",
            Text("an IP address"),
            Otherwise("where ssh reaches it"),
            "\"10.0.0.1\"",
            "Where client and servers reach it: of a machine with a network for measurements.",
        ),
        key(
            "servers",
            OneOrMany(&Text("a machine, as ssh takes it")),
            Otherwise("needed by `ssh`"),
            "[\"root@s1.example\", \"root@s2.example\"]",
            "Where servers run; with more servers than machines, several on one.",
        ),
        key(
            "server-addresses",
            OneOrMany(&Text("an IP address")),
            Otherwise("where ssh reaches them"),
            "[\"10.0.0.11\", \"10.0.0.12\"]",
            "Where balancer and client reach them, for each of `servers`.",
        ),
        key(
            "ssh-config",
            Text("a path"),
            Otherwise("the user's"),
            "\"lab.ssh\"",
            "The configuration file of `ssh` (its -F): ports, keys, known hosts, jump hosts.",
        ),
        key(
            "timeout",
            TIME,
            Default("\"5m\""),
            "\"30s\"",
            "How long a machine that is asked for something over `ssh` may say nothing; then it is taken for stuck, and the lab ends.",
        ),
        key(
            "client-rate",
            MBIT,
            Otherwise("as fast as it goes"),
            "10000",
            "The client's link in Mbit/s, in each direction.",
        ),
        key("balancer-rate", MBIT, Otherwise("as fast as it goes"), "10000", "The balancer's."),
        key("server-rate", MBIT, Otherwise("as fast as it goes"), "1000", "Each server's."),
        key(
            "scale",
            Number { min: 1.0, max: 1e5 },
            Default("1"),
            "20",
            "All rates are divided by this, so that links, and not this machine's CPU, are the limit as they were where it was published. \
             The report prints it.",
        ),
    ],
};
